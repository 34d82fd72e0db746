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
Octets = npt.NDArray[np.uint8]

_F = TypeVar("_F", bound=Callable[..., object])

_WORDS = numba.types.Array(numba.uint64, 1, "A", readonly=True, aligned=False)
"""8 bytes at every byte of a buffer, as lshdb.hashing makes them."""
_HASHES = numba.uint64[::1]
_OFFSETS = numba.int64[::1]
_NARROW = numba.uint32[::1]
_OCTETS = numba.types.Array(numba.uint8, 1, "C", readonly=True)
_OWN_OCTETS = numba.uint8[::1]
_HASH = numba.uint64

_NOTHING = np.uint64(0xFFFFFFFFFFFFFFFF)
_1 = np.uint64(1)
_8 = np.uint64(8)
_32 = np.uint64(32)
_56 = np.uint64(56)
_EACH = np.uint64(0x0101010101010101)
_HIGH = np.uint64(0x8080808080808080)


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
def _zeros(chunk: np.uint64) -> np.uint64:
    """The highest bit of the first octet that is zero, and some bits above; 0 where none is."""
    return (chunk - _EACH) & ~chunk & _HIGH


@_part
def _chained(
    h: np.uint64,
    chunks: Hashes,
    at: int,
    left: int,
    multiplier_1: np.uint64,
    multiplier_2: np.uint64,
) -> np.uint64:
    """Mix `left` octets from `at` on into the start of a span's hash."""
    while True:
        h = _mix(h ^ (chunks[at] & _first_bytes(left)), multiplier_1, multiplier_2)
        if left <= 8:
            return h
        left -= 8
        at += 8


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
        h = start + np.uint64(lengths[i]) * length
        out[i] = _chained(h, words, starts[i], lengths[i], multiplier_1, multiplier_2)


@_compiled(_OCTETS, _OWN_OCTETS)
def fold_words(octets: Octets, out: Octets) -> None:
    """ASCII folded for words, as lshdb.shingling's table for words does it, into `out`."""
    for i in range(len(octets)):
        octet = octets[i]
        # Comparisons alone, so that the loop runs in vector registers.
        upper = (octet >= 65) & (octet <= 90)
        lower = (octet >= 97) & (octet <= 122)
        digit = (octet >= 48) & (octet <= 57)
        folded = np.uint8(octet | (np.uint8(upper) << 5))
        out[i] = folded if upper | lower | digit | (octet == 95) else 0


@_compiled(_OCTETS, _WORDS, _OFFSETS, numba.int64, _HASH, _HASH, _HASH, _HASH, _HASHES, _OFFSETS)
def words(
    octets: Octets,
    chunks: Hashes,
    bounds: Offsets,
    longest: int,
    start: np.uint64,
    length: np.uint64,
    multiplier_1: np.uint64,
    multiplier_2: np.uint64,
    hashes: Hashes,
    counts: Offsets,
) -> None:
    """The hashes of the words of texts, into `hashes`, and how many each has, into `counts`.

    Texts begin at `bounds`, one for each of `counts` and the end; words are runs of octets that
    are not zero, and a zero stands before each bound. `chunks` has 8 octets at every one. Where a
    word is longer than `longest`, the last of `counts` becomes -1, and nothing else is of use.
    """
    used = 0
    for text in range(len(counts)):
        first = used
        at, end = bounds[text], bounds[text + 1]
        while at < end:
            if octets[at] == 0:
                at += 1
                continue
            begin = at
            chunk = chunks[at]
            zero = _zeros(chunk)
            while zero == 0:
                at += 8
                chunk = chunks[at]
                zero = _zeros(chunk)
            # Bits below the first zero octet: counted by multiplication.
            inside = zero ^ (zero - _1)
            at += np.int64(((inside & _EACH) * _EACH) >> _56) - 1
            left = at - begin
            if left > longest:
                counts[len(counts) - 1] = -1
                return
            h = start + np.uint64(left) * length
            hashes[used] = _chained(h, chunks, begin, left, multiplier_1, multiplier_2)
            used += 1
        counts[text] = used - first


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
