"""Hashes equal the documented formulas, in whatever way a kernel computes them."""

from __future__ import annotations

import warnings

import numpy as np
import oracles
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lshdb.shingling.hashing import LONGEST_CHAINED, PADDING, SpanHash, constants, span_hash

MASK64 = (1 << 64) - 1
SECRET = (1 << 63) + 1
SEEDS = st.one_of(st.integers(0, MASK64), st.just(SECRET))
"""Of files, and of processes."""


def hashes_of(spans: list[bytes], hasher: SpanHash) -> list[int]:
    """The kernel's hashes of byte strings that lie one behind the other in a buffer."""
    lengths = np.array([len(span) for span in spans], dtype=np.int64)
    starts = np.cumsum(lengths) - lengths
    hashes = hasher.spans(b"".join(spans) + b"\xff" * PADDING, starts, lengths)
    return [int(h) for h in hashes]


@given(SEEDS, st.text(max_size=20), st.integers(0, 40))
@example((1 << 63) - 1, "", 1)
def test_constants_are_odd_splitmix64_outputs(seed: int, label: str, count: int) -> None:
    assert constants(seed, label, count).tolist() == oracles.constants(seed, label, count)


@given(SEEDS, st.lists(st.binary(max_size=40), max_size=30))
@example(0, [b"", b"\0", b"\0\0", b"12345678", b"123456789", b""])
def test_spans_have_the_documented_hash(seed: int, spans: list[bytes]) -> None:
    expected = [oracles.span_hash(span, seed, "some purpose") for span in spans]
    assert hashes_of(spans, span_hash(seed, "some purpose")) == expected


@pytest.mark.parametrize("seed", [1, SECRET])
def test_spans_of_every_length_around_the_chunks_and_the_longest_chained(seed: int) -> None:
    """All lengths at once: a chained span must not disturb a long one, nor the reverse."""
    text = bytes((i * 89 + 7) % 256 for i in range(300))
    spans = [text[: (i * 8) % 301] for i in range(301)]
    assert sorted(map(len, spans)) == list(range(301))
    expected = [oracles.span_hash(span, seed, "x") for span in spans]
    assert hashes_of(spans, span_hash(seed, "x")) == expected


@given(st.binary(min_size=1, max_size=60), st.data())
def test_spans_may_overlap_and_lie_anywhere(buffer: bytes, data: st.DataObject) -> None:
    cuts = st.tuples(st.integers(0, len(buffer)), st.integers(0, len(buffer))).map(sorted)
    pairs = data.draw(st.lists(cuts, max_size=20))
    starts = np.array([start for start, _ in pairs], dtype=np.int64)
    ends = np.array([end for _, end in pairs], dtype=np.int64)
    got = span_hash(3, "x").spans(buffer + bytes(PADDING), starts, ends - starts)
    assert got.tolist() == [oracles.span_hash(buffer[s:e], 3, "x") for s, e in pairs]


@pytest.mark.parametrize("seed", [5, SECRET])
@pytest.mark.parametrize("width", [1, 2, 7, 8, 9, 15, 16, 17, 24, 64, 255, LONGEST_CHAINED])
def test_windows_are_the_spans_at_every_byte(width: int, seed: int) -> None:
    text = bytes((i * i + 31 * i) % 256 for i in range(300))
    last = len(text) - width + 1
    starts, counts = np.array([0, 5, 20, 20]), np.array([3, 0, 0, last - 20])
    got = span_hash(seed, "x").windows(text + b"\xff" * PADDING, starts, counts, width)
    first = [0, 1, 2, *range(20, last)]
    assert got.tolist() == [oracles.span_hash(text[i : i + width], seed, "x") for i in first]


@given(SEEDS, st.lists(st.integers(-(1 << 63), (1 << 63) - 1)))
@example(1, [0, -1, 1, -(1 << 63), (1 << 63) - 1])
def test_integers_have_the_documented_hash(seed: int, values: list[int]) -> None:
    got = span_hash(seed, "integer").integers(np.array(values, dtype=np.int64))
    assert got.tolist() == [oracles.integer_hash(value, seed) for value in values]


@pytest.mark.parametrize("seed", range(8))
def test_arithmetic_modulo_2_64_is_no_reason_to_warn(seed: int) -> None:
    """Wrapping around is meant; a user who makes warnings errors must not notice it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hasher = span_hash(seed, "x")
        hasher.integers(np.array([-1, 1], dtype=np.int64))
        hasher.windows(b"abcdefghijkl" + bytes(PADDING), np.array([0]), np.array([3]), 10)
        hashes_of([b"abcdefghijkl", b""], hasher)
