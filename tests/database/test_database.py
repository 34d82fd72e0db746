"""Documents in and out: what is stored is what was given, whole, and nothing besides."""

from __future__ import annotations

import math
import os
import random
import re
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import inspection
import oracles
import pytest
from helpers import database_of, signed_elsewhere
from hypothesis import example, given
from hypothesis import strategies as st

import lshdb
from lshdb import Limits
from lshdb.errors import Busy, ContentError, KeyNotFound
from lshdb.model import AddReport, Bucket
from lshdb.text.shingling import Content

Pairs = list[tuple[str, Content]]

NASTY_KEYS = [
    "'; DROP TABLE documents; --",
    "\"quoted\" 'twice' `and` [again]",
    "two\nlines\r\nand\ttabs",
    "[bold red]markup[/]",
    "\x1b[31mred\x1b[0m\x07",
    "\u202eright to left",
    "NULL",
    "0",
    "00",
    "1e3",
    " 1",
    "1 ",
    "[1, 2]",
    '{"a": "\\u0000"}',
    "%s ? :key @key $key",
    "a\\u0000b",
    "e\u0301",
    "\u00e9",
    "\ufffd",
    "\U0001f98a" * 20,
    "\x7f\x80",
    "long " * 20_000,
]
IMPOSSIBLE_KEYS: list[Any] = [
    "",
    "a\0b",
    "\0",
    "\ud800",
    "a\udfffb",
    None,
    2.0**53,
    math.nan,
    b"",
]


def open_sets(path: Path, **settings: Any) -> lshdb.Database:
    return lshdb.open(path, threshold=0.5, shingle="set", **settings)


ONE_EACH = 8_000
"""Bytes of a batch whose parts have one small document each."""


def in_batches_of(documents: int, *, size: int = 1 << 30) -> Limits:
    """Small batches; processes are started at once."""
    return Limits(batch_documents=documents, batch_bytes=size, workers_from=1)


def counts(report: AddReport) -> tuple[int, int, int]:
    return report.added, report.updated, report.unchanged


# one document


@pytest.mark.parametrize("key", NASTY_KEYS, ids=ascii)
def test_any_key_is_only_a_key(path: Path, key: str) -> None:
    with open_sets(path) as db:
        db.add_many((other, [other, "x"]) for other in NASTY_KEYS)
        before = inspection.contents(path)
        assert db.add(key, [key, "y"]).updated == 1
        assert db.get(key).content == tuple(sorted([key, "y"]))
        db.add("twin", [key, "y"])
        assert [match.key for match in db.query(key="twin")] == [key]
        db.remove("twin")
        db.remove(key)
        assert key not in db
        assert db.keys() == [other for other in NASTY_KEYS if other != key]
        db.add_many([(key, [key, "x"])])
        assert sorted(db.keys()) == sorted(NASTY_KEYS)
        after = inspection.contents(path)
        assert sorted(row[1:] for row in after["documents"]) == sorted(
            row[1:] for row in before["documents"]
        )
    inspection.check(path)


@pytest.mark.parametrize("key", IMPOSSIBLE_KEYS, ids=ascii)
def test_an_impossible_key_is_refused_and_never_found(path: Path, key: Any) -> None:
    with database_of(path, {"a": "the fox and the grapes"}) as db:
        before = inspection.contents(path)
        with pytest.raises(ContentError, match="key ") as raised:
            db.add_many([("b", "some text"), (key, "some text")])
        assert len(str(raised.value).splitlines()) == 1
        str(raised.value).encode()
        assert inspection.contents(path) == before
        if isinstance(key, str):
            assert key not in db
            for action in (
                lambda: db.get(key),
                lambda: db.remove(key),
                lambda: db.remove(["a", key]),
                lambda: db.query(key=key),
                lambda: db.buckets(key),
            ):
                with pytest.raises(KeyNotFound):
                    action()
            assert db.keys() == ["a"]


CHARACTERS = st.characters() | st.sampled_from(oracles.NASTY + "\U0001f98a'\";")
ELEMENTS = st.integers() | st.text(CHARACTERS, max_size=3) | st.sampled_from([1 << 63, "1", "[1]"])


@example(" spaces \t\r\n kept \n")
@example("nul \0 inside\0")
@example("\ufeffbyte order mark")
@example("fox \ud83e and \udd8a grapes")
@example("x" * 100_000)
@example([1 << 63, -(1 << 63), 1 << 200, -(1 << 63) - 1])
@example({"b": 1, "a": 2})
@example({"b": 1, "a": 2}.keys())
@example(range(3))
@example(["\U0001f98a", "\uffff", "\ud800", "\udfff"])
@given(
    st.text(CHARACTERS)
    | st.lists(ELEMENTS)
    | st.frozensets(ELEMENTS)
    | st.sets(ELEMENTS)
    | st.lists(ELEMENTS).map(tuple)
)
def test_a_text_or_set_comes_back(tmp_path_factory: pytest.TempPathFactory, content: Any) -> None:
    """A text as it was, a set in order without repetitions; both with no lone surrogates."""

    def clean(text: str) -> str:
        return re.sub("[\ud800-\udfff]", "\ufffd", text)

    again: Any = clean(content) if isinstance(content, str) else None
    if again is None:
        numbers = {one for one in content if isinstance(one, int)}
        texts = {clean(one) for one in content if isinstance(one, str)}
        again = (*sorted(numbers), *sorted(texts))
    path = tmp_path_factory.mktemp("content") / "lsh.db"
    with lshdb.open(path, shingle="char:3" if isinstance(content, str) else "set") as db:
        assert db.add("key", content).added == 1
        assert db.get("key").content == again
        assert db.add("key", again).unchanged == 1
        assert db.add("twin", again).added == 1
        similar = ["key", "twin"] if db.get("key").shingles else []
        assert [match.key for match in db.query(content) if match.similarity == 1] == similar
    inspection.check(path)


# sets


@pytest.mark.parametrize(
    ("shingle", "wrong"),
    [
        *(
            ("set", elements)
            for elements in (
                [True],
                [1.5],
                [None],
                [["nested"]],
                [("a", 1)],
                [b"bytes"],
                ["a", 1, object()],
                b"bytes",
                bytearray(b"bytes"),
                None,
                5,
                "a text",
                [10**5000],
                iter(["x", "y"]),  # rather than stored as empty
            )
        ),
        *(("word:3", content) for content in (["a", "set"], {"a"}, [], b"bytes", None, 5)),
    ],
    ids=lambda value: ascii(value)[:20] if value != [10**5000] else "too many digits",
)
def test_what_is_no_text_or_no_set_is_refused(path: Path, shingle: str, wrong: Any) -> None:
    good: Content = ["x"] if shingle == "set" else "a text"
    with database_of(path, {"a": good}, shingle=shingle) as db:
        before = inspection.contents(path)
        with pytest.raises(ContentError, match=r"^'b': ") as raised:
            db.add_many([("c", good), ("b", wrong), ("d", good)])
        assert len(str(raised.value).splitlines()) == 1
        assert inspection.contents(path) == before
        if wrong is not None:
            with pytest.raises(ContentError):
                db.query(wrong)


# empty documents


@pytest.mark.parametrize(
    ("shingle", "empties"),
    [
        ("word:3", ["", " \t\n", "\u200b\xad", "\u3000\ufeff "]),
        ("char:5", ["", " \t\n", "\u3000", "\u200b \ufe0f"]),
        ("set", [[], (), set(), {}]),
    ],
)
def test_empty_documents_are_stored_and_similar_to_nothing(
    path: Path, shingle: str, empties: list[Content]
) -> None:
    full: Content = ["x"] if shingle == "set" else "the fox and the grapes"
    with lshdb.open(path, shingle=shingle, threshold=0.5) as db:
        documents = [(f"empty {i}", empty) for i, empty in enumerate(empties)]
        report = db.add_many([("full", full), *documents])
        assert report == AddReport(added=len(empties) + 1, empty=len(empties))
        assert (db.info().documents, db.info().empty) == (len(empties) + 1, len(empties))
        for key, content in documents:
            stored = db.get(key)
            assert (stored.shingles, stored.signature, stored.bucket_keys) == (0, None, None)
            assert db.buckets(key) == []
            assert db.query(key=key, exhaustive=True) == db.query(content, estimate=True) == []
    ids = inspection.rows(path, "SELECT DISTINCT doc_id FROM bands")
    assert ids == inspection.rows(path, "SELECT doc_id FROM signatures") == [(1,)]
    inspection.check(path)


# many documents


def history() -> Pairs:
    """Few keys and contents, so that each is added, updated, made empty and given again."""
    rng = random.Random(5)
    return [
        (f"k{rng.randrange(9)}", rng.sample(range(5), rng.choice([0, 1, 1, 2]))) for _ in range(70)
    ]


@cache
def added_one_by_one(*, kept: bool) -> tuple[AddReport, dict[str, list[inspection.Row]]]:
    """What adding each document of the history by itself reports, and what is in the file."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "reference.db"
        with open_sets(path, content=kept) as db:
            report = sum((db.add(*document) for document in history()), AddReport())
        return report, inspection.contents(path)


@pytest.mark.parametrize(
    ("size", "workers", "bytes_at_once", "kept"),
    [
        *((size, 0, 1 << 30, True) for size in (1, 2, 5)),
        *product((2, 10_000), (0,), (ONE_EACH,), (True, False)),
        (10_000, None, ONE_EACH, True),
        (2, 3, 1 << 30, False),
    ],
)
def test_any_size_of_batch_and_number_of_workers_gives_the_same_file(
    path: Path, size: int, workers: int | None, bytes_at_once: int, kept: bool
) -> None:
    report, contents = added_one_by_one(kept=kept)
    assert min(counts(report)) > 5
    limits = in_batches_of(size, size=bytes_at_once)
    with open_sets(path, content=kept, limits=limits) as db, signed_elsewhere():
        assert counts(db.add_many(history(), workers=workers)) == counts(report)
        assert db.keys() == list(dict(history()))
    assert inspection.contents(path) == contents
    inspection.check(path)


def test_a_batch_is_in_the_file_when_it_is_reported_and_read_as_it_is_needed(path: Path) -> None:
    """A stream larger than memory is no trouble: it is never far ahead of the file."""
    seen: list[tuple[int, int]] = []
    ahead: list[int] = []

    def stored() -> int:
        return len(inspection.rows(path, "SELECT 1 FROM documents"))

    def stream() -> Iterator[tuple[str, Content]]:
        for i in range(20):
            ahead.append(i - stored())
            yield f"k{i}", [i]

    def look(report: AddReport) -> None:
        seen.append((report.added, stored()))

    with open_sets(path, limits=in_batches_of(3)) as db, signed_elsewhere():
        db.add_many(((f"first {i}", [i]) for i in range(8)), on_batch=look, workers=1)
        db.remove(db.keys())
        db.add_many(stream(), workers=0)
    assert seen == [(3, 3), (3, 6), (2, 8)]
    assert max(ahead) <= 2 * 3


@pytest.mark.parametrize("workers", [0, 1])
def test_a_stream_may_ask_the_database_that_it_goes_to(path: Path, workers: int) -> None:
    """Such as: add what nothing similar is there for."""
    sets = [[5 * i, 5 * i + 1, 5 * i + 2] for i in range(20)]
    with open_sets(path, limits=in_batches_of(2)) as db, signed_elsewhere():
        db.add_many(((f"k{i}", [i, i + 1, i + 2]) for i in range(48)), workers=0)
        new = ((f"n{i}", numbers) for i, numbers in enumerate(sets) if not db.query(numbers))
        assert counts(db.add_many(new, workers=workers)) == (10, 0, 0)
        assert db.keys()[48:] == [f"n{i}" for i in range(10, 20)]
    inspection.check(path)


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("failure", [ContentError, OSError, KeyboardInterrupt])
def test_batches_before_a_failure_stay_and_its_own_does_not(
    path: Path, failure: type[BaseException], workers: int
) -> None:
    def stream() -> Iterator[tuple[str, Content]]:
        yield from ((f"k{i}", [i]) for i in range(7))
        if failure is not ContentError:
            raise failure
        yield "bad", "a text"
        yield "k7", [7]

    with open_sets(path, limits=in_batches_of(3)) as db, signed_elsewhere():
        with pytest.raises(failure):
            db.add_many(stream(), workers=workers)
        keys = db.keys()
        assert keys == [f"k{i}" for i in range(len(keys))]
        # An interrupt ends at once, so that a batch that was read is perhaps not written.
        assert len(keys) == 6 or (failure is KeyboardInterrupt and len(keys) in (0, 3))
        assert db.add_many(((f"k{i}", [i]) for i in range(7)), workers=0).unchanged == len(keys)
    inspection.check(path)


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_nothing_is_written_after_a_batch_that_could_not_be(path: Path, workers: int) -> None:
    """Batches are written in order: a gap would be a document lost without a word."""
    other = sqlite3.connect(path, isolation_level=None)

    def lock(_: AddReport) -> None:
        other.execute("BEGIN IMMEDIATE")

    with (
        closing(other),
        open_sets(path, limits=in_batches_of(2), timeout=0.1) as db,
        signed_elsewhere(),
    ):
        with pytest.raises(Busy):
            db.add_many(((f"k{i}", [i]) for i in range(12)), on_batch=lock, workers=workers)
        assert db.keys() == ["k0", "k1"]
    inspection.check(path)


def test_an_unchanged_document_writes_nothing(path: Path) -> None:
    with open_sets(path) as db:
        db.add_many([("a", [1, 2]), ("b", [3])])
    before = inspection.files(path.parent)
    with open_sets(path) as db:
        assert db.add_many([("a", [2, 1, 2]), ("b", [3])]).unchanged == 2
    assert inspection.files(path.parent) == before


# removing


# looking inside


def test_info_counts_documents_and_bytes(path: Path) -> None:
    with database_of(path, [("a", "the fox and the grapes"), ("b", ""), ("c", "\u200b")]) as db:
        info = db.info()
        assert (info.documents, info.empty, info.settings) == (3, 2, db.settings)
        log = path.with_name(path.name + "-wal")
        assert info.bytes == path.stat().st_size + log.stat().st_size > path.stat().st_size


def test_buckets_are_counted(path: Path) -> None:
    with open_sets(path) as db:
        db.add_many([(f"same{i}", ["x", "y"]) for i in range(3)])
        db.add_many([("twin1", ["z"]), ("twin2", ["z"]), ("alone", ["w"]), ("empty", [])])
        bands = db.settings.construction.bands
        of_three, of_two = db.buckets("same0"), db.buckets("twin2")
        assert [bucket.documents for bucket in of_three + of_two] == [3] * bands + [2] * bands
        assert [bucket.band_no for bucket in of_three] == list(range(bands))
        assert of_three == db.buckets("same2")
        assert db.buckets("empty") == []
        keys = db.get("alone").bucket_keys
        assert keys is not None
        assert db.buckets("alone") == [Bucket(i, k, 1) for i, k in enumerate(keys.tolist())]


# closing


@pytest.mark.parametrize("workers", [0, 1])
def test_a_closed_file_is_whole_by_itself(path: Path, workers: int) -> None:
    """Whatever was done before: nothing is left in a log beside it, and no file stays open."""
    own = f"/proc/{os.getpid()}/fd"
    with open_sets(path, limits=in_batches_of(10)) as db, signed_elsewhere():
        db.add_many(((f"k{i}", [i, i + 1]) for i in range(40)), workers=workers)
        db.reindex(threshold=0.3)
        db.query([1, 2], where="key <> ''")
        next(db.pairs(), None)
        db.remove("k7")
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert "k7" not in {key for (key,) in inspection.rows(path, "SELECT key FROM documents")}
    inspection.check(path)
    if os.path.isdir(own):
        opened = (os.path.realpath(f"{own}/{name}") for name in os.listdir(own))
        assert not any(name.startswith(os.fspath(path)) for name in opened)


# two connections


@pytest.mark.parametrize(
    ("change", "workers"), [("replace", 0), ("remove", 0), ("add", 0), ("replace", 1)]
)
def test_what_another_connection_does_between_signing_and_writing_counts(
    path: Path, change: str, workers: int
) -> None:
    """A batch is compared with the file once more when it has the write lock."""
    documents: Pairs = [("a", [1, 2, 3]), ("b", [4, 5, 6]), ("c", [7]), ("d", [8])]
    limits = in_batches_of(100, size=ONE_EACH)  # each document is signed when the next one is read
    with open_sets(path, limits=limits) as db, open_sets(path) as other, signed_elsewhere():
        db.add_many([("a", [1, 2, 3]), ("b", [4])])

        def stream() -> Iterator[tuple[str, Content]]:
            yield from documents
            if change == "replace":
                other.add_many([("a", [9]), ("b", [9, 10])])
            elif change == "remove":
                other.remove(["a", "b"])
            else:
                other.add_many([("c", [7]), ("d", [])])

        report = db.add_many(stream(), workers=workers)
        expected = {"replace": (2, 2, 0), "remove": (4, 0, 0), "add": (0, 2, 2)}
        assert counts(report) == expected[change]
        assert {key: db.get(key).content for key in db} == {
            key: tuple(content) for key, content in documents
        }
    inspection.check(path)
