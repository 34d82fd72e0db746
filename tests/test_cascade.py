"""Cascades: their text, their curves (the textbook's and by experiment), and what they find."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from decimal import Decimal, localcontext
from functools import cache
from pathlib import Path

import inspection
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from neardup import jaccard, pairs_of_hashes, set_families

import lshdb
from lshdb.errors import SettingsError
from lshdb.model import Construction, SketchName
from lshdb.search import buckets as lookup
from lshdb.search import candidates
from lshdb.search import pairs as joining
from lshdb.search.candidates import Limit
from lshdb.sketching.banding import bucket_keys
from lshdb.sketching.constructions import (
    candidate_probabilities,
    candidate_probability,
    candidates_among,
    evaluate,
)
from lshdb.sketching.minhash import make_sketch
from lshdb.store.store import Store

LEVELS = st.lists(st.tuples(st.sampled_from(["and", "or"]), st.integers(1, 4)), min_size=1)
TEXTS = LEVELS.map(lambda levels: ", ".join(f"{kind} {size}" for kind, size in levels))
CASCADES = [
    "and 4, or 4",
    "or 4, and 4",
    "and 4, or 4, or 4, and 4",
    "and 4, or 4, and 4, or 4",
    "or 4, and 4, or 4, and 4",
    "and 2, or 3, and 5, or 2",
]


def levels_of(text: str) -> list[tuple[str, int]]:
    """The levels as the text has them."""
    return [(kind, int(size)) for kind, size in (level.split() for level in text.split(", "))]


def is_true(values: Sequence[bool], text: str) -> bool:
    """A cascade over lanes (or bands) that agree or not, level by level."""
    current = list(values)
    for kind, size in levels_of(text):
        groups = [current[i : i + size] for i in range(0, len(current), size)]
        current = [all(group) if kind == "and" else any(group) for group in groups]
    (value,) = current
    return value


def lanes_of(text: str) -> int:
    return math.prod(size for _, size in levels_of(text))


# the text


@pytest.mark.parametrize(
    ("text", "rows", "bands", "least", "shown"),
    [
        ("and 6, or 16", 6, 16, 1, "and 6, or 16"),
        ("and 1, or 16", 1, 16, 1, "and 1, or 16"),
        ("and 6, or 1", 6, 1, 1, "and 6, or 1"),
        ("or 16", 1, 16, 1, "and 1, or 16"),
        ("and 16", 16, 1, 1, "and 16, or 1"),
        ("and 4, or 4, or 2", 4, 8, 1, "and 4, or 8"),
        ("or 4, and 4", 1, 16, 4, "or 4, and 4"),
        ("and 4, or 4, and 4, or 4", 4, 64, 4, "and 4, or 4, and 4, or 4"),
        (" and  4,or 4 ,and 1, and 2, and 3", 4, 24, 6, "and 4, or 4, and 6"),
        ("and 64, or 64", 64, 64, 1, "and 64, or 64"),
    ],
)
def test_what_a_text_means(text: str, rows: int, bands: int, least: int, shown: str) -> None:
    construction = Construction.parse(text)
    assert (construction.rows, construction.bands) == (rows, bands)
    assert construction.lanes == rows * bands
    assert construction.least_bands == least
    assert str(construction) == shown
    assert Construction.parse(shown) == construction
    assert (construction == Construction(rows, bands)) == (least == 1)


@given(TEXTS)
def test_a_construction_is_read_back_from_its_text(text: str) -> None:
    assume(lanes_of(text) <= 4096)
    construction = Construction.parse(text)
    assert construction.lanes == lanes_of(text)
    assert Construction.parse(str(construction)) == construction


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "and",
            "and 4 or 4",
            "and 4,",
            ", or 4",
            "and 0, or 4",
            "and 4, or -1",
            "AND 4, or 4",
        ),
        *("and 4, or 4, nor 2", "and 4.0, or 4", "and ٤, or 4", "and4, or 4", "and 4; or 4"),
    ],
)
def test_what_is_no_construction_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="is not levels of at least 1 like"):
        Construction.parse(text)


@pytest.mark.parametrize("text", ["or 4097", "and 4, or 4, and 4, or 65", "and 999999999, or 9"])
def test_more_lanes_than_a_signature_can_have_are_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=f"{lanes_of(text)} lanes, and 4096 are the most"):
        Construction.parse(text)


def test_a_signature_gets_the_lanes_that_a_construction_takes(path: Path) -> None:
    with lshdb.open(path, construction="and 4, or 4, and 4, or 4") as db:
        assert db.settings.permutations == 256
        assert db.settings.recall == pytest.approx(0.973, abs=1e-3)
        assert inspection.rows(path, "SELECT construction FROM settings") == [
            ("and 4, or 4, and 4, or 4",)
        ]
    lshdb.open(path, construction="and 4, or 4, and 2, and 2, or 4").close()
    with lshdb.open(path.with_name("small.db"), construction="or 4, and 4") as db:
        assert db.settings.permutations == 128
    with pytest.raises(SettingsError, match="256 lanes, and there are 255"):
        lshdb.open(path.with_name("o.db"), construction="and 4, or 64", permutations=255)


# the curve


@pytest.mark.parametrize(
    ("text", "similarity", "probability"),
    [
        ("and 4, or 4", 0.8, "0.8785"),
        ("and 4, or 4", 0.4, "0.0985"),
        ("or 4, and 4", 0.8, "0.9936"),
        ("or 4, and 4", 0.4, "0.5740"),
        ("and 4, or 4, or 4, and 4", 0.8, "0.9991285"),
        ("and 4, or 4, or 4, and 4", 0.2, "4.1e-7"),
        ("and 4, or 4, and 4, or 4", 0.8, "0.9733"),
        ("and 4, or 4, and 4, or 4", 0.4, "3.77e-04"),
        ("or 4, and 4, or 4, and 4", 0.2, "0.0267"),
        ("or 4, and 4, or 4, and 4", 0.1, "9.01e-06"),
        ("and 25, or 50", 0.9, "0.98"),
        ("and 25, or 50", 0.7, "0.007"),
    ],
)
def test_the_textbooks_numbers(text: str, similarity: float, probability: str) -> None:
    curve = candidate_probability(similarity, Construction.parse(text))
    # Half a unit of the last digit that is printed.
    unit = Decimal(probability).as_tuple().exponent
    assert isinstance(unit, int)
    assert curve == pytest.approx(float(probability), abs=0.51 * 10.0**unit, rel=0)


def test_the_textbooks_false_negative() -> None:
    _, missed = candidate_probabilities(0.8, Construction(rows=4, bands=3))
    assert round(missed, 4) == 0.2058


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


PERCENTS = (20, 40, 50, 60, 80)
PAIRS = 4_000


@cache
def signatures_of_pairs(
    sketch: SketchName, percent: int
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Signatures of pairs of sets; `fast` needs more shingles than lanes to be a coin."""
    union = 1_000 if sketch == "fast" else 100
    pairs = pairs_of_hashes(percent, PAIRS, union * percent // 100, union)
    one, other = (make_sketch(sketch, 256, 1).signatures(each) for each in pairs)
    return one, other


def follows(rate: float, similarity: float, construction: Construction, pairs: int) -> bool:
    """Within the bound of test_banding.test_collisions_follow_the_s_curve."""
    sigmas, curve = 4.5, candidate_probability(similarity, construction)
    bound = sigmas * math.sqrt(curve * (1 - curve) / pairs) + sigmas**2 / (6 * pairs)
    return bool(abs(rate - curve) < bound)


@pytest.mark.parametrize("sketch", ["fast", "minhash"])
def test_candidates_follow_the_curves(sketch: SketchName) -> None:
    """20,000 pairs for each curve, by their signatures."""
    for percent, text in itertools.product(PERCENTS, CASCADES):
        construction = Construction.parse(text)
        one, other = (
            bucket_keys(each, construction, 1) for each in signatures_of_pairs(sketch, percent)
        )
        rate = evaluate(one == other, construction).mean()
        assert follows(rate, percent / 100, construction, len(one)), (percent, text, rate)


@pytest.mark.parametrize("sketch", ["fast", "minhash"])
@pytest.mark.parametrize(
    ("text", "percents"),
    [
        ("and 4, or 4", PERCENTS),
        # More bands take longer: where the curve is steep. scripts/curves has all of them.
        ("or 4, and 4", (20, 50)),
        ("and 4, or 4, and 4, or 4", (60, 80)),
    ],
)
def test_the_candidates_of_an_index_follow_its_curve(
    path: Path, text: str, percents: Sequence[int], sketch: SketchName
) -> None:
    """4,000 pairs of each similarity in a file: those that it finds, of all pairs that it has."""
    construction = Construction.parse(text)
    both = [signatures_of_pairs(sketch, percent) for percent in percents]
    signatures = np.concatenate([np.stack(pair, axis=1).reshape(-1, 256) for pair in both])
    doc_ids = np.arange(1, len(signatures) + 1)
    lshdb.open(
        path, shingle="set", construction=text, permutations=256, sketch=sketch, content=False
    ).close()
    store = Store.open(path, "write", 1.0, lambda: pytest.fail("the file is there"))
    with store.writing():
        store.insert((i, str(i - 1), 1, i.to_bytes(16), None, None) for i in doc_ids.tolist())
        store.insert_signatures(doc_ids, signatures)
        store.insert_bands(doc_ids, [bucket_keys(signatures, construction, 1)])
    store.close()
    with lshdb.open(path, mode="read") as db:
        found = [(int(p.a), int(p.b)) for p in db.pairs(threshold=1e-9, estimate=True)]
    # Documents of different pairs have no shingle in common.
    assert all(a % 2 == 0 and b == a + 1 for a, b in found)
    counts = np.bincount([a // (2 * PAIRS) for a, _ in found], minlength=len(percents))
    for percent, rate in zip(percents, (counts / PAIRS).tolist(), strict=True):
        assert follows(rate, percent / 100, construction, PAIRS), (percent, rate)


# what is a candidate


@given(TEXTS, st.data())
def test_evaluation_is_that_of_the_levels_one_by_one(text: str, data: st.DataObject) -> None:
    assume(lanes_of(text) <= 256)
    construction = Construction.parse(text)
    seed, share = data.draw(st.integers(0, 99)), data.draw(st.floats(0, 1))
    lanes = np.random.default_rng(seed).random((20, construction.lanes)) < share
    shape = (20, construction.bands, construction.rows)
    bands: npt.NDArray[np.bool_] = np.logical_and.reduce(lanes.reshape(shape), axis=2)
    expected = [is_true(row, text) for row in lanes.tolist()]
    assert evaluate(bands, construction).tolist() == expected
    assert not (
        evaluate(bands, construction) & (bands.sum(axis=1) < construction.least_bands)
    ).any()
    assert evaluate(bands[:0], construction).tolist() == []


@pytest.mark.parametrize("cells", [1, 100, 1 << 24])
def test_candidates_among_those_that_share_buckets(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lshdb.sketching.constructions._CELLS", cells)
    construction = Construction.parse("or 2, and 3, or 4")
    rng = np.random.default_rng(5)
    collided = rng.random((200, construction.bands)) < 0.3
    doc_ids = rng.permutation(1_000)[:200]
    places, band_nos = np.nonzero(collided)
    order = rng.permutation(len(places))
    rows = band_nos[order], doc_ids[places[order]]
    found, counts = candidates_among(*rows, construction)
    true = evaluate(collided, construction)
    assert 0 < len(found) < 200
    assert dict(zip(found.tolist(), counts.tolist(), strict=True)) == dict(
        zip(doc_ids[true].tolist(), collided.sum(axis=1)[true].tolist(), strict=True)
    )
    assert found.tolist() == sorted(found.tolist())
    unknown = np.arange(construction.bands) % 5 == 0
    possible, _ = candidates_among(*rows, construction, unknown)
    some = collided.any(axis=1)
    assert set(possible.tolist()) == set(
        doc_ids[some & evaluate(collided | unknown, construction)].tolist()
    )


SETS = set_families(51, families=9, copies=5, size=40)


@pytest.mark.parametrize("sketch", ["fast", "minhash"])
@pytest.mark.parametrize(
    "text", ["or 4, and 16, or 2", "and 3, or 6, and 2, or 4", "and 2, or 9, and 3"]
)
def test_queries_pairs_and_clusters_find_what_the_signatures_tell(
    path: Path, text: str, sketch: SketchName, monkeypatch: pytest.MonkeyPatch
) -> None:
    threshold = 0.4
    with lshdb.open(
        path, shingle="set", threshold=threshold, construction=text, sketch=sketch
    ) as db:
        db.add_many(SETS.items())
        lanes = db.settings.construction.lanes
        signatures = {key: db.get(key).signature for key in SETS}
        expected = {
            (a, b)
            for a, b in itertools.combinations(SETS, 2)
            if is_true((signatures[a] == signatures[b])[:lanes].tolist(), text)  # type: ignore[index]
            and jaccard(set(SETS[a]), set(SETS[b])) >= threshold
        }
        assert len(expected) > 50
        similar = {
            (a, b)
            for a, b in itertools.combinations(SETS, 2)
            if jaccard(set(SETS[a]), set(SETS[b])) >= threshold
        }
        assert len(similar) > len(expected), "the cascade leaves out some"
        assert {(pair.a, pair.b) for pair in db.pairs()} == expected
        both = expected | {(b, a) for a, b in expected}
        for top in (None, 100):
            found = {(key, m.key) for key in SETS for m in db.query(key=key, top=top)}
            assert found == both
        found = {(key, match.key) for key in SETS for match in db.query(SETS[key])}
        assert found == both | {(key, key) for key in SETS}
        estimated = {(pair.a, pair.b) for pair in db.pairs(threshold=0.01, estimate=True)}
        assert estimated >= expected
        assert estimated == {
            (a, b)
            for a, b in itertools.combinations(SETS, 2)
            if is_true((signatures[a] == signatures[b])[:lanes].tolist(), text)  # type: ignore[index]
        }
        everyone = {(key, m.key) for key in SETS for m in db.query(key=key, exhaustive=True)}
        assert everyone == similar | {(b, a) for a, b in similar}
        members = {frozenset(cluster.members) for cluster in db.clusters()}
        assert members == components(expected)
        for a, b in itertools.islice(itertools.combinations(SETS, 2), 200):
            assert db.compare(a, b).candidates == ((a, b) in estimated)
        # The same where all is large.
        monkeypatch.setattr(lookup, "FIRST_OF_BUCKET", 3)
        monkeypatch.setattr(candidates, "_CHUNK", 1)
        assert {(pair.a, pair.b) for pair in db.pairs()} == expected
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lshdb.LimitWarning)
            found = {(key, match.key) for key in SETS for match in db.query(key=key, top=3)}
        assert found <= both
        assert len(found) > len(both) / 2


def components(pairs: set[tuple[str, str]]) -> set[frozenset[str]]:
    """The connected components of pairs, by plain union of sets."""
    sets: list[set[str]] = []
    for pair in pairs:
        touched = [own for own in sets if own & set(pair)]
        sets = [own for own in sets if not own & set(pair)]
        sets.append(set(pair).union(*touched))
    return {frozenset(own) for own in sets}


def test_clusters_of_hot_buckets_are_those_of_the_cascade(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documents with a long common part fill buckets, and are paired by their rare shingles."""
    monkeypatch.setattr(joining, "_LIMIT", Limit(whole=20, first=4, others=8))
    header = [f"h{i}" for i in range(30)]
    text = "and 1, or 4, and 4, or 8"
    documents = {
        f"{i}/{copy}": [*header, *(f"{i}-{j}" for j in range(30)), f"c{i}-{copy}"]
        for i in range(150)
        for copy in range(2)
    }
    with lshdb.open(path, shingle="set", threshold=0.7, construction=text) as db:
        db.add_many(documents.items())
        pairs = {(pair.a, pair.b) for pair in db.pairs()}
        compared = {
            (f"{i}/0", f"{i}/1"): db.compare(f"{i}/0", f"{i}/1").candidates for i in range(150)
        }
        assert pairs == {pair for pair, candidate in compared.items() if candidate}
        assert {cluster.members for cluster in db.clusters()} == pairs
