"""Damage that tests make in files with plain SQLite, and what `check` finds of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import inspection
import make_golden
import pytest
from helpers import database_of

import lshdb
from lshdb.offers import is_there

FILES = {
    "sets": (make_golden.FILES["sets"][0] | {"sketch": "fast"}, make_golden.FILES["sets"][1]),
    "signatures": make_golden.FILES["signatures"],
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
    """How many problems there are, by table; those listed differ from what is expected."""
    for table in report.counts:
        listed = [problem for problem in report.problems if problem.table == table]
        assert len(listed) == min(report.counts[table], 5)
        assert all(problem.stored != problem.expected for problem in listed)
    return report.counts


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
