"""Texts whose numbers differ or do not count, and bags: against multisets of Python."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import oracles
import pytest
from direct_command import command as command
from helpers import Command

import lshdb

ALL: dict[str, Any] = {"threshold": 0.3, "bands": 128, "rows": 1}
WORDS = ["act", "of", "may", "law", "town", "the", "and", "§4", "4", "12", "A4", "a4", "٣", "1.5"]


def texts(seed: int) -> dict[str, str]:
    rng = random.Random(seed)
    made: dict[str, str] = {}
    for number in range(60):
        words = rng.choices(WORDS, k=10) if number % 3 == 0 else made[f"t{number - 1}"].split()
        words[rng.randrange(len(words))] = rng.choice(WORDS)
        made[f"t{number}"] = " ".join(words)
    return made


def similarities(found: dict[str, str]) -> dict[tuple[str, str], float]:
    sets = {key: set(oracles.word_shingles(text, 3)) for key, text in found.items()}
    scores = {(a, b): oracles.jaccard(sets[a], sets[b]) for a, b in combinations(found, 2)}
    return {pair: score for pair, score in scores.items() if score >= 0.3}


def test_texts_whose_numbers_differ_are_not_similar(tmp_path: Path) -> None:
    made = texts(1)
    numbers = {key: Counter(re.findall(r"\w*\d\w*", text.casefold())) for key, text in made.items()}
    every = similarities(made)
    expected = {(a, b): s for (a, b), s in every.items() if numbers[a] == numbers[b]}
    assert 5 < len(expected) < len(every) - 5
    rows = [{"id": key, "text": text} for key, text in made.items()]
    with lshdb.open(tmp_path / "a.db", **ALL) as db:
        db.add_many(made.items())
        pairs = {(p.a, p.b): p.similarity for p in db.pairs(distinguish="numbers")}
        assert pairs == expected
        alike = {key: {b if a == key else a for a, b in expected if key in (a, b)} for key in made}
        for key, others in alike.items():
            for options in ({}, {"containment": True}, {"exhaustive": True}):
                asked: dict[str, Any] = {"key": key, "distinguish": "numbers", **options}
                found = {match.key for match in db.query(**asked)}
                assert found == others if "containment" not in options else found >= others
                assert all(numbers[other] == numbers[key] for other in found)
        clusters = {frozenset(one.members) for one in db.clusters(distinguish="numbers")}
        assert clusters == oracles.connected(expected)
        with pytest.raises(lshdb.UsageError, match="give no estimate"):
            db.query(key="t0", distinguish="numbers", estimate=True)
    result = lshdb.dedup(rows, **ALL, distinguish="numbers", workers=0)
    kept = list[str]()
    for key in made:
        if not alike[key] & {*kept}:
            kept.append(key)
    assert [row["id"] for row in result.kept] == kept
    with lshdb.open(tmp_path / "sets.db", shingle="set") as db:
        db.add_many([("a", {"b"}), ("c", {"b"})])
        with pytest.raises(lshdb.UsageError, match="keeps no texts"):
            list(db.pairs(distinguish="numbers"))


@pytest.mark.parametrize("shingle", ["word:3", "char:5"])
def test_digits_that_are_ignored_are_all_the_same(tmp_path: Path, shingle: str) -> None:
    made = texts(2)
    plain = {key: re.sub(r"\d", "0", text) for key, text in made.items()}
    common: dict[str, Any] = {**ALL, "shingle": shingle, "passages": 4, "seed": 3}
    results = []
    for name, given, ignoring in (("a", made, "numbers"), ("b", plain, None)):
        asked: dict[str, Any] = {**common, "ignoring": ignoring}
        with lshdb.open(tmp_path / f"{name}.db", **asked) as db:
            assert str(db.settings.shingling).endswith("-numbers") == (ignoring is not None)
            db.add_many(given.items())
            pairs = [(p.a, p.b, p.similarity) for p in db.pairs()]
            copied = [(p.a, p.b, p.words) for p in db.passage_pairs(common=1000)]
            found = [(m.key, m.similarity) for m in db.query(given["t3"])]
            results.append((pairs, copied, found))
            assert db.get("t3").content == given["t3"]
        assert not lshdb.check(tmp_path / f"{name}.db", deep=True).remaining
    assert results[0] == results[1]
    assert len(results[0][0]) > len(similarities(made))
    with pytest.raises(lshdb.SettingsMismatch, match=f"not {shingle}-numbers"):
        lshdb.open(tmp_path / "b.db", ignoring="numbers")
    lshdb.open(tmp_path / "a.db", ignoring="numbers").close()
    with pytest.raises(lshdb.SettingsError, match="numbers are ignored in texts"):
        lshdb.open(tmp_path / "c.db", shingle="code:3", ignoring="numbers")


def test_bags_are_compared_by_their_counts(command: Command) -> None:
    rng = random.Random(5)
    bags: dict[str, dict[str, int]] = {}
    for number in range(30):
        bag = dict(bags[f"b{number - 1}"]) if number % 3 else {}
        for _ in range(2 if bag else 6):
            bag[rng.choice(["film", "play", "film×2", "Opéra", "x"])] = rng.choice([0, 1, 2, 5, 40])
        bags[f"b{number}"] = bag
    counts = {key: Counter(bag) for key, bag in bags.items()}
    expected = {}
    for a, b in combinations(bags, 2):
        smaller, larger = counts[a] & counts[b], counts[a] | counts[b]
        if larger.total() and smaller.total() / larger.total() >= 0.3:
            expected[a, b] = smaller.total() / larger.total()
    rows = "".join(json.dumps({"id": key, "bag": bag}) + "\n" for key, bag in bags.items())
    command.write("bags.jsonl", rows)
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
    with pytest.raises(lshdb.SettingsMismatch):
        lshdb.open(command.path("lsh.db"), shingle="set")
