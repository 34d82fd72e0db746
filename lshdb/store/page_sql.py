"""Limits for a statement that a page runs: its time, and the size of all values in a row.

- A thread interrupts the statement when its time is over. SQLite notices that only between two
  steps of its machine, and a step may be the call of a function. Without the thread, a recursive
  sum(length(randomblob(16000000))) ran for 60 s.
- So that a call is short, functions whose time grows with the product of two lengths refuse long
  values (two of 16 MiB would take trim days), and patterns are short. The longest call that was
  measured is a GLOB with 32 sets of characters in 16 MiB: 4.5 s.
- The values of a row have 16 MiB altogether, and so have those that calls of functions make for it.
  A row of 64 values of 16 MiB took 3 to 4.5 GB, and is in memory before Python sees its size. So
  SQLite's own limit of a value is divided by the number of values, which EXPLAIN shows. Columns of
  one stored row count once, as their sum is checked: else no page showed a document of 3 MiB with
  its key. As all calls for a row have 16 MiB, many in an expression take no longer than one.

In Datasette, which runs its SQL by itself, `limit_each` keeps the first two of these.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from threading import Event, Thread, Timer
from time import monotonic

from lshdb.errors import QueryError
from lshdb.options import Parameters, SqlValue

LARGEST_ROW = 16 << 20
"""Bytes of all values in a row."""
_COLUMNS = 64
_STORED = 8
"""Columns of one stored row that count once: lshdb's tables for reading have up to 7."""
_CALLS = frozenset(["Function", "PureFunc", "Concat", "AggStep", "AggStep1", "AggFinal"])
"""SQLite's steps that make values of others."""
_PATTERN = 100
"""Characters of a pattern."""
_PRODUCTS = (
    ("instr", 2),
    ("json_patch", 2),
    ("ltrim", 2),
    ("replace", 3),
    ("rtrim", 2),
    ("trim", 2),
    ("unhex", 2),
)
"""Functions that compare each character of one value with each of another, and their arguments."""
_MAX_PRODUCT = 1_000_000_000
"""Of the lengths of these two values: trim then takes a second."""
_REPEAT = 0.05
"""Seconds between two interrupts: one that comes between two statements has no effect."""
TOO_LONG = "it takes too long for a page; lshdb sql has no limit of time"
TOO_LARGE = (
    f"on a page the values of a row have {LARGEST_ROW >> 20} MiB altogether, and so have those "
    "that functions make for it; lshdb sql has no such limit"
)


class PageLimits:
    """The limits of one statement, from when they are made until they end.

    Attributes:
        is_over: whether the statement was interrupted.
    """

    def __init__(self, connection: sqlite3.Connection, seconds: float) -> None:
        """Set the limits on a connection that has no other use."""
        self.is_over = False
        self._connection = connection
        self._ended = Event()
        self._calls = _Calls(connection, self._stop)
        self._calls.end = monotonic() + seconds
        self._timer = Thread(target=self._interrupt, args=(seconds,), daemon=True)
        self._timer.start()

    def divide(self, statement: str, parameters: Parameters) -> None:
        """Limit the values of a statement by how many it makes for a row.

        Raises:
            QueryError: it has too many columns.
        """
        columns, values = _COLUMNS, _COLUMNS
        # What cannot be explained gives short values (EXPLAIN, PRAGMA), or is wrong and fails.
        with suppress(sqlite3.Error, sqlite3.Warning):
            steps = self._connection.execute(f"EXPLAIN {statement}", parameters).fetchall()
            columns, values = _counts(row[1:4] for row in steps)
        if columns > _COLUMNS:
            raise QueryError(
                f"SQL: too many columns: {columns}, and a page shows {_COLUMNS}; lshdb sql has no "
                "such limit"
            )
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_ROW // values)

    def check(self, row: Sequence[SqlValue]) -> None:
        """QueryError if the statement was interrupted, or a row is too large."""
        if self.is_over:
            raise QueryError(f"SQL: interrupted: {TOO_LONG}")
        size = sum(len(value) for value in row if isinstance(value, str | bytes))
        if size > LARGEST_ROW:
            raise QueryError(f"SQL: a row is too big: {TOO_LARGE}")

    def end(self) -> None:
        """Interrupt nothing any more; the connection may be closed then."""
        self._ended.set()
        self._timer.join()
        self._calls.plain.close()

    def _interrupt(self, seconds: float) -> None:
        while not self._ended.wait(seconds):
            self._stop()
            seconds = _REPEAT

    def _stop(self) -> None:
        self.is_over = True
        self._connection.interrupt()


def limit_each(connection: sqlite3.Connection, seconds: float) -> None:
    """Limit the time of each statement of a connection that another program uses.

    SQLite says when a statement begins, not when it ends: an interrupt that comes later has no
    effect. Statements that a full-text table runs within another one begin its time again.
    """

    def interrupt() -> None:
        with suppress(connection.ProgrammingError):  # it is closed
            connection.interrupt()

    calls = _Calls(connection, interrupt)
    timer = Timer(seconds, interrupt)

    def begin(_statement: str) -> None:
        nonlocal timer
        timer.cancel()
        calls.end = monotonic() + seconds
        timer = Timer(seconds, interrupt)
        timer.daemon = True
        timer.start()

    connection.set_trace_callback(begin)


class _Calls:
    """Calls of functions on a connection, which end a statement that they would make too long."""

    end = inf

    def __init__(self, connection: sqlite3.Connection, stop: Callable[[], None]) -> None:
        self.plain = sqlite3.connect(":memory:", check_same_thread=False)
        self._stop = stop
        for name, arguments in _PRODUCTS:
            call = partial(self._call, f"SELECT {name}({', '.join('?' * arguments)})")
            connection.create_function(name, arguments, call, deterministic=True)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, _PATTERN)

    def _call(self, statement: str, *values: SqlValue) -> SqlValue:
        """What SQLite's own function makes of values, unless that may take too long."""
        first, second = (len(v) if isinstance(v, str | bytes) else 1 for v in values[:2])
        if first * second > _MAX_PRODUCT or monotonic() > self.end:
            self._stop()
            return None
        result: SqlValue = self.plain.execute(statement, values).fetchone()[0]
        return result


def _counts(steps: Iterable[tuple[str, int, int]]) -> tuple[int, int]:
    """How many columns a statement has, and how many values a row has, or functions make for it.

    Args:
        steps: of SQLite's machine, as EXPLAIN shows them: what each does, and two parameters.
    """
    columns = calls = 0
    stored: defaultdict[int, set[int]] = defaultdict(set)
    for name, first, second in steps:
        if name == "ResultRow":
            columns = max(columns, second)
        elif name == "Column":
            stored[first].add(second)
        elif name == "Rowid":
            stored[first].add(-1)
        calls += name in _CALLS
    columns = columns or _COLUMNS
    largest = min(max(map(len, stored.values()), default=0), _STORED, columns)
    return columns, max(columns - largest + bool(largest), calls)
