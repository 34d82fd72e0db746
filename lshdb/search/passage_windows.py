"""The windows of stored texts that other texts may share, with where they are, on disk.

All pairs need each window once, in the order of hashes. They are found text by text, and wait in
temporary files beside the texts: 49 bytes for each window whose fingerprint several documents have,
at most some four times the size of the texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from lshdb.model import Settings
from lshdb.search.passage_texts import (
    MANY_TIMES,
    Mask,
    Places,
    base_windows,
    common_windows,
    counting,
    is_in,
    longest_common,
    slots_of,
    window_hashes,
)
from lshdb.search.spilled import Rows, SpilledRows, SpilledTexts
from lshdb.shingling.arrays import Numbers, bounded
from lshdb.shingling.hashing import Hashes, Offsets, secret_seed, selection
from lshdb.shingling.positions import line_numbers, unit_positions
from lshdb.shingling.shingles import shingle
from lshdb.shingling.winnowing import fingerprint_shingling, fingerprints_of_windows
from lshdb.store.lookups import StoreReader
from lshdb.workers import Job, Workers, default_workers

BEGINS: Final = 1
"""A run begins here, as the window before it is not here."""
ENDS: Final = 2
"""The same for the window after it."""
MANY: Final = 4
"""Its document has it more than MANY_TIMES times."""

WINDOW: Final = np.dtype(
    [
        ("hash", "u8"),
        ("before", "u8"),  # the hash of the window before it, if that is here
        ("after", "u8"),  # of the one after it
        ("document", "i4"),  # the number of the document, from 0
        ("unit", "i4"),  # its first unit
        ("start", "i4"),  # of that, and the end of its last one, in characters
        ("end", "i4"),
        ("line", "i4"),  # and in lines, from 1
        ("end_line", "i4"),
        ("flags", "u1"),
    ]
)
_AHEAD: Final = 5
"""Batches of texts in memory, so that a worker has the next one while this process does one."""
_TOGETHER: Final = {"word": 8, "char": 2}
"""Characters of a batch for each window in memory."""
_HASH_CELLS: Final = 10
"""Bits of a hash that are its cell."""
_DOCUMENT_CELLS: Final = 12
"""Bits of the number of a cell of documents, at most."""
_NONE: Final = np.empty(0, dtype=np.int64)
_Texts: TypeAlias = tuple[int, list[str]]
"""The number of the first of n texts, and the texts."""


class StoredWindows:
    """The windows of all m documents that may be shared.

    Attributes:
        settings: of the database.
        limits: the reader's.
        seed: of the windows, for all processes that take part.
        left_out: sorted windows that do not count.
        common: the longest runs that are in too many documents, with the key of one of these.
        units: int64[m], how many units each document has, or more if it has no window.
        by_hash: those that lead to pairs, a cell for each stretch of hashes.
        hot: the others: too many documents have their fingerprint. A cell is some documents.
        shift: the cell of a document is its number without this many bits.
        document_cells: how many cells of documents there are.
        texts: of the documents.
        keys: of the documents.
    """

    def __init__(self, reader: StoreReader, common: int, base: Sequence[str]) -> None:
        """Find the windows of documents.

        Args:
            reader: of the file.
            common: fingerprints that more documents have lead to no pair.
            base: texts that do not count.
        """
        self.settings, self.limits = reader.settings, reader.limits
        self.seed = secret_seed()
        shared, hot = reader.shared_fingerprints(common)
        slots = slots_of(shared)
        del shared  # 8 bytes each
        windows = common_windows(reader, hot, self.seed)
        self.common = longest_common(reader, windows, hot, self.seed)
        self.left_out = (windows, *base_windows(base, self.settings, self.seed))
        doc_ids, counts = [_NONE], [_NONE]
        self.texts, self.keys = SpilledTexts(), SpilledTexts()
        for ids, keys in reader.all_keys():
            doc_ids.append(ids)
            self.keys.append(keys)
        documents = np.concatenate(doc_ids)
        self.shift = max(len(documents).bit_length() - _DOCUMENT_CELLS, 0)
        self.document_cells = (len(documents) >> self.shift) + 1
        self.by_hash = SpilledRows(WINDOW, 1 << _HASH_CELLS)
        self.hot = SpilledRows(WINDOW, self.document_cells)
        together = self.limits.passage_windows * _TOGETHER[self.settings.shingling.kind]
        job = _Finding(self.settings, self.seed, hot, self.left_out, slots)
        batches = bounded(reader.contents(documents), len, together)
        count = min(default_workers(), self.limits.passage_processes)
        with Workers(job, count) as pool:
            for its_counts, cold, its_hot in pool.results(self._kept(batches), ahead=_AHEAD):
                counts.append(its_counts)
                cells = cold["hash"] >> np.uint64(64 - _HASH_CELLS)
                self.by_hash.append(cold, cells.view(np.int64))
                self.hot.append(its_hot, self.cells_of(its_hot["document"]))
        self.units = np.concatenate(counts) + self.settings.passages - 1

    def cells_of(self, documents: Numbers | Places) -> Numbers:
        """The cells of documents, int64[n] or int32[n]."""
        return documents.astype(np.int64) >> self.shift

    def close(self) -> None:
        """Delete the files."""
        for one in (self.by_hash, self.hot, self.texts, self.keys):
            one.close()

    def _kept(self, batches: Iterator[list[str]]) -> Iterator[_Texts]:
        """The texts, which are written too."""
        first = 0
        for texts in batches:
            self.texts.append(texts)
            yield first, texts
            first += len(texts)


_Found: TypeAlias = tuple[Offsets, Rows, Rows]
"""How many windows each of n texts has, int64[n]; those to join, by hash; and the hot ones."""


@dataclass(frozen=True, slots=True)
class _Finding(Job[_Texts, _Found]):
    """Finds the windows of texts that may be shared.

    Attributes:
        settings: of the database.
        seed: of the windows.
        hot: sorted fingerprints that lead to no pair.
        left_out: sorted windows that do not count.
        shared: bool[2^any], true at the low bits of each fingerprint that documents share.
    """

    settings: Settings
    seed: int
    hot: Offsets
    left_out: Sequence[Hashes]
    shared: Mask

    def split(self, item: _Texts) -> tuple[_Texts, _Texts]:
        """A worker's reply needs no text."""
        return item, (item[0], [])

    def run(self, item: _Texts) -> _Found:
        """Find the windows of texts."""
        number, texts = item
        settings, run = self.settings, self.settings.passages
        short = fingerprint_shingling(settings.shingling, run)
        window = run - short.size + 1
        shingles = shingle(texts, short, settings.seed)
        counts = np.maximum(np.diff(shingles.offsets) - (window - 1), 0)
        own = np.repeat(np.arange(len(texts)), counts)
        least = fingerprints_of_windows(shingles.hashes, window)
        has = counts > 0
        least = least[selection(shingles.offsets[:-1][has], counts[has], len(least))]
        long = [texts[place] for place in np.flatnonzero(has).tolist()]
        hashes, offsets = window_hashes(long, settings, self.seed)
        wanted = self.shared[least & (len(self.shared) - 1)]
        wanted &= counting(hashes, offsets, self.left_out, run)
        at = np.flatnonzero(wanted)
        hot = is_in(least[at], self.hot)
        wanted[at[hot]] = False
        own, kept = own[at], hashes[at]
        rows = np.zeros(len(at), dtype=WINDOW)
        rows["hash"] = kept
        rows["document"] = own + number
        rows["unit"] = at - (np.cumsum(counts) - counts)[own]
        flags = np.zeros(len(at), dtype=np.uint8)
        inner = np.ones(len(hashes) + 1, dtype=np.bool_)
        inner[offsets] = False  # before window i there is another one of its text
        for step, side, edge in ((-1, "before", BEGINS), (1, "after", ENDS)):
            near = (at + step) % max(len(hashes), 1)
            here = inner[at + (step > 0)] & wanted[near]
            rows[side] = np.where(here, hashes[near], ~kept)
            flags += np.uint8(edge) * ~here
        order = np.argsort(kept, kind="stable")
        flags[order] += np.uint8(MANY) * _stand_many_times(kept[order], own[order])
        rows["flags"] = flags
        units, begins = unit_positions(texts, settings.shingling.kind)
        first = begins[own] + rows["unit"]
        rows["start"], rows["end"] = units.starts[first], units.ends[first + (run - 1)]
        rows["line"], rows["end_line"] = line_numbers(texts, own, rows["start"], rows["end"])
        # `take` copies rows many times as fast as an index does.
        return counts, rows.take(order[~hot[order]]), rows.take(np.flatnonzero(hot))


def _stand_many_times(hashes: Hashes, documents: Numbers) -> Mask:
    """Which windows, by hash and document, stand in it more than MANY_TIMES times: bool[n]."""
    new = np.ones(len(hashes) + 1, dtype=np.bool_)
    new[1:-1] = (np.diff(documents) != 0) | (hashes[1:] != hashes[:-1])
    sizes = np.diff(np.flatnonzero(new))
    many: Mask = np.repeat(sizes > MANY_TIMES, sizes)
    return many
