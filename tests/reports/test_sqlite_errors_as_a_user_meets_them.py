"""Whichever call of SQLite fails, a user meets an error of lshdb's, and the file stays whole.

Tribler/tribler issue 5277: "disk I/O error" of SQLite came up in a window as a bare traceback.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from helpers import add_late
from sql_faults import Faults, faults  # noqa: F401  # a fixture

import lshdb
from lshdb.database import store_of
from lshdb.store import late

LIMITS = lshdb.Limits(batch_documents=8, late_from=1, reindex_rows=400)
DOCUMENTS = [(f"d{i}", f"the {i // 3} fox and the {i // 3} grapes hung {i % 3}") for i in range(24)]
TEXT = DOCUMENTS[3][1]

METHODS: dict[str, Callable[[lshdb.Database], Any]] = {
    "add": lambda db: db.add("new", TEXT),
    "add_many": lambda db: db.add_many([("d1", "changed"), ("e1", TEXT)], workers=0),
    "skip": lambda db: db.add_many([("e1", TEXT), ("e2", "new")], workers=0, on_similar="skip"),
    "remove": lambda db: db.remove(["d1", "absent"], missing_ok=True),
    "get": lambda db: db.get("d1"),
    "query where": lambda db: db.query(key="d3", where="shingles > 3", fields=["text"]),
    "query of a missing key": lambda db: db.query(key="absent"),
    "query_many": lambda db: [*db.query_many(DOCUMENTS[:3])],
    "passages": lambda db: db.passages(TEXT),
    "compare": lambda db: db.compare("d3", "d4"),
    "pairs": lambda db: [*db.pairs()],
    "clusters": lambda db: [*db.clusters()],
    "decide": lambda db: db.decide("keep", ["d8"]),
    "info": lambda db: db.info(),
    "sql": lambda db: [*db.sql("SELECT * FROM documents")],
    "reindex": lambda db: db.reindex(threshold=0.5),
    "backup": lambda db: db.backup(f"{db.path}.copy", replace=True),
    "shrink_log": lambda db: store_of(db).shrink_log(),
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file, and one beside it whose band rows are still to be written."""
    directory = tmp_path_factory.mktemp("stored")
    for name in ("whole", "pending"):
        with (
            pytest.MonkeyPatch.context() as patched,
            lshdb.open(directory / name, shingle="word:2", passages=4, limits=LIMITS) as db,
        ):
            if name == "pending":
                patched.setattr(late, "complete", lambda *_: None)
            add_late(db, DOCUMENTS)
            assert db.info().unindexed == (16 if name == "pending" else 0)
    return directory


def fail_each(
    faults: Faults,  # noqa: F811
    stored: Path,
    path: Path,
    use: Callable[[lshdb.Database], Any],
) -> int:
    """Fail each call of SQLite that a method makes; how many there are."""
    for number in range(1, 1_000):
        shutil.copy(stored, path)
        faults.begin(0)
        with lshdb.open(path, limits=LIMITS) as db:
            faults.begin(number)
            with suppress(lshdb.LshdbError):
                use(db)
            done = faults.statement is None
            faults.begin(0)
        if done:
            return number - 1
    raise AssertionError("it never ends")


@pytest.mark.parametrize("name", METHODS)
def test_any_statement_of_a_method_may_fail(
    faults: Faults,  # noqa: F811
    stored: Path,
    path: Path,
    name: str,
) -> None:
    assert fail_each(faults, stored / "whole", path, METHODS[name])
    assert lshdb.check(path, deep=True).ok


def test_any_statement_may_fail_while_band_rows_are_written_late(
    faults: Faults,  # noqa: F811
    stored: Path,
    path: Path,
) -> None:
    calls = fail_each(faults, stored / "pending", path, lambda db: late.complete(store_of(db)))
    assert calls > 20
    with lshdb.open(path) as db:
        assert db.info().unindexed == 0
    assert lshdb.check(path, deep=True).ok
