"""Hashes equal the documented formulas, in whatever way a kernel computes them."""

from __future__ import annotations

from unittest import mock

import numpy as np
import oracles
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lshdb.text.hashing import LONGEST_CHAINED, PADDING, constants, secret_seed, span_hash

MASK64 = (1 << 64) - 1
SECRET = (1 << 63) + 1
SEEDS = st.one_of(st.integers(0, MASK64), st.just(SECRET))
"""Of files, and of processes."""


@given(SEEDS, st.text(max_size=20), st.integers(0, 40))
@example((1 << 63) - 1, "", 1)
def test_constants_are_odd_splitmix64_outputs(seed: int, label: str, count: int) -> None:
    assert constants(seed, label, count).tolist() == oracles.constants(seed, label, count)


@pytest.mark.parametrize("seed", [1, SECRET])
def test_spans_of_every_length_around_the_chunks_and_the_longest_chained(seed: int) -> None:
    """All lengths at once: a chained span must not disturb a long one, nor the reverse."""
    text = bytes((i * 89 + 7) % 256 for i in range(300))
    lengths = np.arange(301) * 8 % 301
    got = span_hash(seed, "x").spans(text + b"\xff" * PADDING, 0 * lengths, lengths)
    assert got.tolist() == [oracles.span_hash(text[:length], seed, "x") for length in lengths]


@given(SEEDS, st.binary(max_size=60), st.data())
def test_spans_have_the_documented_hash(seed: int, buffer: bytes, data: st.DataObject) -> None:
    """They may overlap and lie anywhere."""
    bounds = st.tuples(*[st.integers(0, len(buffer))] * 2).map(sorted)
    spans = data.draw(st.lists(bounds, min_size=1, max_size=30))
    starts, ends = np.array(spans, dtype=np.int64).T
    got = span_hash(seed, "x").spans(buffer + bytes(PADDING), starts, ends - starts)
    assert got.tolist() == [oracles.span_hash(buffer[s:e], seed, "x") for s, e in spans]


@pytest.mark.parametrize("seed", [5, SECRET])
@pytest.mark.parametrize("width", [1, 2, 7, 8, 9, 15, 16, 17, 24, 64, 255, LONGEST_CHAINED])
def test_windows_are_the_spans_at_every_byte(width: int, seed: int) -> None:
    text = bytes((i * i + 31 * i) % 256 for i in range(300))
    last = len(text) - width + 1
    starts, counts = np.array([0, 5, 20, 20]), np.array([3, 0, 0, last - 20])
    got = span_hash(seed, "x").windows(text + b"\xff" * PADDING, starts, counts, width)
    first = [0, 1, 2, *range(20, last)]
    assert got.tolist() == [oracles.span_hash(text[i : i + width], seed, "x") for i in first]


@pytest.mark.parametrize("octet", [b"\x00", b"\xff"])
def test_the_secret_seed_is_above_the_seeds_of_files_and_has_64_bits(octet: bytes) -> None:
    with mock.patch("os.urandom", lambda size: octet * size):
        seed = secret_seed.__wrapped__()
    assert 1 << 63 <= seed <= MASK64


@given(SEEDS, st.lists(st.integers(-(1 << 63), (1 << 63) - 1)))
@example(1, [0, -1, 1, -(1 << 63), (1 << 63) - 1])
def test_integers_have_the_documented_hash(seed: int, values: list[int]) -> None:
    got = span_hash(seed, "integer").integers(np.array(values, dtype=np.int64))
    assert got.tolist() == [oracles.integer_hash(value, seed) for value in values]
