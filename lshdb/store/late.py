"""Band rows written later: those of a large addition, sorted, when all its documents are stored.

A batch's band rows are spread over the whole table, so each batch touches all of its pages, and a
file larger than memory is read and written again and again. Rows that come in the table's order
visit each page once: 3 million documents within 700 MB of memory take half the time.

Meanwhile readers compute the rows that are missing from the signatures (lookups). What is written
is in the settings (see schema.sql), so that after a kill the next writer goes on where it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain

import numpy as np

from lshdb.errors import StoreError
from lshdb.progress import Progress, silent
from lshdb.store.index import BANDS, BEFORE_ALL, Signatures, rows_of, sorted_bands
from lshdb.store.partial_files import alone, file_errors
from lshdb.store.store import Store


@contextmanager
def reserved(store: Store) -> Iterator[bool]:
    """Whether nobody else is within such a block for the file, until it ends.

    A large addition is within one: nobody else begins with its rows, as those of its later
    documents could then not be written late, too. When its process ends, by whatever, so does it.

    Raises:
        StoreError: the file's log cannot be opened.
    """
    log = f"{store.real_path}-wal"
    with ExitStack() as stack:
        with file_errors(log):
            is_alone = stack.enter_context(alone(log))
        yield is_alone


def complete(store: Store, progress: Progress = silent) -> None:
    """Write the missing band rows, unless another does, or still adds; nothing if there are none.

    In transactions of about a second, so that other writers get their turn. A document that these
    change or remove meanwhile is in the table `indexed`.

    Raises:
        StoreError: they could not be written; the documents are stored, and the next writer goes
            on with their rows.
    """
    if store.indexed_to is None:
        return
    try:
        with reserved(store) as is_alone:
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
        total = store.unindexed() * store.settings.construction.bands

        def signatures() -> Iterator[Signatures]:
            for block in store.unindexed_signatures():
                progress(0, total, "rows of the index")
                yield block

        rows = sorted_bands(signatures(), store.settings, store.limits)
        rows = chain([next(rows)], rows)  # reads all signatures now
    written = 0
    for end, codes, doc_ids in rows:
        with store.writing():
            if (store.indexed_to, store.indexed_bucket) != state:
                return  # another process has rebuilt the index
            missing = (codes > state[1]) & ~np.isin(doc_ids, store.indexed())
            store.index.insert(BANDS, rows_of(codes[missing], doc_ids[missing]))
            state = state[0], max(state[1], end - 1)
            store.set_indexed(*state)
        written += len(codes)
        progress(written, total, "rows of the index")
    with store.writing():
        if (store.indexed_to, store.indexed_bucket) == state:
            store.set_indexed(None, None)
