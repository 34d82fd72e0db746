"""Signatures in and out: the same index as the documents make, and no mixing of what differs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import helpers
import inspection
import numpy as np
import numpy.typing as npt
import oracles
import pytest
from helpers import Command, database_of

import lshdb
from lshdb import Database, Sketching
from lshdb.apps.signatures.signature_sets import check_comparable
from lshdb.errors import SettingsMismatch

TEXTS = helpers.text_families(seed=11, families=12, copies=3, words=60, most_edits=8)
NAME = "sha1, 128 permutations"
FOREIGN = Sketching.foreign(NAME, 128)
OWN = Sketching("word:3", 128, "fast", 1)


def peer_signature(words: set[str], lanes: int) -> list[int]:
    """A textbook MinHash that is not lshdb's: the least of k affine functions of an integer."""
    prime = (1 << 61) - 1
    rng = np.random.default_rng(5)
    factors = rng.integers(1, prime, size=(lanes, 2)).tolist()
    numbers = [int.from_bytes(word.encode()[:7], "big") * 2654435761 % prime for word in words]
    return [min((a * x + b) % prime for x in numbers) & 0xFFFFFFFF for a, b in factors]


def peer_lanes() -> npt.NDArray[np.uint32]:
    return np.array([peer_signature(set(text.split()), 128) for text in TEXTS.values()], np.uint32)


@pytest.fixture
def foreign(path: Path) -> Database:
    return lshdb.open(path, shingle=f"foreign:{NAME}", threshold=0.6)


def copy(source: Database, target: Database) -> lshdb.AddReport:
    """Add to a database all signatures of another one."""
    known = source.signatures()
    return target.add_signatures(
        known.keys,
        known.signatures,
        known.made_with,
        shingles=known.shingles,
        digests=known.digests,
    )


def test_a_collection_moves_by_its_signatures(tmp_path: Path) -> None:
    settings = {"threshold": 0.5, "shingle": "char:5", "sketch": "minhash", "seed": 3}
    with (
        lshdb.open(tmp_path / "a.db", **settings) as source,  # type: ignore[call-overload]
        lshdb.open(tmp_path / "b.db", content=False, **settings) as target,  # type: ignore[call-overload]
        lshdb.open(tmp_path / "c.db", content=False, **settings) as expected,  # type: ignore[call-overload]
    ):
        source.add_many(TEXTS.items())
        source.add("empty", " ")
        expected.add_many(TEXTS.items())
        assert copy(source, target) == lshdb.AddReport(added=len(TEXTS))
        # Digests and all: nothing is new where the texts themselves come later.
        assert target.add_many(TEXTS.items()).unchanged == len(TEXTS)
    assert inspection.contents(tmp_path / "b.db") == inspection.contents(tmp_path / "c.db")
    inspection.check(tmp_path / "b.db")


def test_another_programs_signatures_find_what_is_similar(foreign: Database) -> None:
    keys, lanes = list(TEXTS), peer_lanes()
    with foreign as db:
        assert db.add_signatures(keys, lanes, FOREIGN).added == len(TEXTS)
        words = {key: set(text.split()) for key, text in TEXTS.items()}
        exact = oracles.similar_pairs(words, 0.75)
        found = {frozenset((pair.a, pair.b)): pair for pair in db.pairs()}
        # Recall 0.99 is at 0.6; of estimates few are off by 0.15, which is three standard errors.
        assert len(exact) > 10
        assert len(exact.keys() - found.keys()) <= len(exact) // 20
        for keys_of_pair, pair in found.items():
            assert not pair.exact
            one, other = (lanes[keys.index(key)] for key in (pair.a, pair.b))
            assert pair.estimate == pair.similarity == (one == other).mean()
            assert abs(pair.estimate - oracles.jaccard(*(words[k] for k in keys_of_pair))) < 0.2
        by_lanes = db.query_signature(lanes[5], FOREIGN)
        assert by_lanes[0].key == keys[5]
        assert by_lanes[1:] == db.query(key=keys[5])
        assert db.query_signature(lanes[5], FOREIGN, top=1) == by_lanes[:1]
    inspection.check(foreign.path)


def test_signatures_given_again_replace(foreign: Database) -> None:
    lanes = peer_lanes()
    with foreign as db:
        db.add_signatures(["a", "b"], lanes[:2], FOREIGN)
        report = db.add_signatures(["b", "a", "c"], lanes[[1, 7, 2]], FOREIGN)
        assert (report.added, report.updated, report.unchanged) == (1, 1, 1)
        assert [match.key for match in db.query_signature(lanes[7], FOREIGN, threshold=1)] == ["a"]
        db.remove("a")
        assert not db.query_signature(lanes[7], FOREIGN, threshold=1)
    inspection.check(foreign.path)


def test_lanes_of_an_empty_document_are_similar_to_nothing(foreign: Database) -> None:
    lanes = np.full((2, 128), 0xFFFFFFFF, dtype=np.int64)  # any integers that fit
    with foreign as db:
        assert db.add_signatures(["a", "b"], lanes, FOREIGN).empty == 2
        assert not list(db.pairs())
        assert not db.query_signature(lanes[0], FOREIGN)
        assert len(db.signatures()) == 0
    inspection.check(foreign.path)


def test_a_query_by_signature_estimates_where_contents_are_kept(path: Path) -> None:
    with database_of(path, TEXTS, threshold=0.5) as db:
        known = db.signatures()
        matches = db.query_signature(known.signatures[0], known.made_with)
        assert [(m.key, m.similarity, m.exact) for m in matches] == [
            (known.keys[0], 1.0, False),
            *((m.key, m.estimate, False) for m in db.query(key=known.keys[0], estimate=True)),
        ]
        with pytest.raises(lshdb.SettingsMismatch, match="cannot be compared"):
            db.query_signature(known.signatures[0], FOREIGN)
        with pytest.raises(lshdb.ContentError, match="64 lanes"):
            db.query_signature(known.signatures[0, :64], known.made_with)


OTHERS = [
    Sketching("word:4", 128, "fast", 1),
    Sketching("word:3", 64, "fast", 1),
    Sketching("word:3", 128, "minhash", 1),
    Sketching("word:3", 128, "fast", 2),
    FOREIGN,
]


@pytest.mark.parametrize("made_with", OTHERS, ids=str)
def test_signatures_made_otherwise_are_refused(made_with: Sketching, path: Path) -> None:
    lanes = np.zeros((1, made_with.permutations), dtype=np.uint32)
    with lshdb.open(path, content=False) as db:
        with pytest.raises(lshdb.SettingsMismatch, match=r"lsh.db has \w+ [\w:]+, and the doc"):
            db.add_signatures(["a"], lanes, made_with, shingles=[1])
        assert len(db) == 0


def test_wide_lanes_are_cut_for_a_narrow_file_and_narrow_ones_refused(tmp_path: Path) -> None:
    """A file of bands of one row has lanes of 32 bits; other files have their low halves."""
    with (
        lshdb.open(tmp_path / "wide.db", bands=100, rows=1, content=False) as wide,
        lshdb.open(tmp_path / "narrow.db", threshold=0.5, content=False) as narrow,
        lshdb.open(tmp_path / "expected.db", threshold=0.5, content=False) as expected,
    ):
        wide.add_many([*TEXTS.items(), ("empty", "")])
        expected.add_many(TEXTS.items())
        known, made = wide.signatures(), expected.signatures()
        assert (known.signatures.itemsize, made.signatures.itemsize) == (4, 2)
        assert np.array_equal(known.signatures % (1 << 16), made.signatures)
        assert copy(wide, narrow).added == len(TEXTS)
        with pytest.raises(lshdb.SettingsMismatch, match=r"lane_bits 32, and .* compared by 16"):
            copy(expected, wide)
    assert inspection.contents(tmp_path / "narrow.db") == inspection.contents(
        tmp_path / "expected.db"
    )
    inspection.check(tmp_path / "wide.db")


def test_a_database_with_contents_takes_no_signatures(path: Path) -> None:
    with lshdb.open(path) as db, pytest.raises(lshdb.SettingsMismatch, match="--no-content"):
        db.add_signatures(["a"], np.zeros((1, 128), np.uint32), OWN, shingles=[1])
    for settings, reason in (
        ({"content": True}, "has no contents"),
        ({"sketch": "fast"}, "has its own sketch"),
    ):
        with pytest.raises(lshdb.SettingsError, match=reason):
            lshdb.open(path.with_name("f.db"), shingle="foreign:x", **settings)
    for name in ("", "x" * 101, "a\nb"):
        with pytest.raises(lshdb.SettingsError, match="printable"):
            Sketching.foreign(name, 128)


ROW = np.zeros((1, 128), dtype=np.uint16)
ONE_KEY: dict[str, Any] = {"keys": ["a"], "signatures": ROW, "made_with": OWN, "shingles": [1]}
WRONG: list[tuple[str, dict[str, Any]]] = [
    ("a matrix of integers", {"signatures": ROW * 0.5}),
    ("with 1 dim", {"signatures": ROW[0]}),
    ("have 127 lanes", {"signatures": ROW[:, 1:]}),
    ("from 0 to", {"signatures": ROW.astype(np.int64) - 1}),
    ("65535: fold longer", {"signatures": ROW.astype(np.uint64) + (1 << 16)}),
    (
        "4294967295: fold longer",
        {
            "signatures": ROW.astype(np.uint64) + (1 << 32),
            "made_with": Sketching("word:3", 128, "fast", 1, lane_bits=32),
        },
    ),
    ("2 keys", {"keys": ["a", "b"]}),
    ("lone surrogate", {"keys": ["\ud800"]}),
    ("give the numbers", {"shingles": None}),
    ("are integers", {"shingles": [1.5]}),
    ("more than 900,000,000", {"shingles": [1 << 63]}),
    ("2 numbers", {"shingles": [1, 1]}),
    ("in all lanes", {"shingles": [0]}),
    ("0 digests", {"digests": []}),
    ("16 bytes", {"digests": [b"x"]}),
]


@pytest.mark.parametrize(("reason", "wrong"), WRONG)
def test_what_cannot_be_is_refused_before_anything_is_written(
    reason: str, wrong: dict[str, Any], path: Path
) -> None:
    with lshdb.open(path, content=False) as db:
        with pytest.raises((lshdb.ContentError, lshdb.UsageError), match=reason):
            db.add_signatures(**{**ONE_KEY, **wrong})
        assert len(db) == 0


CANNOT: dict[str, Callable[[Database], object]] = {
    "query": lambda db: db.query("a text"),
    "add": lambda db: db.add("b", "a text"),
    "containment": lambda db: db.query(key="a", containment=True),
    "lengths": lambda db: list(db.clusters(keep="longest")),
    "shingles": lambda db: db.add_signatures(["b"], ROW, FOREIGN, shingles=[1]),
}


@pytest.mark.parametrize("name", CANNOT)
def test_what_needs_documents_is_refused(name: str, foreign: Database) -> None:
    with foreign as db:
        db.add_signatures(["a"], ROW, FOREIGN)
        with pytest.raises(
            lshdb.LshdbError, match=r"made elsewhere|another program|only signatures"
        ):
            CANNOT[name](db)
        assert len(db) == 1


def test_names_of_foreign_lanes_must_agree(foreign: Database) -> None:
    with foreign as db:
        db.add_signatures(["a"], ROW, FOREIGN)
        with pytest.raises(lshdb.SettingsMismatch, match="cannot be compared"):
            db.add_signatures(["b"], ROW, Sketching.foreign("sha256", 128))
    shown = Command(foreign.path.parent).done("show", "a", "--json").record
    assert (shown["shingles"], len(shown["signature"])) == (None, 128)


def test_signatures_of_other_base_texts_are_refused(tmp_path: Path) -> None:
    base = {"task": "the fox and the grapes that hang high upon the wall"}
    with (
        database_of(tmp_path / "a.db", {"a": "the ant and the dove"}, base=base) as db,
        lshdb.open(tmp_path / "lanes.db", content=False) as lanes,
    ):
        some = db.signatures()
        with pytest.raises(lshdb.SettingsMismatch, match="base texts"):
            lanes.add_signatures(some.keys, some.signatures, some.made_with)


def test_signatures_of_repeated_keys_are_counted(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"content": False, "permutations": 64}
    with lshdb.open(tmp_path / "a.db", **settings) as source:
        source.add_many([("a", "the fox and the grapes"), ("b", "the ant and the dove of it")])
        known = source.signatures()
    with lshdb.open(tmp_path / "b.db", **settings) as database:
        report = database.add_signatures(
            ["x", "x"], known.signatures, known.made_with, shingles=known.shingles
        )
        assert (report.added, report.updated, report.repeated) == (1, 1, 1)


def test_signatures_alone_say_nothing_of_contents(path: Path) -> None:
    lanes, made_with = np.ones((2, 128), np.uint32), lshdb.Sketching.foreign("mine", 128)
    with lshdb.open(path, shingle="foreign:mine", content=False) as db:
        db.add_signatures(["a", "b"], lanes, made_with)
        matches = [*db.query(key="a"), *db.query_signature(lanes[0], made_with)]
        found = [*matches, *db.pairs(), db.compare("a", "b")]
        assert not any(result.identical for result in found)
        assert [cluster.identical for cluster in db.clusters()] == [(False, False)]


def test_signatures_of_other_programs_are_not_compared() -> None:
    made, other = (Sketching.foreign(name, 128) for name in "xy")
    check_comparable("lsh.db", made, made)
    says = "lsh.db has shingle foreign:x, and the documents are compared by foreign:y"
    with pytest.raises(SettingsMismatch, match=says):
        check_comparable("lsh.db", made, other)
