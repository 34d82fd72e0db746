"""Rows and texts in temporary files, beside the same in memory."""

from __future__ import annotations

import pickle
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshdb.search import spilled
from lshdb.search.spilled import SpilledRows, SpilledTexts

CELLS = 7


@given(
    batches=st.lists(st.lists(st.integers(0, CELLS - 1), max_size=20), max_size=5),
    shared=st.booleans(),
)
def test_rows_of_some_cells_are_read_as_they_came(batches: list[list[int]], shared: bool) -> None:
    with pytest.MonkeyPatch.context() as patch, closing(SpilledRows("i8", CELLS)) as rows:
        patch.setattr(spilled, "CAN_SHARE", shared)
        written: list[list[int]] = []
        for batch in batches:
            batch.sort()
            values = [1000 * cell + 20 * len(written) + place for place, cell in enumerate(batch)]
            rows.append(np.array(values, dtype=np.int64), np.array(batch, dtype=np.int64))
            written.append(values)
        again = pickle.loads(pickle.dumps(rows)) if shared else rows
        for first in range(CELLS):
            for end in range(first, CELLS + 1):
                expected = [v for one in written for v in one if first <= v // 1000 < end]
                assert again.read((first, end)).tolist() == expected
        assert sum(rows.sizes) == sum(map(len, batches))
        parts = rows.parts(9)
        assert [cell for part in parts for cell in range(*part)] == list(range(CELLS))


def test_texts_are_read_as_they_were() -> None:
    batches = [["one", "", "zwölf \U0001f600"], [], ["a lone surrogate \ud800", "end\x00"]]
    with closing(SpilledTexts()) as texts:
        for batch in batches:
            texts.append(batch)
        again = pickle.loads(pickle.dumps(texts))
        expected = [text for batch in batches for text in batch]
        assert [again.read(number) for number in range(len(expected))] == expected
