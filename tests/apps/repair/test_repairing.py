"""Repair undoes what it can of damage made with plain SQLite, and names the rest."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import inspection
import pytest
from damages import FOREIGN, LASTING, REPAIRABLE, WITH_PASSAGES, cases, found
from damages import damaged as damaged
from damages import originals as originals
from helpers import Command, database_of

import lshdb


def left(report: lshdb.CheckReport) -> dict[str, int]:
    return report.remaining


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


def test_the_command(tmp_path: Path, damaged: Callable[..., Path]) -> None:
    command = Command(tmp_path)
    damaged("words", "DELETE FROM bands WHERE doc_id = 9", "DROP VIEW buckets")
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
