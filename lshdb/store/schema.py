"""Whether the tables of a file are lshdb's own, so that no code in the file is run.

SQLite lets a file carry code: triggers, views, CHECK constraints, generated columns, indexes on
expressions, virtual tables. lshdb opens only files whose tables, views and index with lshdb's names
are those of schema.sql, word for word, and refuses code that would run when these are read or
written: triggers on them, foreign keys that act when their rows change, indexes on more than
plain columns. Other tables, views and indexes belong to the user; no statement of lshdb's touches
them, except a full-text index (StoreReader.documents_in_text_index). The connection has its own
limits besides this check.

`check` reports the same faults, and its repair makes what is missing.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from lshdb.errors import DamagedFile, UnsafeFile
from lshdb.store import statements as sql
from lshdb.store.guard import has_log
from lshdb.store.migrations import newest_format, undo_steps

_LARGEST: Final = 1_000_000
"""Maximum bytes of the settings, and of a table's definition; larger ones are never read."""
_ADVICE: Final = "do not trust it, or restore it from a copy"

Tokens: TypeAlias = tuple[str, ...]
Form: TypeAlias = tuple[Tokens, frozenset[Tokens]]
"""A definition without blanks, comments and the order of columns: what is outside of the
parentheses, and what is between the commas within."""
Schema: TypeAlias = dict[str, tuple[str, str]]
"""By name, the type of each table, view and index, and the statement that makes it."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A difference of a file's schema from the expected one.

    Attributes:
        what: `table bands is missing`.
        creatable: whether `make_missing` makes it; otherwise no repair is possible.
        refusal: the message that refuses the file, after its name; None if it is opened.
        unsafe: whether it is code that would be run.
    """

    what: str
    creatable: bool
    refusal: str | None
    unsafe: bool = False


def schema_statements() -> Iterator[str]:
    """The statements of schema.sql, one by one."""
    schema = Path(__file__).parents[1].joinpath("schema.sql").read_text("utf-8")
    statement = ""
    for line in schema.splitlines(keepends=True):
        statement += line
        if line.rstrip().endswith(";") and sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def seal(connection: sqlite3.Connection) -> None:
    """Run no code of the file, and trust no page of it."""
    # Functions with side effects are not run from views, constraints and indexes.
    connection.execute("PRAGMA trusted_schema = OFF")
    # Finds cells that end outside of their page when the page is read.
    connection.execute("PRAGMA cell_size_check = ON")
    # No trigger runs, and no foreign key acts: lshdb has none.
    connection.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 0)


def check_contents(connection: sqlite3.Connection, path: Path, version: int) -> None:
    """Check that a file has lshdb's tables, and no code that would run with them.

    Args:
        connection: to the file.
        path: the file.
        version: its format, which another process may raise at any moment.

    Raises:
        DamagedFile: a table or view is missing, or differs from that of schema.sql.
        UnsafeFile: the file has code that lshdb would run.
        sqlite3.Error: to be translated by the caller.
    """
    (page_size,) = connection.execute("PRAGMA page_size").fetchone()
    if path.stat().st_size % page_size and not has_log(path):
        # SQLite reads the rest of a page as zeros.
        raise DamagedFile(f"{path} is damaged: it is cut short; restore it from a copy")
    before = connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST)
    try:
        for fault in faults(connection, range(version, newest_format() + 1)):
            if fault.refusal is not None:
                error = UnsafeFile if fault.unsafe else DamagedFile
                raise error(f"{path}{fault.refusal}")
        connection.execute(sql.WHOLE_SETTINGS).fetchone()
    except sqlite3.DataError as error:
        raise DamagedFile(f"{path} has settings that are too long") from error
    finally:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, before)


def faults(connection: sqlite3.Connection, versions: range) -> Iterator[Fault]:
    """How a file's tables, indexes, views and triggers differ from those of its format.

    Args:
        connection: to the file.
        versions: the formats that it may have. All tables of the first must exist.
    """
    own = _expected(versions[0])
    missing = dict(own)
    for kind, name, text in _present(connection):
        if own.get(name) == (kind, text):
            missing.pop(name, None)
            continue
        key, tokens = _key(name), _tokens(text)
        named = _after(tokens, kind) if tokens[:1] == ("create",) and kind in tokens[1:3] else ""
        if not named or named != key:
            what = f"the definition of {name!r} is of something else"
            yield Fault(what, False, f": {what}: {_ADVICE}")
        elif key in own:
            missing.pop(key, None)
            made = [_expected(version).get(key, ("", ""))[1] for version in versions]
            if all(_form(tokens) != _form(_tokens(one)) for one in made):
                what, remade = f"{kind} {name}", kind == own[key][0] == "view"
                yield Fault(
                    f"{what} differs", remade, f": {what} is not as lshdb made it: {_ADVICE}"
                )
        elif danger := _danger(connection, kind, name, tokens, own):
            yield Fault(danger, False, f": {danger}: drop it, or do not trust it", True)
    for name, (kind, _) in missing.items():
        refusal = None if kind == "index" else f" lacks {name}: restore it from a copy"
        # Documents and settings cannot be derived from anything else.
        yield Fault(f"{kind} {name} is missing", name not in ("documents", "settings"), refusal)


def make_missing(connection: sqlite3.Connection, version: int) -> int:
    """Create missing tables, indexes and views, and views that differ.

    Within the caller's transaction, for a file whose `faults` are all creatable.

    Returns:
        How many.
    """
    present = {_key(name): text for _, name, text in _present(connection)}
    made = 0
    for name, (kind, statement) in _expected(version).items():
        if name in present:
            if kind != "view" or _form(_tokens(present[name])) == _form(_tokens(statement)):
                continue
            connection.execute(f"DROP VIEW {name}")  # a name of schema.sql
        connection.execute(statement)
        made += 1
    return made


def _present(connection: sqlite3.Connection) -> list[tuple[str, str, str]]:
    """Type, name and definition of the file's objects, except indexes of constraints."""
    rows = connection.execute(sql.SCHEMA).fetchall()
    return [
        (_text(kind), _text(name), _text(made)) for kind, name, made in rows if made is not None
    ]


@cache
def _expected(version: int) -> Schema:
    """The tables, views and indexes of a format, in the order in which they are made."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for statement in schema_statements():
            connection.execute(statement)
        undo_steps(connection, version)
        return {name: (kind, text) for kind, name, text in _present(connection)}
    finally:
        connection.close()


def _danger(
    connection: sqlite3.Connection, kind: str, name: str, tokens: Tokens, own: Schema
) -> str | None:
    """The code of a foreign table, index, view or trigger that would run; None if there is none."""
    tables = {one for one, (of, _) in own.items() if of == "table"}
    if kind == "trigger" and _on(tokens) in own:
        return f"{name!r} is a trigger on {_on(tokens)}"
    if kind == "index" and _on(tokens) in tables and not _is_plain(tokens):
        return f"{name!r} is an index on more than columns of {_on(tokens)}"
    if kind == "table" and "references" in tokens and _acts(connection, name, tables):
        return f"{name!r} has a foreign key that acts on changes of lshdb's tables"
    return None


def _tokens(text: str) -> Tokens:
    """The words and signs of SQL. Quoted names stay quoted, so that they are not keywords."""
    # Not compiled if all definitions are known: that takes longer than opening a file.
    found = re.findall(
        r"""--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|\w+|\S""",
        text,
        re.DOTALL,
    )
    return tuple(
        token if token[0] in "'\"`[" else token.lower()
        for token in found
        if not token.startswith(("--", "/*"))
    )


def _key(name: str) -> str:
    """A name as SQLite compares it, without its quotes."""
    if len(name) > 1 and name[0] in "\"'`[":
        name = name[1:-1].replace(name[0] * 2, name[0])
    return "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in name)


def _after(tokens: Tokens, word: str) -> str:
    """The name after a keyword; empty if there is none."""
    at = tokens.index(word) + 1 if word in tokens else len(tokens)
    return _key(tokens[at]) if at < len(tokens) else ""


def _on(tokens: Tokens) -> str:
    """The table of an index or a trigger."""
    return _after(tokens, "on")


def _form(tokens: Tokens) -> Form:
    """The form that two equal definitions have in common."""
    outside: list[str] = []
    items: list[list[str]] = [[]]
    depth = 0
    view = tokens[1] == "view"
    for place, token in enumerate(tokens):
        depth -= token == ")"
        if view or depth == 0:
            # ALTER TABLE quotes the name.
            outside.append(_key(token) if place == 2 else token)
        elif depth == 1 and token == ",":
            items.append([])
        else:
            items[-1].append(token)
        depth += token == "("
    return tuple(outside), frozenset(map(tuple, items))


def _is_plain(tokens: Tokens) -> bool:
    """Whether an index is on plain columns: no expression, no condition, no collation."""
    at = tokens.index("on") + 2
    inside = tokens[at + 1 : -1]
    return tokens[at] == "(" and tokens[-1] == ")" and not {"(", ")", "collate"} & set(inside)


def _acts(connection: sqlite3.Connection, name: str, tables: set[str]) -> bool:
    """Whether a table has a foreign key to one of lshdb's that does more than check."""
    # As BLOBs: the connection of a check gives texts as bytes.
    keys = connection.execute(
        'SELECT CAST("table" AS BLOB), on_update = ?1 AND on_delete = ?1 '
        "FROM pragma_foreign_key_list(?2)",
        ("NO ACTION", name),
    )
    return any(_key(of.decode("utf-8", "replace")) in tables and not idle for of, idle in keys)


def _text(value: object) -> str:
    """A text of the file, which may be damaged."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")
