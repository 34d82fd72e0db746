"""What the compiled kernels have in common (see lshdb.compiled)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.extending import intrinsic

Hashes = npt.NDArray[np.uint64]
Offsets = npt.NDArray[np.int64]
Narrow = npt.NDArray[np.uint32]
Octets = npt.NDArray[np.uint8]

NOTHING = np.uint64(0xFFFFFFFFFFFFFFFF)

_F = TypeVar("_F", bound=Callable[..., object])

_1 = np.uint64(1)
_8 = np.uint64(8)


def part(function: _F) -> _F:
    """Compile into the kernels that call it."""
    return cast(_F, numba.njit(inline="always")(function))


def _load(_context: Any, octets: Any, _at: Any) -> Any:
    """The type of a word of octets, and what loads it, for numba."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        address = builder.gep(arguments[0], [arguments[1]])
        word = builder.load(builder.bitcast(address, ir.IntType(64).as_pointer()))
        word.align = 1
        return word

    return numba.types.uint64(octets, numba.types.int64), generate


word_at = cast(Callable[[Octets, int], np.uint64], intrinsic(_load))
"""The 8 octets of an array from a place on as a little-endian word, aligned or not."""


@part
def first_bytes(count: int) -> np.uint64:
    """The mask of the first `count` bytes of a little-endian word."""
    if count >= 8:
        return NOTHING
    return (_1 << (_8 * np.uint64(count))) - _1
