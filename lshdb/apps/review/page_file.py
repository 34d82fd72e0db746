"""A file as pages read it: it cannot be changed, and no call takes long or needs much memory."""

from collections.abc import Sequence
from pathlib import Path

from lshdb.database import Database, store_of
from lshdb.model import Pair
from lshdb.options import PairsOptions
from lshdb.search import pairs
from lshdb.store.store import Store

TIMEOUT = 5.0
"""Seconds that a page waits for a locked file."""


def opened(path: Path, timeout: float = TIMEOUT, beside: Database | None = None) -> Database:
    """A file that is read-only for the system too, as another handle `beside` it sees it."""
    store = None if beside is None else store_of(beside)
    return Database(Store.open(path, "read", timeout, beside=store, sealed=True))


def real_path(database: Database) -> Path:
    """The file of a database, without symbolic links, as it was found when it was opened."""
    return store_of(database).real_path


def keys_containing(database: Database, text: str, searched: int, top: int) -> list[str]:
    """Up to `top` of the first `searched` keys that contain a text, whatever the case of ASCII."""
    return store_of(database).keys_containing(text, searched, top)


def byte_lengths(database: Database, keys: Sequence[str]) -> dict[str, int]:
    """The sizes of contents in bytes, by key, of those documents that are stored."""
    beginnings = store_of(database).beginnings(keys, 0)
    return {key: length for key, (_, _, length) in beginnings.items()}


def pairs_within(database: Database, keys: Sequence[str], options: PairsOptions) -> list[Pair]:
    """The similar pairs of candidates among some documents, each of which is read once."""
    return pairs.pairs_within(store_of(database), keys, options)
