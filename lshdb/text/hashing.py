"""Hashing whole arrays: seeded constants, 64-bit mixing, and hashes of byte spans.

These values are part of the file format: signatures and bucket keys are built on them. They are
the same on every platform (all arithmetic is modulo 2^64, all loads are little-endian) and must
never change; tests/database/test_known_answers.py pins them.

The hash of a span of L bytes, for the constants of a seed:

    h = START + L * LENGTH
    for each 8 bytes, little-endian, the last padded with zeros:  h = mix(h XOR chunk)
    (an empty span has one chunk, of zeros)
    mix(x):  x = x * MULTIPLIER_1;  x = x XOR (x >> 32);  x = x * MULTIPLIER_2

`mix` is a bijection, so two spans of the same length of at most 8 bytes never collide. A span
longer than 256 bytes is hashed by XXH64 with the seed START.

Anyone who knows the seed can undo `mix` chunk by chunk, and so find a span with the hash of any
other: a word of letters and digits takes some million tries. So these hashes only find candidates.
Documents are compared under `secret_seed`, for which

    mix(x):  x = x * MULTIPLIER_1;  x = the bytes of x in reverse order;  x = x * MULTIPLIER_2

and BLAKE2b, keyed with the constants, hashes the spans of more than 256 bytes.

Which spans would collide under many secret seeds? Two states become equal if they differ by just
the difference of the next chunks. A product with an unknown odd number turns a difference 2^t into
any with t zeros at its end: 63 - t unknown bits. A difference in the highest bit alone passes the
first product as it is; the reversed bytes make it 2^7, and the second product hides 56 bits.
(Folding the high half onto the low one, as the public hash does, would make it 2^31: 32 bits.) A
difference that is lucky in the first product and so meets the second one high up has to guess as
many bits before: a model of 16 bits, which should give 2^-12, has 2^-11 for the likeliest
difference of all, and 2^-7 with folding (over a million draws). Lengths differ by
a multiple of the unknown LENGTH, integers and strings have different constants, and in the sum of
a `word` shingle (lshdb.text.shingles) each difference is multiplied with another unknown odd
number: two words that change places collide if their difference and that of two such numbers have
64 zeros at their ends together, about 2^-57. So two texts that were made to be equal are so in
fewer than one of 2^50 processes, each of which draws its own seed and shows no hash.
"""

import functools
import os
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import xxhash

from lshdb.text.arrays import is_new, sizes_of

Hashes = npt.NDArray[np.uint64]
Offsets = npt.NDArray[np.int64]
_AnyHashes = TypeVar("_AnyHashes", Hashes, Offsets)

LARGEST_SEED = (1 << 63) - 1
"""The largest seed of a database; a process verifies with a secret seed above it."""
LONGEST_CHAINED = 256
"""Spans of more bytes than this are hashed one by one."""
PADDING = 8
"""Bytes that must follow the last span in a buffer, so that 8 bytes can be loaded anywhere."""

_MASK64 = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_32 = np.uint64(32)
_FIRST_BYTES = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)


@functools.lru_cache(maxsize=64)
def constants(seed: int, label: str, count: int) -> Hashes:
    """`count` odd 64-bit constants for a seed and a purpose, uint64[count], read-only.

    They are the first outputs of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), started at the
    XXH64 hash of the label under the seed, with the lowest bit set. A query, which takes 0.5 ms,
    would take 1.15 times as long if all were made again.
    """
    state = np.uint64(xxhash.xxh64_intdigest(label.encode(), seed))
    steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_GOLDEN)
    z = steps + state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = (z ^ (z >> np.uint64(31))) | np.uint64(1)
    z.flags.writeable = False  # all callers share it
    return z


@functools.cache
def secret_seed() -> int:
    """The seed under which this process compares documents, above all seeds of files.

    Hashes under it are only compared for equality, so neither results nor their order depend on
    the seed. Processes that compare each other's hashes must share the seed of one of them.
    """
    return LARGEST_SEED + 1 + (int.from_bytes(os.urandom(8)) >> 1)


@dataclass(frozen=True)
class SpanHash:
    """The constants that hash byte spans under one seed and purpose."""

    start: np.uint64
    length: np.uint64
    multiplier_1: np.uint64
    multiplier_2: np.uint64
    is_secret: bool

    def mix_in_place(self, states: Hashes, scratch: Hashes) -> Hashes:
        """Mix every element of x, uint64[n]; `scratch` is overwritten."""
        np.multiply(states, self.multiplier_1, out=states)
        if self.is_secret:
            states.byteswap(inplace=True)
        else:
            np.right_shift(states, _32, out=scratch)
            np.bitwise_xor(states, scratch, out=states)
        return np.multiply(states, self.multiplier_2, out=states)

    def integers(self, values: npt.NDArray[np.int64]) -> Hashes:
        """Hashes of 64-bit integers, int64[n] -> uint64[n]: one chunk with the length -1."""
        state = np.uint64((int(self.start) - int(self.length)) & _MASK64)
        h = values.astype(np.int64).view(np.uint64) ^ state
        return self.mix_in_place(h, np.empty_like(h))

    def spans(self, buffer: bytes, starts: Offsets, lengths: Offsets) -> Hashes:
        """Hashes of byte spans.

        Args:
            buffer: the bytes, with at least PADDING more after the last span.
            starts: int64[n], where each span begins, in bytes.
            lengths: int64[n], the length of each span, in bytes.

        Returns:
            uint64[n].
        """
        words = _words_from_each_byte(buffer)
        h = lengths.view(np.uint64) * self.length
        h += self.start
        chunk = words[starts]
        chunk &= _FIRST_BYTES.take(lengths, mode="clip")
        h ^= chunk
        self.mix_in_place(h, chunk)
        (longer,) = (lengths > 8).nonzero()
        if len(longer):
            long = lengths[longer] > LONGEST_CHAINED
            for i in longer[long].tolist():
                span = buffer[starts[i] : starts[i] + lengths[i]]
                h[i] = self._hash_long_span(span)
            self._chain(h, words, starts, lengths, longer[~long])
        return h

    def _chain(
        self, h: Hashes, words: Hashes, starts: Offsets, lengths: Offsets, spans: Offsets
    ) -> None:
        """Mix the second and later chunks of some of the spans in, in place."""
        hashed_bytes = 8
        while len(spans):
            byte_offsets = starts[spans] + hashed_bytes
            bytes_left = lengths[spans] - hashed_bytes
            state = h[spans]
            chunk = words[byte_offsets]
            chunk &= _FIRST_BYTES.take(bytes_left, mode="clip")
            state ^= chunk
            h[spans] = self.mix_in_place(state, chunk)
            spans = spans[bytes_left > 8]
            hashed_bytes += 8

    def _hash_long_span(self, span: bytes) -> int:
        if not self.is_secret:
            return xxhash.xxh64_intdigest(span, int(self.start))
        import hashlib  # loads OpenSSL, which few documents need

        drawn = (self.start, self.length, self.multiplier_1, self.multiplier_2)
        key = b"".join(int(constant).to_bytes(8, "little") for constant in drawn)
        return int.from_bytes(hashlib.blake2b(span, digest_size=8, key=key).digest(), "little")

    def windows(self, buffer: bytes, starts: Offsets, counts: Offsets, width: int) -> Hashes:
        """Hashes of the spans of `width` bytes that begin at every byte of n ranges.

        The values are those of `spans`, without gathering.

        Args:
            buffer: the bytes, with at least PADDING more after the last span.
            starts: int64[n], where each range of first bytes begins, in order.
            counts: int64[n], how many spans begin in each range.
            width: length of a span in bytes, at most LONGEST_CHAINED.

        Returns:
            uint64[sum of counts].
        """
        state = np.uint64((int(self.start) + width * int(self.length)) & _MASK64)
        words = _words_from_each_byte(buffer)
        has_spans = counts > 0
        starts, counts = starts[has_spans], counts[has_spans]
        total = int(starts[-1] + counts[-1]) if len(starts) else 0
        h = np.empty(total, dtype=np.uint64)
        scratch = np.empty_like(h)
        np.bitwise_and(words[:total], _FIRST_BYTES[min(width, 8)], out=h)
        np.bitwise_xor(h, state, out=h)
        self.mix_in_place(h, scratch)
        for hashed_bytes in range(8, width, 8):
            mask = _FIRST_BYTES[min(width - hashed_bytes, 8)]
            np.bitwise_and(words[hashed_bytes : hashed_bytes + total], mask, out=scratch)
            np.bitwise_xor(h, scratch, out=h)
            self.mix_in_place(h, scratch)
        return h[selection(starts, counts, total)]


@functools.lru_cache(maxsize=64)
def span_hash(seed: int, label: str) -> SpanHash:
    """The span hash for a seed and a purpose (one label, one independent hash function)."""
    start, length, first, second = constants(seed, f"span {label}", 4)
    return SpanHash(start, length, first, second, seed > LARGEST_SEED)


def selection(starts: Offsets, counts: Offsets, total: int) -> npt.NDArray[np.bool_]:
    """True for counts[i] indices from starts[i] on, bool[total]; the ranges are in order."""
    edges = np.zeros(2 * len(starts) + 2, dtype=np.int64)
    edges[1:-1:2], edges[2:-1:2], edges[-1] = starts, starts + counts, total
    inside = np.zeros(len(edges) - 1, dtype=np.bool_)
    inside[1::2] = True
    return inside.repeat(sizes_of(edges))


def _words_from_each_byte(buffer: bytes) -> Hashes:
    """The 8 bytes from every byte of a buffer on as a little-endian uint64, a view."""
    count = len(buffer) - PADDING + 1
    return np.ndarray((max(count, 0),), dtype="<u8", buffer=buffer, strides=(1,))


def distinct(hashes: _AnyHashes) -> _AnyHashes:
    """The distinct hashes of uint64[n] or int64[n], sorted; np.unique takes eight times as long."""
    ordered = np.sort(hashes)
    return ordered[is_new(ordered)]


@functools.cache
def reuse_freed_memory() -> None:
    """Let the C library keep freed arrays of some MB instead of returning them at once.

    Kernels allocate thousands of arrays of some 100 KB. glibc maps new pages for each of them,
    which takes as long as the work itself, until a larger mapping has been freed once: then it
    serves arrays up to that size from memory that it kept. Elsewhere this changes nothing. Without
    it, dropping near duplicates among 8,000 documents of 3 KB by `char:5` takes 1.25 times the CPU,
    and adding them by `word:3` 1.11 times.
    """
    np.empty(30 << 20, dtype=np.uint8)
