"""Waiting for other writers, so that each gets its turn.

SQLite's own waiting looks ten times a second whether the file is free. Between the batches of
another writer it is free for some milliseconds: with several writers of large batches one may
wait for minutes. Here the longer one has waited the more often it looks, and one that had to wait
leaves the others a moment after its own transaction. A single writer pays next to nothing.
"""

from __future__ import annotations

import random
import sqlite3
import time
from typing import Final

from lshdb.store.guard import Connection

_FIRST_PAUSE: Final = 0.001
"""Seconds between attempts: so many times the number of the attempt, at the most what follows."""
_LONGEST_PAUSE: Final = 0.05
_SHORTEST_PAUSE: Final = 0.0005
_HALVED_AFTER: Final = 1.5
"""Seconds of waiting that halve the longest pause."""
_LONG: Final = 0.25
"""Seconds from which on a transaction is long: the next does not follow at once."""
_GAP: Final = 0.002
"""Seconds between two long ones, in which one that has waited long looks at least once."""


def begin_writing(connection: Connection) -> None:
    """Begin a write transaction when no other one is under way.

    Raises:
        sqlite3.OperationalError: SQLITE_BUSY, after the connection's timeout.
    """
    _let_others(connection)
    begun = time.monotonic()
    attempt = 0
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
                break
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
                waited = time.monotonic() - begun
                if waited >= connection.timeout:
                    raise
            attempt += 1
            longest = max(_SHORTEST_PAUSE, _LONGEST_PAUSE * 0.5 ** (waited / _HALVED_AFTER))
            pause = min(_FIRST_PAUSE * attempt, longest) * random.uniform(0.5, 1)
            time.sleep(min(pause, connection.timeout - waited))
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(connection.timeout * 1000)}")
    connection.waited = attempt > 0


def _let_others(connection: Connection) -> None:
    """Wait a moment where another may have waited for the end of the last transaction."""
    ended, took = connection.wrote
    moment = min(took, _LONGEST_PAUSE) if connection.waited else _GAP if took > _LONG else 0.0
    if moment and (rest := ended + moment - time.monotonic()) > 0:
        time.sleep(rest)
