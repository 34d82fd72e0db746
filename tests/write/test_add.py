"""Documents come to be in the file in the same way, however they are cut into batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import inspection
import pytest
from extras import if_there
from helpers import database_of

import lshdb

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
