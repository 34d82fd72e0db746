"""The formats of the file, and the steps from each to the next.

A file of an older format is migrated when it is opened for writing, in one transaction: whatever
happens, it has the old format or the new one. Opened for reading it stays as it is, and is read as
if it had the newest.

A new format takes one more Step at the end of STEPS, the new tables in schema.sql, and a golden
file of its own (tests/make_golden.py); those of older formats stay, and must always give the same
answers.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Step:
    """From one format to the next; all is static SQL.

    Attributes:
        statements: turn a file of the older format into the newer, such as
            `ALTER TABLE documents ADD COLUMN ...`.
        undo: turn the newer tables, without rows, into the older ones: from schema.sql they make
            the tables that an older file must have.
        reading: let statements for the newest format read a file of the older one, which stays as
            it is: temporary views, such as `CREATE TEMP VIEW documents AS SELECT *, NULL
            AS ... FROM main.documents`, which hide the table of that name. They lead to the
            newest format, so a later step may have to change them.
    """

    statements: Iterable[str]
    undo: Iterable[str]
    reading: Iterable[str]


_FORMAT_3_EMPTY: Final = (
    "CREATE TEMP VIEW settings AS SELECT *, 0 AS passages FROM main.settings",
    """CREATE TEMP VIEW fingerprints AS
       SELECT 0 AS fingerprint, 0 AS doc_id, 0 AS position WHERE false""",
    "CREATE TEMP VIEW files AS SELECT 0 AS doc_id, 0 AS size, NULL AS mtime_ns WHERE false",
    """CREATE TEMP VIEW decisions AS
       SELECT 0 AS decision, '' AS verdict, '' AS key, x'' AS digest, NULL AS note, '' AS who,
       '' AS decided WHERE false""",
)

_METADATA: Final = Step(
    # At the end, after the content: at its place in schema.sql, all rows would be written again.
    statements=("ALTER TABLE documents ADD COLUMN metadata TEXT",),
    undo=("ALTER TABLE documents DROP COLUMN metadata",),
    reading=(
        """CREATE TEMP VIEW documents AS
           SELECT doc_id, key, shingles, digest, NULL AS metadata, content FROM main.documents""",
        *_FORMAT_3_EMPTY,
    ),
)
_PASSAGES_FILES_DECISIONS: Final = Step(
    statements=(
        """ALTER TABLE settings ADD COLUMN passages INTEGER NOT NULL DEFAULT 0
           CHECK (passages = 0 OR passages BETWEEN 3 AND 1000)""",
        """CREATE TABLE fingerprints (
            fingerprint INTEGER NOT NULL,
            doc_id      INTEGER NOT NULL,
            position    INTEGER NOT NULL,
            PRIMARY KEY (fingerprint, doc_id, position)
        ) STRICT, WITHOUT ROWID""",
        """CREATE TABLE files (
            doc_id   INTEGER PRIMARY KEY REFERENCES documents (doc_id),
            size     INTEGER NOT NULL,
            mtime_ns INTEGER
        ) STRICT""",
        """CREATE TABLE decisions (
            decision INTEGER NOT NULL,
            verdict  TEXT    NOT NULL CHECK (verdict IN ('keep', 'drop', 'different')),
            key      TEXT    NOT NULL,
            digest   BLOB    NOT NULL,
            note     TEXT,
            who      TEXT    NOT NULL,
            decided  TEXT    NOT NULL,
            PRIMARY KEY (decision, key)
        ) STRICT, WITHOUT ROWID""",
        "CREATE INDEX decisions_of_key ON decisions (key)",
    ),
    undo=(
        "ALTER TABLE settings DROP COLUMN passages",
        "DROP TABLE fingerprints",
        "DROP TABLE files",
        "DROP TABLE decisions",
    ),
    reading=_FORMAT_3_EMPTY,
)

STEPS: Final = (_METADATA, _PASSAGES_FILES_DECISIONS)
"""STEPS[0] leads from format 1 to 2, and so on."""


def newest_format() -> int:
    """The format of new files; the newest that this lshdb reads."""
    return 1 + len(STEPS)


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Migrate a file of an older format, within the caller's transaction."""
    if version >= newest_format():  # another process was first, perhaps one of a newer lshdb
        return
    for step in STEPS[version - 1 :]:
        for statement in step.statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {newest_format()}")


def make_readable(connection: sqlite3.Connection, version: int) -> None:
    """Let a connection read a file of an older format like one of the newest."""
    if version < newest_format():
        for statement in STEPS[version - 1].reading:
            connection.execute(statement)


def undo_steps(connection: sqlite3.Connection, version: int) -> None:
    """Turn tables of the newest format, without rows, into those of an older one."""
    for step in reversed(STEPS[version - 1 :]):
        for statement in step.undo:
            connection.execute(statement)
