"""Documents come to be in the file in the same way, however they are cut into batches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import inspection
import pytest
from extras import if_there
from helpers import add_late, database_of

import lshdb
from lshdb.database import store_of
from lshdb.store import late

DOCUMENTS = [(f"d{i}", f"the {i // 3} fox and the {i // 3} grapes hung {i % 3}") for i in range(30)]
SETTINGS = if_there("passages", passages=3)


@pytest.mark.parametrize("limits", [{}, {"fingerprints": 1}, {"fingerprints": 40}], ids=str)
def test_a_file_for_one_process_gets_all_rows_of_its_index(
    tmp_path: Path, limits: dict[str, Any]
) -> None:
    """It gets them when too many are held, and at the end; another file with each batch."""
    one, other = tmp_path / "temporary.db", tmp_path / "shared.db"
    alone = lshdb.Limits(durable=False, batch_documents=4, **limits)
    for path, given in ((one, alone), (other, lshdb.Limits())):
        database_of(path, DOCUMENTS, shingle="word:2", limits=given, **SETTINGS).close()
    assert inspection.contents(one) == inspection.contents(other)
    inspection.check(one)


def test_without_workers_a_batch_is_in_the_file_before_more_is_read(path: Path) -> None:
    reports: list[lshdb.AddReport] = []
    seen = []

    def stream() -> Iterator[tuple[str, str]]:
        for document in DOCUMENTS[:12]:
            seen.append(len(reports))
            yield document

    with lshdb.open(path, limits=lshdb.Limits(batch_documents=4)) as db:
        db.add_many(stream(), workers=0, on_batch=reports.append)
    assert seen == [number // 4 for number in range(12)]


@pytest.mark.parametrize("is_late", [False, True])
def test_only_an_addition_with_late_band_rows_reserves_their_writing(
    path: Path, is_late: bool
) -> None:
    """Else the rows that a killed process left would wait for any other that adds."""
    seen = []

    def note(_: lshdb.AddReport) -> None:
        with lshdb.open(path) as other, late.reserved(store_of(other)) as is_free:
            seen.append(is_free)

    limits = lshdb.Limits(batch_documents=10, late_from=10)
    with lshdb.open(path, limits=limits) as db:
        if is_late:
            add_late(db, DOCUMENTS, on_batch=note)
        else:
            db.add_many(DOCUMENTS, workers=0, on_batch=note)
    assert seen == ([True, False, False] if is_late else [True] * 3)
