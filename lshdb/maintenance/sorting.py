"""Sorting the band rows of any number of documents, in bounded memory.

Rows are held in memory; when there are too many, they are sorted and written to a temporary file
as a run, and the runs are merged in the end. A million documents in 16 bands need no file yet.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import IO, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from lshdb.errors import StoreError

Numbers: TypeAlias = npt.NDArray[np.int64]

_HELD: Final = 160_000_000
"""Bytes of rows in memory before a run is written."""
_BUFFERS: Final = 48_000_000
"""Bytes of all runs in memory while they are merged."""
_LEAST: Final = 500
"""Rows of a run that are read at once, however many runs there are."""
_ROW: Final = 16


class BandSorter:
    """Takes the bucket keys of documents, gives them back band by band, sorted.

    Documents come in the order of their ids. Use as a context manager: a temporary file is then
    gone in the end.
    """

    def __init__(self, bands: int, held: int = _HELD, buffers: int = _BUFFERS) -> None:
        self._bands = bands
        self._most = held
        self._buffers = buffers
        self._keys: list[Numbers] = []  # int64[bands, n] each
        self._doc_ids: list[Numbers] = []
        self._held = 0
        self._runs: list[tuple[int, int]] = []
        """Of each run its place in the file, and its number of documents."""
        self._file: IO[bytes] | None = None

    def __enter__(self) -> BandSorter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, doc_ids: Numbers, bucket_keys: Numbers) -> None:
        """Take the bucket keys int64[n, bands] of documents int64[n].

        Raises:
            StoreError: a temporary file cannot be written.
        """
        self._doc_ids.append(doc_ids)
        self._keys.append(np.ascontiguousarray(bucket_keys.T))
        self._held += doc_ids.nbytes + bucket_keys.nbytes
        if self._held > self._most:
            self._write_run()

    def sorted(self, band: int) -> Iterator[tuple[Numbers, Numbers]]:
        """The rows of a band by bucket key and doc_id: keys int64[m], doc_ids int64[m]."""
        if not self._runs:
            if self._doc_ids:
                yield self._of_band(band, np.concatenate(self._doc_ids))
            return
        if self._doc_ids:
            self._write_run()
        file = self._file
        assert file is not None
        at_once = max(_LEAST, self._buffers // _ROW // len(self._runs))
        with _told():
            yield from _merged(
                [
                    _Run(file, place + band * documents * _ROW, documents, at_once)
                    for place, documents in self._runs
                ]
            )

    def _of_band(self, band: int, doc_ids: Numbers) -> tuple[Numbers, Numbers]:
        keys = np.concatenate([block[band] for block in self._keys])
        # Documents are in the order of their ids, and a stable sort leaves them so in a bucket.
        order = np.argsort(keys, kind="stable")
        return keys[order], doc_ids[order]

    def _write_run(self) -> None:
        doc_ids = np.concatenate(self._doc_ids)
        with _told():
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="lshdb-")  # noqa: SIM115
            place = self._file.seek(0, 2)
            for band in range(self._bands):
                keys, ids = self._of_band(band, doc_ids)
                self._file.write(keys.data)
                self._file.write(ids.data)
            self._file.flush()
        self._runs.append((place, len(doc_ids)))
        self._keys, self._doc_ids, self._held = [], [], 0


class _Run:
    """The rows of one band in one run, read as they are taken.

    Attributes:
        keys, doc_ids: the rows that were read and not taken; none only at the run's end.
    """

    def __init__(self, file: IO[bytes], place: int, documents: int, at_once: int) -> None:
        self._file = file
        self._place = place
        self._documents = documents
        self._at_once = at_once
        self._read = 0
        self.keys: Numbers
        self.doc_ids: Numbers
        self._fill()

    @property
    def goes_on(self) -> bool:
        """Whether there is more in the file."""
        return self._read < self._documents

    def take(self, count: int) -> tuple[Numbers, Numbers]:
        """The next rows of those that were read."""
        taken = self.keys[:count], self.doc_ids[:count]
        self.keys, self.doc_ids = self.keys[count:], self.doc_ids[count:]
        if not len(self.keys):
            self._fill()
        return taken

    def _fill(self) -> None:
        count = min(self._at_once, self._documents - self._read)
        begin = self._place + 8 * self._read
        self.keys = self._numbers(begin, count)
        self.doc_ids = self._numbers(begin + 8 * self._documents, count)
        self._read += count

    def _numbers(self, place: int, count: int) -> Numbers:
        self._file.seek(place)
        data = self._file.read(8 * count)
        if len(data) != 8 * count:
            raise OSError("a temporary file was cut short")
        return np.frombuffer(data, dtype=np.int64)


def _merged(runs: list[_Run]) -> Iterator[tuple[Numbers, Numbers]]:
    """The rows of runs in their order; the documents of a run come before those of the next."""
    while any(len(run.keys) for run in runs):
        # What is above the last key that was read of a run may come before what was not read.
        bounds = [run.keys[-1] for run in runs if run.goes_on]
        if not bounds:
            yield _joined([run.take(len(run.keys)) for run in runs])
            continue
        bound = min(bounds)
        below = [int(np.searchsorted(run.keys, bound)) for run in runs]
        if any(below):
            yield _joined([run.take(count) for run, count in zip(runs, below, strict=True)])
            continue
        # A bucket too large for the memory of all runs: it comes run by run.
        for run in runs:
            while len(run.keys) and run.keys[0] == bound:
                yield run.take(int(np.searchsorted(run.keys, bound, side="right")))


def _joined(parts: list[tuple[Numbers, Numbers]]) -> tuple[Numbers, Numbers]:
    keys = np.concatenate([part[0] for part in parts])
    order = np.argsort(keys, kind="stable")
    return keys[order], np.concatenate([part[1] for part in parts])[order]


@contextmanager
def _told() -> Iterator[None]:
    """Tell what a temporary file has to do with it."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StoreError(
            f"a temporary file in {tempfile.gettempdir()}: {reason}; TMPDIR names another directory"
        ) from error
