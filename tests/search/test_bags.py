"""Bags, against multisets of Python."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import pytest
from helpers import Command

import lshdb


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
        for count in (-1, 1.5, 1001, "2", None, True):
            with pytest.raises(lshdb.ContentError, match="counts are whole numbers"):
                db.add("bad", {"film": count})
        db.add("copies", ["film×1", "film×2"])
        with pytest.raises(lshdb.ContentError, match="a bag is an object with counts"):
            db.add("bad", ["film", "film"])
        with pytest.raises(lshdb.ContentError, match="too many copies"):
            db.add("bad", {"x" * 100_000 + str(n): 1000 for n in range(10)})
