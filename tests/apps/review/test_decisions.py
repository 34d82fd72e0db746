"""Decisions about documents: which hold, what pairs and clusters leave out, what is removed."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import inspection
import pytest
from helpers import database_of
from oracles import connected

import lshdb
from lshdb.apps.review.decisions import Decision
from lshdb.errors import InputError, KeyNotFound, ReadOnly, UsageError


@pytest.fixture
def db(path: Path) -> Iterator[lshdb.Database]:
    """A chain: a like b like c, a copy of c, and one that is like nothing."""
    with lshdb.open(path, shingle="set", threshold=0.6) as db:
        contents = {"a": range(8), "b": range(1, 9), "c": range(3, 11), "c2": range(3, 11)}
        db.add_many([(key, [*numbers]) for key, numbers in contents.items()])
        db.add("alone", [99])
        yield db
    inspection.check(path)


def clusters(db: lshdb.Database, **asked: object) -> list[tuple[str, dict[str, str | None]]]:
    """The kept document of each cluster, and what is decided of each member."""
    found = db.clusters(**asked)  # type: ignore[call-overload]
    return [(one.keep, dict(zip(one.members, one.decided, strict=True))) for one in found]


def pairs(db: lshdb.Database, **asked: object) -> set[tuple[str, str]]:
    return {(pair.a, pair.b) for pair in db.pairs(**asked)}  # type: ignore[call-overload]


def states(db: lshdb.Database) -> list[tuple[str, str]]:
    return [(one.verdict, one.state) for one in db.decisions()]


@pytest.mark.parametrize("star", [False, True])
def test_what_is_marked_keep_is_kept(db: lshdb.Database, star: bool) -> None:
    db.decide("keep", ["c"])
    db.decide("drop", ["b"])
    ((kept, decided),) = clusters(db, star=star)
    assert kept == "c"
    assert decided.items() >= {"b": "drop", "c": "keep", "c2": None}.items()
    roles = {row["key"]: row["role"] for row in db.clusters(star=star).to_arrow().to_pylist()}
    below = {} if star else {"a": "below"}
    assert roles == {"b": "drop", "c": "keep", "c2": "member"} | below


def test_one_decision_of_several_is_undone_by_its_number(db: lshdb.Database) -> None:
    db.decide("drop", ["a", "b"])
    (kept,) = db.decide("keep", ["a"], note="why", who="ann")
    assert (kept.decision, kept.note, kept.who) == (3, "why", "ann")
    assert db.decisions()[2] == kept
    with pytest.raises(KeyNotFound, match="no decision 3"):
        db.undo_decision(3, "2026-01-01T00:00:00.000000Z")
    assert db.undo_decision(3, kept.decided) == kept
    db.undo_decision(1)
    assert [one.keys for one in db.decisions()] == [("b",)]
    with pytest.raises(KeyNotFound, match="no decision 1"):
        db.undo_decision(1)


def test_what_each_later_decision_overrules(db: lshdb.Database) -> None:
    """As docs/review.md says; `different` overrules `drop` of all its documents, and no `keep`."""
    for earlier, later, held in (
        ("keep", "drop", ["overruled", "holds"]),
        ("keep", "different", ["holds", "holds"]),
        ("drop", "keep", ["overruled", "holds"]),
        ("drop", "different", ["overruled", "holds"]),
        ("different", "keep", ["holds", "holds"]),
        ("different", "drop", ["holds", "holds"]),
    ):
        for verdict in (earlier, later):
            keys = ["a", "c"] if verdict == "different" else ["a"]
            db.decide(verdict, keys)  # type: ignore[arg-type]
        assert [one.state for one in db.decisions()] == held, (earlier, later)
        goes = ["a"] if later == "drop" else []
        assert db.remove_decided(dry_run=True) == goes
        ((_, roles),) = clusters(db)
        assert (roles["a"] == "drop") == bool(goes), (earlier, later)
        db.undo_decision()
        assert [one.state for one in db.decisions()] == ["holds"]
        assert db.remove_decided(dry_run=True) == (["a"] if earlier == "drop" else [])
        db.undo_decision()
    # What `drop` overruled does not come back.
    for verdict, keys in (("keep", ["a"]), ("drop", ["a", "b"]), ("different", ["a", "c"])):
        db.decide(verdict, keys)  # type: ignore[arg-type]
    assert [one.state for one in db.decisions()] == ["overruled", "overruled", "holds", "holds"]
    assert db.remove_decided() == ["b"]


def test_a_document_that_changes_is_undecided_until_it_has_its_content_again(
    db: lshdb.Database,
) -> None:
    db.decide("drop", ["a"])
    db.decide("different", ["b", "c"])
    db.decide("different", ["b", "c", "c2"])
    held = pairs(db)
    db.add_many([("a", [1]), ("b", [*range(1, 10)])])
    assert states(db) == [("drop", "changed"), ("different", "changed"), ("different", "holds")]
    assert db.remove_decided() == []
    assert ("b", "c") in pairs(db)
    assert ("c", "c2") not in pairs(db)
    db.add_many([("a", [*range(8)]), ("b", [*range(1, 9)])])
    assert states(db) == [("drop", "holds"), ("different", "holds"), ("different", "holds")]
    assert pairs(db) == held


def test_what_is_to_be_dropped_is_removed_and_stays_so(db: lshdb.Database) -> None:
    db.decide("drop", ["a", "c2", "alone"])
    db.decide("keep", ["alone"])
    assert db.remove_decided(dry_run=True) == ["a", "c2"]
    assert len(db) == 5
    assert db.remove_decided() == ["a", "c2"]
    assert db.keys() == ["b", "c", "alone"]
    assert [one.state for one in db.decisions()] == ["missing", "overruled", "missing", "holds"]
    db.add("a", [*range(8)])
    assert db.remove(decided=True, dry_run=True) == 1
    assert db.remove_decided() == ["a"]
    assert db.remove(decided=True) == 0
    with pytest.raises(lshdb.UsageError, match="give one of keys, where and decided"):
        db.remove(["b"], decided=True)


def test_decisions_survive_reindex_backup_and_repair(db: lshdb.Database, tmp_path: Path) -> None:
    db.decide("keep", ["a"], who="ann")
    db.decide("different", ["b", "c"])
    before = db.decisions()
    db.reindex(threshold=0.5)
    db.backup(tmp_path / "copy.db")
    with inspection.sqlite(tmp_path / "copy.db") as connection:
        connection.execute("DELETE FROM bands")
    assert lshdb.check(tmp_path / "copy.db", repair=True).ok
    with lshdb.open(tmp_path / "copy.db") as copy:
        assert copy.decisions() == before == db.decisions()


def test_decisions_go_to_a_copy_and_come_back(db: lshdb.Database, tmp_path: Path) -> None:
    db.backup(tmp_path / "copy.db")
    db.decide("drop", ["a"], who="bob")
    with lshdb.open(tmp_path / "copy.db") as copy:
        copy.decide("keep", ["a"], who="ann")
        copy.decide("different", ["b", "c"], note="two", who="ann")
        copy.remove("b")
        theirs = copy.decisions()
    assert db.add_decisions(theirs) == 2
    assert db.add_decisions(theirs) == 0
    assert states(db) == [("drop", "overruled"), ("keep", "holds"), ("different", "holds")]
    # An earlier one that comes later does not overrule.
    early = replace(theirs[0], verdict="drop", decided="2020-01-01T00:00:00Z", digests=())
    assert db.add_decisions([early]) == 1
    assert db.decisions()[3] == replace(
        early,
        decision=4,
        digests=theirs[0].digests,
        state="overruled",
        decided="2020-01-01T00:00:00.000000Z",
    )
    with pytest.raises(KeyNotFound, match="no document has the key 'none'"):
        db.add_decisions([theirs[0], replace(early, keys=("none",))])
    assert len(db.decisions()) == 4


GOOD = Decision(0, "keep", ("a",), (), None, "ann", "2026-01-31T23:59:59Z")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"verdict": "maybe"}, "verdict 'maybe' is not keep, drop, different"),
        ({"keys": ()}, "keep takes one key"),
        ({"keys": ("a", "b")}, "keep takes one key"),
        ({"verdict": "different"}, "two different keys"),
        ({"verdict": "different", "keys": ("a", "a")}, "two different keys"),
        ({"keys": ("",)}, "are not keys"),
        ({"keys": (5,)}, "are not keys"),
        ({"digests": ("00",)}, "32 hexadecimal digits"),
        ({"decided": "yesterday"}, "is not a time"),
        ({"decided": None}, "is not a time"),
        ({"who": " "}, "is not a text"),
        ({"who": "a\0b"}, "cannot be stored"),
        ({"note": "\ud800"}, "cannot be stored"),
        ({"note": 5}, "is not a text"),
    ],
)
def test_what_is_no_decision_is_refused(
    db: lshdb.Database, wrong: dict[str, object], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        db.add_decisions([GOOD, replace(GOOD, **wrong)])  # type: ignore[arg-type]
    assert db.decisions() == []


def test_wrong_ways_to_decide_are_refused(db: lshdb.Database, path: Path) -> None:
    with pytest.raises(KeyNotFound, match="no document has the key 'zzz'"):
        db.decide("drop", ["a", "zzz"])
    for verdict, keys in (("maybe", ["a"]), ("keep", []), ("different", ["a", "a"])):
        with pytest.raises(UsageError):
            db.decide(verdict, keys)  # type: ignore[arg-type]
    with lshdb.open(path, mode="read") as read, pytest.raises(ReadOnly):
        read.decide("keep", ["a"])
    assert db.decisions() == []


def test_check_finds_what_is_no_decision(db: lshdb.Database, path: Path) -> None:
    db.decide("keep", ["a"])
    db.decide("different", ["a", "b"])
    assert lshdb.check(db.path).ok
    for statement in (
        "UPDATE decisions SET digest = x'00' WHERE decision = 1",
        "UPDATE decisions SET key = '' WHERE decision = 1",
        "UPDATE decisions SET who = 'x' WHERE decision = 2 AND key = 'a'",
        "UPDATE decisions SET note = CAST(x'ff' AS TEXT) WHERE decision = 1",
        "UPDATE decisions SET decision = 0 WHERE decision = 1",
        "DELETE FROM decisions WHERE decision = 2 AND key = 'a'",
    ):
        with inspection.sqlite(path) as connection:
            connection.execute("CREATE TABLE aside AS SELECT * FROM decisions")
            connection.execute(statement)
            assert lshdb.check(db.path).counts == {"decisions": 1}, statement
            connection.execute("DELETE FROM decisions")
            connection.execute("INSERT INTO decisions SELECT * FROM aside")
            connection.execute("DROP TABLE aside")


def test_two_who_decide_at_once_lose_nothing(db: lshdb.Database, path: Path) -> None:
    def review(who: str) -> None:
        with lshdb.open(path) as own:
            for number in range(15):
                own.decide("keep" if number % 2 else "drop", ["a", "b"], who=who)

    with ThreadPoolExecutor() as pool:
        list(pool.map(review, ["ann", "bob"]))
    made = db.decisions()
    assert [decision.decision for decision in made] == list(range(1, 61))
    assert [decision.state for decision in made].count("holds") == 2


def test_clusters_are_those_of_the_pairs_that_are_not_different(path: Path) -> None:
    """Against a graph made of the pairs: no edge and no more than is left of it."""
    rng = random.Random(7)
    sets = {f"{i}": rng.sample(range(14), 9) for i in range(60)}
    sets |= {f"copy of {i}": sets[f"{i}"] for i in range(0, 60, 3)}
    with database_of(path, sets, shingle="set", threshold=0.5) as db:
        everything = pairs(db)
        for _ in range(12):
            db.decide("different", rng.sample(db.keys(), rng.choice([2, 2, 5])))
        texts = {key: frozenset(content) for key, content in sets.items()}
        marked = {pair for made in db.decisions() for pair in combinations(made.keys, 2)}
        different = {frozenset(texts[key] for key in pair) for pair in marked}
        apart = {
            frozenset(pair)
            for pair in combinations(sets, 2)
            if {texts[key] for key in pair} in different and texts[pair[0]] != texts[pair[1]]
        } | {frozenset(pair) for pair in marked}
        left = {pair for pair in everything if frozenset(pair) not in apart}
        assert pairs(db) == left < everything
        assert pairs(db, ignore_decisions=True) == everything
        found, stars = list(db.clusters()), list(db.clusters(star=True))
        assert {frozenset(cluster.members) for cluster in found} == connected(left)
        for cluster in found + stars:
            for member, decided in zip(cluster.members, cluster.decided, strict=True):
                assert (decided == "different") == (frozenset([cluster.keep, member]) in apart)
        assert not any("different" in cluster.decided for cluster in stars)
        for verdict in ("drop", "keep", "drop"):
            db.decide(verdict, rng.sample(db.keys(), 8))
            for cluster in db.clusters(star=True):
                ranks = [{"keep": 0, "drop": 2}.get(each or "", 1) for each in cluster.decided]
                assert ranks[cluster.members.index(cluster.keep)] == min(ranks)


def test_texts_that_are_different_are_so_under_any_key_and_equal_ones_under_theirs(
    path: Path,
) -> None:
    x, y = [*range(10)], [*range(1, 11)]
    with database_of(path, {"a": x, "b": y, "c": x}, shingle="set", threshold=0.5) as db:
        db.decide("different", ["a", "b"])
        assert pairs(db) == {("a", "c")}
        db.decide("different", ["a", "c"])
        assert pairs(db) == set()
        db.remove(["a", "b"])
        db.add_many([("e", y), ("f", x)])
        assert pairs(db) == {("c", "f")}
        assert states(db) == [("different", "holds"), ("different", "missing")]
        report = db.add_many([("g", y), ("h", x)], on_similar="skip")
        assert (report.added, report.skipped) == (0, 2)
        db.remove(["e", "g", "c", "f"], missing_ok=True)
        report = db.add_many([("i", x), ("j", y), ("k", x)], on_similar="skip")
        assert (report.added, report.skipped) == (2, 1)
    inspection.check(path)


def test_a_decision_has_the_digest_of_the_file_and_holds_by_it(tmp_path: Path) -> None:
    """As after an update of the library that takes texts out of files."""
    file = tmp_path / "a.txt"
    file.write_text("some words of a text")
    with lshdb.open(tmp_path / "lsh.db") as db:
        db.add_files([str(file)])
        (key,) = db.keys()
        (made,) = db.decide("drop", [key])
        (file_digest,) = made.file_digests
        assert file_digest == hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest()
        db.undo_decision()
        other_text = replace(made, digests=("0" * 32,))
        assert db.add_decisions([other_text, replace(made, digests=("1" * 32,))]) == 2
        assert states(db) == [("drop", "overruled"), ("drop", "holds")]
        assert db.add_decisions([replace(other_text, file_digests=())]) == 0
        file.write_text("another text in the same file")
        db.add_files([str(file)])
        assert states(db) == [("drop", "changed"), ("drop", "changed")]
        for digests in (("0" * 31,), ("0" * 32,) * 2):
            with pytest.raises(InputError, match="digests"):
                db.add_decisions([replace(made, file_digests=digests)])
