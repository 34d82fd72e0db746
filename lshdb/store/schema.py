"""Whether the tables of a file are lshdb's own, so that no code in the file is run.

SQLite lets a file carry code: triggers, views, CHECK constraints, generated columns, indexes on
expressions, virtual tables. lshdb opens only files whose definitions with lshdb's names are those
of schema.sql, byte for byte, and in which writing lshdb's tables does nothing else: SQLite itself
says which triggers and foreign keys would act, while it prepares lshdb's statements, and which
indexes have expressions or conditions. What else sqlite_schema says may be forged, and decides
nothing. Other tables, views and indexes belong to the user; no statement of lshdb's touches them.
The connection has its own limits besides this check.

`check` reports the same faults, and its repair makes what is missing.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from lshdb.errors import DamagedFile, UnsafeFile
from lshdb.store import statements as sql
from lshdb.store.guard import has_log

FORMAT = 4
"""The version of the tables in schema.sql."""
RARE_WORDS = "rare_words"
"""The table that only files with an index of rare words have."""
_LARGEST = 1_000_000
"""Maximum bytes of the settings, and of a table's definition; larger ones are never read."""
_WRITING = (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE)


class Fault(NamedTuple):
    """A difference of a file's schema from the expected one.

    Attributes:
        what: `table bands is missing`.
        creatable: whether `make_missing` makes it; otherwise no repair is possible.
        tolerable: whether the file can be used without.
        unsafe: whether it is code that would be run.
    """

    what: str
    creatable: bool = False
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


def check_contents(connection: sqlite3.Connection, path: Path) -> None:
    """Check that a file has lshdb's tables, and no code that would run with them.

    Raises:
        DamagedFile: a table or view is missing, or differs from that of schema.sql.
        UnsafeFile: the file has code that lshdb would run.
        sqlite3.Error: to be translated by the caller.
    """
    (page_size,) = connection.execute(sql.PAGE_SIZE).fetchone()
    if path.stat().st_size % page_size and not has_log(path):
        # SQLite reads the rest of a page as zeros.
        raise DamagedFile(f"{path} is damaged: it is cut short; restore it from a copy")
    before = connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST)
    try:
        for fault in faults(connection):
            if fault.unsafe:
                raise UnsafeFile(f"{path}: {fault.what}: drop it, or do not trust the file")
            if not fault.tolerable:
                raise DamagedFile(f"{path}: {fault.what}: restore it from a copy")
        connection.execute(sql.WHOLE_SETTINGS).fetchone()
    except sqlite3.DataError as error:
        raise DamagedFile(f"{path} has settings or definitions that are too long") from error
    finally:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, before)


def faults(connection: sqlite3.Connection) -> Iterator[Fault]:
    """How a file's tables, indexes and views differ from lshdb's, and what else would run."""
    own = definitions(has_rare_words(connection))
    whole = True
    for place, is_view, same in connection.execute(sql.OWN_SCHEMA, (json.dumps(own),)):
        kind, name, _ = own[place]
        if same:
            continue
        whole = False
        if same is None:
            # Documents and settings cannot be derived from anything else, and SQLite makes the
            # tables of the full-text one.
            derived = name not in ("documents", "settings") and not name.startswith(RARE_WORDS)
            yield Fault(f"{kind} {name} is missing", derived, kind == "index")
        else:
            yield Fault(f"{kind} {name} differs", kind == "view" and bool(is_view))
    (count,) = connection.execute(sql.COUNT_DEFINITIONS).fetchone()
    if whole and count == len(own):
        return  # there is nothing else that could run
    for danger in _dangers(connection, own, whole):
        yield Fault(danger, unsafe=True)


def make_missing(connection: sqlite3.Connection) -> int:
    """Create missing tables, indexes and views, and views that differ.

    Within the caller's transaction, for a file whose `faults` are all creatable.

    Returns:
        How many.
    """
    own = definitions(has_rare_words(connection))
    made = 0
    for place, _, same in connection.execute(sql.OWN_SCHEMA, (json.dumps(own),)).fetchall():
        _, name, statement = own[place]
        if same == 0:
            connection.execute(f"DROP VIEW {name}")  # a name of schema.sql
        if not same:
            connection.execute(statement)
            made += 1
    return made


def has_rare_words(connection: sqlite3.Connection) -> bool:
    """Whether a file has an index of rare words."""
    return connection.execute(sql.HAS_RARE_WORDS).fetchone() is not None


@cache
def definitions(reworded: bool = False) -> list[tuple[str, str, str]]:
    """Type, name and text of the tables, views and indexes of a new file, in their order.

    `reworded`: those of the index of rare words, too.
    """
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        loader: Any = __spec__.loader  # the package may be a zip, as Spark ships it
        for name in ("schema.sql", "rare_words.sql")[: 1 + reworded]:
            connection.executescript(loader.get_data(str(Path(__file__).with_name(name))).decode())
        return connection.execute(sql.SCHEMA).fetchall()


def _dangers(
    connection: sqlite3.Connection, own: list[tuple[str, str, str]], whole: bool
) -> Iterator[str]:
    """What would run besides lshdb's statements when these write; each in words.

    `whole`: all of lshdb's tables are there, so that each statement must be possible.
    """
    for table, name in connection.execute(sql.INDEXES_WITH_CODE, (json.dumps(own),)).fetchall():
        yield f"{_text(name)!r} is an index on more than columns of {_text(table)}"
    acts: list[tuple[str | None, str | None]] = []

    def note(action: int, table: str | None, _: object, __: object, trigger: str | None) -> int:
        if trigger is not None or action in _WRITING:
            acts.append((table, trigger))
        return sqlite3.SQLITE_OK

    found: dict[str, None] = {}
    connection.set_authorizer(note)
    try:
        rare = sql.WRITES_RARE_WORDS if RARE_WORDS in {name for _, name, _ in own} else ()
        for statement in (*sql.WRITES, *rare):
            acts.clear()
            try:
                connection.executemany(statement, ())  # prepares it, and runs it for no row
            except sqlite3.DatabaseError as error:
                code = error.sqlite_errorcode
                # SQLITE_AUTH: a name that is not UTF-8, with which `note` cannot be called.
                if code not in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_AUTH):
                    raise
                if whole or code == sqlite3.SQLITE_AUTH:
                    found[f"what would run when lshdb writes is wrong ({error})"] = None
            for table, trigger in acts:
                if trigger is not None:
                    found[f"{trigger!r} is a trigger on {acts[0][0]}"] = None
                elif table != acts[0][0]:
                    found[f"{table!r} has a foreign key that acts on changes of lshdb's tables"] = (
                        None
                    )
    finally:
        connection.set_authorizer(None)
    yield from found


def _text(value: str | bytes) -> str:
    """A name of the file, which may be damaged."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
