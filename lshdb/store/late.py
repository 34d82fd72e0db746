"""Band rows that are written late: sorted, when all documents of a large addition are stored.

A batch's band rows are spread over the whole table, so each batch touches all of its pages, and a
file larger than memory is read and written again and again. Rows that come in the table's order
visit each page once: 3 million documents within 700 MB of memory take half the time.

Meanwhile readers compute the missing rows from the signatures (lookups). The settings record which
rows are written (see schema.sql), so that after a kill the next writer continues from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain

import numpy as np

from lshdb.errors import StoreError
from lshdb.limits import Limits
from lshdb.progress import Progress, silent
from lshdb.store import index
from lshdb.store.partial_files import file_errors, locked
from lshdb.store.store import Store


@contextmanager
def reserved(store: Store) -> Iterator[bool]:
    """Reserve the late band rows of a file for this block; False if somebody else has them.

    A large addition holds the reservation: if somebody else began to write its rows, the rows of
    its later documents could not be written late. The reservation also ends with its process.

    Raises:
        StoreError: the file's log cannot be opened.
    """
    log = f"{store.real_path}-wal"
    with ExitStack() as stack:
        with file_errors(log):
            is_reserved = stack.enter_context(locked(log))
        yield is_reserved


def complete(store: Store, progress: Progress = silent, limits: Limits | None = None) -> None:
    """Write the missing band rows, if there are any, unless another process has reserved them.

    They are written in transactions of about a second, so that other writers get their turn. A
    document that other writers change or remove meanwhile is in the table `indexed`.

    Args:
        store: the file.
        progress: called with the rows written, between transactions: it may write to the file.
        limits: how many rows a transaction writes; None for those of the store.

    Raises:
        StoreError: the rows could not be written; the documents are stored, and the next writer
            continues with their rows.
    """
    if store.indexed_to is None:
        return
    try:
        with reserved(store) as is_reserved:
            if is_reserved:
                _complete(store, progress, limits or store.limits)
    except StoreError as error:
        raise StoreError(
            f"{error}; the documents are all stored, and the next addition or check --repair goes "
            "on with their index"
        ) from error


def _complete(store: Store, progress: Progress, limits: Limits) -> None:
    with store.writing():
        if store.indexed_to is None:
            return
        bucket = store.indexed_bucket
        state = store.indexed_to, index.BEFORE_ALL if bucket is None else bucket
        store.set_indexed(*state)  # from now on nothing is added to be indexed late
    with store.snapshot() as (reader, _):
        total = reader.unindexed() * reader.settings.construction.bands

        def signatures() -> Iterator[index.Signatures]:
            for block in reader.unindexed_signatures():
                progress(0, total, "rows of the index")
                yield block

        rows = index.sorted_bands(signatures(), reader.settings, limits)
        rows = chain([next(rows)], rows)  # reads all signatures now
    written = 0
    for end, codes, doc_ids in rows:
        with store.writing():
            if (store.indexed_to, store.indexed_bucket) != state:
                return  # another process has rebuilt the index
            missing = (codes > state[1]) & ~np.isin(doc_ids, store.indexed())
            store.index.insert(index.BANDS, index.rows_of(codes[missing], doc_ids[missing]))
            state = state[0], max(state[1], end - 1)
            store.set_indexed(*state)
        written += len(codes)
        progress(written, total, "rows of the index")
    with store.writing():
        if (store.indexed_to, store.indexed_bucket) == state:
            store.set_indexed(None, None)
