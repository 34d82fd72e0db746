"""What does not fit in memory, in temporary files that worker processes read too.

Rows come in any order of their cells and are read cell by cell: so windows are sorted by hash, and
runs by document, in one pass over the disk each.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate
from tempfile import TemporaryFile
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from lshdb.errors import temporary_file_errors
from lshdb.limits import Limits
from lshdb.shingling.arrays import Numbers, offsets_of, parts_of
from lshdb.workers import Job, Workers, default_workers

Rows: TypeAlias = npt.NDArray[Any]
Part: TypeAlias = tuple[int, int]
"""Some cells: the first and the last + 1."""

T = TypeVar("T")

CAN_SHARE: Final = hasattr(os, "pread")
"""Whether a worker process can read the files."""


class _Spilled:
    """A temporary file. A worker process gets all but the file, whose descriptor it inherits.

    Attributes:
        descriptor: of the file.
    """

    def __init__(self) -> None:
        """Make the file."""
        with temporary_file_errors():
            self._file = TemporaryFile()  # noqa: SIM115
        self.descriptor = self._file.fileno()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_file"}

    def close(self) -> None:
        """Delete the file."""
        self._file.close()

    def _write(self, data: Any) -> None:
        with temporary_file_errors():
            self._file.write(data)
            self._file.flush()

    def _read(self, begin: int, size: int) -> bytes:
        if CAN_SHARE:
            return os.pread(self.descriptor, size, begin)
        self._file.seek(begin)
        return self._file.read(size)


class SpilledRows(_Spilled):
    """Rows of some cells.

    Attributes:
        sizes: int64[cells], how many rows each cell has.
    """

    def __init__(self, dtype: npt.DTypeLike, cells: int) -> None:
        """Make the file.

        Args:
            dtype: of a row; it may be an array.
            cells: how many cells there are.
        """
        super().__init__()
        self.sizes = np.zeros(cells, dtype=np.int64)
        self._dtype = np.dtype(dtype)
        self._count = 0
        # How many rows came before each batch, and where its cells begin in it.
        self._batches: list[tuple[int, npt.NDArray[np.int32]]] = []

    def append(self, rows: Rows, cells: Numbers) -> None:
        """Write rows, in the order of their cells: int64[n]."""
        self._write(np.ascontiguousarray(rows).data)
        sizes = np.bincount(cells, minlength=len(self.sizes))
        self._batches.append((self._count, offsets_of(sizes).astype(np.int32)))
        self.sizes += sizes
        self._count += len(rows)

    def parts(self, most: int) -> list[Part]:
        """All cells, in parts of up to this many rows; one cell may have more."""
        return [(part.start, part.stop) for part in parts_of(self.sizes, most)]

    def read(self, part: Part) -> Rows:
        """The rows of some cells, batch by batch as they came."""
        size = self._dtype.itemsize
        pieces = []
        for before, bounds in self._batches:
            begin, end = (before + int(bounds[cell]) for cell in part)
            pieces.append(self._read(begin * size, (end - begin) * size))
        rows: Rows = np.frombuffer(b"".join(pieces), dtype=self._dtype)
        return rows


class SpilledTexts(_Spilled):
    """Texts, by their numbers from 0."""

    def __init__(self) -> None:
        """Make the file."""
        super().__init__()
        self._bounds = array("q", [0])

    def append(self, texts: Sequence[str]) -> None:
        """Write texts behind the others."""
        data = [text.encode("utf-8", "surrogatepass") for text in texts]
        self._write(b"".join(data))
        self._bounds.extend(accumulate(map(len, data), initial=self._bounds.pop()))

    def read(self, number: int) -> str:
        """A text."""
        begin, end = self._bounds[number : number + 2]
        return self._read(begin, end - begin).decode("utf-8", "surrogatepass")


def in_parts(
    job: Job[Part, T],
    parts: Sequence[Part],
    files: Sequence[_Spilled],
    limits: Limits,
    ahead: int = 3,
) -> Iterator[tuple[Part, T]]:
    """Do all parts of a job, some of them in a worker process.

    Args:
        job: what to do.
        parts: of the job.
        files: what it reads.
        limits: the number of worker processes.
        ahead: parts under way: one in the worker, the next ones, and one that is done here.
    """
    count = min(default_workers(), limits.passage_processes)
    count = count if len(parts) > 1 and CAN_SHARE else 0
    descriptors = [one.descriptor for one in files] if count else []
    with Workers(job, count, alone=0, files=descriptors) as pool:
        yield from zip(parts, pool.results(parts, ahead), strict=True)
