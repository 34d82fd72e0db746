"""Rows of a set and an element, such as ratings, become the sets."""

from __future__ import annotations

import json
import random
from pathlib import Path

import inspection
import pytest
from helpers import Command
from rows import as_file

import lshdb

LIKED: dict[int, set[int]] = {
    user: {(user // 3 * 7 + n * n) % 50 for n in range(3 + user % 9)} for user in range(1, 80)
}
ROWS = [(user, film, 3.5) for user, films in LIKED.items() for film in films for _ in "ab"]
random.Random(7).shuffle(ROWS)
DICTS = [dict(zip(("user", "film", "stars"), row, strict=True)) for row in ROWS]
EXPECTED = {str(user): sorted(map(str, films)) for user, films in LIKED.items()}


def sets_in(path: Path) -> dict[str, list[str]]:
    """The sets of a file, in the order of addition."""
    found = inspection.rows(path, "SELECT key, content FROM documents ORDER BY doc_id")
    return {str(key): json.loads(str(content)) for key, content in found}


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_each_user_is_a_set_whatever_the_order_of_rows(tmp_path: Path, suffix: str) -> None:
    (path := tmp_path / f"ratings.{suffix}").write_bytes(as_file(path.name, DICTS))
    with lshdb.open(tmp_path / "films.db", purpose="baskets") as database:
        report = database.add_files([str(path)], set_key="user", set_item="film")
        assert (report.added, report.failed) == (len(LIKED), 0)

    found = sets_in(tmp_path / "films.db")
    assert found == EXPECTED
    assert list(found) == list(dict.fromkeys(str(user) for user, *_ in ROWS))
    inspection.check(tmp_path / "films.db")


@pytest.mark.app("tables")
def test_the_rows_of_a_frame(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(DICTS).astype({"film": object})
    frame.loc[0, "film"] = "a text among numbers"  # the row of this film comes twice
    with lshdb.open(tmp_path / "films.db", purpose="baskets") as database:
        report = database.add_table(frame, set_key="user", set_item="film")
    assert report.added == len(LIKED)
    first = str(ROWS[0][0])
    expected = {**EXPECTED, first: sorted([*EXPECTED[first], "a text among numbers"])}
    assert sets_in(tmp_path / "films.db") == expected


def test_rows_without_a_user_or_a_film_are_named(command: Command) -> None:
    command.write("a.csv", "user,film\nann,Alien\n,Alien\nann,\nbob,Dune\n")
    wrong = [{"user": "ann"}, {"user": 1, "film": 2}, {"user": "1", "film": None}]
    command.write("b.jsonl", [{"user": "ann", "film": 7}, *wrong])
    command.write("c.jsonl", [{"user": "1", "film": 2}])
    command.done("init", "--for", "baskets")
    done = command("add", "a.csv", "b.jsonl", "c.jsonl", "--set-key", "user", "--set-item", "film")
    assert done.status == 1
    assert done.err.splitlines() == [
        "lshdb: a.csv:3: field 'user' is empty",
        "lshdb: a.csv:4: field 'film' is empty",
        "lshdb: b.jsonl:2: no field 'film': name it with --set-item",
        "lshdb: b.jsonl:4: field 'film' is null, and no element of a set",
        "added 3, updated 0, unchanged 0, failed 4",
    ]
    assert sets_in(command.path("lsh.db")) == {
        "ann": ["7", "Alien"],
        "bob": ["Dune"],
        "1": ["2"],
    }


def test_what_makes_no_sense_is_one_line(command: Command) -> None:
    command.write("a.csv", "user,film\nann,Alien\n")
    both = ["add", "a.csv", "--set-key", "user", "--set-item", "film"]
    assert "this database holds texts (shingle word:3)" in command.fails(*both, status=2)
    command.done("init", "-d", "sets.db", "--for", "baskets")
    both += ["-d", "sets.db"]
    assert "auto_key is for rows that are documents" in command.fails(*both, "--auto-key", status=2)
    assert "go together" in command.fails(*both[:4], *both[6:], status=2)
