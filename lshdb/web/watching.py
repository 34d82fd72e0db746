"""Whether a database file has changed, so that what takes long is made again only then."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

import lshdb
from lshdb.database import Database

Version: TypeAlias = tuple[int, int]
"""Which handle told it, and the data_version that it told."""

TIMEOUT: Final = 5.0
"""Seconds that a page waits for a file that is locked."""


class Watch:
    """Keeps one handle of each file open, all in one thread: only there may they be used.

    Numbers of SQLite's `data_version` can be compared only if one connection has told both.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "lshdb-watch")
        self._handles: dict[Path, tuple[int, Database]] = {}
        self._opened = 0

    def version(self, path: Path) -> Version:
        """What is another version after the file was changed, or replaced.

        Raises:
            StoreError: the file cannot be read, or is not lshdb's.
        """
        return self._thread.submit(self._version, path).result()

    def close(self) -> None:
        """Close all files; they are opened again when they are asked for."""
        self._thread.submit(self._close_all).result()

    def _version(self, path: Path) -> Version:
        if path in self._handles:
            number, database = self._handles[path]
            try:
                return number, database.data_version()
            except lshdb.StoreError:
                # The handle may be of a file, or of a log, that is no longer there.
                self._handles.pop(path)[1].close()
        self._opened += 1
        database = lshdb.open(path, mode="read", timeout=TIMEOUT)
        self._handles[path] = self._opened, database
        return self._opened, database.data_version()

    def _close_all(self) -> None:
        while self._handles:
            with suppress(lshdb.LshdbError):
                self._handles.popitem()[1][1].close()
