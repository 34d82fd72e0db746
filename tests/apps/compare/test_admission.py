"""Documents that are added unless similar ones are stored, beside brute force."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from facts import facts

import lshdb
from lshdb.apps.compare.differences import changed_words

BERLIN = "Ann Lee has lived in Berlin since 2019."
MUNICH = "Ann Lee has lived in Munich since 2019."
ROME = "Ann Lee has lived in Rome since 2019."


@pytest.fixture
def db(tmp_path: Path) -> Any:
    with lshdb.open(tmp_path / "memory.db", purpose="short-text") as database:
        yield database
        assert lshdb.check(database.path, deep=True).ok


def grams(text: str) -> set[str]:
    """The runs of three characters of a text of plain letters, with one blank between words."""
    folded = " ".join(text.casefold().split())
    return {folded[i : i + 3] for i in range(len(folded) - 2)}


def jaccard(a: str, b: str) -> float:
    return len(grams(a) & grams(b)) / len(grams(a) | grams(b))


def test_the_answer_names_the_similar_and_what_differs(db: lshdb.Database) -> None:
    assert db.add_unless_similar(1, BERLIN).outcome == "added"
    left_out = db.add_unless_similar(2, MUNICH)
    assert (left_out.outcome, left_out.key, db.keys()) == ("similar", "2", ["1"])
    (similar,) = left_out.similar
    assert similar.similarity == jaccard(BERLIN, MUNICH)
    assert (similar.key, similar.content, similar.exact) == ("1", BERLIN, True)
    assert similar.changes == (lshdb.Change("Munich", "Berlin"),)
    assert db.add_unless_similar(2, MUNICH, threshold=0.8).outcome == "added"
    both = db.add_unless_similar(3, ROME, top=1)
    assert (both.outcome, len(both.similar), both.more) == ("similar", 1, True)
    forced = db.add_unless_similar(3, ROME, {"source": "mail"}, force=True)
    assert (forced.outcome, len(forced.similar), forced.more) == ("added", 2, False)
    assert db["3"].metadata == {"source": "mail"}
    assert not db.add_unless_similar(4, "", force=True).similar
    assert db.add_unless_similar(5, "").empty


def test_a_document_in_the_place_of_another(db: lshdb.Database) -> None:
    db.add_many([("a", BERLIN), ("b", MUNICH), ("c", "Tickets are sold at the gate.")])
    replaced = db.add_unless_similar("a", ROME, replace="a")
    assert replaced.outcome == "replaced"
    assert replaced.replaced is not None
    assert (replaced.replaced.content, db["a"].content) == (BERLIN, ROME)
    assert [similar.key for similar in replaced.similar] == ["b"]
    moved = db.add_unless_similar("d", BERLIN, replace="a")
    assert (moved.outcome, db.keys()) == ("replaced", ["b", "c", "d"])
    again = db.add_unless_similar("d", BERLIN, replace="d")
    assert (again.outcome, again.replaced) == ("unchanged", None)
    # A copy under the other key stays, and the replaced one goes.
    assert db.add_unless_similar("d", BERLIN, replace="b").outcome == "replaced"
    assert db.keys() == ["c", "d"]
    assert [match.key for match in db.query(MUNICH)] == ["d"]


@pytest.mark.parametrize(
    ("arguments", "options", "error", "reason"),
    [
        (("a", MUNICH), {}, lshdb.KeyInUse, "'a' is in use by another document, 'Ann Lee has"),
        (("a", MUNICH), {"force": True}, lshdb.KeyInUse, "give another key"),
        (("a", MUNICH), {"replace": "b"}, lshdb.KeyInUse, "in use"),
        (("a", BERLIN, {"year": 1}), {}, lshdb.KeyInUse, "in use"),
        (("c", MUNICH), {"replace": "bb"}, lshdb.KeyNotFound, "no document has the key 'bb'"),
        (("c", MUNICH), {"threshold": 0}, lshdb.UsageError, "threshold"),
        (("", MUNICH), {}, lshdb.ContentError, "is empty"),
        (("c\ud800", MUNICH), {}, lshdb.ContentError, "lone surrogate"),
        (("c", ["a set"]), {}, lshdb.ContentError, "this is a set"),
    ],
)
def test_what_fails_changes_nothing(
    db: lshdb.Database,
    arguments: tuple[Any, ...],
    options: dict[str, Any],
    error: type[Exception],
    reason: str,
) -> None:
    documents = [("a", BERLIN), ("b", "Tickets are sold at the gate.")]
    db.add_many(documents)
    with pytest.raises(error, match=reason):
        db.add_unless_similar(*arguments, **options)
    assert [(key, db[key].content) for key in db] == documents


def test_a_lower_threshold_loses_nothing(tmp_path: Path) -> None:
    """The index for 0.9 finds few at 0.35; each of those that are there is in the answer."""
    some = [*facts(150)]
    stored = {fact.key: fact.text for fact in some}
    with lshdb.open(tmp_path / "lsh.db", shingle="char:3", threshold=0.9) as db:
        db.add_many(stored.items())
        for fact in some[:25]:
            expected = {
                key: jaccard(fact.paraphrase, text)
                for key, text in stored.items()
                if jaccard(fact.paraphrase, text) >= 0.35
            }
            answer = db.add_unless_similar("new", fact.paraphrase, threshold=0.35, top=1000)
            assert {one.key: one.similarity for one in answer.similar} == expected
            assert (answer.compared_all, answer.recall) == (True, 1.0)
            if answer.outcome == "added":
                db.remove("new")
        usual = db.add_unless_similar("x", BERLIN, threshold=0.95)
        assert (usual.compared_all, usual.threshold, usual.recall > 0.99) == (False, 0.95, True)


def test_a_large_bucket_is_read_whole(tmp_path: Path) -> None:
    """Queries read a part of it; here what is similar may be in the rest."""
    limits = lshdb.Limits(query_first=2, query_best=1)
    with lshdb.open(tmp_path / "lsh.db", purpose="short-text", limits=limits) as db:
        stored = {str(n): f"{BERLIN} Note {n}." for n in range(60)}
        db.add_many(stored.items())
        answer = db.add_unless_similar("new", f"{BERLIN} Note 59!", top=1)
        assert (answer.more, answer.compared_all) == (True, False)
        assert [(one.key, one.similarity) for one in answer.similar] == [
            ("59", jaccard(f"{BERLIN} Note 59!", stored["59"]))
        ]


def test_sets_and_signatures_alone(tmp_path: Path) -> None:
    with lshdb.open(tmp_path / "sets.db", purpose="baskets") as db:
        db.add(1, ["milk", "bread", 3])
        (similar,) = db.add_unless_similar(2, ["milk", "bread", "oats"]).similar
        assert similar.changes == (lshdb.Change("oats", ""), lshdb.Change("", "3"))
    with lshdb.open(tmp_path / "bare.db", purpose="short-text", content=False) as db:
        db.add(1, BERLIN)
        (similar,) = db.add_unless_similar(2, MUNICH, threshold=0.3).similar
        assert (similar.content, similar.changes, similar.exact) == (None, (), False)


def test_one_of_many_at_once_is_added(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    lshdb.open(path, purpose="short-text").close()
    start = Barrier(6)

    def add(key: str) -> lshdb.Admission:
        with lshdb.open(path) as db:
            start.wait()
            return db.add_unless_similar(key, BERLIN)

    with ThreadPoolExecutor(6) as threads:
        answers = [*threads.map(add, "abcdef")]
    (first,) = [answer for answer in answers if answer.outcome == "added"]
    others = [answer for answer in answers if answer.outcome == "similar"]
    assert [similar.key for answer in others for similar in answer.similar] == [first.key] * 5

    async def of_a_service(service: lshdb.Service) -> list[lshdb.Admission]:
        add = service.add_unless_similar
        adding = (service.awaitable(add, key, "Tickets are sold here.") for key in "xyz")
        return [*await asyncio.gather(*adding)]

    with lshdb.Service(path) as service:
        outcomes = sorted(answer.outcome for answer in asyncio.run(of_a_service(service)))
        assert outcomes == ["added", "similar", "similar"]
        with pytest.raises(lshdb.KeyInUse):
            service.add_unless_similar(first.key, MUNICH)


@pytest.mark.parametrize(
    ("a", "b", "changes"),
    [
        ("It costs 5 euros.", "It costs -5 EUROS", [("5", "-5")]),
        ("Version 1.2.3 (new)", "version 1.2.4, old", [("1.2.3 new", "1.2.4 old")]),
        ("安住在柏林", "安住在慕尼黑", [("柏林", "慕尼黑")]),
        ("Hello, world!", "hello world", []),
    ],
)
def test_words_that_differ(a: str, b: str, changes: list[tuple[str, str]]) -> None:
    found = [(change.given, change.stored) for change in changed_words(a, b)]
    assert found == changes
