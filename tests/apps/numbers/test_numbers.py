"""Texts whose numbers differ, against multisets of Python."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import oracles
import pytest
from helpers import database_of

import lshdb
from lshdb.apps.numbers.numbers import numbers_of
from lshdb.offers import is_there

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


@pytest.mark.parametrize(
    ("text", "other", "are_the_same"),
    [
        ("at -5", "at 5", False),
        ("at \u22125", "at –5", True),
        ("x=-$5", "x=$5", False),
        ("1.10", "10.1", False),
        (".5", "5", False),
        ("1e-5", "1e+5", False),
        ("01/02", "02/01", False),
        ("2024-01-31", "2024/01/31", True),
        ("3:1", "1:3", False),
        ("COVID-19", "Covid 19", True),
        ("wait...5 or 6.", "wait... 5 or 6", True),
        ("٣٫١٢", "3.12", True),
        ("１２", "12", True),
        ("10²", "102", False),
        ("½", "⅓", False),
        ("气温-3度", "气温是3度", False),
        ("第3条", "即第3条", True),
        ("e\u03015", "\u00e95", True),
    ],
)
def test_numbers_are_compared_as_they_are_written(
    text: str, other: str, are_the_same: bool
) -> None:
    assert (numbers_of(text) == numbers_of(other)) == are_the_same


def test_numbers_are_found_in_linear_time() -> None:
    for hostile in ("a", "-", "1.", "a1", "1e-", "中"):
        numbers_of(hostile * 200_000)


def test_texts_whose_numbers_differ_are_not_similar(tmp_path: Path) -> None:
    made, how = texts(1), {"distinguish": "numbers"}
    numbers = {
        key: ",".join(NUMBERS[word] for word in text.split() if word in NUMBERS)
        for key, text in made.items()
    }
    sets = {key: {*oracles.word_shingles(text, 3)} for key, text in made.items()}
    every = {tuple(sorted(pair)): s for pair, s in oracles.similar_pairs(sets, 0.3).items()}
    similar = {(a, b): s for (a, b), s in every.items() if numbers[a] == numbers[b]}
    assert 5 < len(similar) < len(every) - 5
    alike = {key: {a if b == key else b for a, b in similar if key in (a, b)} for key in made}
    with database_of(tmp_path / "a.db", made, **ALL) as db:
        pairs: Any = db.pairs(**how)  # type: ignore[call-overload]
        assert {tuple(sorted((p.a, p.b))): p.similarity for p in pairs} == similar
        for key, others in alike.items():
            for options in ({}, {"containment": True}, {"exhaustive": True}):
                asked: dict[str, Any] = {"key": key, **how, **options}
                found = {match.key for match in db.query(**asked)}
                assert found == others if "containment" not in options else found >= others
                assert all(numbers[other] == numbers[key] for other in found)
        with pytest.raises(lshdb.UsageError, match="give no estimate"):
            db.query(key="t0", distinguish="numbers", estimate=True)
    kept = list[str]()
    for key in made:
        if not alike[key] & {*kept}:
            kept.append(key)
    rows = [{"id": key, "text": text} for key, text in made.items()]
    if is_there("frames"):
        result = lshdb.dedup(rows, **ALL, distinguish="numbers", workers=0)
        assert [row["id"] for row in result.kept] == kept
    with (
        database_of(tmp_path / "sets.db", {"a": ["b"], "c": ["b"]}, shingle="set") as db,
        pytest.raises(lshdb.UsageError, match="keeps no texts"),
    ):
        list(db.pairs(distinguish="numbers"))
