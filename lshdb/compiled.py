"""The kernels that most of the time goes to, compiled by numba; the extra `speed` installs it.

Each gives the very same bits as the numpy code that calls it, which says what it computes. Only
lshdb.acceleration imports this module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
Offsets = npt.NDArray[np.int64]
Narrow = npt.NDArray[np.uint32]

_F = TypeVar("_F", bound=Callable[..., object])

_WORDS = numba.types.Array(numba.uint64, 1, "A", readonly=True, aligned=False)
"""8 bytes at every byte of a buffer, as lshdb.hashing makes them."""
_HASHES = numba.uint64[::1]
_OFFSETS = numba.int64[::1]
_NARROW = numba.uint32[::1]
_HASH = numba.uint64

_NOTHING = np.uint64(0xFFFFFFFFFFFFFFFF)
_1 = np.uint64(1)
_8 = np.uint64(8)
_32 = np.uint64(32)


def _compiled(*arguments: object) -> Callable[[_F], _F]:
    """Compile for arguments of these types, now; the result is kept on disk for all processes."""
    result = numba.types.void(*arguments)

    def compile(function: _F) -> _F:
        return cast(_F, numba.njit(result, cache=True, nogil=True)(function))

    return compile


def _part(function: _F) -> _F:
    """Compile into the kernels that call it."""
    return cast(_F, numba.njit(inline="always")(function))


@_part
def _mix(x: np.uint64, multiplier_1: np.uint64, multiplier_2: np.uint64) -> np.uint64:
    x = x * multiplier_1
    return (x ^ (x >> _32)) * multiplier_2


@_part
def _first_bytes(count: int) -> np.uint64:
    """The mask of the first `count` bytes of a little-endian word."""
    if count >= 8:
        return _NOTHING
    return (_1 << (_8 * np.uint64(count))) - _1


@_part
def _narrow_hash(y: np.uint32, constant: np.uint32, narrow: Narrow) -> np.uint32:
    g = np.uint32((y ^ constant) * narrow[0])
    g ^= g >> np.uint32(16)
    return np.uint32(g * narrow[1])


@_compiled(_HASHES, _OFFSETS, _HASH, _HASHES, _NARROW, _NARROW, numba.uint32[:, ::1])
def fast_signatures(
    hashes: Hashes,
    offsets: Offsets,
    constant: np.uint64,
    wide: Hashes,
    rounds: Narrow,
    narrow: Narrow,
    out: Narrow,
) -> None:
    """FastSketch.signatures, into `out`; rounds of a document end when no lane is empty."""
    lanes = out.shape[1]
    k = np.uint64(lanes)
    table = np.empty(lanes, np.uint64)
    later = np.empty(lanes, np.uint64)
    y = np.empty(64, np.uint32)
    for document in range(len(offsets) - 1):
        begin, end = offsets[document], offsets[document + 1]
        table[:] = _NOTHING
        for i in range(begin, end):
            h = _mix(hashes[i] ^ constant, wide[0], wide[1])
            place = ((h >> _32) * k) >> _32
            table[place] = min(table[place], h)
        empty = 0
        for lane in range(lanes):
            out[document, lane] = np.uint32(table[lane])
            nothing = table[lane] == _NOTHING
            empty += nothing
            later[lane] = _NOTHING if nothing else np.uint64(0)
        count = end - begin
        if empty == 0 or count == 0:
            continue
        if len(y) < count:
            y = np.empty(2 * count, np.uint32)
        for i in range(count):
            y[i] = np.uint32((hashes[begin + i] * wide[2]) >> _32)
        if count > 8 * lanes:
            # It has few distinct shingles, or no lane would be empty; all would take k rounds.
            few = np.unique(y[:count])
            count = len(few)
            y[:count] = few
        for number in range(1, lanes):
            for i in range(count):
                g = _narrow_hash(y[i], rounds[number], narrow)
                place = (np.uint64(g) * k) >> _32
                later[place] = min(later[place], (np.uint64(number) << _32) | np.uint64(g))
            empty = 0
            for lane in range(lanes):
                empty += later[lane] == _NOTHING
            if empty == 0:
                break
        for lane in range(lanes):
            if table[lane] != _NOTHING:
                continue
            if later[lane] == _NOTHING:
                for i in range(count):
                    g = _narrow_hash(y[i], rounds[lanes + lane], narrow)
                    later[lane] = min(later[lane], np.uint64(g))
            out[document, lane] = np.uint32(later[lane])


@_compiled(_WORDS, _OFFSETS, _OFFSETS, _HASH, _HASH, _HASH, _HASH, _HASHES)
def spans(
    words: Hashes,
    starts: Offsets,
    lengths: Offsets,
    start: np.uint64,
    length: np.uint64,
    multiplier_1: np.uint64,
    multiplier_2: np.uint64,
    out: Hashes,
) -> None:
    """SpanHash.spans of at most LONGEST_CHAINED bytes, into `out`; `words` as there."""
    for i in range(len(starts)):
        left = lengths[i]
        at = starts[i]
        h = start + np.uint64(left) * length
        while True:
            h = _mix(h ^ (words[at] & _first_bytes(left)), multiplier_1, multiplier_2)
            if left <= 8:
                break
            left -= 8
            at += 8
        out[i] = h


@_compiled(_WORDS, _OFFSETS, _OFFSETS, numba.int64, _HASH, _HASH, _HASH, _HASHES)
def windows(
    words: Hashes,
    starts: Offsets,
    counts: Offsets,
    width: int,
    state: np.uint64,
    multiplier_1: np.uint64,
    multiplier_2: np.uint64,
    out: Hashes,
) -> None:
    """SpanHash.windows, into `out`; `words` as there."""
    used = 0
    for text in range(len(starts)):
        mask = _first_bytes(width)
        begin, count = starts[text], counts[text]
        # Slices: an index that cannot be negative lets the loops run in vector registers.
        own = out[used : used + count]
        chunks = words[begin : begin + count]
        for i in range(count):
            own[i] = _mix((chunks[i] & mask) ^ state, multiplier_1, multiplier_2)
        for done in range(8, width, 8):
            mask = _first_bytes(width - done)
            chunks = words[begin + done : begin + done + count]
            for i in range(count):
                own[i] = _mix(own[i] ^ (chunks[i] & mask), multiplier_1, multiplier_2)
        used += count


@_compiled(_HASHES, _OFFSETS, _HASHES, _HASHES)
def word_sums(hashes: Hashes, lengths: Offsets, places: Hashes, out: Hashes) -> None:
    """The shingles of texts of `lengths` words, into `out`; see lshdb.shingling."""
    size = len(places)
    used = 0
    first = 0
    for text in range(len(lengths)):
        length = lengths[text]
        # A text of fewer words than a shingle has one shingle, of all its words.
        whole = max(length - size + 1, 1 if length > 0 else 0)
        own = out[used : used + whole]
        own[:] = 0
        for place in range(min(size, length)):
            words = hashes[first + place : first + place + whole]
            for i in range(whole):
                own[i] += words[i] * places[place]
        used += whole
        first += length
