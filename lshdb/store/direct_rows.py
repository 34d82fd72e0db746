"""Rows given to SQLite by compiled code, where the extra `speed` is in use.

The sqlite3 module takes each value of each row as an object of Python, which for a document takes
longer than what SQLite does with them. The compiled kernel `rows` calls the same functions of the
same library on the same connection, with values where they lie in memory.

Only documented functions of SQLite are used: which connection is the sqlite3 module's is told by
an automatic extension while it is opened. Where the library cannot be reached (it is linked into
Python, or shows no functions), there are no direct rows, and the sqlite3 module does the work.
"""

from __future__ import annotations

import ctypes
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import TracebackType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lshdb.acceleration import kernels
from lshdb.columns import SQLITE, Column, matrix
from lshdb.store.guard import Connection
from lshdb.store.statements import ManyRows

_FEWEST: Final = 32
"""Fewer rows are bound as soon as the statement is prepared here."""
_KINDS: Final = {
    sqlite3.SQLITE_CORRUPT: sqlite3.DatabaseError,
    sqlite3.SQLITE_NOTADB: sqlite3.DatabaseError,
    sqlite3.SQLITE_CONSTRAINT: sqlite3.IntegrityError,
    sqlite3.SQLITE_MISMATCH: sqlite3.IntegrityError,
    sqlite3.SQLITE_TOOBIG: sqlite3.DataError,
}
"""Which error the sqlite3 module raises; OperationalError for all others that can come here."""

_caught = threading.local()


class _Library:
    """SQLite's functions; AttributeError or OSError where they cannot be reached."""

    def __init__(self) -> None:
        # By way of the sqlite3 module, so that these are the functions that it calls itself.
        library = ctypes.CDLL(import_module("_sqlite3").__file__)

        def function(name: str, result: Any, *arguments: Any) -> Any:
            found = getattr(library, f"sqlite3_{name}")
            found.restype, found.argtypes = result, arguments
            return found

        address, number = ctypes.c_void_p, ctypes.c_int
        self.auto_extension = function("auto_extension", number, address)
        self.cancel_auto_extension = function("cancel_auto_extension", number, address)
        self.prepare = function(
            "prepare_v2", number, address, ctypes.c_char_p, number, address, address
        )
        self.finalize = function("finalize", number, address)
        self.reset = function("reset", number, address)
        self.clear_bindings = function("clear_bindings", number, address)
        self.bind_integer = function("bind_int64", number, address, number, ctypes.c_int64)
        self.error_code = function("extended_errcode", number, address)
        self.error_text = function("errmsg", ctypes.c_char_p, address)
        self.addresses = np.array(
            [
                ctypes.cast(getattr(library, f"sqlite3_{name}"), ctypes.c_void_p).value
                for name in SQLITE
            ],
            dtype=np.uint64,
        )
        kind = ctypes.CFUNCTYPE(number, address, address, address)
        self._opened = kind(_opened)  # kept: SQLite calls it by its address
        self.opened = ctypes.cast(self._opened, ctypes.c_void_p)


def _opened(handle: int, _message: int, _functions: int) -> int:
    """Called by SQLite for each connection that is opened while somebody wants to know."""
    if getattr(_caught, "handles", None) is not None:
        _caught.handles.append(handle)
    return 0


@cache
def _library() -> _Library | None:
    try:
        return _Library()
    except (AttributeError, OSError, TypeError, ImportError):
        return None


@contextmanager
def handles() -> Iterator[list[int]]:
    """The handles of the connections that this thread opens within; none where they are unknown.

    Where several threads do so at once, it may be unknown to some of them.
    """
    found: list[int] = []
    if (library := _library()) is None:
        yield found
        return
    library.auto_extension(library.opened)
    _caught.handles = found
    try:
        yield found
    finally:
        _caught.handles = None
        library.cancel_auto_extension(library.opened)


class DirectRows:
    """Runs statements with many rows on a connection. Use as a context manager, while it is open.

    Attributes:
        connection: whose transactions these are part of.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._statements: dict[str, int] = {}

    def __enter__(self) -> DirectRows:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        library = _library()
        while library is not None and self._statements:
            library.finalize(self._statements.popitem()[1])

    def are_worth(self, count: int) -> bool:
        """Whether they can be had, and are faster for so many rows."""
        return count >= _FEWEST and self.connection.handle is not None and kernels() is not None

    def run(
        self, rows: ManyRows, count: int, columns: Sequence[Column], shared: Sequence[int] = ()
    ) -> None:
        """Run a statement for `count` rows; they share the first values, integers.

        Raises:
            sqlite3.Error: as the sqlite3 module does; some rows may have been written.
        """
        self.connection.check()
        kinds, values = matrix(count, columns)
        whole = count - count % rows.at_once
        for statement, begin, end, at_once in (
            (rows.many, 0, whole, rows.at_once),
            (rows.one, whole, count, 1),
        ):
            if begin < end:
                place = begin, end, count, at_once, len(columns)
                self._run_part(statement, shared, place, kinds, values)

    def _run_part(
        self,
        statement: str,
        shared: Sequence[int],
        place: tuple[int, ...],
        kinds: npt.NDArray[np.int64],
        values: npt.NDArray[np.int64],
    ) -> None:
        library = _library()
        assert library is not None
        prepared = self._prepared(library, statement)
        for parameter, value in enumerate(shared, 1):
            library.bind_integer(prepared, parameter, value)
        code = np.zeros(1, dtype=np.int64)
        first = 1 + len(shared)
        kernels().rows(library.addresses, prepared, first, *place, kinds, values, code)
        error = self._error(library, int(code[0])) if code[0] else None
        library.reset(prepared)
        library.clear_bindings(prepared)  # what they point to may go
        if error is not None:
            raise error

    def _prepared(self, library: _Library, statement: str) -> int:
        if statement not in self._statements:
            prepared = ctypes.c_void_p()
            code = library.prepare(
                self.connection.handle, statement.encode(), -1, ctypes.byref(prepared), None
            )
            if code or prepared.value is None:
                raise self._error(library, code)
            self._statements[statement] = prepared.value
        return self._statements[statement]

    def _error(self, library: _Library, code: int) -> sqlite3.Error:
        """What the sqlite3 module would raise; the extended code is that of the last call."""
        extended = library.error_code(self.connection.handle)
        text = library.error_text(self.connection.handle).decode("utf-8", "replace")
        error = _KINDS.get(code & 0xFF, sqlite3.OperationalError)(text)
        error.sqlite_errorcode = extended if extended & 0xFF == code & 0xFF else code
        return error
