"""A reindexed file is one made with the new settings, for every handle, whatever interrupts it."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import inspection
import pytest
from helpers import Command, barrier, database_of, forked, status_of

import lshdb
from lshdb import Limits
from lshdb.database import store_of
from lshdb.errors import Busy, SettingsError, StoreError, UsageError

OLD: dict[str, Any] = {"threshold": 0.8, "permutations": 64, "shingle": "set"}
CHANGES: dict[str, dict[str, Any]] = {
    "threshold": {"threshold": 0.5},
    "recall": {"threshold": 0.6, "recall": 0.8},
    "one band": {"bands": 1, "rows": 64},
    "64 bands": {"bands": 64, "rows": 1},
    "cascade": {"construction": "and 2, or 4, and 2, or 4"},
    "or first": {"construction": "or 4, and 4, or 2"},
}


def documents(count: int = 60) -> list[tuple[str, list[int]]]:
    """Sets in overlapping buckets, some of them equal, some empty."""
    sets = [list(range(i // 4, i // 4 + 5 + i % 2)) for i in range(count)]
    return [(f"d{i}", [] if i % 20 == 7 else elements) for i, elements in enumerate(sets)]


def fill(path: Path, **settings: Any) -> None:
    database_of(path, documents(), **OLD | settings).close()


def made_with(path: Path, given: list[tuple[str, list[int]]], **settings: Any) -> dict[str, Any]:
    """What a file holds that is made with these settings at once."""
    other = path.with_name("new.db")
    database_of(other, given, **OLD | settings).close()
    found = inspection.contents(other)
    other.unlink()
    return found


# what comes of it


@pytest.mark.parametrize(
    ("change", "settings"),
    [
        *((change, {}) for change in CHANGES.values()),
        pytest.param(
            CHANGES["threshold"], {"sketch": "minhash"}, marks=pytest.mark.app("signatures")
        ),
        (CHANGES["64 bands"], {"content": False}),
    ],
    ids=str,
)
def test_the_file_is_as_if_made_with_the_new_settings(
    path: Path, change: dict[str, Any], settings: dict[str, Any]
) -> None:
    """Before the first document and after them; bands of one row have wide lanes."""
    one_row = change.get("rows") == 1 or change.get("construction", "").startswith("or")
    shape = {"bands": 8, "rows": 1 if one_row else 8}
    with lshdb.open(path, **OLD | settings | shape) as db:
        assert db.settings.lane_bits == (32 if one_row else 16)
        assert db.reindex(**change).rows == 0
        db.add_many(documents())
        db.reindex(threshold=0.8, recall=0.99)
        schema = inspection.rows(path, "SELECT * FROM sqlite_schema")
        done = db.reindex(**change)
        assert done.after == db.settings != done.before
        assert (done.documents, done.rows) == (57, 57 * db.settings.construction.bands)
    assert inspection.contents(path) == made_with(path, documents(), **settings, **change)
    assert inspection.rows(path, "SELECT * FROM sqlite_schema") == schema
    inspection.check(path)


def test_band_rows_that_serve_as_well_stay(path: Path) -> None:
    fill(path, bands=16, rows=4)
    bands = inspection.rows(path, "SELECT * FROM bands")
    with lshdb.open(path) as db:
        for change in ({"construction": "and 4, or 4, and 4"}, {"bands": 16, "rows": 4}):
            done = db.reindex(**change)
            assert (done.rows, done.after == done.before) == (0, False)
            assert inspection.rows(path, "SELECT * FROM bands") == bands
    inspection.check(path)


def test_the_pages_of_the_old_rows_are_used_again(path: Path) -> None:
    with database_of(
        path, ((f"d{i}", [i, i + 1]) for i in range(3000)), bands=64, rows=1, **OLD
    ) as db:
        size = db.info().bytes
        free = db.reindex(bands=8, rows=8).free
        assert free > size / 3
        assert db.reindex(bands=60, rows=1).free < free / 3
        assert db.info().bytes <= size


def test_more_rows_than_memory_and_a_temporary_file_that_cannot_be_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = Limits(reindex_bytes=2000, documents_read=7, reindex_rows=3)
    fill(path)
    before = inspection.contents(path)
    with lshdb.open(path, limits=small) as db:
        with monkeypatch.context() as patch:
            patch.setattr(tempfile, "tempdir", str(path.with_name("gone")))
            with pytest.raises(StoreError, match="gone: no such file or directory; TMPDIR names"):
                db.reindex(threshold=0.5)
        assert inspection.contents(path) == before
        assert db.reindex(threshold=0.5).rows == 57 * db.settings.construction.bands
    assert inspection.contents(path) == made_with(path, documents(), threshold=0.5)


# while it is done, and when it is not


def test_the_old_index_answers_until_the_new_one_is_in_place(path: Path) -> None:
    fill(path)
    phases = []
    with lshdb.open(path, timeout=0) as reader, lshdb.open(path) as writer:
        old, pairs = reader.settings, list(reader.pairs())
        before = reader.query(key="d10")
        begun = reader.pairs()
        first = next(begun)

        def ask(done: int, total: int | None, unit: str) -> None:
            assert unit == "rows"
            assert total is not None
            phases.append(done / total)
            assert reader.query(key="d10") == before
            assert reader.settings == old
            assert list(reader.pairs()) == pairs
            with pytest.raises(Busy):
                reader.add("new", [1])

        new = writer.reindex(threshold=0.3, progress=ask).after
        assert phases == sorted(phases)
        assert phases[-1] == 1
        assert [first, *begun] == pairs, "a join is of the moment at which it began"
        assert reader.settings == new


def test_the_object_that_reindexes_refuses_to_answer_meanwhile(path: Path) -> None:
    fill(path)
    before = inspection.contents(path)
    with lshdb.open(path) as db:
        with pytest.raises(UsageError, match="reindexed"):
            db.reindex(threshold=0.5, progress=lambda *_: print(db.query(key="d10")))
        assert inspection.contents(path) == before
        db.reindex(threshold=0.5)
    inspection.check(path)


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_killed_in_the_middle_the_file_is_as_before(path: Path, share: float) -> None:
    fill(path)
    before = inspection.contents(path)

    def report(done: int, total: int | None, _: str) -> None:
        if total is not None and done >= share * total:
            os.kill(os.getpid(), signal.SIGKILL)

    child = forked(lambda: lshdb.open(path).reindex(threshold=0.5, progress=report))
    assert status_of(child) == -signal.SIGKILL
    assert inspection.contents(path) == before
    with lshdb.open(path) as db:
        assert db.settings.threshold == 0.8
        db.reindex(threshold=0.5)
    assert inspection.contents(path) == made_with(path, documents(), threshold=0.5)


def test_a_full_disk_leaves_the_file_as_before(path: Path) -> None:
    fill(path)
    before = inspection.contents(path)
    with lshdb.open(path) as db:
        connection = store_of(db)._connection
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match="a disk is full"):
            db.reindex(bands=64, rows=1)
        assert inspection.contents(path) == before
        connection.execute("PRAGMA max_page_count = 100000")
        db.reindex(bands=64, rows=1)
    inspection.check(path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, "give a threshold, a recall, bands and rows, a construction, passages, reworded or"),
        ({"bands": 4}, "bands and rows are given together"),
        ({"threshold": 1.5}, "threshold 1.5 is not above 0 and at most 1"),
        (
            {"construction": "and 4, or 4, and 4, or 4"},
            "takes 256 lanes, and there are 64 permutations: give a construction of fewer lanes",
        ),
        ({"threshold": 0.01}, "cannot be reached with 64 permutations .at most 0.4744.: ask for"),
        (
            {"threshold": 0.5, "recall": 0.9, "bands": 4, "rows": 16},
            "4 bands of 16 rows have recall 6.103e-05 at threshold 0.5, not 0.9: give either the",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(path: Path, change: dict[str, Any], reason: str) -> None:
    with lshdb.open(path, **OLD) as db:
        with pytest.raises(SettingsError, match=reason):
            db.reindex(**change)
        assert db.settings.threshold == 0.8


# other handles to the same file


def dedup(db: lshdb.Database) -> None:
    source = db.path.with_name("lines.jsonl")
    source.write_bytes(b'{"id": "l1", "set": [2, 3, 4, 5, 50]}\n{"id": "l2", "set": [90, 91]}\n')
    list(db.dedup_files([str(source)]))


USES: dict[str, Callable[[lshdb.Database], object]] = {
    "info": lambda db: db.info().settings,
    "query a key": lambda db: db.query(key="d10"),
    "pairs": lambda db: list(db.pairs()),
    "clusters": lambda db: list(db.clusters()),
    "get": lambda db: db.get("d10").bucket_keys.tolist(),  # type: ignore[union-attr]
    "buckets": lambda db: db.buckets("d10"),
    "compare": lambda db: db.compare("d10", lshdb.Document("new", [2, 3, 4, 5, 6])),
    "add": lambda db: db.add("new", [2, 3, 4, 5, 6]),
    "update": lambda db: db.add("d10", [2, 3, 4, 5, 99]),
    "remove": lambda db: db.remove(["d10", "d7", "d11"]),
    "skip": lambda db: db.add_many([("l1", [2, 3, 4, 5, 50]), ("x", [70])], on_similar="skip"),
    "dedup": dedup,
}


OF_APPS = {"compare": "compare", "skip": "dedup", "dedup": "dedup"}
CASCADE: dict[str, Any] = {"threshold": 0.5, **CHANGES["cascade"]}


@pytest.mark.parametrize(
    ("change", "name"),
    [
        pytest.param(change, name, marks=pytest.mark.app(OF_APPS.get(name, "")))
        for change, names in (
            (CHANGES["threshold"], USES),
            (CASCADE, ("query a key", "pairs", "update", "dedup")),
        )
        for name in names
    ],
    ids=str,
)
def test_an_older_handle_does_what_a_new_one_does(
    path: Path, change: dict[str, Any], name: str
) -> None:
    twin = path.with_name("twin.db")
    for file in (path, twin):
        fill(file)
    with lshdb.open(path) as old, lshdb.open(path) as other:
        list(old.pairs())
        other.reindex(**change)
        found = USES[name](old)
    with lshdb.open(twin) as db:
        db.reindex(**change)
    with lshdb.open(twin) as new:
        assert USES[name](new) == found
    assert inspection.contents(path) == inspection.contents(twin)
    inspection.check(path)


def test_an_older_process_notices(path: Path) -> None:
    fill(path)
    elements = [2, 3, 4, 5, 6]

    def query_twice(step: Barrier) -> None:
        with lshdb.open(path) as db:
            before = len(db.query(elements))
            step.wait()
            step.wait()
            found = db.query(elements)
            with lshdb.open(path.with_name("new.db"), mode="read") as new:
                assert found == new.query(elements)
            assert len(found) > before
            db.add("new", elements)

    child = forked(query_twice, step := barrier())
    step.wait()
    with lshdb.open(path) as db:
        db.reindex(threshold=0.4)
        db.backup(path.with_name("new.db"))
        step.wait()
        assert status_of(child) == 0
        assert "new" in [match.key for match in db.query([2, 3, 4, 5, 6])]
    inspection.check(path)


SKIP = pytest.param("skip", 0, marks=pytest.mark.app("dedup"))


@pytest.mark.parametrize(("on_similar", "workers"), [("keep", 0), ("keep", 2), SKIP])
def test_a_stream_goes_on_with_the_new_index(path: Path, on_similar: Any, workers: int) -> None:
    """Parts are signed for the old index when it is rebuilt between two batches."""
    limits = Limits(batch_documents=20)
    reports: list[lshdb.AddReport] = []
    with lshdb.open(path, **OLD, limits=limits) as db, lshdb.open(path) as other:

        def stream() -> Iterator[tuple[str, list[int]]]:
            for number, document in enumerate(documents(200)):
                if number == 90:
                    other.reindex(threshold=0.95)
                yield document

        db.add_many(stream(), workers=workers, on_similar=on_similar, on_batch=reports.append)
    assert len(reports) >= 9
    if on_similar == "keep":
        assert inspection.contents(path) == made_with(path, documents(200), threshold=0.95)
    inspection.check(path)


# the command


def test_the_command_says_what_it_did(command: Command) -> None:
    command.done("init", "--shingle", "set", "--threshold", "0.4")
    command.done("add", "-", stdin='{"id": "a", "set": [1, 2, 3]}\n{"id": "b", "set": [1, 2, 4]}\n')
    old = "finds sets that share 40% or more of their elements"
    command.done("reindex", "--threshold", "0.4", says=f"lsh.db {old} already: nothing to do\n")
    warned, done = command.done("reindex", "--construction", "or 4, and 2").err.splitlines()
    assert "finds 75.76% of the pairs at similarity 0.4" in warned
    assert done == f"lsh.db reindexed: {old} (75.8% of those at 40%); 2 documents"
