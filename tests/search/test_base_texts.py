"""What base texts have counts nowhere: the sets of shingles are those without theirs."""

from __future__ import annotations

import math
import random
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import inspection
import oracles
import pytest
from extras import if_there
from helpers import Command, database_of, shingle

import lshdb
from lshdb.errors import SettingsError, SettingsMismatch
from lshdb.offers import is_there
from lshdb.text.shingling import Shingling

RUN, LOW = 6, 0.3
ALL: dict[str, Any] = {"recall": 0.9999999, "threshold": LOW}
"""A pair of this similarity is a candidate but once in ten million."""
DRAW = random.Random(7)
WORDS = [f"word{number}" for number in range(80)]
BEGIN = DRAW.choices(WORDS, k=60)
QUOTED = [DRAW.choices(WORDS, k=12) for _ in range(6)]
TEMPLATE = " ".join(BEGIN)
BASE: dict[str, Any] = {"base": {"task": TEMPLATE}}
TEXTS = {"nothing": TEMPLATE, "shuffled": " ".join(BEGIN[30:] + BEGIN[:30])}
"""Texts that begin with a template; some change it, one is nothing else."""
for number in range(14):
    words = [*BEGIN[: DRAW.choice((20, 60))], *DRAW.choices(WORDS, k=DRAW.randrange(20))]
    words[DRAW.randrange(20)] = DRAW.choice(WORDS)
    TEXTS[f"d{number}"] = " ".join([*words, *DRAW.choice(QUOTED), *DRAW.choice(QUOTED)])
ROWS = [{"id": key, "text": text} for key, text in TEXTS.items()]


@pytest.mark.parametrize(("kind", "size"), [("word", 3), ("char", 5)])
def test_answers_are_those_of_sets_without_the_base(path: Path, kind: str, size: int) -> None:
    how: dict[str, Any] = {"shingle": f"{kind}:{size}", **BASE, **ALL}
    sets = {key: oracles.counting(text, TEMPLATE, kind, size) for key, text in TEXTS.items()}
    with database_of(path, TEXTS, **how) as db:
        pairs = {frozenset((pair.a, pair.b)): pair.similarity for pair in db.pairs()}
        assert pairs == pytest.approx(oracles.similar_pairs(sets, LOW))
        for a, b in islice(combinations(TEXTS, 2), 20 * is_there("compare")):
            compared = db.compare(a, b)
            found = compared.shared, compared.union
            assert found == (len(sets[a] & sets[b]), len(sets[a] | sets[b]))
        text = f"{TEMPLATE} and {TEXTS['d3'][-80:]}"
        query = oracles.counting(text, TEMPLATE, kind, size)
        scores = {key: oracles.jaccard(query, stored) for key, stored in sets.items()}
        similar = {key: score for key, score in scores.items() if score >= LOW}
        matches = db.query(text, exhaustive=True, threshold=LOW)
        assert {match.key: match.similarity for match in matches} == pytest.approx(similar)
    if is_there("frames"):
        decided = oracles.deduplicated(sets, TEXTS, LOW)
        dropped = {row.key for row in lshdb.dedup(ROWS, **how).dropped}
        assert dropped == {key for key, why in decided.items() if why}


def in_base(words: list[str]) -> set[int]:
    """The words that are in runs that the base text has."""
    windows = {tuple(BEGIN[i : i + RUN]) for i in range(len(BEGIN) - RUN + 1)}
    runs = [i for i in range(len(words) - RUN + 1) if tuple(words[i : i + RUN]) in windows]
    return {index for i in runs for index in range(i, i + RUN)}


@pytest.mark.app("passages", "frames")
def test_passages_and_weights_are_those_without_the_base(tmp_path: Path) -> None:
    size = math.ceil(5 * RUN / 8)
    gone = {value >> 16 for value in oracles.shingle_hashes(TEMPLATE, "word", size, 1)}
    prints = {
        key: {*oracles.fingerprints(text, "word", RUN, 1)} - gone for key, text in TEXTS.items()
    }
    with (
        database_of(tmp_path / "base.db", TEXTS, passages=RUN, **BASE, **ALL) as db,
        database_of(tmp_path / "none.db", TEXTS, passages=RUN, **ALL) as plain,
    ):
        pairs, asked = [*db.passage_pairs()], [*plain.passage_pairs(base=[TEMPLATE])]
        assert [(p.a, p.b, p.passages) for p in pairs] == [(p.a, p.b, p.passages) for p in asked]
        assert 10 < len(pairs) < len([*plain.passage_pairs()])
        for pair in pairs:
            weighted = oracles.weighted(prints[pair.a], prints[pair.b], [*prints.values()])
            assert (pair.weighted, pair.weighted_share) == pytest.approx(weighted)
            left = in_base(TEXTS[pair.a].split())
            for passage in pair.passages:
                first = len(TEXTS[pair.a][: passage.start].split())
                assert not left & {*range(first, first + passage.words)}
            found = {source.key: source.passages for source in db.passages(key=pair.a)}
            assert found[pair.b] == pair.passages
        assert not db.passages(TEMPLATE).sources
    dropped = lshdb.dedup(ROWS, rule=f"copied:{RUN}", **BASE).dropped
    assert "shuffled" not in {row.key for row in dropped}


def test_programs_and_large_texts() -> None:
    """Also cut into pieces."""
    task = "def solve(a, b):\n    while a < b:\n        a += len(b[a])\n    return a\n"
    text = f"import sys\n{task}\nprint([solve(x, 1) for x in sys.argv if x], 'none')\n{task}"
    for name in (*["code:6"] * is_there("programs"), "word:3", "char:9"):
        plain = Shingling.parse(name)
        whole, of_task = ({*shingle([part], plain, 1).hashes.tolist()} for part in (text, task))
        left = whole - of_task
        assert 0 < len(left) < len(whole)
        base = plain.without([task])
        for block in (0, 16):
            assert {*shingle([text], base, 1, block).hashes.tolist()} == left


def test_a_reindexed_file_is_as_if_made_with_the_base(tmp_path: Path, path: Path) -> None:
    others, made = if_there("passages", reworded=True, passages=RUN), tmp_path / "made.db"
    database_of(made, TEXTS, **BASE, **others).close()
    with database_of(path, TEXTS, **others) as db:
        before = inspection.contents(path)
        assert db.reindex(**BASE).after.shingling.base == (("task", TEMPLATE),)
        assert inspection.contents(path) == inspection.contents(made)
        inspection.check(path)
        assert db.reindex(**BASE).rows == 0
        db.reindex(base={})
        assert inspection.contents(path) == before


def test_other_base_texts_are_other_settings(tmp_path: Path, path: Path) -> None:
    database_of(path, TEXTS, **BASE).close()
    lshdb.open(path, **BASE).close()
    with pytest.raises(SettingsMismatch, match="other base texts"):
        lshdb.open(path, base={})
    if is_there("frames"):
        with pytest.raises(SettingsMismatch, match="other base texts"):
            lshdb.dedup(ROWS, against=path, base={})
    for base, shingle_ in (({"task": " "}, "word:3"), ({"task": "a"}, "set")):
        with pytest.raises(SettingsError, match="base"):
            lshdb.open(tmp_path / "new.db", base=base, shingle=shingle_)
    assert not (tmp_path / "new.db").exists()


@pytest.mark.app("passages")
def test_the_commands(command: Command) -> None:
    command.write("task/a.txt", TEMPLATE)
    command.write("task/.hidden", TEXTS["d1"])
    for key in ("nothing", "d1", "d2"):
        command.write(f"class/{key}.txt", TEXTS[key])
    command.done("init", "--base", "task")
    command.done("add", "class")
    info = command.done("info", "--json").record
    assert (info["base"], info["empty"]) == (["task/a.txt"], 1)
    if is_there("compare"):
        assert "task/a.txt\n" in command.done("compare", "class/d1.txt", "class/d2.txt").out
    command.done("reindex", "--base", "none")
    assert command.done("info", "--json").record["base"] == []
    command.done("reindex", "--base", "task", "--base", "class/d1.txt")
    assert command.done("info", "--json").record["empty"] == 2
    command.path("empty").mkdir()
    for name, reason in (("gone", "no such file"), ("empty", "no text is there")):
        assert reason in command.fails("init", "-d", "new.db", "--base", name)
    assert not command.path("new.db").exists()
    # Rows of one key are all base texts.
    command.write("base.jsonl", [{"id": "t", "text": text} for text in ("a first task", "other")])
    command.done("init", "-d", "b.db", "--base", "base.jsonl")
    found = command.rows("SELECT content FROM base_texts", "b.db")
    assert found == [("a first task",), ("other",)]
