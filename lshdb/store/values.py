"""What SQLite gives, as the type that it must have.

A file that is damaged where SQLite cannot see it gives values of another type, or of none: NumPy
would make numbers of some of them, and Python the word None. They are refused here.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from itertools import chain
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from lshdb.errors import DamagedFile

SqlValue: TypeAlias = str | int | float | bytes | None


def integer(value: SqlValue) -> int:
    """The value, which is an integer in every whole file."""
    if not isinstance(value, int):
        raise _other("an integer", value)
    return value


def blob(value: SqlValue) -> bytes:
    """The value, which is a BLOB in every whole file."""
    if not isinstance(value, bytes):
        raise _other("a BLOB", value)
    return value


def text(value: SqlValue) -> str:
    """The value, which is a text in every whole file."""
    if not isinstance(value, str):
        raise _other("a text", value)
    return value


def integers(rows: Iterable[tuple[SqlValue, ...]]) -> npt.NDArray[np.int64]:
    """The values of rows, one row after the other, int64[any], all of which must be integers."""
    try:
        # Nearly as fast as np.fromiter, which would cut decimal numbers down to integers.
        values = array("q", cast(Iterable[int], chain.from_iterable(rows)))
    except TypeError as error:
        raise DamagedFile(f"expected integers in the file: {error}; restore a copy") from error
    return np.frombuffer(values, dtype=np.int64) if values else np.empty(0, dtype=np.int64)


def _other(expected: str, value: SqlValue) -> DamagedFile:
    return DamagedFile(
        f"expected {expected} in the file, found {type(value).__name__}; restore it from a copy"
    )
