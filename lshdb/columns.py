"""Columns of values, each in one piece of memory, for many rows of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias, overload

import numpy as np
import numpy.typing as npt

INTEGER: Final = 0
TEXT: Final = 1
BLOB: Final = 2
NULL: Final = 3
"""The kinds of columns: what the compiled kernel `rows` binds; of the last it binds nothing."""

SQLITE: Final = ("bind_int64", "bind_text64", "bind_blob64", "step", "reset")
"""The functions whose addresses it is given, without `sqlite3_`."""


class Texts(Sequence[str]):
    """Texts as UTF-8, one behind the other, and made into strings only when they are looked at.

    Attributes:
        data: all of them.
        bounds: where each begins and the last one ends, in bytes, int64[n + 1].
    """

    __slots__ = ("bounds", "data")

    def __init__(self, data: bytes | memoryview, sizes: npt.NDArray[np.int64]) -> None:
        """Take texts of so many bytes each, int64[n]."""
        self.data = data
        self.bounds = np.zeros(len(sizes) + 1, dtype=np.int64)
        np.cumsum(sizes, out=self.bounds[1:])

    @classmethod
    def packed(cls, texts: Sequence[str]) -> Texts:
        """Strings in one piece; those that are so already stay as they are."""
        if isinstance(texts, Texts):
            return texts
        joined = "".join(texts)
        parts: Sequence[str | bytes] = (
            texts if joined.isascii() else [one.encode() for one in texts]
        )
        return cls(joined.encode(), np.fromiter(map(len, parts), np.int64, len(parts)))

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The bytes of each, int64[n]."""
        return np.diff(self.bounds)

    def __eq__(self, other: object) -> bool:
        """Whether another sequence has the same texts."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Texts.packed({list(self)!r})"

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[place] for place in range(len(self))[index]]
        place = range(len(self))[index]
        return str(self.data[self.bounds[place] : self.bounds[place + 1]], "utf-8")

    def __iter__(self) -> Iterator[str]:
        bounds = self.bounds.tolist()
        whole = str(self.data, "utf-8")
        if len(whole) == len(self.data):
            return (whole[start:end] for start, end in pairwise(bounds))
        return (str(self.data[start:end], "utf-8") for start, end in pairwise(bounds))


class Blobs(Sequence[bytes]):
    """Byte strings of one length, one behind the other.

    Attributes:
        matrix: uint8[n, length].
    """

    __slots__ = ("matrix",)

    def __init__(self, data: bytes | npt.NDArray[Any], length: int) -> None:
        """Take n byte strings of so many bytes each."""
        self.matrix = np.frombuffer(data, dtype=np.uint8).reshape(-1, length)

    @classmethod
    def packed(cls, blobs: Sequence[bytes]) -> Blobs:
        """Byte strings in one piece; those that are so already stay as they are."""
        if isinstance(blobs, Blobs):
            return blobs
        return cls(b"".join(blobs), len(blobs[0]) if blobs else 1)

    def __eq__(self, other: object) -> bool:
        """Whether another sequence has the same byte strings."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Blobs.packed({list(self)!r})"

    def __len__(self) -> int:
        return len(self.matrix)

    @overload
    def __getitem__(self, index: int) -> bytes: ...

    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...

    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        if isinstance(index, slice):
            return list(self)[index]
        return bytes(self.matrix[index])

    def __iter__(self) -> Iterator[bytes]:
        whole, length = self.matrix.tobytes(), self.matrix.shape[1]
        return (whole[start : start + length] for start in range(0, len(whole), length))


Column: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.uint8] | Texts | None
"""Integers int64[n], byte strings of one length uint8[n, length], texts, or NULL for all rows."""


def matrix(
    count: int, columns: Sequence[Column]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Columns of so many rows as the compiled kernel `rows` wants them.

    Returns:
        The kind of each, int64[columns], and their values, int64[columns, count + 1]: integers, or
        addresses, of which each is the end of the one before it. The columns must outlive these.
    """
    kinds = np.empty(len(columns), dtype=np.int64)
    values = np.zeros((len(columns), count + 1), dtype=np.int64)
    for own, place, column in zip(values, range(len(columns)), columns, strict=True):
        if column is None:
            kinds[place] = NULL
        elif isinstance(column, Texts):
            kinds[place] = TEXT
            own[:] = column.bounds
            own += _address(np.frombuffer(column.data, dtype=np.uint8))
        elif column.ndim == 1:
            kinds[place] = INTEGER
            own[:count] = column
        else:
            kinds[place] = BLOB
            assert column.flags.c_contiguous
            own[:] = np.arange(count + 1) * column.shape[1]
            own += _address(column)
    return kinds, values


def _address(octets: npt.NDArray[Any]) -> int:
    # Of nothing it may be 0, which to SQLite is NULL and no text.
    address: int = octets.__array_interface__["data"][0]
    return address or 1
