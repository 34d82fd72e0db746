"""Signatures equal the oracles' bit for bit, however documents are cut and joined."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from dataclasses import replace
from unittest import mock

import numpy as np
import oracles
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lshdb.sketch import minhash
from lshdb.sketch.constructions import Construction
from lshdb.sketch.minhash import make_sketch
from lshdb.sketch.settings import Settings, SketchName
from lshdb.sketch.signing import Signed, sign
from lshdb.text.hashing import Hashes
from lshdb.text.shingling import Shingles, Shingling

NAMES = ["fast", pytest.param("minhash", marks=pytest.mark.app("signatures"))]
ORACLES = {"fast": oracles.fast_signature, "minhash": oracles.minhash_signature}
SETS = st.sets(st.integers(0, (1 << 64) - 1), max_size=30)
BLOCK_HASHES = st.sampled_from([1, 10, 100, minhash.BLOCK_HASHES])


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

    assert minhash.of_pieces(sketch, parts)[0].tolist() == signature
    assert len(read) == (2 if name == "fast" and lacking else 1), "all of it may not fit in memory"


@pytest.mark.parametrize("name", NAMES)
def test_low_halves_of_lanes_agree_by_accident_alone(name: SketchName) -> None:
    """Once in 2^16, each lane for itself: not all lanes of two documents together.

    Of documents with nothing in common, of one shingle, for which `fast` needs its last rounds, to
    200. Few bits of a hash would show in the number of pairs that agree in several lanes.
    """
    rng = np.random.default_rng(3)
    for size, documents in ((1, 1_200), (20, 600), (200, 400)):
        hashes = rng.integers(0, 1 << 64, size * documents, dtype=np.uint64)
        shingles = Shingles(hashes, np.arange(documents + 1) * size)
        lanes = make_sketch(name, 64, 1).signatures(shingles).astype(np.uint16)
        agreeing = np.zeros((documents, documents), dtype=np.uint8)
        for lane in lanes.T:
            agreeing += lane == lane[:, np.newaxis]
        pairs = agreeing[np.triu_indices(documents, 1)]
        expected = len(pairs) * 64 / (1 << 16)
        assert abs(pairs.sum(dtype=np.int64) - expected) < 5 * expected**0.5
        assert np.count_nonzero(pairs > 1) <= 6
        assert pairs.max() <= 2


# what a signature does not depend on


@pytest.mark.parametrize("name", NAMES)
@given(st.lists(SETS, max_size=8), st.integers(0, 1 << 32), BLOCK_HASHES)
@example([{1}, set(), set(range(60)), {7, 8}], 1, 10)
def test_batch_order_and_repetition_do_not_matter(
    name: SketchName, documents: list[set[int]], seed: int, block_hashes: int
) -> None:
    """A document may repeat its shingles so often that `fast` drops repetitions first."""
    sketch = make_sketch(name, 16, 1)
    alone = [sketch.signatures(shingles_of([sorted(document)]))[0] for document in documents]
    rng = random.Random(seed)
    spelled_out = []
    for document in documents:
        again = rng.choices(sorted(document), k=rng.choice((0, 9, 300))) if document else []
        spelled_out.append(rng.sample([*document, *again], len(document) + len(again)))
    with mock.patch.object(minhash, "BLOCK_HASHES", block_hashes):
        together = sketch.signatures(shingles_of(spelled_out))
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
    signature, count = minhash.of_pieces(sketch, lambda: iter(parts))
    assert count == len(document)
    assert signature.tolist() == sketch.signatures(shingles_of([document]))[0].tolist()


# signing in batches


SETTINGS = Settings(0.8, 0.9, Shingling("word", 2), 16, Construction(4, 4), "fast", 1, True, 4)
TEXTS = st.lists(st.sampled_from("abcdé"), max_size=12).map(" ".join)
LARGE = " ".join(f"w{number}" for number in range(200_000))


def documents_of(signed: Signed) -> list[tuple[object, ...]]:
    """Signature, shingle count, bucket keys and fingerprints of each document."""
    prints = signed.parts["fingerprints"]
    found: list[list[tuple[int, int]]] = [[] for _ in signed.shingles]
    values, positions = prints.columns or ([], [])
    for document, value, position in sorted(zip(prints.documents, values, positions, strict=True)):
        found[document].append((value, position))
    columns = (signed.signatures.tolist(), signed.shingles.tolist(), signed.bucket_keys.tolist())
    return [*zip(*columns, found, strict=True)]


@pytest.mark.app("passages")
@given(st.lists(st.lists(TEXTS, max_size=4), min_size=1, max_size=4))
@example([["", "a b c d"], [], [LARGE, "a b c d e"]])
def test_batches_have_what_their_documents_have(batches: list[list[str]]) -> None:
    texts = [text for batch in batches for text in batch]
    alone = [documents_of(sign([text], SETTINGS))[0] for text in texts]
    words = [len(text.split()) for text in texts]
    assert [count for _, count, *_ in alone] == [max(n - 1, min(n, 1)) for n in words]
    together = sign(texts, SETTINGS)
    joined = Signed.joined([sign(batch, SETTINGS) for batch in batches])
    assert documents_of(together) == documents_of(joined) == alone
    assert joined.construction == SETTINGS.construction
    assert joined.parts["fingerprints"].value == SETTINGS.passages
    for indices in (range(0, len(texts), 2), range(len(texts) - 1, -1, -1)):
        taken = documents_of(joined.take(np.array(indices, dtype=np.int64)))
        assert taken == [alone[index] for index in indices]
    reindexed = replace(SETTINGS, construction=Construction(3, 5))
    assert documents_of(joined.indexed(reindexed, texts)) == documents_of(sign(texts, reindexed))
    assert joined.indexed(SETTINGS, texts) is joined
