"""check finds each kind of damage made with plain SQLite."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import inspection
import pytest
from damages import BANDS, FILES, FOREIGN, LASTING, REPAIRABLE, WITH_PASSAGES, cases, found
from damages import damaged as damaged
from damages import originals as originals
from helpers import Command, database_of

import lshdb
from lshdb.errors import NotADatabase, OtherFormat, StoreError


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


@pytest.mark.parametrize("damage", cases(REPAIRABLE | LASTING))
def test_damage_is_found_and_left_as_it_is(damaged: Callable[..., Path], damage: str) -> None:
    name, statements, deep, problems, *_ = (REPAIRABLE | LASTING)[damage]
    path = damaged(name, *statements)
    before = inspection.files(path.parent)
    report = lshdb.check(path, deep=deep)
    assert found(report) == report.remaining == problems
    assert (report.ok, report.repairs) == (False, {})
    assert inspection.files(path.parent) == before


@pytest.mark.parametrize("damage", FOREIGN)
def test_what_is_not_lshdbs_is_found(damaged: Callable[..., Path], damage: str) -> None:
    statements, problems, example = FOREIGN[damage]
    report = lshdb.check(damaged("words", *statements))
    assert found(report) == problems
    assert report.problems[0].stored == example


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


def test_the_command(tmp_path: Path, damaged: Callable[..., Path]) -> None:
    command = Command(tmp_path)
    damaged("words", "DELETE FROM bands WHERE doc_id = 9", "DROP VIEW buckets")
    result = command("check")
    assert (result.status, "--repair" in result.err) == (1, True)
    assert result.lines == [
        "sqlite_schema\t\tview buckets is missing\tonly what lshdb defines",
        "bands\t\t133 rows\t152 rows",
    ]
    damaged("words")
    clean = command.done("check", "--deep", says="lsh.db is whole: 9 documents and 152 band rows\n")
    assert clean.out == ""
