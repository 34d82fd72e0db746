"""query by containment: a quotation is found in a longer document, and ranked by its share."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from direct_command import command as command
from helpers import Command, database_of, set_families, text_families
from oracles import jaccard, word_shingles

import lshdb
from lshdb import Limits


def test_a_quotation_is_found_in_a_long_text(path: Path) -> None:
    texts = text_families(4, families=3, copies=2, words=400, most_edits=3)
    quoted = " ".join(texts["1/base"].split()[100:160])
    with database_of(path, texts) as db:
        matches = db.query(quoted.upper(), containment=True, exhaustive=True, threshold=0.9)
        assert {match.key for match in matches} <= {"1/base", "1/0", "1/1"}
        (base,) = (match for match in matches if match.key == "1/base")
        assert base.containment == 1
        own, whole = (set(word_shingles(text, 3)) for text in (quoted, texts["1/base"]))
        assert base.similarity == jaccard(own, whole)
        by_key = db.query(key="1/base", containment=True)
        assert {match.key for match in by_key} == {"1/0", "1/1"}
        assert db.query("", containment=True, exhaustive=True) == []


def test_with_an_index_of_passages_a_quotation_is_found_surely(path: Path) -> None:
    texts = text_families(4, families=3, copies=2, words=4_000, most_edits=3)
    quoted = " ".join(texts["1/base"].split()[100:160])
    how: Any = {"containment": True, "threshold": 0.9}
    with database_of(path, [*texts.items(), ("quoted", quoted)]) as db:
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
    with (
        lshdb.open(path, limits=Limits(query_first=1)) as db,
        pytest.warns(lshdb.LimitWarning, match="runs of 8 words of the query"),
    ):
        db.query(quoted, **how)


def test_shingles_that_repeat_count_once(path: Path) -> None:
    """Also where a text is far longer than the number of its distinct shingles suggests."""
    with database_of(
        path,
        [("long", "to be or not to be " * 200), ("short", "to be")],
        threshold=0.9,
        shingle="word:1",
    ) as db:
        for query in ("be or not to be", "to be or not " * 50):
            matches = db.query(query, containment=True)
            assert [(m.key, m.containment, m.similarity) for m in matches] == [("long", 1, 1)]


@pytest.mark.parametrize("content", [True, False])
def test_an_estimated_containment_says_so_and_is_about_right(path: Path, content: bool) -> None:
    rng = random.Random(2)
    sets = set_families(3, families=10, copies=5, size=30)
    off = []
    how: Any = {"containment": True, "estimate": content}
    with database_of(path, sets, threshold=0.3, shingle="set", content=content) as db:
        for elements in sets.values():
            query = rng.sample(elements, len(elements) * 2 // 3)
            for match in db.query(query, exhaustive=True, **how):
                assert not match.exact
                assert match.similarity == match.estimate
                assert match.containment is not None
                assert 0.3 <= match.containment <= 1
                true = len(set(query) & set(sets[match.key])) / len(query)
                off.append(match.containment - true)
        assert db.query(key="0/base", **how)
    assert len(off) > 100
    assert abs(sum(off) / len(off)) < 0.03
    assert sum(error**2 for error in off) / len(off) < 0.1**2


# the command


def test_the_command_ranks_by_containment_and_says_what_it_may_miss(command: Command) -> None:
    command.done("init", "--shingle", "set", "--bands", "20", "--rows", "2", "--threshold", "0.6")
    sets = {"whole": list(range(40)), "most": [*range(8), "x"], "none": ["y"]}
    lines = [json.dumps({"id": key, "set": own}) for key, own in sets.items()]
    command.done("add", "-", stdin="\n".join(lines))
    asked = ("query", "-", "--containment")
    query = json.dumps(list(range(10)))
    exhaustive = command.done(*asked, "--exhaustive", stdin=query, says="")
    assert exhaustive.out == "1.000000\t0.250000\texact\twhole\n0.800000\t0.727273\texact\tmost\n"
    result = command.done(*asked, stdin=query)
    assert set(result.lines) <= set(exhaustive.lines)
    found = [1 - (1 - (0.6 / (0.4 + times)) ** 2) ** 20 for times in (1, 2, 5)]
    assert re.findall(r"[0-9.]+%", result.err) == [f"{one:.1%}" for one in found]
    nothing = command.done(*asked, "--exhaustive", stdin='["z"]')
    assert nothing.err == "no document with containment 0.6 or more\n"


def test_the_command_says_what_an_index_of_passages_finds(command: Command) -> None:
    command.done("init", "--passages", "8")
    command.done("add", "-", stdin=json.dumps({"id": "one", "text": "a b c d e f g h i"}))
    done = command("query", "--containment", "--text", "a b c d e f g h")
    assert done.lines[0].startswith("1.000000")
    assert "documents that hold 8 or more words of the query in a row are found" in done.err
    assert "probability" not in done.err
