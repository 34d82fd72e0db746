"""Rebuilding the index from the stored signatures, in one transaction: for `reindex` and repair.

Signatures are read once, their bucket keys sorted (lshdb.maintenance.sorting), and then the table
of bands is emptied and filled in the order of its key: SQLite appends, instead of visiting a page
for each row, and takes the pages that the old rows had. Readers see none of it before the end: the
pages go to the write-ahead log, and the table itself stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from lshdb.maintenance.sorting import BandSorter
from lshdb.model import Reindexed, Settings
from lshdb.settings import SettingsRequest
from lshdb.sketching.banding import bucket_keys
from lshdb.store.auditing import Auditor
from lshdb.store.store import Store
from lshdb.tuning.resolve import reindexed

_LANES: Final = 1 << 21
"""Lanes of the signatures that are read at once."""
_DOCUMENTS: Final = 10_000
"""Documents that are read at once, if lanes are few."""
_ROWS: Final = 50_000
"""Band rows that are written at once."""


def reindex(
    store: Store, request: SettingsRequest, on_progress: Callable[[int, int], None] | None
) -> Reindexed:
    """Rebuild the index; see Database.reindex."""
    with store.reading():
        reindexed(request, store.settings)  # refuses what cannot be, without waiting for writers
    rows = 0
    with store.rebuilding():
        before = store.settings
        after = reindexed(request, before)
        everything, empty = store.count()
        documents = everything - empty
        if after != before:
            store.set_index(after)
        # A cascade has the band rows of its lowest level, whatever is above it.
        shape, old = after.construction, before.construction
        if (shape.bands, shape.rows) != (old.bands, old.rows):
            total = documents * (1 + shape.bands)
            at_once = max(1, min(_DOCUMENTS, _LANES // after.permutations))
            rows = rebuild_bands(
                store,
                after,
                store.all_signatures(at_once),
                lambda steps: on_progress(steps, total) if on_progress is not None else None,
            )
    if rows:
        store.shrink_log()
    return Reindexed(before, after, documents, rows, store.free_bytes())


def rebuild_bands(
    table: Store | Auditor,
    settings: Settings,
    signatures: Iterable[tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]],
    on_step: Callable[[int], object],
) -> int:
    """Replace all band rows, within the caller's transaction.

    Args:
        table: of the file that is rebuilt.
        settings: what its index is to be.
        signatures: of all documents that have one, some at a time and in the order of their ids:
            int64[n], uint32[n, k].
        on_step: called with the number of documents that were read and rows that were written.

    Returns:
        The number of band rows.
    """
    documents = rows = 0
    with BandSorter(settings.construction.bands) as sorter:
        for doc_ids, some in signatures:
            sorter.add(doc_ids, bucket_keys(some, settings.construction, settings.seed))
            documents += len(doc_ids)
            on_step(documents)
        table.clear_bands()
        for band in range(settings.construction.bands):
            for keys, doc_ids in sorter.sorted(band):
                for start in range(0, len(keys), _ROWS):
                    part = slice(start, start + _ROWS)
                    table.append_bands(band, keys[part], doc_ids[part])
                    rows += len(keys[part])
                    on_step(documents + rows)
    return rows
