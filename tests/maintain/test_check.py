"""check finds each kind of damage made with plain SQLite, and repair undoes what it can."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import inspection
import make_golden
import pytest
from helpers import Command, database_of

import lshdb
from lshdb.errors import NotADatabase, OtherFormat, StoreError
from lshdb.offers import is_there

FILES = {
    **{name: make_golden.FILES[name] for name in ("sets", "signatures")},
    "words": ({"threshold": 0.6}, make_golden.FILES["words"][1]),
    "passages": make_golden.FILES["words"],
}
BANDS = {"words": 19, "sets": 32, "signatures": 17, "passages": 19}
"""Of the settings of these files."""
WITH_PASSAGES = pytest.mark.app("passages")


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A file of words, of sets with a cascade, without contents, and with passages."""
    directory = tmp_path_factory.mktemp("originals")
    paths = {}
    for name, (settings, _) in FILES.items():
        if name == "passages" and not is_there(name):
            continue
        paths[name] = directory / f"{name}.db"
        kind = "words" if name == "passages" else name
        with database_of(paths[name], make_golden.documents_of(kind), **settings) as db:
            assert db.settings.construction.bands == BANDS[name]
    return paths


@pytest.fixture
def damaged(originals: dict[str, Path], path: Path) -> Callable[..., Path]:
    """Copies a file and runs statements on it that lshdb never would."""

    def damage(name: str, *statements: str) -> Path:
        shutil.copyfile(originals[name], path)
        with inspection.sqlite(path) as connection:
            connection.execute("PRAGMA ignore_check_constraints = ON")
            for statement in statements:
                connection.execute(statement)
        return path

    return damage


def found(report: lshdb.CheckReport) -> dict[str, int]:
    for table in report.counts:
        listed = [problem for problem in report.problems if problem.table == table]
        assert len(listed) == min(report.counts[table], 5)
        assert all(problem.stored != problem.expected for problem in listed)
    return report.counts


def left(report: lshdb.CheckReport) -> dict[str, int]:
    return report.remaining


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize(
    "name", ["words", "sets", "signatures", pytest.param("passages", marks=WITH_PASSAGES)]
)
def test_a_whole_file_is_whole_and_stays_as_it_is(
    originals: dict[str, Path], name: str, deep: bool
) -> None:
    path = originals[name]
    before = inspection.files(path.parent)
    report = lshdb.check(path, deep=deep)
    assert report.ok
    assert (report.problems, report.repairs, report.deep) == ((), {}, deep)
    ((empty,),) = inspection.rows(path, "SELECT count(*) FROM documents WHERE shingles = 0")
    assert isinstance(empty, int)
    assert report.documents == len(FILES[name][1])
    assert report.bands == (report.documents - empty) * BANDS[name]
    assert inspection.files(path.parent) == before


SECOND = "doc_id = 2"
REPAIRABLE: dict[str, tuple[str, Sequence[str], bool, dict[str, int]]] = {
    "a document's bands": (
        "words", [f"DELETE FROM bands WHERE {SECOND}"], False, {"bands": 1}
    ),
    "all bands": ("sets", ["DELETE FROM bands"], False, {"bands": 1}),
    "a document in another's buckets": (
        "words",
        [f"INSERT OR IGNORE INTO bands SELECT band_no, bucket_key, 3 FROM bands WHERE {SECOND}"],
        False,
        {"bands": 1},
    ),
    "a document's fingerprints": (
        "passages", [f"DELETE FROM fingerprints WHERE {SECOND}"], False, {"fingerprints": 1}
    ),
    "a fingerprint elsewhere": (
        "passages", [f"UPDATE fingerprints SET position = position + 1 WHERE {SECOND}"], False,
        {"fingerprints": 1},
    ),
    "a fingerprint of another document": (
        "passages", ["UPDATE fingerprints SET doc_id = 99 WHERE doc_id = 1"], False,
        {"fingerprints": 1},
    ),
    "a fingerprint of no document": (
        "passages", ["INSERT INTO fingerprints VALUES (1, 99, 3)"], False, {"fingerprints": 1}
    ),
    "a signature of no document": (
        "words", ["INSERT INTO signatures VALUES (12, zeroblob(256))"], False,
        {"signatures.doc_id": 1},
    ),
    "a document deleted": (
        "words",
        ["INSERT INTO signatures SELECT 99, signature FROM signatures WHERE doc_id = 1",
         "INSERT INTO bands SELECT band_no, bucket_key, 99 FROM bands WHERE doc_id = 1"],
        False,
        {"signatures.doc_id": 1, "bands": 1},
    ),
    "no signature": (
        "words", [f"DELETE FROM signatures WHERE {SECOND}"], False,
        {"signatures.signature": 1, "bands": 1},
    ),
    "a signature cut short": (
        "sets", [f"UPDATE signatures SET signature = zeroblob(60) WHERE {SECOND}"], False,
        {"signatures.signature": 1, "bands": 1},
    ),
    "another signature": (
        "words", ["UPDATE signatures SET signature = zeroblob(256) WHERE doc_id = 1"], True,
        {"signatures.signature": 1, "bands": 1},
    ),
    "another signature, and its bands": (
        "words",
        ["UPDATE signatures SET signature = (SELECT signature FROM signatures WHERE doc_id = 3) "
         f"WHERE {SECOND}",
         f"DELETE FROM bands WHERE {SECOND}",
         "INSERT INTO bands SELECT band_no, bucket_key, 2 FROM bands WHERE doc_id = 3"],
        True,
        {"signatures.signature": 1},
    ),
    "a signature of the empty document": (
        "words", ["INSERT INTO signatures VALUES (5, zeroblob(256))"], False,
        {"signatures.signature": 1, "bands": 1},
    ),
    "less than no shingles": (
        "words", ["UPDATE documents SET shingles = -1 WHERE doc_id = 5"], False,
        {"documents.shingles": 1},
    ),
    "no shingles": (
        "words", [f"UPDATE documents SET shingles = 0 WHERE {SECOND}"], False,
        {"signatures.signature": 1},
    ),
    "a shingle more": (
        "words", ["UPDATE documents SET shingles = shingles + 1 WHERE shingles > 0"], True,
        {"documents.shingles": 8},
    ),
    "a set in another order": (
        "sets",
        ["UPDATE documents SET content = '[\"apples\", 3,1,2,1,\"bread\",\"butter\",\"eggs\","
         "\"milk\"]' WHERE doc_id = 1"],
        False,
        {"documents.content": 1},
    ),
    "a view": (
        "words",
        ["DROP VIEW buckets", "CREATE VIEW buckets AS SELECT 1 AS band_no"],
        False,
        {"sqlite_schema": 1},
    ),
    "an index": ("words", ["DROP INDEX empty_documents"], False, {"sqlite_schema": 1}),

    "the table of signatures": (
        "words", ["DROP TABLE signatures"], False, {"sqlite_schema": 1, "unchecked": 1}
    ),
}  # fmt: skip


def cases(damages: Mapping[str, tuple[Any, ...]]) -> list[Any]:
    """The names of damages; some are of files with passages."""
    return [
        pytest.param(name, marks=WITH_PASSAGES if file == "passages" else ())
        for name, (file, *_) in damages.items()
    ]


@pytest.mark.parametrize("damage", cases(REPAIRABLE))
def test_damage_that_is_found_and_repaired(
    originals: dict[str, Path], damaged: Callable[..., Path], damage: str
) -> None:
    """After the repair all rows of all tables are those that were there before the damage."""
    name, statements, deep, problems = REPAIRABLE[damage]
    path = damaged(name, *statements)
    before = inspection.contents(path) if "sqlite_schema" not in problems else {}
    report = lshdb.check(path, deep=deep)
    assert found(report) == left(report) == problems
    assert not report.ok
    if deep:
        assert found(lshdb.check(path)).keys() < problems.keys()
    if before:
        assert inspection.contents(path) == before
    repaired = lshdb.check(path, deep=deep, repair=True)
    assert found(repaired) == problems
    assert repaired.remaining == {}
    assert repaired.ok
    assert repaired.repairs
    assert inspection.contents(path) == inspection.contents(originals[name])
    inspection.check(path)
    assert lshdb.check(path, deep=True).problems == ()


LASTING: dict[str, tuple[str, Sequence[str], bool, dict[str, int], dict[str, int]]] = {
    "no content": (
        "words", [f"UPDATE documents SET content = NULL WHERE {SECOND}"], True,
        {"documents.content": 1}, {"documents.content": 1},
    ),
    "no content of passages": (
        "passages", [f"UPDATE documents SET content = NULL WHERE {SECOND}"], True,
        {"documents.content": 1, "fingerprints": 1}, {"documents.content": 1},
    ),
    "neither content nor signature": (
        "signatures", [f"DELETE FROM signatures WHERE {SECOND}"], False,
        {"signatures.signature": 1, "bands": 1}, {"signatures.signature": 1},
    ),
    "a digest cut short": (
        "words", [f"UPDATE documents SET digest = x'00' WHERE {SECOND}"], False,
        {"documents.digest": 1}, {"documents.digest": 1},
    ),
    "another digest, and another signature": (
        "sets",
        [f"UPDATE documents SET digest = zeroblob(16) WHERE {SECOND}",
         "UPDATE signatures SET signature = zeroblob(128) WHERE doc_id = 2"], True,
        {"documents.digest": 1, "signatures.signature": 1, "bands": 1},
        {"documents.digest": 1, "signatures.signature": 1},
    ),
    "content where none is kept": (
        "signatures", [f"UPDATE documents SET content = 'x' WHERE {SECOND}"], False,
        {"documents.content": 1}, {"documents.content": 1},
    ),
    "content that is not a text": (
        "words", [f"UPDATE documents SET content = CAST(x'61ff62' AS TEXT) WHERE {SECOND}"], True,
        {"documents.content": 1}, {"documents.content": 1},
    ),
    "content that is not a set": (
        "sets",
        ["UPDATE documents SET content = '{\"a\": 1}' WHERE doc_id = 1",
         "UPDATE documents SET content = '[1.5]' WHERE doc_id = 2",
         "UPDATE documents SET content = '[1' WHERE doc_id = 3",
         "UPDATE documents SET content = replace(hex(zeroblob(50000)), '0', '[') "
         "WHERE doc_id = 4"],
        False, {"documents.content": 4}, {"documents.content": 4},
    ),
    "bad keys": (
        "words",
        ["UPDATE documents SET key = '' WHERE doc_id = 1",
         "UPDATE documents SET key = 'a' || char(0) || 'b' WHERE doc_id = 2",
         "UPDATE documents SET key = CAST(x'ff' AS TEXT) WHERE doc_id = 3"],
        False, {"documents.key": 3}, {"documents.key": 3},
    ),
    "metadata that is not an object": (
        "words",
        ["UPDATE documents SET metadata = '[1]' WHERE doc_id = 1",
         "UPDATE documents SET metadata = '{\"a\": ' WHERE doc_id = 2",
         "UPDATE documents SET metadata = CAST(x'7b22ff' AS TEXT) WHERE doc_id = 3",
         "UPDATE documents SET metadata = replace(hex(zeroblob(50000)), '0', '[') "
         "WHERE doc_id = 4",
         "UPDATE documents SET metadata = '{\"fine\": [1]}' WHERE doc_id = 5"],
        False, {"documents.metadata": 4}, {"documents.metadata": 4},
    ),
    "a number below 1": (
        "words",
        ["PRAGMA foreign_keys = OFF", "UPDATE documents SET doc_id = -8 WHERE doc_id = 8",
         "UPDATE signatures SET doc_id = -8 WHERE doc_id = 8",
         "UPDATE bands SET doc_id = -8 WHERE doc_id = 8"],
        False, {"documents.doc_id": 1}, {"documents.doc_id": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("damage", cases(LASTING))
def test_what_cannot_be_derived_is_named_and_never_removed(
    damaged: Callable[..., Path], damage: str
) -> None:
    name, statements, deep, problems, remaining = LASTING[damage]
    path = damaged(name, *statements)
    texts = ", ".join(f"CAST({column} AS BLOB)" for column in ("key", "content", "metadata"))
    columns = f"SELECT doc_id, {texts} FROM documents"
    before = inspection.rows(path, columns)
    assert found(lshdb.check(path, deep=deep)) == problems
    report = lshdb.check(path, deep=deep, repair=True)
    assert (found(report), left(report), report.ok) == (problems, remaining, False)
    assert inspection.rows(path, columns) == before


@pytest.mark.parametrize(("name", "deep"), [("words", True), ("sets", False)])
def test_a_letter_that_was_changed_is_reported_and_not_believed(
    tmp_path: Path, damaged: Callable[..., Path], name: str, deep: bool
) -> None:
    """Contents are read for --deep, for sets, and where there is an index of passages."""
    path = damaged(name, "UPDATE documents SET content = replace(content, 'a', 'e')")
    columns = "SELECT documents.*, signature FROM documents LEFT JOIN signatures USING (doc_id)"
    before = inspection.rows(path, columns)
    command = Command(tmp_path)
    options = ["--deep"] if deep else []
    for repair in ([], ["--repair"]):
        result = command("check", "--json", *options, *repair)
        assert result.status == 1
        tables = {record["table"] for record in result.records if record["remaining"]}
        assert "documents.digest" in tables
    assert "remove those documents and add them again" in result.err
    assert inspection.rows(path, columns) == before


FOREIGN: dict[str, tuple[Sequence[str], dict[str, int], str]] = {
    "a trigger": (
        ["CREATE TRIGGER t AFTER INSERT ON bands BEGIN DELETE FROM documents; END"],
        {"sqlite_schema": 1}, "'t' is a trigger on bands",
    ),
    "a column": (
        ["ALTER TABLE bands ADD COLUMN more TEXT"], {"sqlite_schema": 1}, "table bands differs"
    ),
    "a foreign key": (
        ["CREATE TABLE mine (a REFERENCES documents ON DELETE CASCADE)",
         "INSERT INTO mine VALUES (77)"],
        {"sqlite_schema": 1, "mine.foreign key": 1},
        "'mine' has a foreign key that acts on changes of lshdb's tables",
    ),
}  # fmt: skip


@pytest.mark.parametrize("damage", FOREIGN)
def test_a_file_with_what_is_not_lshdbs_is_not_written(
    damaged: Callable[..., Path], damage: str
) -> None:
    """A trigger would run when the repair writes."""
    statements, problems, example = FOREIGN[damage]
    path = damaged("words", *statements, "DELETE FROM bands WHERE doc_id = 1")
    rows = inspection.contents(path)
    for repair in (False, True):
        report = lshdb.check(path, repair=repair)
        assert found(report) == left(report) == problems | {"bands": 1}
        assert report.problems[0].stored == example
        assert report.repairs == {}
    assert inspection.contents(path) == rows


@pytest.mark.parametrize(
    ("statement", "problems"),
    [
        ("DELETE FROM settings", {"settings", "unchecked"}),
        ("UPDATE settings SET construction = 'and 6, or 99'", {"settings", "unchecked"}),
        ("UPDATE settings SET sketch = CAST(x'ff' AS TEXT)", {"settings", "unchecked"}),
        ("ALTER TABLE settings RENAME COLUMN seed TO sapling", {"sqlite_schema", "unchecked"}),
        ("ALTER TABLE documents RENAME TO papers", {"sqlite_schema", "unchecked"}),
    ],
)
def test_a_file_without_settings_or_documents_is_reported_and_left_alone(
    damaged: Callable[..., Path], statement: str, problems: set[str]
) -> None:
    path = damaged("words", "PRAGMA legacy_alter_table = ON", statement)
    with pytest.raises(lshdb.LshdbError):
        lshdb.open(path)
    before = inspection.files(path.parent)
    for repair in (False, True):
        report = lshdb.check(path, repair=repair)
        assert (
            found(report).keys()
            - {"signatures.foreign key", "signatures.doc_id", "files.foreign key"}
            == problems
        )
        assert not report.ok
        assert report.repairs == {}
    assert inspection.files(path.parent) == before


def test_bands_are_rebuilt_where_rows_differ(path: Path) -> None:
    """Random rows deleted, added and changed."""
    rng = random.Random(0)
    shape = {"permutations": 64, "bands": 16, "rows": 4}
    database_of(path, ((str(i), [i, i + 1]) for i in range(1000)), shingle="set", **shape).close()
    wanted = set(inspection.rows(path, "SELECT * FROM bands"))
    removed = rng.sample(sorted(wanted), 40)
    added = [(band, key + 1, doc_id) for band, key, doc_id in removed[::2]]
    added += [(rng.randrange(-1, 18), rng.randrange(9), rng.randrange(-9, 5000)) for _ in removed]
    with inspection.sqlite(path) as connection:
        where = "band_no = ? AND bucket_key = ? AND doc_id = ?"
        connection.executemany(f"DELETE FROM bands WHERE {where}", removed)
        connection.executemany("INSERT INTO bands VALUES (?, ?, ?)", added)
    (problem,) = lshdb.check(path).problems
    assert problem.table == "bands"
    report = lshdb.check(path, repair=True)
    assert report.ok
    assert report.repairs == {"bands": len(wanted)}
    assert set(inspection.rows(path, "SELECT * FROM bands")) == wanted


@WITH_PASSAGES
def test_fingerprints_are_rebuilt_where_many_differ(path: Path) -> None:
    texts = {str(i): f"the fox {i} and the grapes {i} of the vine {i}" for i in range(300)}
    database_of(path, texts, passages=4).close()
    wanted = set(inspection.rows(path, "SELECT * FROM fingerprints"))
    with inspection.sqlite(path) as connection:
        connection.execute("DELETE FROM fingerprints")
    assert lshdb.check(path, repair=True).repairs == {"fingerprints": len(wanted)}
    assert set(inspection.rows(path, "SELECT * FROM fingerprints")) == wanted


def test_a_repair_that_is_interrupted_has_changed_nothing(damaged: Callable[..., Path]) -> None:
    path = damaged("words", "DELETE FROM signatures", "DELETE FROM bands WHERE doc_id > 4")
    before = inspection.contents(path)

    units: list[str] = []

    def interrupt(_done: int, _total: int | None, unit: str) -> None:
        units.append(unit)
        if units.count("pages") == 3:  # signatures are derived, and bands repaired
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lshdb.check(path, repair=True, progress=interrupt)
    assert inspection.contents(path) == before
    assert lshdb.check(path, repair=True).ok


def test_a_database_that_is_open_is_checked_and_repaired(path: Path) -> None:
    with database_of(path, {"fox": "the fox and the grapes"}) as db:
        with inspection.sqlite(path) as other:
            other.execute("DELETE FROM bands")
        assert db.query("the fox and the grapes") == []
        assert lshdb.check(db.path, repair=True).ok
        assert [match.key for match in db.query("the fox and the grapes")] == ["fox"]


def test_every_file_with_a_byte_changed_is_reported_or_as_good_as_before(
    originals: dict[str, Path], path: Path
) -> None:
    """No byte of a document, signature or bucket changes unnoticed, and nothing is a traceback."""
    whole = originals["words"].read_bytes()
    before = inspection.contents(originals["words"])
    rng = random.Random(7)
    used = [place for place in range(100, len(whole)) if whole[place]]
    noticed = 0
    for place in rng.sample(used, 60):
        spoilt = bytearray(whole)
        spoilt[place] ^= rng.randrange(1, 256)
        path.write_bytes(spoilt)
        try:
            report = lshdb.check(path, deep=True)
        except StoreError:
            noticed += 1
            continue
        noticed += not report.ok
        if report.ok:
            after = inspection.contents(path)
            for table in ("signatures", "bands", "fingerprints"):
                assert after[table] == before[table], place
            # Metadata has no digest.
            documents = [[row[:4] + row[5:] for row in one["documents"]] for one in (before, after)]
            assert documents[0] == documents[1], place
    assert noticed > 30


def test_what_is_no_file_of_lshdb_is_refused(path: Path, damaged: Callable[..., Path]) -> None:
    with pytest.raises(StoreError, match="no such file"):
        lshdb.check(path)
    path.write_bytes(b"The fox and the grapes. " * 100)
    with pytest.raises(NotADatabase):
        lshdb.check(path)
    path.unlink()
    for version, advice in ((99, "upgrade lshdb"), (0, "add the files to a new one")):
        with pytest.raises(OtherFormat, match=advice):
            lshdb.check(damaged("words", f"PRAGMA user_version = {version}"))


def test_more_documents_than_are_read_at_once(path: Path) -> None:
    """Keys, signatures and rows are read in pages; each signature is compared with its own rows."""
    keys = [str(i) for i in range(20_001)]
    with database_of(
        path, ((key, [int(key)]) for key in keys), shingle="set", permutations=16, content=False
    ) as db:
        db.remove(keys.pop(5_000))
        assert [*db] == db.keys() == keys
        report = lshdb.check(db.path)
        assert (report.ok, report.documents) == (True, 20_000)
        assert report.bands == 20_000 * db.settings.construction.bands
        (match,) = db.query([19_999], exhaustive=True, threshold=1.0)
        assert match.key == "19999"


# the command


def test_the_command(tmp_path: Path, damaged: Callable[..., Path]) -> None:
    command = Command(tmp_path)
    damaged("words", "DELETE FROM bands WHERE doc_id = 9", "DROP VIEW buckets")
    result = command("check")
    assert (result.status, "--repair" in result.err) == (1, True)
    assert result.lines == [
        "sqlite_schema\t\tview buckets is missing\tonly what lshdb defines",
        "bands\t\t133 rows\t152 rows",
    ]
    repaired = command.done("check", "--repair", "--json")
    assert repaired.err == (
        "lsh.db was repaired, and is whole (rows written: sqlite_schema 1, bands 152)\n"
    )
    assert repaired.records[1] == {
        "table": "bands",
        "key": "",
        "stored": "133 rows",
        "expected": "152 rows",
        "count": 1,
        "remaining": 0,
    }
    clean = command.done("check", "--deep", says="lsh.db is whole: 9 documents and 152 band rows\n")
    assert clean.out == ""
    damaged("signatures", "DELETE FROM signatures WHERE doc_id = 2")
    result = command("check", "--repair")
    assert result.status == 1
    assert result.lines[0] == "signatures.signature\tcrêpes\tNone\t200 bytes"
    assert "lsh.db has problems" in result.err
    assert "signatures.signature 1: add those documents again" in result.err
