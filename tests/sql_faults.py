"""Calls of SQLite that fail: the n-th of those that connections of lshdb make, for every n."""

from __future__ import annotations

import sqlite3
import threading
from typing import Any

import pytest

from lshdb.store import guard


class Faults:
    """Counts the calls of SQLite from now on, in all threads, and fails one of them.

    Attributes:
        at: the number of the call that fails; 0 for none.
        count: the calls so far.
        statement: that failed; None if none did.
        code: of SQLite, of the error that it raises.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at = self.count = 0
        self.code = sqlite3.SQLITE_IOERR
        self.statement: str | None = None
        self._lock = threading.Lock()
        faults = self

        class Failing(sqlite3.Connection):
            def execute(self, *arguments: Any) -> sqlite3.Cursor:
                faults.step(arguments[0])
                return super().execute(*arguments)

            def executemany(self, *arguments: Any) -> sqlite3.Cursor:
                faults.step(arguments[0])
                return super().executemany(*arguments)

            def rollback(self) -> None:
                if self.in_transaction:
                    faults.step("ROLLBACK")
                super().rollback()

        monkeypatch.setattr(
            guard, "Connection", type("Connection", (guard.Connection, Failing), {})
        )

    def begin(self, at: int) -> None:
        """Count from 1 again, and fail this call."""
        self.at, self.count, self.statement = at, 0, None

    def step(self, statement: str) -> None:
        """Count a call; sqlite3.OperationalError if it is the one."""
        with self._lock:
            self.count += 1
            fails = self.count == self.at
        if fails:
            self.statement = statement
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = self.code
            raise error


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    """Faults of the connections that are opened in a test."""
    return Faults(monkeypatch)
