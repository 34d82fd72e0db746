"""Texts whose numbers or marks do not count, and bags: against multisets of Python."""

from __future__ import annotations

import random
import re
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import pytest
from extras import if_there
from helpers import Command, database_of

import lshdb

ALL: dict[str, Any] = {"threshold": 0.3, "recall": 0.9999999}
SIGNED = ["12", "3", "1.5", "5.1", "-4"]
NUMBERS = {**{word: word for word in SIGNED}, "§4": "4", "4": "4", "A4": "a4", "a4": "a4"}
NUMBERS |= {"\u0663": "3", "\u22124": "-4", "3:1": "3,1"}
"""The numbers of words."""
WORDS = ["act", "of", "may", "law", "town", "the", "and", *NUMBERS]


def texts(seed: int) -> dict[str, str]:
    rng = random.Random(seed)
    made: dict[str, str] = {}
    for number in range(60):
        words = rng.choices(WORDS, k=10) if number % 3 == 0 else made[f"t{number - 1}"].split()
        if number % 2:  # other words in a row, or other numbers
            words[4:6] = reversed(words[4:6])
        else:
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
    made = texts(2)
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


def test_bags_are_compared_by_their_counts(command: Command) -> None:
    rng = random.Random(5)
    bags: dict[str, Counter[str]] = {}
    for number in range(30):
        bag = Counter(bags[f"b{number - 1}"]) if number % 3 else Counter[str]()
        for _ in range(2 if bag else 6):
            bag[rng.choice(["film", "play", "film×2", "Opéra", "x"])] = rng.choice([0, 1, 2, 5, 40])
        bags[f"b{number}"] = bag
    expected = {}
    for a, b in combinations(bags, 2):
        smaller, larger = (bags[a] & bags[b]).total(), (bags[a] | bags[b]).total()
        if larger and smaller / larger >= 0.3:
            expected[a, b] = smaller / larger
    command.write("bags.jsonl", [{"id": key, "bag": bag} for key, bag in bags.items()])
    settings = ["--shingle", "bag", "--threshold", "0.3", "--bands", "128", "--rows", "1"]
    command.done("init", *settings)
    command.done("add", "bags.jsonl")
    with lshdb.open(command.path("lsh.db"), shingle="bag") as db:
        assert {(p.a, p.b): p.similarity for p in db.pairs()} == expected
        db.add("again", bags["b4"])
        assert any(m.key == "again" and m.identical for m in db.query(key="b4"))
        for count in (-1, 1.5, 1001, "2", None):
            with pytest.raises(lshdb.ContentError, match="counts are whole numbers"):
                db.add("bad", {"film": count})
        with pytest.raises(lshdb.ContentError, match="too many copies"):
            db.add("bad", {"x" * 100_000 + str(n): 1000 for n in range(10)})
