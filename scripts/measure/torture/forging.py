"""Forging: documents made to look equal to another by their hashes, under a seed that is known.

    python scripts/measure torture.forging

Takes ten seconds. Anyone who knows the seed can undo the hash of a word, chunk by chunk, and so
make words with the hashes of others. A text of such words has the signature of another text; it is
not similar to it, as documents are compared under a seed that nobody knows (see
lshdb.shingling.hashing). For that hash and the public one, a model of 16 bits shows how often the
likeliest difference of two states becomes its likeliest result.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

import lshdb
from lshdb.shingling.hashing import SpanHash, span_hash

LETTERS = b"0123456789abcdefghijklmnopqrstuvwxyz"
_AT_ONCE = 1 << 18
_MASK = (1 << 64) - 1
_SAMPLES = 1 << 20

IntArray = npt.NDArray[np.int64]


def twin(text: bytes, hasher: SpanHash, letters: bytes, rng: np.random.Generator) -> bytes:
    """16 bytes of some letters with the hash of another text of up to 16 bytes."""
    buffer = text + bytes(8)
    wanted = int(hasher.spans(buffer, np.array([0]), np.array([len(text)]))[0])
    before_last = _undone(wanted, hasher)
    allowed = np.zeros(256, dtype=np.bool_)
    allowed[list(letters)] = True
    start = np.uint64((int(hasher.start) + 16 * int(hasher.length)) & _MASK)
    while True:
        chosen = rng.choice(np.frombuffer(letters, dtype=np.uint8), (_AT_ONCE, 8))
        first = np.ascontiguousarray(chosen).view("<u8")[:, 0]
        state = first ^ start
        last = hasher.mix_in_place(state, np.empty_like(state)) ^ np.uint64(before_last)
        octets = last.astype("<u8").view(np.uint8).reshape(-1, 8)
        found = np.flatnonzero(allowed[octets].all(axis=1))
        if len(found):
            made: bytes = first[found[0]].tobytes() + octets[found[0]].tobytes()
            return made


def _undone(state: int, hasher: SpanHash) -> int:
    """The number that the public hash mixes to a state."""
    x = state * pow(int(hasher.multiplier_2), -1, 1 << 64) & _MASK
    x ^= x >> 32
    return x * pow(int(hasher.multiplier_1), -1, 1 << 64) & _MASK


def likeliest(is_secret: bool, rng: np.random.Generator) -> float:
    """log2 of how often the likeliest difference of two states has its likeliest result.

    In a model of 16 bits with random constants. Tried are differences of one bit, two and some.
    """
    bits = [1 << i for i in range(16)]
    tried = {a | b for a in bits for b in bits} | {0xFF00, 0xF000, 0xE000, 0xFFFF}
    maximum = 0
    for difference in sorted(tried):
        x = rng.integers(0, 1 << 16, _SAMPLES)
        odd = 2 * rng.integers(0, 1 << 15, (2, _SAMPLES)) + 1
        apart = _mixed(x, odd, is_secret) ^ _mixed(x ^ difference, odd, is_secret)
        maximum = max(maximum, int(np.bincount(apart).max()))
    return float(np.log2(maximum / _SAMPLES))


def _mixed(x: IntArray, odd: IntArray, is_secret: bool) -> IntArray:
    """Mix of 16 bits: four groups of bits are reversed in place of eight bytes."""
    y = x * odd[0] & 0xFFFF
    if is_secret:
        y = (y & 0xF) << 12 | (y & 0xF0) << 4 | (y & 0xF00) >> 4 | y >> 12
    else:
        y ^= y >> 8
    mixed: IntArray = y * odd[1] & 0xFFFF
    return mixed


def main() -> None:
    """Print what a forger does under a known seed, and how well the secret one hides."""
    rng = np.random.default_rng(1)
    words = ["the", "fox", "and", "the", "grapes", "of", "the", "vine"]
    begun = time.perf_counter()
    hasher = span_hash(1, "word")
    twins = {word: twin(word.encode(), hasher, LETTERS, rng).decode() for word in sorted({*words})}
    print(f"{len(twins)} twins found in {time.perf_counter() - begun:.1f} s")
    a, b = " ".join(words), " ".join(twins[word] for word in words)
    with (
        tempfile.TemporaryDirectory() as directory,
        lshdb.open(Path(directory) / "forged.db", passages=3) as db,
    ):
        db.add_many([("a", a), ("b", b)])
        compared = db.compare("a", "b")
        found = len([*db.pairs()]) + len(db.passages(key="a").sources)
    print(f"{b}\nestimate {compared.estimate}, similarity {compared.similarity}, found {found}")
    for name, is_secret in (("folding", False), ("bytes in reverse", True)):
        print(f"likeliest difference of 16 bits, {name}: 2^{likeliest(is_secret, rng):.1f}")
