"""Opening: what is refused stays as it was, what is missing is made once and whole."""

from __future__ import annotations

import math
import warnings
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import inspection
import pytest
from extras import if_there
from helpers import FORK, barrier, database_of, forked, leave_a_log, status_of

import lshdb
from lshdb.errors import (
    DamagedFile,
    NoDatabase,
    NotADatabase,
    OtherFormat,
    ReadOnly,
    SettingsError,
    SettingsMismatch,
    StoreError,
    UsageError,
)
from lshdb.offers import TABLES
from lshdb.options import Mode

VIEWS = ("buckets", "bucket_members", "candidate_pairs")


def make(path: Path, **settings: Any) -> None:
    database_of(path, {"fox": "the fox and the grapes"}, **settings).close()


MODES: list[Mode] = ["create", "write", "read"]
FOREIGN = "another program's"
REFUSED: dict[str, tuple[bytes | list[str], type[StoreError], str]] = {
    "prose": (b"The fox and the grapes. " * 2000, NotADatabase, "not an SQLite"),
    "two bytes": (b"xy", NotADatabase, "not an SQLite"),
    "99 bytes": (bytes(range(99)), NotADatabase, "not an SQLite"),
    "almost the magic": (b"SQLite format 4\0" * 9, NotADatabase, "not an SQLite"),
    "another program's": (["DROP", "CREATE TABLE documents (key)"], NotADatabase, FOREIGN),
    "another program's mark": (
        ["DROP", "PRAGMA application_id = 7", "CREATE TABLE settings (key)"], NotADatabase, FOREIGN
    ),
    "another program's, still empty": (
        ["DROP", "PRAGMA application_id = 7"], NotADatabase, FOREIGN
    ),
    "newer": (["PRAGMA user_version = 12"], OtherFormat, "format 12, .* format 7: upgrade"),
    "older": (
        ["PRAGMA user_version = 3"], OtherFormat, "format 3, .* 7: add the files to a new one"
    ),
    "tokens": (["UPDATE settings SET tokenizer = 'code 1'"], OtherFormat, "upgrade lshdb"),
    "base texts": (
        ["INSERT INTO base_texts VALUES ('a', x'', 'b')"], DamagedFile, "differs from its digest"
    ),
    "no version": (["PRAGMA user_version = 0"], OtherFormat, "format 0"),
    "settings gone": (["DELETE FROM settings"], DamagedFile, "settings"),
    "column gone": (
        ["ALTER TABLE settings RENAME COLUMN seed TO sapling"],
        DamagedFile,
        "table settings differs: restore",
    ),
    "no fingerprints": (
        ["UPDATE settings SET passages = 8"], DamagedFile, "fingerprints is missing: restore"
    ),
    "cut short": (["CUT"], DamagedFile, "damaged"),
    **{
        value: ([f"UPDATE settings SET {column} = {value}"], DamagedFile, message)
        for column, value, message in (
            ("shingle", "'word:0'", "word:0"),
            ("construction", "'6x16'", "6x16"),
            ("construction", "'and 6, or 99'", "594 lanes"),
            ("threshold", "1.5", "threshold 1.5"),
            ("sketch", "'slow'", "'slow'"),
        )
    },
    **{
        f"no {name}": (
            [f"DROP {'VIEW' if name in VIEWS else 'TABLE'} {name}"],
            DamagedFile,
            f" {name} is missing: restore",
        )
        for name in (*sorted({*inspection.TABLES} - {*TABLES}), "files", "base_texts", *VIEWS)
    },
}  # fmt: skip


def spoil(path: Path, how: bytes | list[str]) -> None:
    """Make a file of these bytes, or a database and run statements that lshdb never would."""
    if isinstance(how, bytes):
        path.write_bytes(how)
        return
    if how[0] != "DROP":
        make(path)
    if how == ["CUT"]:
        path.write_bytes(path.read_bytes()[: 2 * 16384])
        return
    with inspection.sqlite(path) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for statement in how[how[0] == "DROP" :]:
            connection.execute(statement)


@pytest.mark.parametrize("mode", ["create", "read"])
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.app("passages" if "fingerprints" in name else ""))
        for name in REFUSED
    ],
)
def test_a_file_that_is_refused_stays_as_it_was(path: Path, name: str, mode: Mode) -> None:
    how, error, message = REFUSED[name]
    spoil(path, how)
    before = inspection.files(path.parent)
    with pytest.raises(error, match=message) as raised:
        lshdb.open(path, mode=mode)
    assert type(raised.value) is error
    assert str(raised.value).startswith(str(path))
    assert len(str(raised.value).splitlines()) == 1
    assert inspection.files(path.parent) == before


def test_the_class_says_what_opens_a_file() -> None:
    wrong: Any = "x.db"
    with pytest.raises(UsageError, match=r"call lshdb\.open\('x\.db'\)$"):
        lshdb.Database(wrong)


@pytest.mark.parametrize("mode", ["write", "read"])
def test_a_missing_file_is_made_by_mode_create_only(path: Path, mode: Mode) -> None:
    with pytest.raises(StoreError, match="no such file") as raised:
        lshdb.open(path, mode=mode)
    assert type(raised.value) is NoDatabase
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("mode", MODES)
def test_an_empty_file_is_made_a_database_by_mode_create_only(path: Path, mode: Mode) -> None:
    path.touch()
    if mode == "create":
        lshdb.open(path, mode=mode).close()
        inspection.check(path)
        assert inspection.rows(path, "PRAGMA page_size") == [(16384,)]
    else:
        with pytest.raises(NotADatabase, match="empty"):
            lshdb.open(path, mode=mode)
        assert inspection.files(path.parent) == {path.name: b""}


def test_a_directory_and_a_missing_directory_are_named(path: Path) -> None:
    with pytest.raises(UsageError, match="append"):
        lshdb.open(path, mode="append")  # type: ignore[call-overload]
    with pytest.raises(StoreError, match="it is a directory"):
        lshdb.open(path.parent)
    with pytest.raises(StoreError, match="there is no directory"):
        lshdb.open(path / "below.db")
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize(
    "name",
    ["a b", "100%.db", "what?.db", "#1.db", "%41.db", "文書.db", "';--.db", "file:x?mode=ro"],
)
def test_any_file_name_is_a_file_name(tmp_path: Path, name: str) -> None:
    make(tmp_path / name)
    assert [file.name for file in tmp_path.iterdir()] == [name]
    with lshdb.open(str(tmp_path / name), mode="read") as db:
        assert db.path == tmp_path / name
        assert db.keys() == ["fox"]


def test_mode_read_writes_nothing(path: Path) -> None:
    make(path)
    before = inspection.files(path.parent)
    with lshdb.open(path, mode="read") as db:
        for action in (
            lambda: db.add("new", "some text"),
            lambda: db.add("fox", "some other text"),
            lambda: db.remove("fox"),
            lambda: db.reindex(threshold=0.5),
        ):
            with pytest.raises(ReadOnly):
                action()
        assert [match.key for match in db.query("The fox and the grapes")] == ["fox"]
    assert inspection.files(path.parent) == before


def test_reading_after_a_writer_died_sees_what_it_committed(path: Path) -> None:
    """A killed writer leaves a write-ahead log; whoever reads next reads it too."""
    leave_a_log(path, {"fox": "the fox and the grapes"})
    with lshdb.open(path, mode="read") as db:
        assert db.keys() == ["fox"]
    inspection.check(path)


# settings


IMPOSSIBLE: list[tuple[dict[str, Any], str]] = [
    ({"threshold": 0}, "threshold 0 "),
    ({"threshold": 1.1}, "threshold 1.1"),
    ({"threshold": math.nan}, "threshold nan"),
    ({"recall": 0}, "recall 0 "),
    ({"recall": 1.1}, "recall 1.1"),
    ({"permutations": 15}, "permutations 15"),
    ({"permutations": 4097}, "permutations 4097"),
    ({"construction": "and 10, or 13", "permutations": 128}, "130 lanes"),
    ({"rows": 64, "bands": 65}, "4160 lanes"),
    ({"construction": "and 4, or 4, and 4, or 65"}, "4160 lanes"),
    ({"rows": 0, "bands": 5}, "levels of at least 1"),
    ({"rows": 5, "bands": -5}, "levels of at least 1"),
    ({"rows": 5}, "together"),
    ({"rows": 5, "bands": 5, "construction": "and 5, or 6"}, "either"),
    ({"construction": "and 0, or 5"}, "and 0, or 5"),
    ({"construction": "and 4, or 4, xor 2"}, "xor 2"),
    ({"construction": "and 4, or 4, and 4", "recall": 0.99}, "and 4, or 4, and 4 has recall"),
    ({"construction": ""}, "construction ''"),
    ({"rows": 13, "bands": 9, "recall": 0.99}, "have recall 0.3988"),
    ({"threshold": 0.01}, "cannot be reached"),
    ({"threshold": 0.3, "permutations": 16, "recall": 0.999}, "cannot be reached"),
    ({"purpose": "music"}, "'music' is not short-text"),
    ({"purpose": "records", "shingle": "set"}, "records and scans are compared"),
    ({"shingle": "word:0"}, "word:0"),
    ({"shingle": "char:65"}, "char:65"),
    ({"shingle": "char"}, "'char'"),
    ({"shingle": "word:3 "}, "'word:3 '"),
    ({"shingle": "word:٣"}, "word:٣"),
    ({"sketch": "slow"}, "slow"),
    ({"seed": -1}, "seed -1"),
    ({"seed": 1 << 63}, "seed 9223372036854775808"),
]


@pytest.mark.parametrize(("settings", "message"), IMPOSSIBLE, ids=str)
def test_impossible_settings_make_no_file(
    path: Path, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(SettingsError, match=message) as raised:
        lshdb.open(path, **settings)
    assert len(str(raised.value).splitlines()) == 1
    assert list(path.parent.iterdir()) == []


POSSIBLE: list[dict[str, Any]] = [
    {"threshold": 1.0},
    {"threshold": 1e-9, "rows": 16, "bands": 1},
    {"threshold": 0.05, "recall": 0.5},
    {"permutations": 16, "recall": 0.9},
    {"permutations": 4096},
    {"construction": "and 8, or 16", "bands": 16, "rows": 8},
    {"rows": 4, "bands": 25, "recall": 0.99},
    {"shingle": "char:64", **if_there("signatures", sketch="minhash")},
    {"shingle": "set", "content": False},
    {"seed": (1 << 63) - 1},
]


@pytest.mark.parametrize("settings", POSSIBLE, ids=str)
def test_settings_are_kept_and_may_be_given_again(path: Path, settings: dict[str, Any]) -> None:
    with lshdb.open(path, **settings) as db:
        made = db.settings
    for again in ({}, settings):
        for mode in MODES:
            with lshdb.open(path, **again, mode=mode) as db:
                assert db.settings == made
    for name, value in settings.items():
        if name in ("threshold", "permutations", "sketch", "seed", "content"):
            assert getattr(made, name) == value


of_programs = partial(pytest.param, marks=pytest.mark.app("passages", "programs"))


@pytest.mark.parametrize(
    ("given", "shingle", "threshold", "passages"),
    [
        pytest.param(
            {"purpose": "short-text"}, "char:3-cjk", 0.55, 0, marks=pytest.mark.app("characters")
        ),
        pytest.param({"purpose": "records"}, "char:3", 0.55, 0, marks=pytest.mark.app("records")),
        ({"purpose": "documents", "threshold": 0.7}, "char:9", 0.7, 0),
        pytest.param({"purpose": "scans"}, "char:5", 0.28, 0, marks=pytest.mark.app("records")),
        of_programs({"purpose": "programs"}, "code:6", 0.4, 12),
        of_programs({"purpose": "programs", "passages": 0}, "code:6", 0.4, 0),
        of_programs({"purpose": "programs", "content": False}, "code:6", 0.4, 0),
        ({"purpose": "programs", "shingle": "word:3"}, "word:3", 0.4, 0),
        ({"purpose": "baskets"}, "set", 0.2, 0),
        ({"threshold": 0.02, "permutations": 1024}, "word:3", 0.02, 0),
        ({"rows": 5, "bands": 50, "permutations": 256}, "word:3", 0.8, 0),
    ],
    ids=str,
)
def test_a_purpose_gives_what_is_not_given(
    path: Path, given: dict[str, Any], shingle: str, threshold: float, passages: int
) -> None:
    """What is given again may be a part that, with defaults for the rest, no file could have."""
    for options in (given, given if "purpose" in given else {"threshold": threshold}):
        with lshdb.open(path, **options) as db:
            made = db.settings
            assert (str(made.shingling), made.threshold) == (shingle, threshold)
            assert made.passages == passages


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"threshold": 0.7}, "threshold 0.8, not 0.7"),
        ({"recall": 0.9}, "recall 0.99, not 0.9"),
        ({"shingle": "char:5"}, "shingle word:3, not char:5"),
        ({"purpose": "documents"}, "shingle word:3, not char:9"),
        ({"permutations": 256}, "permutations 128, not 256"),
        ({"rows": 5, "bands": 20}, "bands 12, not 20"),
        ({"sketch": "minhash"}, "sketch fast, not minhash"),
        ({"seed": 2}, "seed 1, not 2"),
        ({"content": False}, "has content True, not False"),
    ],
    ids=str,
)
def test_settings_other_than_the_files_are_refused(
    path: Path, settings: dict[str, Any], message: str
) -> None:
    make(path)
    before = inspection.files(path.parent)
    with pytest.raises(SettingsMismatch, match=message):
        lshdb.open(path, **settings, check_settings=True)
    assert inspection.files(path.parent) == before


# several processes


@pytest.mark.parametrize("seeds", [{"ann": 1, "bob": 1}, {"ann": 1, "bob": 2}], ids=str)
def test_processes_that_make_a_file_at_once_agree_or_one_wins(
    tmp_path: Path, seeds: dict[str, int]
) -> None:
    step, outcomes = barrier(), FORK.SimpleQueue()

    def make(name: str) -> None:
        for number in range(6):
            step.wait()
            with (
                suppress(lshdb.SettingsMismatch),
                lshdb.open(tmp_path / f"{number}.db", seed=seeds[name]) as db,
            ):
                db.add(name, "the fox and the grapes")
                outcomes.put((number, name))

    processes = [forked(make, name) for name in seeds]
    assert [status_of(process) for process in processes] == [0, 0]
    opened: dict[int, list[str]] = {number: [] for number in range(6)}
    while not outcomes.empty():
        number, name = outcomes.get()
        opened[number].append(name)
    for number, names in opened.items():
        assert len(names) == (2 if seeds["ann"] == seeds["bob"] else 1)
        found = "SELECT key, seed FROM documents, settings ORDER BY key"
        file = tmp_path / f"{number}.db"
        assert inspection.rows(file, found) == [(name, seeds[name]) for name in sorted(names)]
        inspection.check(file)


# settings of a file that was reindexed

OF_INDEX: list[tuple[dict[str, Any], str]] = [
    ({"threshold": 0.7}, "threshold 0.5, not 0.7"),
    ({"recall": 0.9}, "recall 0.99, not 0.9"),
    ({"bands": 20, "rows": 5}, "bands 35, not 20 and rows 3, not 5"),
    ({"construction": "and 5, or 20"}, "construction and 3, or 35, not and 5, or 20"),
]


@pytest.fixture
def reindexed(path: Path) -> Path:
    """A file that was made for 0.8, and reindexed to 0.5."""
    with database_of(path, {"fox": "the fox and the grapes"}, threshold=0.8) as db:
        db.reindex(threshold=0.5)
    return path


def opens(path: Path, **settings: Any) -> list[str]:
    """Open and close a file; what warnings said, which name the line here."""
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        lshdb.open(path, **settings).close()
    assert {one.filename for one in noted} <= {__file__}
    assert {one.category for one in noted} <= {lshdb.SettingsWarning}
    return [str(one.message) for one in noted]


@pytest.mark.parametrize(("given", "said"), OF_INDEX, ids=str)
def test_settings_of_the_index_may_differ(
    reindexed: Path, given: dict[str, Any], said: str
) -> None:
    note = f"{reindexed} has {said}: the file's own settings are used; lshdb reindex changes them"
    assert opens(reindexed, **given) == [note]
    assert opens(reindexed, threshold=0.5, check_settings=True) == []
    with pytest.raises(lshdb.SettingsMismatch, match=f"has {said}: leave it out, or run lshdb re"):
        lshdb.open(reindexed, **given, check_settings=True)
    with lshdb.open(reindexed, mode="read") as db:
        assert db.settings.threshold == 0.5


@pytest.mark.parametrize(
    "given",
    [
        {"shingle": "char:5"},
        {"seed": "random"},
        {"base": {"task": "write about a fox"}},
        {"permutations": 256},
    ],
    ids=str,
)
def test_settings_of_documents_may_not(reindexed: Path, given: dict[str, Any]) -> None:
    with pytest.raises(SettingsMismatch):
        lshdb.open(reindexed, threshold=0.7, **given)


def test_where_warnings_are_errors_the_file_is_closed(reindexed: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(lshdb.SettingsWarning):
            lshdb.open(reindexed, threshold=0.7)
    assert [one.name for one in reindexed.parent.iterdir()] == [reindexed.name], "no log is left"
