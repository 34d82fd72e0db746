"""Shingles by the endings `marks`, `numbers` and `cjk` equal the oracle's; databases of them."""

from __future__ import annotations

import itertools
import random
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import oracles
import pytest
from extras import if_there
from helpers import ROOT, Command, database_of, shingle
from hypothesis import given, settings
from hypothesis import strategies as st

import lshdb
from lshdb import offers
from lshdb.apps.characters.digits import DIGITS
from lshdb.text.shingling import Shingling, ShinglingKind

ALL: dict[str, Any] = {"threshold": 0.3, "recall": 0.9999999}
WORDS = ["act", "of", "may", "law", "town", "the", "and", "12", "1.5", "A4", "\u0663", "3:1"]
TEXTS = st.lists(
    st.text(oracles.ASCII_NASTY, max_size=30) | st.text(oracles.NASTY + "12\u0663", max_size=30),
    max_size=8,
)
ENDINGS = ["marks", "numbers"]


def shinglings(kind: ShinglingKind, longest: int, endings: Sequence[str]) -> Any:
    """Of a kind, with some endings."""
    options = st.frozensets(st.sampled_from(endings), min_size=1)
    return st.builds(Shingling, st.just(kind), st.integers(1, longest), options=options)


@settings(max_examples=160)
@given(
    TEXTS,
    shinglings("word", 4, ENDINGS) | shinglings("char", 9, [*ENDINGS, "cjk"]),
    st.sampled_from([0, 1, 2, 7, 16, 1 << 15]),
)
def test_a_batch_of_texts_equals_the_oracle(texts: list[str], kind: Shingling, block: int) -> None:
    """Also cut into blocks."""
    shingles = shingle(texts, kind, 1, block)
    bounds = shingles.offsets.tolist()
    hashes = [shingles.hashes[i:j].tolist() for i, j in itertools.pairwise(bounds)]
    assert hashes == [
        oracles.shingle_hashes(text, kind.kind, kind.size, 1, kind.options) for text in texts
    ]


def test_the_page_has_the_digits_of_all_scripts() -> None:
    page = (ROOT / "docs" / "format.md").read_text("utf-8")
    section = page.partition("### Decimal digits")[2].partition("###")[0]
    zeros = [int(zero, 16) for zero in re.findall(r"\b[0-9A-F]{4,5}\b", section)]
    assert sorted(zero + value for zero in zeros for value in range(10)) == sorted(DIGITS)


def texts() -> dict[str, str]:
    """Each a text of words and numbers, or one with a word or two of the text before it changed."""
    rng = random.Random(2)
    made: dict[str, str] = {}
    for number in range(60):
        words = rng.choices(WORDS, k=10) if number % 3 == 0 else made[f"t{number - 1}"].split()
        words[rng.randrange(len(words))] = rng.choice(WORDS)
        made[f"t{number}"] = " ".join(words)
    return made


def with_marks(text: str) -> str:
    """Letters with marks, composed and not, and with a stroke, for some plain ones."""
    return text.replace("a", "\xe1").replace("e", "e\u0323\u0302").replace("d", "\u0111")


@pytest.mark.parametrize(
    ("shingle", "ignored"), [("word:3", "numbers"), ("char:5", "numbers"), ("word:3", "marks")]
)
def test_digits_and_marks_that_are_ignored_count_nothing(
    tmp_path: Path, shingle: str, ignored: Literal["numbers", "marks"]
) -> None:
    made = texts()
    if ignored == "numbers":
        plain = {key: re.sub(r"\d", "0", text) for key, text in made.items()}
    else:
        plain = {key: text.replace("\u0663", "3") for key, text in made.items()}
        made = {key: with_marks(text) if key > "t3" else text for key, text in made.items()}
    results, parts = [], if_there("passages", passages=4)
    for name, documents, ignoring in (("a", made, ignored), ("b", plain, None)):
        path, shape = tmp_path / f"{name}.db", {**ALL, "shingle": shingle, **parts}
        with database_of(path, documents, ignoring=ignoring, **shape) as db:
            pairs = [(p.a, p.b, p.similarity) for p in db.pairs()]
            passages = db.passage_pairs(common=1000) if parts else []
            copied = [(p.a, p.b, p.words) for p in passages]
            found = [(m.key, m.similarity) for m in db.query(documents["t3"])]
            results.append((pairs, copied, found))
            assert db.get("t3").content == documents["t3"]
        assert not lshdb.check(path, deep=True).remaining
    assert results[0] == results[1]
    with pytest.raises(lshdb.SettingsMismatch, match=f"not {shingle}-{ignored}"):
        lshdb.open(tmp_path / "b.db", ignoring=ignored)
    with pytest.raises(lshdb.SettingsError, match="the options of code are boilerplate"):
        lshdb.open(tmp_path / "c.db", shingle="code:3", ignoring=ignored)


def test_without_the_app_its_name_is_said(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    command.write("a.txt", "The fox and the grapes")
    command.done("init", "--ignore", "marks")
    monkeypatch.setitem(sys.modules, "lshdb.apps.characters", None)
    offers.is_there.cache_clear()
    missing = "'{}' belongs to the app 'characters', which is not installed"
    assert missing.format("marks") in command("add", "a.txt").err
    for option, name, ending in (
        ("--ignore", "marks", "word:3-marks"),
        ("--ignore", "numbers", "word:3-numbers"),
        ("--for", "short-text", "char:3-cjk"),
    ):
        refused = command.fails("init", "-d", "new.db", option, name, status=2)
        assert missing.format(ending) in refused
        assert not command.path("new.db").exists()
    assert "shingle" in command.done("info", "--json").out
    monkeypatch.undo()
    offers.is_there.cache_clear()
    command.done("add", "a.txt")
