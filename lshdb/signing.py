"""From documents to signatures, and to the distinct shingles that exact similarity needs.

Both go block by block (lshdb.shingling), so that a batch takes little more memory than its
documents, and a document of 100 MB not much more than itself.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from lshdb.banding import bucket_keys
from lshdb.blocks import groups, is_large
from lshdb.hashing import Hashes, distinct
from lshdb.minhash import make_sketch
from lshdb.model import Construction, Content, Settings, Shingles, Shingling
from lshdb.shingling import pieces, shingle_group

_MERGE: Final = 1 << 22
"""Hashes of a large document collected before repeated ones are dropped."""


@dataclass(frozen=True, slots=True)
class Signed:
    """The signatures of n documents.

    Attributes:
        signatures: uint32[n, permutations].
        shingles: int64[n], how many shingles each has, repetitions counted; 0 means empty.
        bucket_keys: int64[n, bands].
        construction: that the bucket keys are made for.
    """

    signatures: npt.NDArray[np.uint32]
    shingles: npt.NDArray[np.int64]
    bucket_keys: npt.NDArray[np.int64]
    construction: Construction

    def take(self, places: npt.NDArray[np.int64]) -> Signed:
        """The documents at some places int64[m]."""
        keys = self.bucket_keys[places]
        return Signed(self.signatures[places], self.shingles[places], keys, self.construction)

    def banded(self, settings: Settings) -> Signed:
        """The same with the bucket keys that settings make: the file may have been reindexed."""
        if self.construction == settings.construction:
            return self
        keys = bucket_keys(self.signatures, settings.construction, settings.seed)
        return Signed(self.signatures, self.shingles, keys, settings.construction)


def sign(contents: Sequence[Content], settings: Settings) -> Signed:
    """The signatures, shingle counts and bucket keys of a batch of n documents."""
    sketch = make_sketch(settings.sketch, settings.permutations, settings.seed)
    shingling, seed = settings.shingling, settings.seed
    signatures = np.empty((len(contents), settings.permutations), dtype=np.uint32)
    counts = np.empty(len(contents), dtype=np.int64)
    for group in groups(contents, shingling):
        first = contents[group[0]]
        if isinstance(first, str) and is_large(first, shingling):
            stream = functools.partial(pieces, first, shingling, seed)
            signatures[group[0]], counts[group[0]] = sketch.of_pieces(stream)
        else:
            shingles = shingle_group([contents[i] for i in group], shingling, seed)
            signatures[group] = sketch.signatures(shingles)
            counts[group] = np.diff(shingles.offsets)
    keys = bucket_keys(signatures, settings.construction, settings.seed)
    return Signed(signatures, counts, keys, settings.construction)


def distinct_shingles(contents: Sequence[Content], shingling: Shingling, seed: int) -> Shingles:
    """The distinct shingle hashes of a batch of n documents, each document's sorted."""
    parts: list[Shingles] = []
    order: list[int] = []
    for group in groups(contents, shingling):
        first = contents[group[0]]
        if isinstance(first, str) and is_large(first, shingling):
            own = _distinct_of_pieces(pieces(first, shingling, seed))
            parts.append(Shingles(own, np.array([0, len(own)])))
        else:
            parts.append(_distinct(shingle_group([contents[i] for i in group], shingling, seed)))
        order += group
    if len(parts) == 1 and order == list(range(len(order))):
        return parts[0]
    return _in_order(parts, np.array(order, dtype=np.int64))


def _distinct(shingles: Shingles) -> Shingles:
    """The distinct hashes of each of n documents, sorted.

    Sorting in place, document by document, takes 0.3 us a document and what its hashes take; one
    sort of all (by document and hash) is no faster for documents of 5 shingles, and takes four
    times as long for those of 30 and more.
    """
    if len(shingles) == 1:  # a query: the arrays below would take longer than the sorting
        own = distinct(shingles.hashes)
        return Shingles(own, np.array([0, len(own)]))
    hashes = shingles.hashes.copy()
    for start, end in pairwise(shingles.offsets.tolist()):
        hashes[start:end].sort()
    first = np.empty(len(hashes), dtype=np.bool_)
    first[:1] = True
    np.not_equal(hashes[1:], hashes[:-1], out=first[1:])
    starts = shingles.offsets[:-1]
    first[starts[np.diff(shingles.offsets) > 0]] = True
    running = np.zeros(len(hashes) + 1, dtype=np.int64)
    np.cumsum(first, out=running[1:])
    return Shingles(hashes[first], running[shingles.offsets])


def _in_order(parts: Sequence[Shingles], order: npt.NDArray[np.int64]) -> Shingles:
    """The documents of all parts as one batch; order[i] is the place of the i-th in it."""
    if not parts:
        return Shingles(np.empty(0, dtype=np.uint64), np.zeros(1, dtype=np.int64))
    hashes = np.concatenate([part.hashes for part in parts])
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    begins = np.cumsum(lengths) - lengths
    back = np.argsort(order)
    offsets = np.zeros(len(order) + 1, dtype=np.int64)
    np.cumsum(lengths[back], out=offsets[1:])
    gather = np.repeat(begins[back] - offsets[:-1], lengths[back])
    gather += np.arange(len(hashes))
    return Shingles(hashes[gather], offsets)


def _distinct_of_pieces(stream: Iterable[Hashes]) -> Hashes:
    known: Hashes = np.empty(0, dtype=np.uint64)
    waiting: list[Hashes] = []
    for hashes in stream:
        waiting.append(hashes)
        # Let the batch grow with what is known, or a long document is sorted over and over.
        if sum(map(len, waiting)) >= max(_MERGE, len(known)):
            known = distinct(np.concatenate([known, *waiting]))
            waiting = []
    return distinct(np.concatenate([known, *waiting]))
