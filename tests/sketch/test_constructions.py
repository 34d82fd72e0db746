"""Bands and cascades: their text, their keys, their curves (by formula and by experiment)."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import oracles
import pytest
from helpers import pairs_of_hashes
from hypothesis import assume, given
from hypothesis import strategies as st
from oracles import is_true, lanes_of, levels_of

import lshdb
from lshdb.errors import SettingsError
from lshdb.sketch.banding import bucket_codes, bucket_keys
from lshdb.sketch.constructions import (
    Construction,
    candidate_probabilities,
    candidate_probability,
    candidates_among,
    evaluate,
)
from lshdb.sketch.minhash import make_sketch
from lshdb.sketch.settings import SketchName
from lshdb.text.arrays import Lanes

LEVELS = st.lists(st.tuples(st.sampled_from(["and", "or"]), st.integers(1, 4)), min_size=1)
TEXTS = LEVELS.map(lambda levels: ", ".join(f"{kind} {size}" for kind, size in levels))
CASCADES = [
    "and 6, or 16",
    "or 4, and 4",
    "and 4, or 4, and 4, or 4",
    "and 2, or 3, and 5, or 2",
]


# the text


@pytest.mark.parametrize(
    ("text", "rows", "bands", "minimum", "shown"),
    [
        ("or 16", 1, 16, 1, "and 1, or 16"),
        ("and 16", 16, 1, 1, "and 16, or 1"),
        ("and 4, or 4, or 2", 4, 8, 1, "and 4, or 8"),
        ("and 2, or 3, and 2", 2, 6, 2, "and 2, or 3, and 2"),
        (" and  4,or 4 ,and 1, and 2, and 3", 4, 24, 6, "and 4, or 4, and 6"),
        ("or 4096".ljust(1000), 1, 4096, 1, "and 1, or 4096"),
    ],
)
def test_what_a_text_means(text: str, rows: int, bands: int, minimum: int, shown: str) -> None:
    construction = Construction.parse(text)
    assert (construction.rows, construction.bands) == (rows, bands)
    assert construction.min_bands == minimum
    assert str(construction) == shown
    assert (construction == Construction(rows, bands)) == (minimum == 1)
    assert (repr(construction) == f"Construction.parse({shown!r})") == (minimum > 1)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "and 4 or 4",
            "and 4,",
            "and 0, or 4",
            "and 4, nor 2",
            "and 4.0, or 4",
            "and ٤, or 4",
        ),
        *("or 4097", "and 999999999, or 9", "or 4".ljust(1001)),
    ],
)
def test_what_is_no_construction_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=r"is not (levels of|a text)|maximum is 4096"):
        Construction.parse(text)


def test_a_signature_gets_the_lanes_that_a_construction_takes(path: Path) -> None:
    with lshdb.open(path, construction="and 4, or 4, and 4, or 4") as db:
        assert db.settings.permutations == 256
        assert db.settings.recall == pytest.approx(0.973, abs=1e-3)
    lshdb.open(path, construction="and 4, or 4, and 2, and 2, or 4").close()
    with pytest.raises(SettingsError, match="256 lanes, and there are 255"):
        lshdb.open(path.with_name("o.db"), construction="and 4, or 64", permutations=255)


# the curve


@given(TEXTS, st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.001, 0.999)))
def test_a_curve_and_its_complement_have_all_their_digits(text: str, similarity: float) -> None:
    assume(lanes_of(text) <= 4096)
    found, missed = candidate_probabilities(similarity, Construction.parse(text))
    with localcontext() as context:
        context.prec = 5_000
        p = Decimal(similarity)
        for kind, size in levels_of(text):
            p = p**size if kind == "and" else 1 - (1 - p) ** size
        assert found == pytest.approx(float(p), rel=1e-9, abs=1e-300)
        assert missed == pytest.approx(float(1 - p), rel=1e-9, abs=1e-300)


PERCENTS = (20, 50, 80)
PAIRS = 4_000


@cache
def signatures_of_pairs(sketch: SketchName, percent: int) -> tuple[Lanes, Lanes]:
    """Signatures of pairs of sets; `fast` needs more shingles than lanes to be a coin."""
    union = 1_000 if sketch == "fast" else 100
    pairs = pairs_of_hashes(percent, PAIRS, union * percent // 100, union)
    one, other = (make_sketch(sketch, 256, 1).signatures(each) for each in pairs)
    return one, other


def follows(rate: float, similarity: float, construction: Construction, pairs: int) -> bool:
    """Whether a share of pairs is as near its mean as a binomial one.

    With N pairs its standard error is sqrt(p (1 - p) / N); by Bernstein's inequality it strays
    by more than 4.5 of them, plus 4.5^2 / 6N for curves near 0 or 1, in fewer than 1 of 10,000
    draws. The draws are fixed by the seed.
    """
    sigmas, curve = 4.5, candidate_probability(similarity, construction)
    bound = sigmas * math.sqrt(curve * (1 - curve) / pairs) + sigmas**2 / (6 * pairs)
    return bool(abs(rate - curve) < bound)


@pytest.mark.parametrize(
    "sketch", ["fast", pytest.param("minhash", marks=pytest.mark.app("signatures"))]
)
def test_candidates_follow_the_curves(sketch: SketchName) -> None:
    """20,000 pairs for each curve, by their signatures."""
    for percent, text in itertools.product(PERCENTS, CASCADES):
        construction = Construction.parse(text)
        one, other = (
            bucket_keys(each, construction, 1) for each in signatures_of_pairs(sketch, percent)
        )
        rate = evaluate(one == other, construction).mean()
        assert follows(rate, percent / 100, construction, len(one)), (percent, text, rate)


# what is a candidate


@given(TEXTS, st.data())
def test_evaluation_is_that_of_the_levels_one_by_one(text: str, data: st.DataObject) -> None:
    assume(lanes_of(text) <= 256)
    construction = Construction.parse(text)
    assert construction.lanes == lanes_of(text)
    assert Construction.parse(str(construction)) == construction
    seed, share = data.draw(st.integers(0, 99)), data.draw(st.floats(0, 1))
    lanes = np.random.default_rng(seed).random((20, construction.lanes)) < share
    shape = (20, construction.bands, construction.rows)
    bands: npt.NDArray[np.bool_] = np.logical_and.reduce(lanes.reshape(shape), axis=2)
    expected = [is_true(row, text) for row in lanes.tolist()]
    assert evaluate(bands, construction).tolist() == expected
    assert not (evaluate(bands, construction) & (bands.sum(axis=1) < construction.min_bands)).any()
    assert evaluate(bands[:0], construction).tolist() == []


@pytest.mark.parametrize("text", ["or 2, and 3, or 4", "or 3, and 2"])
def test_candidates_among_those_that_share_buckets(text: str) -> None:
    construction = Construction.parse(text)
    rng = np.random.default_rng(5)
    collided = rng.random((200, construction.bands)) < 0.3
    doc_ids = rng.permutation(1_000)[:200]
    indices, band_nos = np.nonzero(collided)
    order = rng.permutation(len(indices))
    rows = band_nos[order], doc_ids[indices[order]]
    found = candidates_among(*rows, construction)
    assert 0 < len(found) < 200
    assert found.tolist() == sorted(doc_ids[evaluate(collided, construction)].tolist())


# bucket keys


CONSTRUCTIONS = st.builds(Construction, rows=st.integers(1, 9), bands=st.integers(1, 9))
FILE_SEEDS = st.integers(0, (1 << 63) - 1)


def random_signatures(documents: int, lanes: int, seed: int = 7, bits: int = 16) -> Lanes:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 1 << bits, size=(documents, lanes), dtype=f"u{bits // 8}")


@given(CONSTRUCTIONS, FILE_SEEDS, st.integers(0, 5), st.integers(0, 99), st.sampled_from([16, 32]))
def test_keys_are_those_of_the_definition(
    construction: Construction, seed: int, documents: int, unused: int, bits: int
) -> None:
    rows, bands = construction.rows, construction.bands
    signatures = random_signatures(documents, construction.lanes + unused, bits=bits)
    keys = bucket_keys(signatures, construction, seed)
    assert keys.dtype == np.int64
    assert keys.shape == (documents, bands)
    codes = bucket_codes(keys)
    for lanes, own, coded in zip(signatures.tolist(), keys.tolist(), codes.tolist(), strict=True):
        assert own == oracles.bucket_keys(lanes, f"and {rows}, or {bands}", seed)
        assert coded == [(band << 48) + key for band, key in enumerate(own)]
