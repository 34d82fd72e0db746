"""A file as pages read it: it cannot be changed, and they wait for it for some seconds only."""

from pathlib import Path

from lshdb.database import Database, store_of
from lshdb.store.store import Store

TIMEOUT = 5.0
"""Seconds that a page waits for a locked file."""


def opened(path: Path, timeout: float = TIMEOUT, beside: Database | None = None) -> Database:
    """A file that is read-only for the system too, as another handle `beside` it sees it."""
    store = None if beside is None else store_of(beside)
    return Database(Store.open(path, "read", timeout, beside=store, sealed=True))
