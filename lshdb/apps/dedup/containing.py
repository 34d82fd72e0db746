"""Documents that another one contains: it has all of their shingles, and is kept.

Containment is transitive, so the documents that stay are those that no other one contains, and the
first one of equal sets, in any order. A document contains another one only if it has its rarest
shingle. So the rarest shingle of each document is remembered, as counted when it was read; then the
shingles of every document, the largest first, are looked up among the remembered ones. No pair is
missed, however different the lengths are. A document takes 53 bytes of memory.

All documents may share their rarest shingle. So a few other shingles of each document stay in
memory, too, and most pairs need no more. `scripts/bench dedup` measures the cost of a pair.
"""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from lshdb.apps.dedup.collection import Collection, picked_fields
from lshdb.apps.dedup.model import DroppedRow
from lshdb.apps.dedup.options import RowsOptions
from lshdb.apps.dedup.spool import Spool, SpooledDocument
from lshdb.text import arrays
from lshdb.text.content import from_stored
from lshdb.text.hashing import Hashes, secret_seed
from lshdb.text.shingles import distinct_shingles
from lshdb.text.shingling import Shingles, Shingling

_CELL_BITS = 20
"""Bits of a hash that choose the cell in which it is counted: 4 MB."""
_CELLS = 1 << _CELL_BITS
_COMMON = 0xFFFF
"""Counts above this are equal."""
_PAIRS_AT_ONCE = 1 << 18
"""Pairs that are looked at together, unless one document has more."""
_SAMPLE = 4
"""Hashes of a set that are in memory, and looked up before the others are read: of sets that share
the half of their shingles, one in 16 has all of them."""


def rarest(sets: Shingles, counts: npt.NDArray[np.uint32]) -> arrays.IntArray:
    """The rarest shingle of each set that is not empty, by the counts of all sets so far.

    Args:
        sets: the distinct hashes of documents.
        counts: uint32[_CELLS], how many hashes were read, by their first bits; the hashes of the
            sets are added to them.

    Returns:
        int64[any], the indices of their hashes, ascending.
    """
    filled = sets.offsets[:-1][arrays.sizes_of(sets.offsets) > 0]
    if not len(filled):
        return filled
    cells = (sets.hashes >> np.uint64(64 - _CELL_BITS)).view(np.int64)
    counts += np.bincount(cells, minlength=_CELLS).astype(np.uint32)
    # By how often it was read, then by its hash.
    rank = np.minimum(counts[cells], _COMMON).astype(np.uint64) << np.uint64(48)
    rank |= sets.hashes >> np.uint64(16)
    lowest = np.minimum.reduceat(rank, filled)
    chosen = np.flatnonzero(rank == np.repeat(lowest, np.diff(filled, append=len(rank))))
    return chosen[np.searchsorted(chosen, filled)]


@dataclasses.dataclass(eq=False)
class Codes:
    """The rarest shingle of each document, by the number of the document.

    Attributes:
        shingling: of the documents.
        spool: the documents, when all are remembered.
        dropped: bool[n], which documents are dropped.
    """

    shingling: Shingling

    def __post_init__(self) -> None:
        self._counts = np.zeros(_CELLS, dtype=np.uint32)
        self._parts: list[tuple[Hashes, Hashes, arrays.IntArray, npt.NDArray[np.int32]]] = []

    def shingles(self, stored: Sequence[str]) -> Shingles:
        """The distinct shingles of documents in their stored form."""
        contents = [from_stored(text, self.shingling) for text in stored]
        return distinct_shingles(contents, self.shingling, secret_seed())

    def add(self, numbers: Sequence[int], stored: Sequence[str]) -> list[int]:
        """Remember documents; return how many distinct shingles each has."""
        sets = self.shingles(stored)
        sizes = arrays.sizes_of(sets.offsets)
        filled = np.flatnonzero(sizes)
        numbers_and_sizes = arrays.int_array(numbers)[filled], sizes[filled].astype(np.int32)
        first = np.minimum(np.arange(_SAMPLE), sizes[filled, np.newaxis] - 1)
        samples = sets.hashes[sets.offsets[filled, np.newaxis] + first]
        self._parts.append((sets.hashes[rarest(sets, self._counts)], samples, *numbers_and_sizes))
        counts: list[int] = sizes.tolist()
        return counts

    def decisions(
        self,
        spool: Spool,
        references: Sequence[Collection],
        options: RowsOptions,
    ) -> Iterator[list[tuple[int, DroppedRow]]]:
        """The waiting documents that others contain, batch by batch.

        Yields:
            The number of each, and why it is dropped.

        Args:
            spool: the documents, the largest first.
            references: collections that are not changed.
            options: which documents are dropped, and what their rows have.
        """
        self.spool = spool
        self.dropped = np.zeros(spool.count, dtype=np.bool_)
        self.add([], [])
        codes, samples, numbers, sizes = map(np.concatenate, zip(*self._parts, strict=True))
        order = np.argsort(codes)
        self._codes, self._samples = codes[order], samples[order]
        self._numbers, self._sizes = numbers[order], sizes[order]
        self._parts = []
        sources = [(collection.reference, collection.documents()) for collection in references]
        if not options.choice.drop.only_against:
            sources.append((None, spool.batches_of(spool.in_order())))
        for reference, batch in ((name, batch) for name, each in sources for batch in each):
            numbers = np.array([document.number for document in batch])
            rows = list[tuple[int, DroppedRow]]()
            for index, smaller, similarity in self.contained(
                [document.stored for document in batch], numbers
            ):
                larger = batch[index]
                self.dropped[smaller.number] = True
                same_text = smaller.stored == larger.stored
                same_bytes = smaller.bytes_digest == larger.bytes_digest is not None
                rows_named = smaller.key, smaller.file, smaller.line, larger.key, larger.file
                matched = similarity, True, same_text and same_bytes, same_text, reference
                fields = picked_fields(options.fields, smaller.metadata, larger.metadata)
                dropped = DroppedRow(*rows_named, larger.line, *matched, *fields)
                rows.append((smaller.number, dropped))
            yield rows

    def contained(
        self, stored: Sequence[str], larger_numbers: arrays.IntArray
    ) -> Iterator[tuple[int, SpooledDocument, float]]:
        """The remembered documents that the documents of a batch contain.

        Args:
            stored: the documents of the batch in their stored form.
            larger_numbers: int64[n], their numbers; -1 for documents that are not remembered.

        Yields:
            The index of the larger document, ascending, the smaller document, and the similarity of
            the two.
        """
        sets = self.shingles(stored)
        sizes = arrays.sizes_of(sets.offsets)
        first_codes = np.searchsorted(self._codes, sets.hashes)
        many = np.searchsorted(self._codes, sets.hashes, "right") - first_codes
        hits = np.flatnonzero(many)
        first_codes, many = first_codes[hits], many[hits]
        holders = np.searchsorted(sets.offsets, hits, "right") - 1
        numbers = larger_numbers.tolist()
        batch_sets = {number: _set(sets, index) for index, number in enumerate(numbers)}
        for part in arrays.chunks_of(many, _PAIRS_AT_ONCE):
            # What a contained document contains is in the other one, too.
            holder_numbers = larger_numbers[holders[part]]
            free = (holder_numbers < 0) | ~self.dropped[holder_numbers]
            first, counts = first_codes[part][free], many[part][free]
            entries, holder = (
                arrays.expand_ranges(first, counts),
                np.repeat(holders[part][free], counts),
            )
            number = self._numbers[entries]
            possible = (self._sizes[entries] <= sizes[holder]) & (number != larger_numbers[holder])
            possible &= ~self.dropped[number]
            order = np.flatnonzero(possible)
            order = order[np.lexsort((number[order], holder[order]))]
            begins, ends = arrays.runs(holder[order])
            for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
                entry, larger = entries[order[begin:end]], int(holder[order[begin]])
                hashes, larger_number = _set(sets, larger), int(larger_numbers[larger])
                for document, size in self._inside(hashes, larger_number, entry, batch_sets):
                    yield larger, document, size / len(hashes)

    def _inside(
        self,
        hashes: Hashes,
        larger_number: int,
        entries: arrays.IntArray,
        batch_sets: dict[int, Hashes],
    ) -> Iterator[tuple[SpooledDocument, int]]:
        """The documents that a larger one contains, each with the number of its shingles.

        Documents that were dropped after the pairs were found are not compared.

        Args:
            hashes: the distinct shingles of the larger document.
            larger_number: its number, or -1.
            entries: int64[any], the entries of the documents that it may contain.
            batch_sets: the shingles of the batch, by number.
        """
        if larger_number >= 0 and self.dropped[larger_number]:
            return
        entries = entries[~self.dropped[self._numbers[entries]]]
        entries = entries[
            arrays.is_in(self._samples[entries].ravel(), hashes).reshape(-1, _SAMPLE).all(axis=1)
        ]
        for part in arrays.chunks_of(
            self._sizes[entries].astype(np.int64), self.spool.limits.join_read
        ):
            numbers, sizes = self._numbers[entries[part]], self._sizes[entries[part]]
            smaller = self._sets_of(numbers.tolist(), batch_sets)
            whole = arrays.is_in(np.concatenate(smaller), hashes)
            inside = np.logical_and.reduceat(
                whole, arrays.offsets_of(arrays.lengths_of(smaller))[:-1]
            )
            documents = self.spool.documents(numbers[inside].tolist())
            yield from zip(documents, sizes[inside].tolist(), strict=True)

    def _sets_of(self, numbers: Sequence[int], batch_sets: dict[int, Hashes]) -> list[Hashes]:
        """The distinct shingles of documents, sorted: of the batch, or computed now."""
        known = dict(batch_sets)
        missing = [number for number in numbers if number not in known]
        for batch in self.spool.batches_of(self.spool.documents(missing)):
            sets = self.shingles([document.stored for document in batch])
            known |= {document.number: _set(sets, index) for index, document in enumerate(batch)}
        return [known[number] for number in numbers]


def _set(sets: Shingles, index: int) -> Hashes:
    """The hashes of a set."""
    return sets.hashes[sets.offsets[index] : sets.offsets[index + 1]]
