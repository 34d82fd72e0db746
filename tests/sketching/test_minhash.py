"""Signatures equal the oracles' bit for bit, and estimate Jaccard similarity as they should."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from functools import cache

import numpy as np
import numpy.typing as npt
import oracles
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lshdb.model import Shingles, SketchName
from lshdb.shingling.hashing import Hashes
from lshdb.sketching import minhash
from lshdb.sketching.minhash import Signatures, make_sketch

NAMES: tuple[SketchName, ...] = ("fast", "minhash")
ORACLES = {"fast": oracles.fast_signature, "minhash": oracles.minhash_signature}
SETS = st.sets(st.integers(0, (1 << 64) - 1), max_size=30)
AT_ONCE = st.sampled_from([1, 10, 100, minhash.AT_ONCE])


def shingles_of(documents: Iterable[Iterable[int]]) -> Shingles:
    hashes = [np.array(list(document), dtype=np.uint64) for document in documents]
    offsets = np.cumsum([0, *map(len, hashes)], dtype=np.int64)
    return Shingles(np.concatenate([np.empty(0, np.uint64), *hashes]), offsets)


def random_set(size: int, rng: random.Random) -> set[int]:
    return {rng.getrandbits(64) for _ in range(size)}


# bit for bit


@pytest.mark.parametrize("lanes", [16, 100, 128, 257])
@pytest.mark.parametrize("name", NAMES)
def test_signatures_equal_the_oracle(name: SketchName, lanes: int) -> None:
    """Sizes from one shingle, which needs every round of `fast`, to enough for its first."""
    rng = random.Random(lanes)
    sizes = [*range(1, 25), *rng.choices(range(25, 200), k=8), 200]
    documents = [random_set(size, rng) for size in sizes]
    documents += [{0}, set(), {(1 << 64) - 1}, {0, 1, 2}, set(), {i << 32 for i in range(40)}]
    for seed in (1, (1 << 63) - 1):
        signatures = make_sketch(name, lanes, seed).signatures(shingles_of(documents))
        assert signatures.dtype == np.uint32
        expected = [ORACLES[name](document, lanes, seed) for document in documents]
        assert signatures.tolist() == expected


@pytest.mark.parametrize("lacking", [(), (0, 3, 9)])
@pytest.mark.parametrize("name", NAMES)
def test_a_large_document_equals_the_oracle(name: SketchName, lacking: tuple[int, ...]) -> None:
    """So many distinct shingles fill every lane at once, unless they are chosen not to."""
    document = [
        x
        for x in random_set(2_000, random.Random(2))
        if oracles.scaled(oracles.fast_first_hash(x, 1) >> 32, 16) not in lacking
    ]
    sketch = make_sketch(name, 16, 1)
    [signature] = sketch.signatures(shingles_of([document])).tolist()
    assert signature == ORACLES[name](document, 16, 1)
    read: list[int] = []

    def parts() -> Iterable[Hashes]:
        read.append(len(document))
        return np.array_split(np.array(document, dtype=np.uint64), 3)

    assert sketch.of_pieces(parts)[0].tolist() == signature
    assert len(read) == (2 if name == "fast" and lacking else 1), "all of it may not fit in memory"


# what a signature does not depend on


@pytest.mark.parametrize("name", NAMES)
@given(st.lists(SETS, max_size=8), st.integers(0, 1 << 32), AT_ONCE)
@example([{1}, set(), set(range(60)), {7, 8}], 1, 10)
def test_batch_order_and_repetition_do_not_matter(
    name: SketchName, documents: list[set[int]], seed: int, at_once: int
) -> None:
    """A document may repeat its shingles so often that `fast` drops repetitions first."""
    sketch = make_sketch(name, 16, 1)
    alone = [sketch.signatures(shingles_of([sorted(document)]))[0] for document in documents]
    rng = random.Random(seed)
    spelled_out = []
    for document in documents:
        again = rng.choices(sorted(document), k=rng.choice((0, 9, 300))) if document else []
        spelled_out.append(rng.sample([*document, *again], len(document) + len(again)))
    together = type(sketch)(16, 1, at_once).signatures(shingles_of(spelled_out))
    assert together.tolist() == [signature.tolist() for signature in alone]


@pytest.mark.parametrize("name", NAMES)
@given(st.lists(st.integers(0, (1 << 64) - 1) | st.sampled_from([5, 6]), max_size=80), st.data())
def test_a_document_in_pieces_has_the_signature_of_the_whole(
    name: SketchName, document: list[int], data: st.DataObject
) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(document)), max_size=6).map(sorted))
    bounds = [0, *cuts, len(document)]
    whole = np.array(document, dtype=np.uint64)
    parts = [whole[start:end] for start, end in itertools.pairwise(bounds)]
    sketch = make_sketch(name, 16, 1)
    signature, count = sketch.of_pieces(lambda: iter(parts))
    assert count == len(document)
    assert signature.tolist() == sketch.signatures(shingles_of([document]))[0].tolist()


# estimates


PAIRS = 2000
LANES = 128


@cache
def union_hashes(structure: str, size: int) -> Hashes:
    """The unions of PAIRS pairs, uint64[PAIRS, size]."""
    if structure == "consecutive":
        return np.arange(PAIRS * size, dtype=np.uint64).reshape(PAIRS, size)
    return np.random.default_rng(size).integers(0, 1 << 64, (PAIRS, size), dtype=np.uint64)


def as_documents(sets: Hashes) -> Shingles:
    return Shingles(sets.ravel(), np.arange(len(sets) + 1) * sets.shape[1])


def pair_errors(
    name: SketchName, structure: str, size: int, common: int
) -> npt.NDArray[np.float64]:
    """Estimate less Jaccard similarity, for PAIRS pairs of sets, float64[PAIRS]."""
    union = union_hashes(structure, size)
    cut = common + (size - common) // 2
    sketch = make_sketch(name, LANES, 1)
    one: Signatures = sketch.signatures(as_documents(union[:, :cut]))
    other = sketch.signatures(
        as_documents(np.concatenate([union[:, :common], union[:, cut:]], axis=1))
    )
    errors: npt.NDArray[np.float64] = (one == other).mean(axis=1) - common / size
    return errors


@pytest.mark.parametrize("structure", ["random", "consecutive"])
@pytest.mark.parametrize(
    ("size", "common"),
    [
        (size, round(similarity * size))
        for size in (5, 30, 100, 1000)
        for similarity in (0.2, 0.5, 0.8, 0.95)
        if 0 < round(similarity * size) < size
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_estimates_are_unbiased_and_accurate(
    name: SketchName, size: int, common: int, structure: str
) -> None:
    """Theory: independent lanes err by sqrt(J(1-J)/k), and `fast` less where shingles are few.

    5 % are left for 2,000 pairs being a sample, three standard deviations of an rmse.
    """
    errors = pair_errors(name, structure, size, common)
    similarity = common / size
    expected = (similarity * (1 - similarity) / LANES) ** 0.5
    rmse = float(np.sqrt((errors**2).mean()))
    assert abs(errors.mean()) <= 4 * errors.std() / PAIRS**0.5
    assert rmse <= 1.05 * expected
    if name == "fast" and size <= 100:
        assert rmse <= 0.8 * 1.05 * expected
