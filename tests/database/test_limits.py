"""What a document, a key and a file may have: what is more is refused, and costs only itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import inspection
import pytest

import lshdb
from lshdb import Limits
from lshdb.database import store_of
from lshdb.errors import ContentError, StoreError, UsageError
from lshdb.offers import is_there

LIMIT = 10_000


def test_a_document_beyond_the_limit_is_refused_alone(path: Path) -> None:
    assert Limits().largest_document == 100_000_000
    limits = Limits(largest_document=LIMIT)
    # Bytes count, not characters.
    for shingle, largest, too_large in (
        ("word:3", "\xe9" * (LIMIT // 2), "\xe9" * (LIMIT // 2) + "a"),
        ("set", ["a" * (LIMIT - 4)], ["a" * (LIMIT - 3)]),
    ):
        path.unlink(missing_ok=True)
        with lshdb.open(path, shingle=shingle, limits=limits) as db:
            db.add("largest", largest)
            before = inspection.contents(path)
            with pytest.raises(ContentError, match=r"10,001 bytes, and 10,000 is the limit"):
                db.add("more", too_large)
            assert inspection.contents(path) == before
            assert "more" not in db
        inspection.check(path)


@pytest.mark.parametrize("given", [{"batch_documents": 0}, {"log_seconds": -0.1}], ids=str)
def test_limits_that_would_never_end_are_refused(path: Path, given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"limits: {min(given)} .* is too small"):
        Limits(**given)
    wrong: Any = given
    makers: list[Callable[[], Any]] = [lambda: lshdb.open(path, limits=wrong)]
    if is_there("frames"):
        makers.append(lambda: lshdb.dedup([], limits=wrong))
    for make in makers:
        with pytest.raises(UsageError, match=r"is not a lshdb\.Limits"):
            make()
    assert not path.exists()


def test_what_sqlite_cannot_hold_is_refused_with_its_batch(path: Path) -> None:
    """A key and a content, each within the limits, and together more than a row may have."""
    with lshdb.open(path) as db:
        db.add("first", "the fox and the grapes")
        before = inspection.contents(path)
        store_of(db)._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LIMIT)
        with pytest.raises(StoreError, match="larger than SQLite's limit") as raised:
            db.add_many([("small", "of the vine"), ("k" * 6_000, "c" * 6_000)])
        assert len(str(raised.value)) < 200
        assert inspection.contents(path) == before
        assert db.add("k" * 3_000, "c" * 3_000).added == 1
    inspection.check(path)


@pytest.mark.parametrize("lanes", [16, 4096])
def test_the_fewest_and_the_most_lanes(path: Path, lanes: int) -> None:
    with lshdb.open(path, permutations=lanes, threshold=0.9, recall=0.9) as db:
        db.add_many([("a", "the fox and the grapes"), ("b", "The fox, and the grapes!")])
        assert [match.key for match in db.query(key="a")] == ["b"]
    ((size,),) = set(inspection.rows(path, "SELECT length(signature) FROM signatures"))
    assert size == 2 * lanes
    inspection.check(path)
