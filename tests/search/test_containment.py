"""query by containment: a quotation is found in a longer document, and ranked by its share."""

from __future__ import annotations

import json
import random
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from helpers import Command, set_families, text_families
from oracles import jaccard, word_shingles

import lshdb
from lshdb.model import Match
from lshdb.search import query

FAMILIES = set_families(3, families=10, copies=5, size=30)
EXTENDED = {
    f"{key}+{more}": [*elements, *(f"{key} {i}" for i in range(more))]
    for key, elements in list(FAMILIES.items())[::6]
    for more in (0, 20, 200)
}
SETS = {**FAMILIES, **EXTENDED, "empty": []}


@pytest.fixture
def filled(path: Path) -> Path:
    """A database of the SETS, at threshold 0.6."""
    with lshdb.open(path, threshold=0.6, shingle="set") as db:
        db.add_many(SETS.items())
    return path


def brute_force(query: Collection[str], threshold: float) -> dict[str, tuple[float, float]]:
    """The containment and the similarity of every stored set that holds enough of a query."""
    own = set(query)
    shares = {key: len(own & set(held)) / len(own) for key, held in SETS.items()}
    return {
        key: (share, jaccard(own, set(SETS[key])))
        for key, share in shares.items()
        if share >= threshold
    }


def scores(matches: list[Match]) -> dict[str, tuple[float | None, float]]:
    return {match.key: (match.containment, match.similarity) for match in matches}


@pytest.mark.parametrize("threshold", [0.3, 0.6, 1])
def test_an_exhaustive_query_finds_what_brute_force_finds(filled: Path, threshold: float) -> None:
    rng = random.Random(1)
    with lshdb.open(filled) as db:
        ids = {key: db.get(key).doc_id for key in SETS}
        for elements in list(SETS.values())[:-1:4]:
            query = rng.sample(elements, max(1, len(elements) // 2))
            how: Any = {"exhaustive": True, "containment": True}
            matches = db.query(query, threshold=threshold, **how)
            assert scores(matches) == brute_force(query, threshold)
            assert all(match.exact for match in matches)
            assert matches == sorted(
                matches, key=lambda m: (-(m.containment or 0), -m.similarity, ids[m.key])
            )
            assert db.query(query, threshold=threshold, top=3, **how) == matches[:3]
            found = db.query(query, threshold=threshold, containment=True)
            assert found == [match for match in matches if match.bands]


def test_the_threshold_is_the_databases_own_unless_given(filled: Path) -> None:
    query = SETS["0/base"][:10]
    with lshdb.open(filled) as db:
        matches = db.query(query, containment=True, exhaustive=True)
        assert scores(matches) == brute_force(query, 0.6)
        assert matches
        assert all(m.similarity < 0.6 for m in matches), "none would be found by similarity"
        assert db.query(query, exhaustive=True) == []


def test_a_quotation_is_found_in_a_long_text(path: Path) -> None:
    texts = text_families(4, families=3, copies=2, words=400, most_edits=3)
    quoted = " ".join(texts["1/base"].split()[100:160])
    with lshdb.open(path) as db:
        db.add_many(texts.items())
        matches = db.query(quoted.upper(), containment=True, exhaustive=True, threshold=0.9)
        assert {match.key for match in matches} <= {"1/base", "1/0", "1/1"}
        (base,) = (match for match in matches if match.key == "1/base")
        assert base.containment == 1
        own, whole = (set(word_shingles(text, 3)) for text in (quoted, texts["1/base"]))
        assert base.similarity == jaccard(own, whole)
        by_key = db.query(key="1/base", containment=True)
        assert {match.key for match in by_key} == {"1/0", "1/1"}
        assert db.query("", containment=True, exhaustive=True) == []


def test_with_an_index_of_passages_a_quotation_is_found_surely(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = text_families(4, families=3, copies=2, words=4_000, most_edits=3)
    quoted = " ".join(texts["1/base"].split()[100:160])
    how: Any = {"containment": True, "threshold": 0.9}
    with lshdb.open(path) as db:
        db.add_many([*texts.items(), ("quoted", quoted)])
        assert [one.key for one in db.query(quoted, **how)] == ["quoted"]
        db.reindex(passages=8)
        all_of_it = db.query(quoted, exhaustive=True, **how)
        assert len(all_of_it) > 3
        found = db.query(quoted, **how)
        assert found == all_of_it
        assert db.query(quoted, top=2, **how) == found[:2]
        assert next(db.query_many([("one", quoted)], **how)) == ("one", found)
        assert db.query(key="quoted", **how) == found[1:]
        assert [m.key for m in db.query(quoted, where="key = '1/base'", **how)] == ["1/base"]
        assert len(db.query(quoted, threshold=0.9)) == 1, "by similarity as before"
        monkeypatch.setattr(query, "QUERY_FIRST", 1)
        with pytest.warns(lshdb.LimitWarning, match="runs of 8 words of the query"):
            db.query(quoted, **how)


def test_shingles_that_repeat_count_once(path: Path) -> None:
    """Also where a text is far longer than the number of its distinct shingles suggests."""
    with lshdb.open(path, threshold=0.9, shingle="word:1") as db:
        db.add("long", "to be or not to be " * 200)
        db.add("short", "to be")
        for query in ("be or not to be", "to be or not " * 50):
            matches = db.query(query, containment=True)
            assert [(m.key, m.containment, m.similarity) for m in matches] == [("long", 1, 1)]
        matches = db.query("to be to be", containment=True, threshold=0.5, exhaustive=True)
        assert scores(matches) == {"short": (1, 1), "long": (1, 0.5)}


@pytest.mark.parametrize("content", [True, False])
def test_an_estimated_containment_says_so_and_is_about_right(path: Path, content: bool) -> None:
    rng = random.Random(2)
    off = []
    with lshdb.open(path, threshold=0.3, shingle="set", content=content) as db:
        db.add_many(SETS.items())
        for elements in FAMILIES.values():
            query = rng.sample(elements, len(elements) * 2 // 3)
            true = brute_force(query, 0.0)
            for match in db.query(query, containment=True, estimate=content, exhaustive=True):
                assert not match.exact
                assert match.similarity == match.estimate
                assert match.containment is not None
                assert 0.3 <= match.containment <= 1
                off.append(match.containment - true[match.key][0])
        by_key = db.query(key="0/base", containment=True, estimate=content)
        assert not any(match.exact for match in by_key)
        assert by_key
    assert len(off) > 100
    assert abs(sum(off) / len(off)) < 0.03
    assert sum(error**2 for error in off) / len(off) < 0.1**2


def test_a_match_has_no_containment_unless_asked(filled: Path) -> None:
    with lshdb.open(filled) as db:
        matches = db.query(key="0/base")
        assert matches
        assert all(match.containment is None for match in matches)


# the command


def test_the_command_ranks_by_containment_and_says_what_it_may_miss(tmp_path: Path) -> None:
    command = Command(tmp_path)
    command.done("init", "--shingle", "set", "--bands", "20", "--rows", "2", "--threshold", "0.6")
    lines = [
        {"id": "whole", "set": list(range(40))},
        {"id": "most", "set": [*range(8), "x"]},
        {"id": "none", "set": ["y"]},
    ]
    command.done("add", "-", stdin="\n".join(map(json.dumps, lines)))
    asked = ("query", "-", "--containment")
    query = json.dumps(list(range(10)))
    exhaustive = command.done(*asked, "--exhaustive", stdin=query, says="")
    assert exhaustive.out == "1.000000\t0.250000\texact\twhole\n0.800000\t0.727273\texact\tmost\n"
    result = command.done(*asked, stdin=query)
    similarities = [0.6 / (1 + times - 0.6) for times in (1, 2, 5, 10)]
    found = [1 - (1 - s**2) ** 20 for s in similarities]
    assert result.err == (
        f"a document that holds 0.6 of the query's shingles is found with probability "
        f"{found[0]:.1%} if it is as long as the query, {found[1]:.1%} if 2 times, {found[2]:.1%} "
        f"if 5 times, {found[3]:.1%} if 10 times as long; --exhaustive finds all\n"
    )
    assert set(result.lines) <= set(exhaustive.lines)
    records = command.done(*asked, "--exhaustive", "--json", "--top", "1", stdin=query).records
    (record,) = records
    assert list(record) == [
        "key",
        "similarity",
        "exact",
        "estimate",
        "bands",
        "containment",
        "identical",
    ]
    assert (record["key"], record["containment"], record["similarity"]) == ("whole", 1, 0.25)
    (plain,) = command.done("query", "-", "--json", stdin=json.dumps([*range(8), "x"])).records
    assert "containment" not in plain
    nothing = command.done(*asked, "--exhaustive", stdin='["z"]')
    assert nothing.err == "no document with containment 0.6 or more\n"
    shown, _ = command.on_terminal(*asked, "--exhaustive", "--key", "most", stdin=b"")
    assert "give one of" in shown
    shown, _ = command.on_terminal("query", "--containment", "--exhaustive", "--key", "most")
    heading, _, row = [line.split() for line in uncoloured(shown).splitlines() if line.strip()]
    assert (heading, row) == (["containment", "similarity", "key"], ["0.8889", "0.1951", "whole"])


def uncoloured(shown: str) -> str:
    for code in ("\x1b[1m", "\x1b[0m"):
        shown = shown.replace(code, "")
    return shown


def test_the_command_says_what_an_index_of_passages_finds(command: Command) -> None:
    command.done("init", "--passages", "8")
    command.done("add", "-", stdin=json.dumps({"id": "one", "text": "a b c d e f g h i"}))
    done = command("query", "--containment", "--text", "a b c d e f g h")
    assert done.lines[0].startswith("1.000000")
    assert "documents that hold 8 or more words of the query in a row are found" in done.err
    assert "probability" not in done.err
