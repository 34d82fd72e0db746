"""Rebuilding the index from the stored signatures, in one transaction.

Signatures are read once, their bucket keys sorted (lshdb.maintenance.sorting), and then the table
of bands is emptied and filled in the order of its key: SQLite appends, instead of visiting a page
for each row, and takes the pages that the old rows had. Readers see none of it before the end: the
pages go to the write-ahead log, and the table itself stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lshdb.maintenance.sorting import BandSorter
from lshdb.model import Reindexed
from lshdb.settings import SettingsRequest
from lshdb.sketching.banding import bucket_keys
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
    """Make the index anew; see Database.reindex."""
    with store.reading():
        reindexed(request, store.settings)  # what cannot be is told without waiting for writers
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
            steps = _Steps(documents * (1 + shape.bands), on_progress)
            with BandSorter(shape.bands) as sorter:
                at_once = max(1, min(_DOCUMENTS, _LANES // after.permutations))
                for doc_ids, signatures in store.all_signatures(at_once):
                    sorter.add(doc_ids, bucket_keys(signatures, shape, after.seed))
                    steps.take(len(doc_ids))
                store.clear_bands()
                for band in range(shape.bands):
                    for keys, doc_ids in sorter.sorted(band):
                        for start in range(0, len(keys), _ROWS):
                            part = slice(start, start + _ROWS)
                            store.append_bands(band, keys[part], doc_ids[part])
                            steps.take(len(keys[part]))
                            rows += len(keys[part])
    if rows:
        store.shrink_log()
    return Reindexed(before, after, documents, rows, store.free_bytes())


class _Steps:
    """Counts the steps of a job, and tells of them."""

    def __init__(self, total: int, tell: Callable[[int, int], None] | None) -> None:
        self._done = 0
        self._total = total
        self._tell = tell

    def take(self, steps: int) -> None:
        self._done += steps
        if self._tell is not None:
            self._tell(self._done, self._total)
