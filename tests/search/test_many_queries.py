"""Many queries at once: exactly what each finds alone, whatever is asked and however it is cut."""

from __future__ import annotations

import itertools
import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import inspection
import pytest
from helpers import database_of, text_families
from hypothesis import given, settings
from hypothesis import strategies as st

import lshdb
from lshdb import Limits
from lshdb.offers import is_there

TEXTS = text_families(5, families=30, copies=4, words=40, most_edits=12)
HEADER = [f"h{i}" for i in range(40)]
FOX = "the fox and the grapes"
WHERE = "metadata ->> '$.odd' = ?"


DRAW = random.Random(1)
STORED = [*TEXTS.values(), *[" ".join(HEADER)] * 12, "", "", "one two"]
STORED += [" ".join([*HEADER, *DRAW.choices("abcdefgh", k=8)]) for _ in range(25)]
STORED += [" ".join(HEADER[:12] * length) for length in (1, 2, 5)]
DRAW.shuffle(STORED)


def documents(of_sets: bool = False) -> list[lshdb.Document]:
    """Families of texts, copies of one, texts under one header, empty ones, one of each length."""
    contents: list[Any] = [text.split() if of_sets else text for text in STORED]
    return [lshdb.Document(f"d{i}", each, {"odd": i % 2}) for i, each in enumerate(contents)]


def asked(seed: int, of_sets: bool = False) -> list[tuple[str, Any]]:
    """Some of the documents, some with words exchanged, some cut short, some repeated."""
    rng = random.Random(seed)
    found: list[tuple[str, Any]] = []
    for number, text in enumerate(rng.choices(STORED, k=12)):
        words = text.split()
        if number % 3 == 1 and words:
            words[rng.randrange(len(words))] = "other"
        elif number % 3 == 2:
            words = words[: rng.randrange(len(words) + 1)]
        found.append((f"q{number % 9}", words if of_sets else " ".join(words)))
    return found


SETTINGS: dict[str, dict[str, Any]] = {
    "bands": {"threshold": 0.5},
    "cascade": {"threshold": 0.5, "construction": "and 2, or 4, and 2, or 4"},
    "signatures": {"threshold": 0.5, "content": False},
    "passages": {"threshold": 0.6, "passages": 5},
    "sets": {"threshold": 0.4, "shingle": "set"},
}


PARAMS = [
    pytest.param(name, marks=pytest.mark.app("passages" if name == "passages" else ""))
    for name in SETTINGS
]


@pytest.fixture(scope="module", params=PARAMS)
def db(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[lshdb.Database]:
    path, made = tmp_path_factory.mktemp("many") / "a.db", SETTINGS[request.param]
    with database_of(path, documents("shingle" in made), **{"shingle": "word:2", **made}) as db:
        yield db


@settings(max_examples=5, deadline=None)
@given(
    seed=st.integers(0, 100),
    top=st.sampled_from([None, 1, 2, 30]),
    threshold=st.sampled_from([None, 0.1, 0.8, 1.0]),
    containment=st.sampled_from([False, is_there("passages")]),
    estimate=st.booleans(),
    exhaustive=st.booleans(),
    where=st.sampled_from([None, None, WHERE]),
    fields=st.sampled_from([(), ("odd", "none")]),
    limits=st.sampled_from([(1 << 20, 2000, 64), (600, 2000, 4), (40, 30, 64), (100, 20, 4)]),
)
def test_the_answers_are_those_of_single_queries(
    db: lshdb.Database, seed: int, where: str | None, limits: tuple[int, ...], **options: Any
) -> None:
    if where is not None:
        options |= {"where": where, "parameters": [1]}
    wanted = asked(seed, bool(db.settings.shingling.of_sets))
    rows, first, verified = limits
    small = Limits(query_rows=rows, query_first=first, verified_first=verified)
    with lshdb.open(db.path, limits=small) as limited, warnings.catch_warnings():
        warnings.simplefilter("ignore", lshdb.LimitWarning)
        alone = [(key, list(limited.query(content, **options))) for key, content in wanted]
        assert list(limited.query_many(wanted, **options, workers=0)) == alone


def test_worker_processes_and_small_batches_change_nothing(path: Path) -> None:
    wanted = [query for seed in range(6) for query in asked(seed)]
    with database_of(path, documents(), shingle="word:2", threshold=0.5) as db:
        expected = list(db.query_many(wanted, workers=0))
    with lshdb.open(path, limits=Limits(batch_bytes=80_000, batch_documents=50)) as db:
        assert list(db.query_many(iter(wanted), workers=2)) == expected


def test_the_file_may_be_written_to_between_answers(path: Path) -> None:
    with database_of(path, {"a": FOX}) as db:
        found = db.query_many([("q", FOX)] * 3, workers=0)
        next(found)
        db.add("b", FOX)
        db.remove("a")
        assert [match.key for match in next(found)[1]] == ["a"], "a batch sees one state"
        found.close()  # type: ignore[attr-defined]
        ((_, again),) = db.query_many([("q", FOX)], workers=0)
        assert [match.key for match in again] == ["b"]
        (busy, *_), *_ = inspection.rows(path, "PRAGMA wal_checkpoint(TRUNCATE)")
        assert busy == 0


def test_what_ends_a_stream_comes_behind_the_batches_before_it(path: Path) -> None:
    """A bad document, or a database that is closed meanwhile."""
    with database_of(path, {"a": FOX}, limits=Limits(batch_documents=1)) as db:
        bad: Any = [("q", FOX), ("set", ["x"]), ("r", FOX)]
        found, closed = db.query_many(bad, workers=0), db.query_many([("q", FOX)] * 4, workers=0)
        assert next(found)[0] == next(closed)[0] == "q"
        with pytest.raises(lshdb.ContentError, match="'set': this is a set"):
            next(found)
        assert list(db.query_many([])) == []
    with pytest.raises(lshdb.UsageError, match="is closed"):
        list(closed)


def test_one_warning_counts_the_queries_that_a_limit_cut(path: Path) -> None:
    rng = random.Random(2)
    with lshdb.open(path, threshold=0.5, limits=Limits(query_first=20)) as db:
        tails = (rng.choices("abcdefgh", k=8) for _ in range(40))
        db.add_many((f"d{i}", " ".join([*HEADER, *tail])) for i, tail in enumerate(tails))
        wanted = [(f"q{i}", " ".join([*HEADER, str(i)])) for i in range(3)] + [("r", "a b c d")]
        for top, read in [(2, 20), (25, 26)]:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found = dict(db.query_many(wanted, top=top, workers=0))
            assert [len(matches) for matches in found.values()] == [top, top, top, 0]
            (warning,) = caught
            assert (warning.category, warning.filename) == (lshdb.LimitWarning, __file__)
            assert f"more than {read} documents: 3;" in str(warning.message)


def test_settings_of_a_reindexed_file_are_those_of_the_batch(path: Path) -> None:
    small = Limits(batch_documents=10, batch_bytes=8_000)
    with database_of(path, TEXTS, threshold=0.9, limits=small) as db:
        found = db.query_many(TEXTS.items(), workers=0)
        first = list(itertools.islice(found, 5))
        assert first == [(key, db.query(TEXTS[key])) for key, _ in first]
        with lshdb.open(path) as other:
            other.reindex(threshold=0.3)
        rest = list(found)
        assert rest[-1][1] == db.query(TEXTS[rest[-1][0]])
