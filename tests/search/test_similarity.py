"""Sizes of intersections, which similar documents are identical, and forged hashes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from extras import STARS, if_there
from helpers import FORGED_TEXTS, database_of
from hypothesis import example, given
from hypothesis import strategies as st

import lshdb
from lshdb.offers import is_there
from lshdb.search.similarity import (
    intersections,
    jaccard,
    may_reach,
    parities,
    shared_by_pairs,
)
from lshdb.text.shingling import Shingles

HASHES = st.integers(0, (1 << 64) - 1) | st.integers(0, 20) | st.integers(1, 20).map(lambda n: -n)


@given(st.lists(st.sets(HASHES.map(lambda n: n % (1 << 64)), max_size=30), min_size=2, max_size=6))
@example([set(range(5_000)), set(range(2_000, 9_000)), {7}, {8_000}, {9_000}, set()])
@example([{i << 48 for i in range(1 << 12)}, *({i << 45 for i in range(n)} for n in (1, 9, 70))])
def test_intersections_are_those_of_pythons_sets(sets: list[set[int]]) -> None:
    sizes = np.array([len(each) for each in sets])
    hashes = np.array([value for each in sets for value in sorted(each)], dtype=np.uint64)
    shingles = Shingles(hashes, np.array([0, *np.cumsum(sizes)]))
    a, b = np.array([*combinations(range(len(sets)), 2)]).T
    shared = [len(sets[one] & sets[other]) for one, other in zip(a, b, strict=True)]
    assert shared_by_pairs(hashes, shingles.offsets[:-1], sizes, a, b).tolist() == shared
    whole = intersections(hashes[: sizes[0]], shingles)
    assert whole.tolist() == [len(sets[0] & each) for each in sets]
    for words in (2, 4):
        made = parities(shingles, words)
        odd = np.zeros((len(sets), 64 * words), dtype=np.uint8)
        for number, each in enumerate(sets):
            for value in each:
                odd[number, value * 64 * words >> 64] ^= 1
        assert np.unpackbits(made.view(np.uint8), axis=1).tolist() == odd.tolist()
        most = (sizes[a] + sizes[b] - (odd[a] ^ odd[b]).sum(axis=1, dtype=np.int64)) // 2
        bound = jaccard(np.minimum(most, np.minimum(sizes[a], sizes[b])), sizes[a], sizes[b])
        similar = jaccard(np.array(shared), sizes[a], sizes[b])
        for minimum in (0.0, 0.3, 0.8, 1.0, *similar[similar > 0]):
            reached = may_reach(sizes, made, a, b, minimum)
            empty = sizes[a] + sizes[b] == 0
            assert reached.tolist() == ((bound >= minimum) | empty).tolist()
            assert reached[similar >= minimum].all()


@pytest.mark.parametrize("content", [True, False])
def test_identical_is_the_same_content_and_not_only_similarity_1(path: Path, content: bool) -> None:
    text = "The fox and the grapes of the vine"
    with database_of(
        path,
        [("one", text), ("case", text.upper()), ("twin", text), ("other", "a crow")],
        content=content,
    ) as db:
        for matches in (db.query(text), db.query(key="one"), db.query(text, top=9, estimate=True)):
            found = {match.key: match.identical for match in matches}
            assert found | {"one": True} == {"one": True, "case": False, "twin": True}
        pairs = {(pair.a, pair.b): pair.identical for pair in db.pairs()}
        assert pairs == {("one", "case"): False, ("one", "twin"): True, ("case", "twin"): False}
        for star in STARS:
            (cluster,) = db.clusters(star=star)
            assert cluster.identical == (True, False, True)
        if is_there("compare"):
            for other in ("twin", lshdb.Document("new", text)):
                assert db.compare("one", other).identical
                assert not db.compare("case", other).identical
        if is_there("dedup"):
            skipped: list[lshdb.DroppedRow] = []
            db.add_many([("a", text), ("b", f"{text}!")], on_similar="skip", on_skip=skipped.append)
            assert [(one.key, one.identical) for one in skipped] == [("a", True), ("b", False)]


# hash flooding


COLLIDING = [51777, 49969, 53472, 52230, 43444, 38967]
"""Under the seed 1 each of these has, of 60,000 integers, the smallest hash in one of six lanes."""
FORGED_STRINGS = [
    *("='{%<u(p9)GKOY*R", "63C&<$jXXq0>eQoc", "oOHL)uYil>09AKCN", "s_5H%vXT!ySB`2E#"),
    *("tU]qPL::Crcz14!P", ";g1O%kT-?NNU82.y", "OqdZ&/#*08gud=qv", "d!e&2iN5u_9-]*Gx"),
    "k'IkD?~n<<;e<b'#",
]
"""Under the seed 1 these have the hashes of "tag 0" to "tag 8"."""


def largest_bucket(path: Path, seed: int | Literal["random"]) -> int:
    """Of documents with the colliding elements, and 20 of their own."""
    made: list[tuple[str, list[str | int]]] = [
        (f"d{i}", [*COLLIDING, *(f"{i}.{j}" for j in range(20))]) for i in range(100)
    ]
    with lshdb.open(path, seed=seed, shingle="set", threshold=0.8) as db:
        db.add_many(made, workers=0)
        ((documents,),) = db.sql("SELECT max(documents) FROM buckets")
    assert isinstance(documents, int | None)
    return documents or 0


def test_documents_made_to_collide_do_not_under_a_random_seed(tmp_path: Path) -> None:
    assert largest_bucket(tmp_path / "known.db", 1) > 90
    for name in ("one", "other"):
        # 90 share a bucket if the lowest hashes of the 6 common elements in its 5 lanes add up to
        # 0.0053: by chance in 12 bands once in a hundred million files.
        assert largest_bucket(tmp_path / f"{name}.db", "random") < 90


@pytest.fixture(params=["words", "strings"])
def forged_pair(request: pytest.FixtureRequest, path: Path) -> Iterator[lshdb.Database]:
    """Two documents with nothing in common whose hashes are equal under the seed of the file."""
    if request.param == "words":
        made: list[tuple[str, str | list[str]]] = [*zip("ab", FORGED_TEXTS, strict=True)]
    else:
        made = [("a", [f"tag {i}" for i in range(9)]), ("b", FORGED_STRINGS)]
    shingle, passages = ("word:3", 3) if request.param == "words" else ("set", None)
    with lshdb.open(path, shingle=shingle, passages=passages) as db:
        db.add_many(made)
        yield db


@pytest.mark.app("compare", "frames", "passages")
def test_documents_made_to_have_the_hashes_of_others_are_not_similar(
    forged_pair: lshdb.Database, tmp_path: Path
) -> None:
    db = forged_pair
    a, b = (db["a"].content, db["b"].content)
    assert a is not None
    assert b is not None
    compared = db.compare("a", "b")
    assert (compared.estimate, compared.candidates) == (1, True)
    assert (compared.similarity, compared.shared, compared.passages or ()) == (0, 0, ())
    assert not [*db.pairs(), *db.pairs(key="a"), *db.clusters(), *db.clusters(star=STARS[-1])]
    several: list[dict[str, Any]] = [{}, {"exhaustive": True}]
    several.append(if_there("passages", containment=True))
    for options in several:
        assert [match.key for match in db.query(a, **options)] == ["a"]
        assert not db.query(key="a", **options)
    answers = db.query_many([("of a", a), ("of b", b)])
    assert [[match.key for match in matches] for _, matches in answers] == [["a"], ["b"]]
    if is_there("measuring"):
        measured = db.measure(sample=2)
        assert (measured.candidates, measured.recall.pairs) == (1, 0)
    field = "text" if isinstance(a, str) else "set"
    rows = [
        {"id": key, field: given if field == "text" else [*given]}
        for key, given in zip("ab", (a, b), strict=True)
    ]
    shingle = str(db.settings.shingling)
    assert lshdb.dedup(rows, shingle=shingle).mask.all()
    assert lshdb.dedup(rows[:1], against=rows[1:], shingle=shingle).mask.all()
    with lshdb.open(tmp_path / "kept.db", shingle=shingle) as kept:
        assert kept.add_many([("a", a), ("b", b)], on_similar="skip").added == 2
    if db.settings.passages:
        assert [one.key for one in db.passages(str(a)).sources] == ["a"]
        assert not db.passages(key="a").sources
        assert [*db.passage_pairs()] == []


def test_a_random_seed_is_another_in_each_file_and_stays(tmp_path: Path) -> None:
    seeds = set()
    for name in ("a.db", "a.db", "b.db"):
        with lshdb.open(tmp_path / name, seed="random") as db:
            seeds.add(db.settings.seed)
    assert len(seeds) == 2
    assert all((1 << 32) <= seed < (1 << 63) for seed in seeds)
    lshdb.open(tmp_path / "chosen.db").close()
    with pytest.raises(lshdb.SettingsMismatch, match="seed 1, not a random one"):
        lshdb.open(tmp_path / "chosen.db", seed="random")
