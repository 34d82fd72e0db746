"""Whether the tables of a file are lshdb's own, so that no code in the file is run.

SQLite lets a file carry code: triggers, views, CHECK constraints, generated columns, indexes on
expressions, virtual tables. lshdb opens only files whose definitions with lshdb's names are those
of schema.sql, byte for byte, and in which writing lshdb's tables does nothing else: SQLite itself
says which triggers and foreign keys would act, while it prepares lshdb's statements, and which
indexes have expressions or conditions. Everything else in sqlite_schema may be forged, so lshdb
does not rely on it. Other tables, views and indexes belong to the user; no statement of lshdb's
touches them. The connection has its own limits besides this check.

`check` reports the same faults, and its repair creates missing tables, indexes and views.
"""

import json
import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from functools import cache
from importlib import import_module
from itertools import chain
from typing import Any, NamedTuple

from lshdb import errors, offers
from lshdb.store import guard
from lshdb.store import statements as sql
from lshdb.store.sqlite_errors import RESTORE

FORMAT = 7
"""The version of the tables in schema.sql."""
_LARGEST = 1_000_000
"""Maximum bytes of the settings, and of a table's definition; larger ones are never read."""
_WRITING = (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE)


class Fault(NamedTuple):
    """A difference of a file's schema from the expected one.

    Attributes:
        text: the fault in words, `table bands is missing`.
        makes: the statements that repair it; empty if no repair is possible.
        tolerable: whether the file can be used without repair.
        unsafe: whether the fault is code that would be run.
    """

    text: str
    makes: tuple[str, ...] = ()
    tolerable: bool = False
    unsafe: bool = False


def seal(connection: sqlite3.Connection) -> None:
    """Run no code of the file, and trust no page of it."""
    # Functions with side effects are not run from views, constraints and indexes.
    connection.execute("PRAGMA trusted_schema = OFF")
    # Finds cells that end outside of their page when the page is read.
    connection.execute("PRAGMA cell_size_check = ON")
    # No trigger runs, and no foreign key acts: lshdb has none.
    connection.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 0)


def check_contents(connection: guard.Connection) -> None:
    """Check that a file has lshdb's tables, and no code that would run with them.

    Raises:
        DamagedFile: a table or view is missing, or differs from that of schema.sql.
        UnsafeFile: the file has code that lshdb would run.
        sqlite3.Error: to be translated by the caller.
    """
    path = connection.path
    if size := size_fault(connection):
        raise errors.DamagedFile(f"{path} is damaged: {size}; {RESTORE}")
    before = connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST)
    try:
        for fault in faults(connection):
            if fault.unsafe:
                raise errors.UnsafeFile(f"{path}: {fault.text}: drop it, or do not trust the file")
            if not fault.tolerable:
                raise errors.DamagedFile(f"{path}: {fault.text}: {RESTORE}")
        connection.execute(sql.WHOLE_SETTINGS).fetchone()
    except sqlite3.DataError as error:
        raise errors.DamagedFile(f"{path} has settings or definitions that are too long") from error
    finally:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, before)


def size_fault(connection: guard.Connection) -> str | None:
    """How the size of the file differs from that of its pages, in words; None if they are equal.

    SQLite reads the missing bytes of a page as zeros, and ignores bytes after the last page.
    While there is a log, it may have pages that the file lacks, so nothing is reported.
    """
    before = None
    while True:
        (page_size,) = connection.execute(sql.PAGE_SIZE).fetchone()
        (pages,) = connection.execute(sql.PAGE_COUNT).fetchone()
        size, expected = connection.real_path.stat().st_size, page_size * pages
        if size == expected or guard.log_size(connection.real_path):
            return None
        if (size, expected) == before:  # otherwise others may have written between the two looks
            break
        before = size, expected
    if size < expected:
        return f"it is cut short, to {size:,} of {expected:,} bytes"
    return f"{size - expected:,} bytes follow its last page"


class Definition(NamedTuple):
    """A table, view or index of lshdb's: its type, name and text, and the part that has it.

    `part` is empty for what every file has.
    """

    kind: str
    name: str
    statement: str
    part: str = ""


def faults(connection: sqlite3.Connection) -> Iterator[Fault]:
    """How a file's tables, indexes and views differ from lshdb's, and which code would run."""
    # The others need not be loaded.
    named = connection.execute(sql.NAMED_PARTS, (json.dumps(parts_there()),))
    known = definitions(tuple(part for (part,) in named))
    rows = connection.execute(sql.EXPECTED_SCHEMA, (json.dumps(known),)).fetchall()
    parts = {"", *(known[index].part for index, _, same in rows if same is not None)}
    expected = [definition for definition in known if definition.part in parts]
    whole = True
    for index, is_view, same in rows:
        kind, name, statement, part = known[index]
        if same or part not in parts:
            continue
        whole = False
        if same is None:
            # Documents and settings cannot be derived from anything else, and SQLite makes the
            # tables of a virtual one.
            derived = name not in ("documents", "settings") and part not in _virtual(known)
            tolerable = kind == "index" and name != "documents_key"  # keys would be repeated
            yield Fault(f"{kind} {name} is missing", (statement,) * derived, tolerable)
        else:
            makes = f"DROP VIEW {name}", statement  # a name of schema.sql
            yield Fault(f"{kind} {name} differs", makes if kind == "view" and is_view else ())
    (count,) = connection.execute(sql.COUNT_DEFINITIONS).fetchone()
    if whole and count == len(expected):
        return  # there is nothing else that could run
    for danger in dangers(connection, expected, writes(parts), whole):
        yield Fault(danger, unsafe=True)


def writes(parts: Collection[str]) -> tuple[str, ...]:
    """The statements that write to a file with these parts."""
    of_parts = (
        import_module(f"lshdb.apps.{offers.TABLES[part]}.statements").WRITES[part]
        for part in parts
        if part
    )
    return (*sql.WRITES, *chain.from_iterable(of_parts))


@cache
def definitions(parts: tuple[str, ...] = ()) -> list[Definition]:
    """The tables, views and indexes of a new file with these parts, in their order.

    Made once, they save two fifths of the CPU of opening a file again.
    """
    known: list[Definition] = []
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for part in ("", *parts):
            connection.executescript(_script(part))
            rows = connection.execute(sql.SCHEMA).fetchall()
            known += [Definition(kind, name, text, part) for kind, name, text in rows[len(known) :]]
    return known


def plain_tables() -> list[str]:
    """The names of the tables that a file may have, without virtual ones and what these have."""
    known = definitions(parts_there())
    virtual = _virtual(known)
    return [each.name for each in known if each.kind == "table" and each.part not in virtual]


def parts_there() -> tuple[str, ...]:
    """The parts whose apps are there."""
    return tuple(part for part, app in offers.TABLES.items() if offers.is_there(app))


def _virtual(known: Iterable[Definition]) -> set[str]:
    """The parts that have a virtual table."""
    return {each.part for each in known if each.statement.startswith("CREATE VIRTUAL")}


def make_part(connection: sqlite3.Connection, part: str) -> None:
    """Make the empty tables of a part, the core's for "", within the caller's transaction."""
    offers.check_is_there(offers.TABLES.get(part, ""), part)
    # Not executescript, which would commit the caller's transaction.
    for statement in _script(part).split(";\n")[:-1]:
        connection.execute(statement)


def _script(part: str) -> str:
    """The .sql of a part, or the core's; the package may be a zip, as Spark ships it."""
    loader: Any = __spec__.loader
    # With ./ at its start, which Path would drop.
    folder = os.path.dirname(os.path.dirname(__file__))
    parts = ("apps", offers.TABLES[part], part) if part else ("schema",)
    text: str = loader.get_data(f"{os.path.join(folder, *parts)}.sql").decode()
    return text


def dangers(
    connection: sqlite3.Connection,
    definitions_written: Sequence[tuple[str, ...]],
    statements: Iterable[str],
    whole: bool,
) -> Iterator[str]:
    """The code of the file that would run when lshdb's statements write, each piece in words.

    Args:
        connection: a connection to the file.
        definitions_written: the definitions that the statements write to, as of `definitions`.
        statements: all statements that write to them.
        whole: whether all of lshdb's tables exist, so that each statement must be possible.
    """
    written = (json.dumps(definitions_written),)
    for table, name in connection.execute(sql.INDEXES_WITH_CODE, written).fetchall():
        yield f"{name!r} is an index on more than columns of {table}"
    for (name,) in connection.execute(sql.REFERENCES_WITH_CODE, written).fetchall():
        yield f"{name!r} has a foreign key of a generated column"
    acts: list[tuple[str | None, str | None]] = []

    def note(action: int, table: str | None, _: object, __: object, trigger: str | None) -> int:
        if trigger is not None or action in _WRITING:
            acts.append((table, trigger))
        return sqlite3.SQLITE_OK

    dangers_seen: dict[str, None] = {}
    connection.set_authorizer(note)
    try:
        for statement in statements:
            acts.clear()
            try:
                connection.executemany(statement, ())  # prepares it, and runs it for no row
            except sqlite3.DatabaseError as error:
                code = error.sqlite_errorcode
                # SQLITE_AUTH: a name that is not UTF-8, with which `note` cannot be called.
                if code not in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_AUTH):
                    raise
                if whole or code == sqlite3.SQLITE_AUTH:
                    dangers_seen[f"what would run when lshdb writes is wrong ({error})"] = None
            for table, trigger in acts:
                if trigger is not None:
                    dangers_seen[f"{trigger!r} is a trigger on {acts[0][0]}"] = None
                elif table != acts[0][0]:
                    dangers_seen[
                        f"{table!r} has a foreign key that acts on changes of lshdb's tables"
                    ] = None
    finally:
        connection.set_authorizer(None)
    yield from dangers_seen
