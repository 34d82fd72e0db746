"""What the tables of a file must be, so that nothing that is written in the file is run.

SQLite lets a file carry code: triggers, views, CHECK constraints, generated columns, indexes on
expressions, virtual tables. lshdb takes only files whose tables, views and index of lshdb's names
are those of schema.sql, word for word, and refuses what would be run when these are read or
written: triggers on them, foreign keys that act when their rows change, indexes on more than
plain columns. Other tables, views and indexes are their owner's; no statement of lshdb's touches
them. The limits of the connection hold beside this check.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from lshdb.errors import DamagedFile, UnsafeFile
from lshdb.store.guard import has_log
from lshdb.store.statements import SELECT_SETTINGS

_LARGEST: Final = 1_000_000
"""Bytes of the settings, and of a table's definition; SQLite is not even asked for larger ones."""
_ADVICE: Final = "do not trust it, or restore it from a copy"

Form = tuple[tuple[str, ...], frozenset[tuple[str, ...]]]
"""A definition without blanks, comments and the order of columns: what is outside of the
parentheses, and what is between the commas within."""


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
    """Run nothing of what the file may hold beside data, and trust no page of it."""
    # Functions with side effects are not run from views, constraints and indexes.
    connection.execute("PRAGMA trusted_schema = OFF")
    # A cell that ends outside of its page is found when the page is read.
    connection.execute("PRAGMA cell_size_check = ON")
    # No trigger runs, and no foreign key that acts: lshdb has none.
    connection.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 0)


def check_contents(connection: sqlite3.Connection, path: Path, *, older: bool) -> None:
    """See that a file of lshdb's has its tables, and nothing that would be run with them.

    Args:
        connection: to the file.
        path: the file.
        older: whether it is of an older format, of which tables may lack columns.

    Raises:
        DamagedFile, UnsafeFile: it is not so.
        sqlite3.Error: to be translated by the caller.
    """
    (page_size,) = connection.execute("PRAGMA page_size").fetchone()
    if path.stat().st_size % page_size and not has_log(path):
        # SQLite takes the rest of a page for zeros.
        raise DamagedFile(f"{path} is damaged: it is cut short; restore it from a copy")
    before = connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST)
    try:
        _check_schema(connection, path, older)
        connection.execute(SELECT_SETTINGS).fetchone()
    except sqlite3.DataError as error:
        raise DamagedFile(f"{path} has settings that are far too long") from error
    finally:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, before)


def _check_schema(connection: sqlite3.Connection, path: Path, older: bool) -> None:
    """See that the file has lshdb's tables, and that nothing else would be run with them.

    Raises:
        DamagedFile: a table or view is missing, or another than that of schema.sql.
        UnsafeFile: the file has code of its own where lshdb would run it.
        sqlite3.Error: to be translated by the caller.
    """
    own = _own()
    missing = {name for name, text in own.items() if not text.startswith("CREATE INDEX")}
    for kind, name, of, text in connection.execute(
        "SELECT type, name, tbl_name, sql FROM sqlite_schema"
    ):
        if not all(isinstance(value, str) for value in (kind, name, of)):
            raise DamagedFile(f"{path} has a table without a name: {_ADVICE}")
        if text is None:
            continue  # the index of a UNIQUE column or of a primary key
        if own.get(name) == text:
            missing.discard(name)
            continue
        tokens = _tokens(str(text))
        named = _after(tokens, kind) if tokens[:1] == ("create",) and kind in tokens[1:3] else ""
        if named != _key(name):
            raise DamagedFile(f"{path}: the definition of {name!r} is of something else: {_ADVICE}")
        if _key(name) in own:
            outside, items = _form(tokens)
            expected = _form(_tokens(own[_key(name)]))
            if outside != expected[0] or not (
                items <= expected[1] if older else items == expected[1]
            ):
                raise DamagedFile(f"{path}: {kind} {name} is not as lshdb made it: {_ADVICE}")
            missing.discard(_key(name))
        elif danger := _danger(connection, kind, name, tokens):
            raise UnsafeFile(f"{path}: {danger}: drop it, or do not trust it")
    if missing:
        raise DamagedFile(f"{path} lacks {', '.join(sorted(missing))}: restore it from a copy")


def danger(connection: sqlite3.Connection, kind: str, name: str, text: str) -> str | None:
    """What of a table, index, view or trigger that is not lshdb's would be run; None if nothing.

    Args:
        connection: to the file.
        kind: `table`, `index`, `view` or `trigger`.
        name: its name.
        text: what made it.
    """
    return _danger(connection, kind, name, _tokens(text))


def _danger(
    connection: sqlite3.Connection, kind: str, name: str, tokens: tuple[str, ...]
) -> str | None:
    own = _own()
    tables = {one for one, text in own.items() if text.startswith("CREATE TABLE")}
    if kind == "trigger" and _on(tokens) in own:
        return f"{name!r} is a trigger on {_on(tokens)}"
    if kind == "index" and _on(tokens) in tables and not _is_plain(tokens):
        return f"{name!r} is an index on more than columns of {_on(tokens)}"
    if kind == "table" and "references" in tokens and _acts(connection, name, tables):
        return f"{name!r} has a foreign key that acts on changes of lshdb's tables"
    return None


@cache
def _own() -> dict[str, str]:
    """The tables, views and index of schema.sql, as SQLite keeps them, by name."""
    own = {}
    for statement in schema_statements():
        text = statement[statement.index("CREATE") :].rstrip().removesuffix(";")
        own[text.split(maxsplit=3)[2]] = text
    return own


def _tokens(text: str) -> tuple[str, ...]:
    """The words and signs of SQL. Quoted names stay quoted, and so are no keywords."""
    # Not compiled where all definitions are known: that takes longer than opening a file.
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


def _after(tokens: tuple[str, ...], word: str) -> str:
    """The name that follows a keyword; empty where there is none."""
    at = tokens.index(word) + 1 if word in tokens else len(tokens)
    if tokens[at : at + 3] == ("if", "not", "exists"):
        at += 3
    return _key(tokens[at]) if at < len(tokens) else ""


def _on(tokens: tuple[str, ...]) -> str:
    """The table of an index or a trigger."""
    return _after(tokens, "on")


def _form(tokens: tuple[str, ...]) -> Form:
    """What two definitions of the same have in common."""
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


def _is_plain(tokens: tuple[str, ...]) -> bool:
    """Whether an index is of columns alone: no expression, no condition, no collation."""
    at = tokens.index("on") + 2
    inside = tokens[at + 1 : -1]
    return tokens[at] == "(" and tokens[-1] == ")" and not {"(", ")", "collate"} & set(inside)


def _acts(connection: sqlite3.Connection, name: str, tables: set[str]) -> bool:
    """Whether a table has a foreign key to one of lshdb's that does more than to check."""
    # As BLOBs: the connection of a check gives texts as bytes.
    keys = connection.execute(
        'SELECT CAST("table" AS BLOB), on_update = ?1 AND on_delete = ?1 '
        "FROM pragma_foreign_key_list(?2)",
        ("NO ACTION", name),
    )
    return any(_key(of.decode("utf-8", "replace")) in tables and not idle for of, idle in keys)
