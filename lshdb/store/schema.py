"""Whether the tables, indexes and views of a file are those of schema.sql.

They are compared token by token, without comments, white space and quotes: a table that was made
under another name and renamed has the same tokens. One that was made by an older format has the
columns added since at its end; that is as good.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from lshdb.store import statements as sql
from lshdb.store.migrations import redo_steps, undo_steps
from lshdb.store.sealing import danger, schema_statements

Tokens: TypeAlias = tuple[str, ...]
Schema: TypeAlias = dict[tuple[str, str], Tokens]
"""The tokens of what makes a table, index, view or trigger, by its type and name."""

_TOKEN: Final = re.compile(
    r"""(?x) --[^\n]* | /\*.*?\*/ | \s+     # nothing
    | ('(?:[^']|'')*')                      # a string
    | "((?:[^"]|"")*)" | `([^`]*)` | \[([^]]*)\]  # a quoted name
    | (\w+) | (.)""",
    re.DOTALL,
)
_OWN_OF_SQLITE: Final = "sqlite_"
"""Names that only SQLite itself gives: indexes of constraints, and statistics."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something of the schema that is not as it should be.

    Attributes:
        what: `table bands is missing`.
        makeable: whether `make_missing` makes it; else it is in the way of any repair.
    """

    what: str
    makeable: bool


def faults(connection: sqlite3.Connection, version: int) -> list[Fault]:
    """How the file's tables, indexes, views and triggers differ from those of its format."""
    texts = _texts(connection)
    expected, present = _expected(version), {key: _tokens(text) for key, text in texts.items()}
    migrated = [_expected(version, made_as) for made_as in range(1, version)]
    found = []
    for kind, name in sorted(expected.keys() | present.keys()):
        what = f"{kind} {name}"
        if (kind, name) not in present:
            # What only documents and settings say cannot be found out again.
            makeable = (kind, name) not in (("table", "documents"), ("table", "settings"))
            found.append(Fault(f"{what} is missing", makeable))
        elif (kind, name) not in expected:
            # Tables, views and indexes of the user's own are no business of a check.
            if reason := danger(connection, kind, name, texts[kind, name]):
                found.append(Fault(reason, False))
        elif all(present[kind, name] != one[kind, name] for one in (expected, *migrated)):
            found.append(Fault(f"{what} differs", kind == "view"))
    return found


def make_missing(connection: sqlite3.Connection, version: int) -> int:
    """Make the tables, indexes and views that are missing, and the views that differ.

    Within the caller's transaction, for a file whose `faults` are all makeable.

    Returns:
        How many.
    """
    expected, texts = _expected(version), _texts(connection)
    made = 0
    for key, statement in _statements(version):
        if key in texts and _tokens(texts[key]) == expected[key]:
            continue
        if key in texts and key[0] == "view":
            connection.execute(f"DROP VIEW {key[1]}")  # a name of schema.sql
        connection.execute(statement)
        made += 1
    return made


def _texts(connection: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """What made the file's tables, indexes, views and triggers, but for those of SQLite itself."""
    rows = ((_text(kind), _text(name), made) for kind, name, made in connection.execute(sql.SCHEMA))
    return {
        (kind, name): _text(made)
        for kind, name, made in rows
        if not (name.startswith(_OWN_OF_SQLITE) and kind in ("table", "index"))
    }


def _expected(version: int, made_as: int | None = None) -> Schema:
    return {key: _tokens(statement) for key, statement in _statements(version, made_as)}


def _statements(version: int, made_as: int | None = None) -> Iterator[tuple[tuple[str, str], str]]:
    """What makes the tables, indexes and views of a format, in order.

    With `made_as`, as they are in a file that was made with that older format.
    """
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for statement in schema_statements():
            connection.execute(statement)
        undo_steps(connection, made_as or version)
        redo_steps(connection, made_as or version, version)
        made = connection.execute(sql.SCHEMA).fetchall()
    finally:
        connection.close()
    for kind, name, statement in made:
        if statement is not None:
            yield (kind, name), statement


def _tokens(statement: str) -> Tokens:
    tokens = []
    for match in _TOKEN.finditer(statement):
        if match.lastindex == 1:
            tokens.append(match[1])
        elif match.lastindex is not None:
            tokens.append(match[match.lastindex].lower())
    return tuple(tokens)


def _text(value: object) -> str:
    """A text of the file, which may be damaged."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")
