"""A key that repeats within one run with another text is counted; what was interrupted is, too."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from helpers import Command

import lshdb
from lshdb.limits import Limits
from lshdb.store import transactions

NOTE = "the last text of each key stays"
ADVICE = "--key-field names another field, --auto-key without it numbers rows"
Rows = list[tuple[str, str]]


def rows_of(seed: int, keys: int, count: int = 400) -> Rows:
    chosen = random.Random(seed)
    return [
        (f"key {chosen.randrange(keys)}", f"text {chosen.randrange(4)} of a few texts that are")
        for _ in range(count)
    ]


def repeated_in(rows: Rows) -> int:
    """How many rows take the place of another text of their key."""
    current, count = dict[str, str](), 0
    for key, text in rows:
        count += current.get(key, text) != text
        current[key] = text
    return count


SKIP = pytest.param("skip", marks=pytest.mark.app("dedup"))
TABLE = pytest.param("table", marks=pytest.mark.app("tables"))


def dicts_of(rows: Rows) -> list[dict[str, str]]:
    return [{"id": key, "text": text} for key, text in rows]


@pytest.mark.parametrize("door", ["pairs", "dicts", TABLE, "files", "files, signed", SKIP])
@pytest.mark.parametrize("batch", [7, 1000])
def test_repeated_keys_are_counted_across_batches(tmp_path: Path, door: str, batch: int) -> None:
    """Exactly, and only those of the same call."""
    first, second = rows_of(1, 60), rows_of(2, 90)

    def added(database: lshdb.Database, rows: Rows) -> lshdb.AddReport:
        options: dict[str, Any] = {"workers": 2 * (door == "files, signed")}
        if door == "skip":  # nothing is similar at 1 but equal texts
            options["on_similar"] = "skip"
            rows = [(key, f"{text} {number}") for number, (key, text) in enumerate(rows)]
            report = database.add_many(rows, **options)
            assert report.repeated == repeated_in(rows)
            return report
        if door == "pairs":
            return database.add_many(rows, **options)
        if door == "dicts":
            return database.add_many(iter(dicts_of(rows)), **options)
        if door == "table":
            return database.add_table(pa.Table.from_pylist(dicts_of(rows)), **options)
        path = tmp_path / "rows.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in dicts_of(rows)))
        return database.add_files([str(path)], **options)

    limits = Limits(batch_documents=batch, workers_from=1)
    with lshdb.open(tmp_path / "a.db", threshold=1.0, limits=limits) as database:
        for rows in (first, second, second):
            report = added(database, rows)
            if door != "skip":
                assert report.repeated == repeated_in(rows)
                assert report.documents == len(rows)


def test_the_command_names_what_repeats(command: Command) -> None:
    lines = [f"u{number % 3},another text of number {number}" for number in range(1000)]
    command.write("uc.csv", "\n".join(["user,text", *lines]))
    done = command.done("add", "uc.csv", "--key-field", "user")
    assert done.err.splitlines() == [
        "added 3, updated 997, unchanged 0, failed 0",
        f"repeated 997: {NOTE}; {ADVICE}",
    ]
    done = command.done("add", "-d", "other.db", "uc.csv", "--key-field", "user", "--json")
    assert done.record["repeated"] == 997
    done = command.done("add", "-d", "all.db", "uc.csv", "--auto-key")
    assert done.err == "added 1,000, updated 0, unchanged 0, failed 0\n"


@pytest.mark.app("merging")
def test_a_key_of_a_file_and_of_an_added_database_is_one_key(command: Command) -> None:
    command.write("a.jsonl", [{"id": "a", "text": "the fox and the grapes"}])
    command.write("b.jsonl", [{"id": "a", "text": "the ant and the dove"}])
    command.done("add", "-d", "other.db", "b.jsonl")
    done = command.done("add", "a.jsonl", "other.db")
    assert f"repeated 1: {NOTE}; {ADVICE}" in done.err
    assert "repeated" not in command.done("add", "other.db").err


@pytest.mark.parametrize("on_similar", ["keep", SKIP])
def test_an_interrupt_after_a_batch_is_in_the_file_counts_it(
    tmp_path: Path, on_similar: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """COMMIT is followed by work on the log, which takes time."""

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    def documents() -> Iterator[tuple[str, str]]:
        for number in range(100):
            if number == 30:
                monkeypatch.setattr(transactions, "log_size", interrupt)
            yield f"key {number}", f"{number} is a number that no other text has, {number} times"

    reports: list[lshdb.AddReport] = []
    with lshdb.open(tmp_path / "a.db", limits=Limits(batch_documents=10)) as database:
        with pytest.raises(KeyboardInterrupt):
            database.add_many(
                documents(), workers=0, on_similar=on_similar, on_batch=reports.append
            )
        monkeypatch.undo()
        assert 0 < sum(report.added for report in reports) == len(database) < 100
