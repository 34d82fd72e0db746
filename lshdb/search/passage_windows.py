"""The windows of stored texts that other texts may share, with where they are, on disk.

All pairs need the windows of each document many times, and their places in the text. They are
found once, and wait in a temporary file for the pairs that they are in: 29 bytes for each window
whose fingerprint several documents have, about twice the size of source code, less of prose.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from lshdb.errors import temporary_file_errors
from lshdb.model import Settings
from lshdb.search.passage_texts import Mask, is_in, window_hashes
from lshdb.shingling.arrays import Numbers, bounded, offsets_of
from lshdb.shingling.hashing import Hashes, Offsets, selection
from lshdb.shingling.positions import line_numbers, unit_positions
from lshdb.shingling.shingles import shingle
from lshdb.shingling.winnowing import fingerprint_shingling, fingerprints_of_windows
from lshdb.store.lookups import StoreReader
from lshdb.workers import Job, Workers, default_workers

Rows: TypeAlias = npt.NDArray[Any]
"""Windows, as KIND has them."""

COUNTS: Final = 1
"""The window counts where its document is the first of a pair."""
HOT: Final = 2
"""Its fingerprint leads to no pair, as too many documents have it."""
AGAIN: Final = 4
"""The document has the same window before."""
REPEATED: Final = 8
"""It is the first of several."""

KIND: Final = np.dtype(
    [
        ("hash", "u8"),
        ("unit", "i4"),  # its first unit
        ("start", "i4"),  # of that, and the end of its last one, in characters
        ("end", "i4"),
        ("line", "i4"),  # and in lines, from 1
        ("end_line", "i4"),
        ("by_hash", "i4"),  # the place of the i-th one by hash, in the batch
        ("flags", "u1"),
    ]
)
CAN_SHARE: Final = hasattr(os, "pread")
"""Whether a worker process can read the file."""
PROCESSES: Final = 1
"""Worker processes at most, as each has large arrays of its own. One saves a third of the time:
`scripts/bench passages` shows 13 seconds of CPU time in 8.5 seconds."""
_AHEAD: Final = 5
"""Batches of texts in memory, so that a worker has the next one while this process does one."""
_TOGETHER: Final = {"word": 4_000_000, "char": 1_000_000}
"""Characters of a batch, whose windows are in memory, some 70 bytes each."""
_SPARSE: Final = 3
"""Bits more than shared fingerprints need for a number: of other windows one in 8 stays."""


class StoredWindows:
    """The windows of all m documents that may be shared, to be read again and again.

    A worker process gets all but the file, whose descriptor it inherits.

    Attributes:
        doc_ids: int64[m], ascending.
        counts: int64[m], how many windows each document has.
        sizes: int64[m], how many of these are here.
        batches: int64[any], the numbers of documents at which batches begin, and m.
        descriptor: of the file.
    """

    def __init__(
        self, reader: StoreReader, shared: Mask, hot: Offsets, left_out: Sequence[Hashes]
    ) -> None:
        """Find the windows of documents.

        Args:
            reader: of the file.
            shared: of the fingerprints that several documents have, see slots_of.
            hot: sorted fingerprints that lead to no pair.
            left_out: sorted windows that do not count.
        """
        with temporary_file_errors():
            self._file = TemporaryFile()  # noqa: SIM115
        self.descriptor = self._file.fileno()
        none = np.empty(0, dtype=np.int64)
        self.doc_ids = np.concatenate([none, *(ids for ids, _ in reader.all_keys())])
        counts, sizes = [none], [none]
        together = _TOGETHER[reader.settings.shingling.kind]
        job = _Finding(reader.settings, hot, tuple(left_out), shared)
        with Workers(job, min(default_workers(), PROCESSES)) as pool:
            batches = bounded(reader.contents(self.doc_ids), len, together)
            for rows, some_counts, some_sizes in pool.results(batches, ahead=_AHEAD):
                with temporary_file_errors():
                    self._file.write(rows.tobytes())
                counts.append(some_counts)
                sizes.append(some_sizes)
        with temporary_file_errors():
            self._file.flush()
        self.counts, self.sizes = np.concatenate(counts), np.concatenate(sizes)
        self._begins = offsets_of(self.sizes)
        self.batches = offsets_of(np.array([len(one) for one in sizes[1:]], dtype=np.int64))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_file"}

    def close(self) -> None:
        """Delete the file."""
        self._file.close()

    def read(self, first: int, last: int) -> Rows:
        """The windows of documents `first` to `last` - 1, one after the other."""
        begin, end = (int(self._begins[one]) * KIND.itemsize for one in (first, last))
        if CAN_SHARE:
            return np.frombuffer(os.pread(self.descriptor, end - begin, begin), dtype=KIND)
        self._file.seek(begin)
        return np.frombuffer(self._file.read(end - begin), dtype=KIND)


Found: TypeAlias = tuple[Rows, Offsets, Offsets]
"""The windows of n texts that are kept, how many each text has, and how many are kept, int64[n]."""


@dataclass(frozen=True, slots=True)
class _Finding(Job[list[str], Found]):
    """Finds the windows of texts that may be shared.

    Attributes:
        settings: of the database.
        hot: sorted fingerprints that lead to no pair.
        left_out: sorted windows that do not count.
        shared: bool[2^any], true at the low bits of each fingerprint that documents share.
    """

    settings: Settings
    hot: Offsets
    left_out: Sequence[Hashes]
    shared: Mask

    def split(self, texts: list[str]) -> tuple[list[str], list[str]]:
        """A worker's reply needs no text."""
        return texts, []

    def run(self, texts: list[str]) -> Found:
        """Find the windows of texts."""
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
        hashes, offsets = window_hashes(long, settings)
        wanted = self.shared[least & (len(self.shared) - 1)]
        counting = np.ones(len(hashes), dtype=np.bool_)
        for some in self.left_out:
            out = is_in(hashes, some)
            if out.any():
                wanted &= ~out
                counting &= ~touching(out, offsets, run)
        at = np.flatnonzero(wanted)
        own = own[at]
        rows = np.zeros(len(at), dtype=KIND)
        rows["hash"] = hashes[at]
        rows["unit"] = at - (np.cumsum(counts) - counts)[own]
        rows["flags"] = COUNTS * counting[at] + HOT * is_in(least[at], self.hot)
        rows["by_hash"] = np.argsort(rows["hash"], kind="stable")
        rows["flags"] += _repetitions(rows["hash"], own, rows["by_hash"])
        units, begins = unit_positions(texts, settings.shingling.kind)
        first = begins[own] + rows["unit"]
        rows["start"], rows["end"] = units.starts[first], units.ends[first + (run - 1)]
        rows["line"], rows["end_line"] = line_numbers(texts, own, rows["start"], rows["end"])
        return rows, counts, np.bincount(own, minlength=len(texts))


def slots_of(values: Offsets) -> Mask:
    """A table of 2^bits slots, true at the low bits of each of the values, int64[n]."""
    slots = np.zeros(1 << (len(values).bit_length() + _SPARSE), dtype=np.bool_)
    slots[values & (len(slots) - 1)] = True
    return slots


def _repetitions(
    hashes: Hashes, documents: Numbers, order: npt.NDArray[np.int32]
) -> npt.NDArray[np.uint8]:
    """AGAIN and REPEATED of windows uint64[n], in the order of documents and by hash."""
    hashes, documents = hashes[order], documents[order]
    flags = np.zeros(len(order), dtype=np.uint8)
    same = np.flatnonzero((hashes[1:] == hashes[:-1]) & (documents[1:] == documents[:-1]))
    flags[order[same]] = REPEATED
    flags[order[same + 1]] = AGAIN
    return flags


def touching(left_out: Mask, offsets: Offsets, run: int) -> Mask:
    """Which windows have a unit of one that is left out, bool[n] -> bool[n].

    Args:
        left_out: of the windows of some texts, one after the other.
        offsets: int64[texts+1], where each text begins.
        run: units of a window.
    """
    # Unit i of a text is behind the units of the texts before, of which each has run - 1 more
    # than windows.
    own = np.repeat(np.arange(len(offsets) - 1) * (run - 1), np.diff(offsets))
    unit = np.arange(len(left_out)) + own
    change = np.zeros(len(left_out) + (len(offsets) - 1) * (run - 1) + 1, dtype=np.int64)
    change[unit[left_out]] += 1
    change[unit[left_out] + run] -= 1
    total = np.append(0, np.cumsum(np.cumsum(change)[:-1] > 0))
    touched: Mask = total[unit + run] > total[unit]
    return touched
