"""BLAKE2b of many messages at once, compiled (see lshdb.compiled)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numba
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from lshdb.compiled_parts import NOTHING, Hashes, Octets, Offsets, first_bytes, word_at
from lshdb.kernels import LANES

# Of RFC 7693: the start of each digest, the order of a block's words in each round, and which four
# words of the state are mixed with each two of them.
_BLAKE2B_START = (
    0x6A09E667F3BCC908,
    0xBB67AE8584CAA73B,
    0x3C6EF372FE94F82B,
    0xA54FF53A5F1D36F1,
    0x510E527FADE682D1,
    0x9B05688C2B3E6C1F,
    0x1F83D9ABFB41BD6B,
    0x5BE0CD19137E2179,
)
_BLAKE2B_ORDER = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
    (14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3),
    (11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4),
    (7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8),
    (9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13),
    (2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9),
    (12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11),
    (13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10),
    (6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5),
    (10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0),
)
_BLAKE2B_QUARTERS = (
    (0, 4, 8, 12),
    (1, 5, 9, 13),
    (2, 6, 10, 14),
    (3, 7, 11, 15),
    (0, 5, 10, 15),
    (1, 6, 11, 12),
    (2, 7, 8, 13),
    (3, 4, 9, 14),
)
_START = tuple(np.uint64(word) for word in _BLAKE2B_START)
_BLOCK = 128
"""Octets of a block of BLAKE2b."""


def _compressing(_context: Any, h: Any, m: Any, t: Any, last: Any) -> Any:
    """The types of BLAKE2b's compression of a block of each of LANES messages, and its code.

    Word i of lane j is at i LANES + j in h (8 words, which are changed) and m (16); t is how many
    octets each lane has had, last has all bits where its block is the last one.
    """
    words = ir.VectorType(ir.IntType(64), LANES)

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        def at(pointer: Any, i: int) -> Any:
            vectors = builder.bitcast(pointer, words.as_pointer())
            return builder.gep(vectors, [ir.Constant(ir.IntType(64), i)])

        def loaded(pointer: Any, i: int) -> Any:
            vector = builder.load(at(pointer, i))
            vector.align = 8
            return vector

        def constant(value: int) -> Any:
            return ir.Constant(words, [value] * LANES)

        def mixed(a: int, b: int, by: int) -> None:
            x = builder.xor(v[a], v[b])
            v[a] = builder.or_(builder.lshr(x, constant(by)), builder.shl(x, constant(64 - by)))

        def added(a: int, *others: Any) -> None:
            for other in others:
                v[a] = builder.add(v[a], other)

        before = [loaded(arguments[0], i) for i in range(8)]
        block = [loaded(arguments[1], i) for i in range(16)]
        v = before + [constant(word) for word in _BLAKE2B_START]
        v[12] = builder.xor(v[12], loaded(arguments[2], 0))
        v[14] = builder.xor(v[14], loaded(arguments[3], 0))
        for number in range(12):
            order = _BLAKE2B_ORDER[number % 10]
            for i, (a, b, c, d) in enumerate(_BLAKE2B_QUARTERS):
                x, y = block[order[2 * i]], block[order[2 * i + 1]]
                added(a, v[b], x)
                mixed(d, a, 32)
                added(c, v[d])
                mixed(b, c, 24)
                added(a, v[b], y)
                mixed(d, a, 16)
                added(c, v[d])
                mixed(b, c, 63)
        for i, word in enumerate(before):
            after = builder.xor(word, builder.xor(v[i], v[i + 8]))
            builder.store(after, at(arguments[0], i)).align = 8
        return ir.Constant(ir.IntType(64), 0)

    return numba.types.int64(h, m, t, last), generate


_compress = cast(Callable[[Hashes, Hashes, Hashes, Hashes], int], intrinsic(_compressing))


def digests(
    octets: Octets,
    bounds: Offsets,
    count: int,
    size: int,
    h: Hashes,
    m: Hashes,
    t: Hashes,
    last: Hashes,
    messages: Offsets,
    places: Offsets,
    out: Hashes,
) -> None:
    """BLAKE2b of `size` octets, at most 16, of each message, into `out`: two words of each digest.

    Message i is between bounds[i] and bounds[i + 1], and 8 more octets follow the last. LANES of
    them are digested at once; when one ends, the next takes its lane. h, m, t and last are what
    _compress takes; messages and places have room for LANES.
    """
    following = 0
    for lane in range(LANES):
        messages[lane] = -1
    while True:
        active = 0
        for lane in range(LANES):
            last[lane] = 0
            if messages[lane] < 0 and following < count:
                messages[lane] = following
                places[lane] = bounds[following]
                following += 1
                for i in range(8):
                    h[i * LANES + lane] = _START[i]
                h[lane] ^= np.uint64(0x01010000 ^ size)
                t[lane] = 0
            if messages[lane] < 0:
                continue
            active += 1
            place = places[lane]
            left = bounds[messages[lane] + 1] - place
            if left > _BLOCK:
                for i in range(16):
                    m[i * LANES + lane] = word_at(octets, place + 8 * i)
                places[lane] += _BLOCK
                t[lane] += np.uint64(_BLOCK)
            else:
                for i in range(16):
                    rest = left - 8 * i
                    word = np.uint64(0)
                    if rest > 0:
                        word = word_at(octets, place + 8 * i) & first_bytes(rest)
                    m[i * LANES + lane] = word
                t[lane] += np.uint64(left)
                last[lane] = NOTHING
        if active == 0:
            return
        _compress(h, m, t, last)
        for lane in range(LANES):
            if last[lane] != 0:
                out[2 * messages[lane]] = h[lane]
                out[2 * messages[lane] + 1] = h[LANES + lane]
                messages[lane] = -1
