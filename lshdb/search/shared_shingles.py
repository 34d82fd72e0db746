"""How many distinct shingles a document shares with each of many stored ones, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from lshdb.shingling.content import many_from_stored
from lshdb.shingling.hashing import Hashes
from lshdb.shingling.jaccard import intersections
from lshdb.shingling.shingles import distinct_shingles
from lshdb.store.store import Store

_CHARACTERS_AT_ONCE: Final = 4_000_000
"""Characters of stored documents compared at once."""
_DOCUMENTS_AT_ONCE: Final = 10_000
_FEW: Final = 16
"""So few documents are all read; of more, equal ones are read once."""

Counts = npt.NDArray[np.int64]


def overlaps(store: Store, one: Hashes, doc_ids: npt.NDArray[np.int64]) -> tuple[Counts, Counts]:
    """Compare a document with stored ones of which the content is kept.

    Args:
        store: the database.
        one: uint64[any], the document's distinct shingle hashes, sorted.
        doc_ids: int64[n].

    Returns:
        int64[n], how many shingles each shares with it; int64[n], how many distinct ones it has.
    """
    shared = np.empty(len(doc_ids), dtype=np.int64)
    sizes = np.empty(len(doc_ids), dtype=np.int64)
    for start in range(0, len(doc_ids), _DOCUMENTS_AT_ONCE):
        block = slice(start, start + _DOCUMENTS_AT_ONCE)
        shared[block], sizes[block] = _of_block(store, one, doc_ids[block])
    return shared, sizes


def _of_block(store: Store, one: Hashes, doc_ids: npt.NDArray[np.int64]) -> tuple[Counts, Counts]:
    places = None
    if len(doc_ids) > _FEW:
        # Equal documents have equal digests: 100,000 copies are read and shingled once.
        known: dict[bytes, int] = {}
        digests = store.sizes(doc_ids)[1]
        places = np.array([known.setdefault(digest, len(known)) for digest in digests])
        doc_ids = doc_ids[np.unique(places, return_index=True)[1]]
    shingling, seed = store.settings.shingling, store.settings.seed
    shared: list[Counts] = []
    sizes: list[Counts] = []
    for stored in _batches(store.contents(doc_ids)):
        others = distinct_shingles(many_from_stored(stored, shingling), shingling, seed)
        shared.append(intersections(one, others))
        sizes.append(np.diff(others.offsets))
    both, size = np.concatenate(shared), np.concatenate(sizes)
    return (both, size) if places is None else (both[places], size[places])


def _batches(contents: Iterator[str]) -> Iterator[list[str]]:
    """Cut a stream of documents into batches of a bounded number of characters."""
    batch: list[str] = []
    size = 0
    for content in contents:
        batch.append(content)
        size += len(content)
        if size > _CHARACTERS_AT_ONCE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
