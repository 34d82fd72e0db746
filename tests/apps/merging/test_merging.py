"""Merging another database gives the file that adding its documents gives, also after kills."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import inspection
import pytest
from extras import if_there
from helpers import Command, forked, status_of

import lshdb
from lshdb.database import store_of
from lshdb.store import guard
from lshdb.store.parts import part

SMALL = lshdb.Limits(batch_documents=7, documents_read=5, reindex_rows=40)
LATE = lshdb.Limits(batch_documents=7, documents_read=5, reindex_rows=40, late_from=20)
TEXTS = [
    (f"t{i}", f"the {i // 3} fox and the {i // 3 + 1} grapes hung {i % 3} times", {"n": i % 4})
    for i in range(60)
]
SETS: list[Any] = [(f"s{i}", [i // 3, i // 3 + 1, f"é{i % 3}"], {}) for i in range(40)]
PASSAGES = if_there("passages", passages=4)
PARTS = if_there("passages", passages=4, reworded=True)
KINDS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "words": (TEXTS, {"shingle": "word:2", **PARTS}),
    "base": (TEXTS, {"shingle": "word:1", "base": {"given": "the fox and"}}),
    "sets": (SETS, {"shingle": "set"}),
    "signatures": (TEXTS, {"shingle": "char:4", "content": False}),
}


def documents_of(rows: list[Any]) -> list[lshdb.Document]:
    return [lshdb.Document(*row) for row in rows]


def made(path: Path, rows: list[Any], **settings: Any) -> Path:
    """A closed database of these documents."""
    with lshdb.open(path, **settings) as database:
        database.add_many(documents_of(rows), workers=0)
    return path


def merge(
    target: Path, source: Path, limits: lshdb.Limits = SMALL, **options: Any
) -> lshdb.AddReport:
    with lshdb.open(target, limits=limits) as database:
        return database.add_files([str(source)], **options)


def refused(target: Path, source: Path, **options: Any) -> str:
    """Why a database cannot be added."""
    failures: list[lshdb.Failure] = []
    report = merge(target, source, on_failure=failures.append, **options)
    assert (report.failed, [failure.where for failure in failures]) == (1, [str(source)])
    return failures[0].reason


def terms(path: Path) -> list[Any]:
    with lshdb.open(path, mode="read") as database, store_of(database).reading():
        if not database.settings.reworded:
            return []
        rows = part("rare_words").stored(store_of(database).index)
        return sorted(row for some in rows for row in some.T.tolist())


def tables(path: Path) -> dict[str, Any]:
    """All tables, also those that `inspection` leaves out."""
    return {
        **inspection.contents(path),
        "files": inspection.rows(path, "SELECT * FROM files ORDER BY doc_id"),
        "rare_words": terms(path),
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limits", [SMALL, LATE], ids=["at once", "late"])
def test_a_merge_gives_the_file_that_adding_gives(
    tmp_path: Path, kind: str, limits: lshdb.Limits
) -> None:
    rows, settings = KINDS[kind]
    # Numbers with gaps in the source, an empty document, and one that both have.
    source = made(tmp_path / "source.db", [("gone", *rows[0][1:]), *rows[10:]], **settings)
    empty = ("empty", [] if kind == "sets" else "", None)
    with lshdb.open(source) as database:
        database.remove("gone")
        database.add(*empty)
    expected = made(tmp_path / "expected.db", [*rows[:12], *rows[12:], empty], **settings)
    merged = made(tmp_path / "merged.db", rows[:12], **settings)
    report = merge(merged, source, limits)
    assert report == lshdb.AddReport(added=len(rows) - 11, unchanged=2, empty=1)
    assert tables(merged) == tables(expected)
    inspection.check(merged)
    assert merge(merged, source, limits) == lshdb.AddReport(unchanged=len(rows) - 9)
    assert tables(merged) == tables(expected)


def test_the_states_of_files_are_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        Path(f"{name}.txt").write_text(f"the fox {name} and the grapes")
        os.utime(f"{name}.txt", (1_000_000_000, 1_000_000_000))
        with lshdb.open(f"{name}.db") as database:
            database.add_files([f"{name}.txt"])
    merge(Path("a.db"), Path("b.db"))
    with lshdb.open("a.db") as database:
        assert database.add_files(["."]).unchanged == 2


@pytest.mark.parametrize("content", [True, False])
def test_files_of_wide_and_of_narrow_lanes_merge(tmp_path: Path, content: bool) -> None:
    """Wide lanes are cut; instead of narrow ones, documents are signed again if they are kept."""
    narrow: dict[str, Any] = {"threshold": 0.6, "content": content}
    wide: dict[str, Any] = {"construction": "or 40", "content": content}
    source = made(tmp_path / "wide.db", [*TEXTS[5:], ("empty", "", None)], **wide)
    merged = made(tmp_path / "merged.db", TEXTS[:12], **narrow)
    expected = made(tmp_path / "expected.db", [*TEXTS, ("empty", "", None)], **narrow)
    assert merge(merged, source).added == 49
    assert tables(merged) == tables(expected)
    target = made(tmp_path / "wide too.db", TEXTS[:12], **wide)
    if content:
        assert merge(target, merged).added == 49
        assert tables(target) == tables(
            made(tmp_path / "all.db", [*TEXTS, ("empty", "", None)], **wide)
        )
        inspection.check(target)
    else:
        assert "has lanes of 16 bits, not 32: its documents" in refused(target, merged)


def test_the_index_of_the_open_database_stays(tmp_path: Path) -> None:
    source = made(tmp_path / "source.db", TEXTS[30:], shingle="word:2", threshold=0.4)
    target = {"shingle": "word:2", "threshold": 0.7, **PARTS}
    merged = made(tmp_path / "merged.db", TEXTS[:30], **target)
    merge(merged, source)
    assert tables(merged) == tables(made(tmp_path / "expected.db", TEXTS, **target))


@pytest.mark.app("passages", "review")
@pytest.mark.parametrize("on_conflict", ["replace", "keep", "error"])
def test_keys_with_other_documents(tmp_path: Path, on_conflict: Any) -> None:
    settings = {"shingle": "word:2", "passages": 4}
    changed = [(key, f"{text} again", fields) for key, text, fields in TEXTS[5:8]]
    described = [(*TEXTS[9][:2], {"n": "other"})]
    theirs = [*changed, *described, *TEXTS[10:40]]
    source = made(tmp_path / "source.db", theirs, **settings)
    with lshdb.open(source) as database:
        database.decide("keep", ["t11"])
        database.decide("different", ["t12", "t13"])
    merged = made(tmp_path / "merged.db", TEXTS[:20], **settings)
    before = tables(merged)
    if on_conflict == "error":
        reason = refused(merged, source, on_conflict=on_conflict)
        assert "('t5', 't6', 't7')" in reason
        assert reason.endswith("; 4 in all")
        assert tables(merged) == before
        return
    report = merge(merged, source, on_conflict=on_conflict)
    assert (report.conflicts, report.conflict_keys) == (4, ("t5", "t6", "t7"))
    assert (report.added, report.unchanged, report.decisions) == (20, 10, 2)
    assert (report.updated, report.kept) == ((4, 0) if on_conflict == "replace" else (0, 4))
    assert report.documents == len(theirs)
    stays = {} if on_conflict == "keep" else {row[0]: row for row in [*changed, *described]}
    rows = [stays.get(row[0], row) for row in TEXTS[:40]]
    with lshdb.open(merged, mode="read") as database:
        decided = [(one.verdict, one.keys, one.state) for one in database.decisions()]
    assert decided == [("keep", ("t11",), "holds"), ("different", ("t12", "t13"), "holds")]
    assert merge(merged, source, on_conflict=on_conflict).decisions == 0
    # Replaced documents keep their numbers, so the tables are those of the final documents.
    expected = tables(made(tmp_path / "expected.db", rows, **settings))
    assert tables(merged) == expected | {"decisions": tables(source)["decisions"]}


OTHER: list[dict[str, Any]] = [
    {"seed": 7, "shingle": "char:4"},
    {"permutations": 16, "threshold": 0.3},
    {"sketch": "minhash"},
    {"base": {"given": "the fox and"}},
]


@pytest.mark.app("passages", "review")
@pytest.mark.parametrize("settings", OTHER, ids=str)
@pytest.mark.parametrize("on_conflict", ["replace", "keep"])
def test_texts_are_signed_again_where_settings_differ(
    tmp_path: Path, settings: dict[str, Any], on_conflict: Any
) -> None:
    """The file is the one that adding the texts gives, with what else the source has of them."""
    changed = ("t2", "another text", {"n": 0})
    source = made(tmp_path / "source.db", [changed, *TEXTS[3:]], **settings)
    with lshdb.open(source) as database:
        database.decide("drop", ["t4"], who="ann")
    target = made(tmp_path / "target.db", TEXTS[:20], passages=4)
    assert "('t2')" in refused(target, source, on_conflict="error")
    report = merge(target, source, on_conflict=on_conflict)
    assert (report.added, report.unchanged, report.decisions) == (40, 17, 1)
    assert (report.conflicts, report.conflict_keys) == (1, ("t2",))
    rows = [*TEXTS[:2], TEXTS[2] if on_conflict == "keep" else changed, *TEXTS[3:]]
    expected = tables(made(tmp_path / "expected.db", rows, passages=4))
    assert tables(target) == expected | {"decisions": tables(source)["decisions"]}
    inspection.check(target)


def test_a_database_without_contents_takes_the_signatures_of_one_with_contents(
    tmp_path: Path,
) -> None:
    source = made(tmp_path / "source.db", TEXTS[20:])
    target = made(tmp_path / "target.db", TEXTS[:20], content=False)
    assert merge(target, source).added == 40
    assert tables(target) == tables(made(tmp_path / "expected.db", TEXTS, content=False))


@pytest.mark.parametrize(
    ("target", "source"),
    [
        ({}, {"seed": 7, "shingle": "set"}),
        ({}, {"content": False}),
        ({"content": False}, {"content": False, "seed": 7, "permutations": 64}),
        ({"shingle": "bag"}, {"shingle": "set"}),
    ],
    ids=str,
)
def test_what_cannot_be_signed_is_refused_with_each_difference(
    tmp_path: Path, target: dict[str, Any], source: dict[str, Any]
) -> None:
    made(tmp_path / "target.db", [], **target)
    made(tmp_path / "source.db", [], **source)
    before = inspection.files(tmp_path)
    reason = refused(tmp_path / "target.db", tmp_path / "source.db")
    different = {**source}
    if different.pop("content", True) != target.get("content", True):
        assert "no contents" in reason
    assert all(f"{setting} {value}, not " in reason for setting, value in different.items())
    assert inspection.files(tmp_path) == before


def test_the_database_itself_is_refused(tmp_path: Path) -> None:
    target = made(tmp_path / "target.db", TEXTS[:3])
    (tmp_path / "link.db").symlink_to(target)
    for name in ("target.db", "link.db"):
        assert "is the database itself" in refused(target, tmp_path / name)


def test_a_source_with_a_log_is_read_and_not_changed(tmp_path: Path) -> None:
    """Another process writes to it, and died before its log was copied into the file."""
    source = tmp_path / "source.db"

    def write() -> None:
        with lshdb.open(source) as database:
            database.add_many(documents_of(TEXTS[:20]), workers=0)
            os.kill(os.getpid(), signal.SIGKILL)

    assert status_of(forked(write)) == -signal.SIGKILL
    target = made(tmp_path / "target.db", [])
    names = ("source.db", "source.db-wal")
    before = [(tmp_path / name).read_bytes() for name in names]
    assert len(before[1]) > 100_000
    assert merge(target, source).added == 20
    assert [(tmp_path / name).read_bytes() for name in names] == before


DAMAGES = [
    "UPDATE documents SET content = 'x' || content WHERE key = 't31'",
    "UPDATE documents SET digest = x'00' WHERE key = 't31'",
    "UPDATE documents SET metadata = '[1]' WHERE key = 't31'",
    "UPDATE documents SET key = char(97, 0) WHERE key = 't31'",
    "UPDATE documents SET shingles = 0 WHERE key = 't31'",
    "UPDATE documents SET content = NULL WHERE key = 't31'",
    "UPDATE signatures SET signature = x'00' WHERE doc_id = 31",
    "DELETE FROM signatures WHERE doc_id = 31",
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_source_leaves_a_valid_file(tmp_path: Path, damage: str) -> None:
    source = made(tmp_path / "source.db", TEXTS, shingle="word:2")
    target = made(tmp_path / "target.db", TEXTS[:3], shingle="word:2")
    with inspection.sqlite(source) as connection:
        connection.execute(damage)
    assert "source.db" in refused(target, source)
    inspection.check(target)
    assert len(inspection.rows(target, "SELECT 1 FROM documents")) >= 28


# kills


@contextmanager
def killed_at(statement: int) -> Iterator[None]:
    """Die before the n-th statement that writes or commits."""
    numbers, own = itertools.count(1), guard.Connection.execute
    many = guard.Connection.executemany

    def count() -> None:
        if next(numbers) == statement:
            os.kill(os.getpid(), signal.SIGKILL)

    def execute(self: guard.Connection, *arguments: Any) -> Any:
        if not self.read_only and arguments[0] in ("COMMIT", "BEGIN IMMEDIATE"):
            count()
        return own(self, *arguments)

    def executemany(self: guard.Connection, *arguments: Any) -> Any:
        count()
        return many(self, *arguments)

    with mock.patch.multiple(guard.Connection, execute=execute, executemany=executemany):
        yield


def merge_with_another_writer(target: Path, source: Path) -> None:
    """Another connection adds, changes and removes documents between the transactions."""
    with (
        lshdb.open(target, limits=LATE) as database,
        lshdb.open(target, limits=LATE) as beside,
    ):
        numbers = itertools.count()

        def write(_: lshdb.AddReport) -> None:
            number = next(numbers)
            beside.add(f"beside{number}", f"the {number} fox beside the grapes", {"n": 0})
            beside.remove(["t1"], missing_ok=True)

        database.add_files([str(source)], on_batch=write)


def test_a_killed_merge_leaves_whole_documents_and_is_completed(tmp_path: Path) -> None:
    source = made(tmp_path / "source.db", TEXTS[20:], shingle="word:2", **PASSAGES)
    kept = inspection.rows(source, "SELECT key, digest, metadata, content FROM documents")
    statements = iter(range(1, 200, 17))
    for number in statements:
        directory = tmp_path / str(number)
        directory.mkdir()
        target = made(directory / "target.db", TEXTS[:25], shingle="word:2", **PASSAGES)
        with killed_at(number):
            is_killed = status_of(forked(merge_with_another_writer, target, source)) != 0
        assert lshdb.check(target, deep=True).problems == ()
        merge_with_another_writer(target, source)
        inspection.check(target)
        have = inspection.rows(target, "SELECT key, digest, metadata, content FROM documents")
        assert set(kept) <= set(have)
        assert "t1" not in {row[0] for row in have}
        if not is_killed:
            break
    assert number > 60


# lshdb add other.db


GRAPES = {f"d{i}": f"the {i // 3} fox and the {i // 3 + 1} grapes hung {i % 3}" for i in range(12)}


def rows_of(numbers: Iterable[int], **changed: str) -> list[dict[str, str]]:
    texts = {f"d{number}": GRAPES[f"d{number}"] for number in numbers}
    return [{"id": key, "text": text} for key, text in (texts | changed).items()]


@pytest.fixture
def two(command: Command) -> Command:
    """The databases a.db of d0 to d5 and b.db of d4 to d9, in which d4 has another text."""
    command.write("a.jsonl", rows_of(range(6)))
    command.write("b.jsonl", rows_of(range(4, 10), d4="other grapes"))
    for name in "ab":
        command.done("add", "-d", f"{name}.db", f"{name}.jsonl")
    command.done("decide", "-d", "b.db", "keep", "d7")
    return command


@pytest.mark.app("review")
def test_its_documents_are_added_and_equal_keys_named(two: Command) -> None:
    done = two.done("add", "-d", "a.db", "b.db")
    assert done.err.splitlines() == [
        "added 4, updated 1, unchanged 1, failed 0",
        "replaced 1 document that has another content or metadata in an input: d4",
        "added 1 decision of added databases",
    ]
    two.done("add", "-d", "expected.db", "a.jsonl", "b.jsonl")
    two.done("decide", "-d", "expected.db", "keep", "d7")
    merged, expected = (inspection.contents(two.path(name)) for name in ("a.db", "expected.db"))
    decided, later = merged.pop("decisions")[0], expected.pop("decisions")[0]
    assert (merged, decided[:6]) == (expected, later[:6])
    assert decided[6] < later[6]
    report = two.done("add", "-d", "a.db", "b.db", "--json").record
    names = ("unchanged", "decisions", "conflicts", "conflict_keys")
    assert [report[name] for name in names] == [6, 0, 0, []]


@pytest.mark.app("review")
def test_conflicts_are_counted_and_three_keys_named(two: Command) -> None:
    texts = {f"d{number}": f"text {number} of its own" for number in range(5)}
    two.write("c.jsonl", rows_of([], **texts))
    two.done("add", "-d", "c.db", "c.jsonl")
    done = two.done("add", "-d", "a.db", "c.db", "--on-conflict", "keep")
    assert done.err.splitlines()[1] == (
        "kept 5 documents that have another content or metadata in an input: d0, d1, d2, ..."
    )
    report = two.done("add", "-d", "a.db", "c.db", "--json").record
    assert (report["conflicts"], report["conflict_keys"]) == (5, ["d0", "d1", "d2"])


@pytest.mark.app("review")
def test_several_databases_and_files_in_their_order(two: Command) -> None:
    two.write("more.jsonl", rows_of([10]))
    names = ["more.jsonl", "a.db", "[b].db", "-", "./a.db"]
    keep = ["--on-conflict", "keep"]
    done = two.done("add", "-d", "c.db", *names, *keep, stdin='{"id": "d11", "text": "last"}')
    assert "kept 1 document that has another content" in done.err
    with lshdb.open(two.path("c.db"), mode="read") as database:
        assert list(database) == ["d10", *(f"d{i}" for i in range(10)), "d11"]
        assert database["d4"].content == GRAPES["d4"]


@pytest.mark.app("review")
def test_a_new_database_has_the_settings_of_the_first_that_is_added(command: Command) -> None:
    """It had the defaults, and the first was refused: it has shingle code:6, not word:3."""
    names = ("programs", "new")
    command.write("sum.py", "def total(values): return sum(value for value in values if value)")
    command.done("init", "-d", "programs.db", "--for", "programs", "--threshold", "0.7")
    command.done("add", "-d", "programs.db", "sum.py")
    done = command.done("add", "-d", "new.db", "sum.py", "programs.db")
    assert done.err.splitlines() == [
        "new.db made with the settings of programs.db",
        "added 1, updated 0, unchanged 1, failed 0",
    ]
    first, second = (command.done("info", "-d", f"{db}.db", "--json").record for db in names)
    assert first["shingle"] == second["shingle"] == "code:6"
    assert first["threshold"] == second["threshold"] == 0.7


@pytest.mark.app("review")
def test_what_cannot_be_merged_is_named_and_the_rest_is_added(two: Command) -> None:
    two.done("init", "-d", "sets.db", "--shingle", "set", "--seed", "3")
    two.path("link.db").symlink_to("a.db")
    with inspection.sqlite(two.path("else.db")) as connection:
        connection.execute("CREATE TABLE documents (text)")
    others = ["sets.db", "a.db", "link.db", "else.db", "none.db"]
    done = two("add", "-d", "a.db", *others, "b.db")
    first, *more = done.err.splitlines()
    assert first.startswith("lshdb: sets.db: has shingle set, not word:3, seed 3, not 1: ")
    assert more[:4] == [
        "lshdb: a.db: is the database itself: name another one",
        "lshdb: else.db: is another program's SQLite database, not lshdb's",
        "lshdb: none.db: no such file or directory",
        "added 4, updated 1, unchanged 1, failed 4",
    ]
    assert more[-1] == "skipped: 1 repeated"
    done = two("add", "-d", "a.db", "b.db", "--on-similar", "skip")
    assert "added whole: leave out --on-similar skip" in done.err


@pytest.mark.app("review")
def test_in_a_directory_databases_are_skipped(two: Command) -> None:
    two.path("b.jsonl").unlink()
    done = two.done("add", "-d", "a.db", ".", "--list-skipped")
    assert "skipped ./b.db: a binary file (SQLite)" in done.err
    assert two.keys("a.db") == [f"d{i}" for i in range(6)]


@pytest.mark.app("review")
def test_keys_of_files_are_rebased(command: Command) -> None:
    texts = {"notes/a.txt": GRAPES["d0"], "notes/sub/b.txt": GRAPES["d6"]}
    for name, text in texts.items():
        command.write(name, text)
    other, beside = Command(command.path("notes")), Command(command.path("beside"))
    beside.directory.mkdir()
    other.done("add", "-d", "other.db", "a.txt", "sub")
    other.done("add", "-d", "other.db", "--key", "a row", "-", stdin="a row of a text")
    other.done("decide", "-d", "other.db", "drop", "a.txt")
    assert other.keys("other.db") == ["a row", "a.txt", "sub/b.txt"]
    command.done("add", "notes/other.db")
    assert command.keys() == ["a row", *texts]
    decision = command.done("decisions", "--json").record
    assert (decision["keys"], decision["state"]) == (["notes/a.txt"], "holds")
    assert "unchanged 2" in command.done("add", *texts).err
    # What is not below the root of the new one has absolute keys.
    beside.done("add", "../notes/other.db")
    assert beside.keys() == [*(str(command.path(name).resolve()) for name in texts), "a row"]
    # Conflicts are those of the new keys.
    command.write("a.txt", "a file of the name that a key in the other database has, too")
    command.done("add", "-d", "all.db", "a.txt", "notes/other.db")
    assert command.keys("all.db") == ["a row", "a.txt", *texts]
    command.write("notes/a.txt", "it has changed since the other database read it, altogether")
    command.done("add", "-d", "new.db", "notes/a.txt")
    refused = command("add", "-d", "new.db", "--on-conflict", "error", "notes/other.db")
    assert (refused.status, command.keys("new.db")) == (1, ["notes/a.txt"])
    assert "notes/a.txt" in refused.err
