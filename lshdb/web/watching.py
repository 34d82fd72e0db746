"""Whether a database file has changed, so that what takes long is made again only then."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import lshdb
from lshdb.database import Database

Version: TypeAlias = tuple[int, int]
"""Which handle told it, and the data_version that it told."""

TIMEOUT: Final = 5.0
"""Seconds that a page waits for a file that is locked."""


@dataclass(frozen=True, slots=True)
class _Handle:
    number: int
    database: Database


class Watch:
    """Keeps one handle of each file open, all in one thread: only there may they be used.

    Numbers of SQLite's `data_version` can be compared only if one connection has told both.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "lshdb-watch")
        self._handles: dict[Path, _Handle] = {}
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
        try:
            return self._told(path)
        except lshdb.StoreError:
            # The handle may be of a file, or of a log, that is no longer there.
            if path not in self._handles:
                raise
        self._close(path)
        return self._told(path)

    def _told(self, path: Path) -> Version:
        handle = self._handles.get(path)
        if handle is None:
            database = lshdb.open(path, mode="read", timeout=TIMEOUT)
            self._opened += 1
            handle = self._handles[path] = _Handle(self._opened, database)
        return handle.number, handle.database.data_version()

    def _close(self, path: Path) -> None:
        self._handles.pop(path).database.close()

    def _close_all(self) -> None:
        for path in list(self._handles):
            with suppress(lshdb.LshdbError):
                self._close(path)
