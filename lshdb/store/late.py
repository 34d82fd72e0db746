"""Band rows written later: those of a large addition, sorted, when all its documents are stored.

A batch's band rows are spread over the whole table, so each batch touches all of its pages, and a
file larger than memory is read and written again and again. Rows that come in the table's order
visit each page once: 3 million documents within 700 MB of memory take half the time.

Meanwhile readers compute the rows that are missing from the signatures (lookups). What is written
is in the settings (see schema.sql), so that after a kill the next writer goes on where it was.
"""

from __future__ import annotations

import time
from itertools import chain

import numpy as np

from lshdb.errors import StoreError
from lshdb.progress import Progress, silent
from lshdb.store.index import BANDS, BEFORE_ALL, BandRows, sorted_bands
from lshdb.store.partial_files import alone
from lshdb.store.store import Store

_SECONDS = 1.0
"""Of a transaction of the pass: other writers wait no longer."""


def complete(store: Store, progress: Progress = silent) -> None:
    """Write the missing band rows, unless another process does; nothing if there are none.

    In transactions of about a second, so that other writers get their turn. A document that these
    change or remove meanwhile is in the table `indexed`.

    Raises:
        StoreError: they could not be written; the documents are stored, and the next writer goes
            on with their rows.
    """
    if store.indexed_to is None:
        return
    try:
        with alone(f"{store.path}-wal") as is_alone:
            if is_alone:
                _complete(store, progress)
    except StoreError as error:
        raise StoreError(
            f"{error}; the documents are all stored, and the next addition or check --repair goes "
            "on with their index"
        ) from error


def _complete(store: Store, progress: Progress) -> None:
    with store.writing():
        if store.indexed_to is None:
            return
        bucket = store.indexed_bucket
        state = store.indexed_to, BEFORE_ALL if bucket is None else bucket
        store.set_indexed(*state)  # from now on nothing is added to be indexed late
    with store.reading():
        rows = sorted_bands(store.unindexed_signatures(), store.settings, store.limits)
        rows = chain([next(rows)], rows)  # reads all signatures now
    bands = store.settings.construction.bands
    for band, keys, doc_ids in rows:
        start = int(keys.searchsorted(state[1] - (band << 48), "right"))
        while start < len(keys):
            with store.writing():
                if (store.indexed_to, store.indexed_bucket) != state:
                    return  # another process has rebuilt the index
                start = _some_rows(store, (band, keys, doc_ids), start)
                state = state[0], (band << 48) + int(keys[start - 1])
                store.set_indexed(*state)
            progress(band * len(keys) + start, bands * len(keys), "rows of the index")
    with store.writing():
        if (store.indexed_to, store.indexed_bucket) == state:
            store.set_indexed(None, None)


def _some_rows(store: Store, rows: BandRows, start: int) -> int:
    """Write rows of whole buckets from `start` on, for a second; return where the next begin."""
    band, keys, doc_ids = rows
    indexed = store.indexed()
    end_time = time.monotonic() + _SECONDS
    while True:
        last = min(start + store.limits.reindex_rows, len(keys)) - 1
        end = int(keys.searchsorted(keys[last], "right"))
        some = start + np.flatnonzero(~np.isin(doc_ids[start:end], indexed))
        columns = np.broadcast_to(band, len(some)), keys[some], doc_ids[some]
        store.index.insert(BANDS, np.stack(columns))
        if end == len(keys) or time.monotonic() > end_time:
            return end
        start = end
