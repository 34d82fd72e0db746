"""The method of `Database` for folders."""

from collections.abc import Sequence

from lshdb.apps.folders.options import SyncOptions
from lshdb.apps.folders.sync import SyncReport
from lshdb.apps.folders.sync import sync as sync_store
from lshdb.database import Database, store_of
from lshdb.taking import takes


@takes(SyncOptions)
def sync(db: Database, directories: Sequence[str], options: SyncOptions) -> SyncReport:
    """Update the database from folders, as `lshdb sync` does.

    New text files are added, changed ones updated, and documents whose files are gone
    removed; a document whose file was moved gets the new key, and keeps its doc_id. Only
    documents that were read from files below the directories are touched.

    Raises:
        InputError: a directory does not exist, or most of its files are gone, as if it was
            not mounted (see `remove_most`); nothing is removed.
        UsageError: a path is not a directory, or the database holds sets.

    >>> import lshdb
    >>> from pathlib import Path
    >>> Path("notes").mkdir()
    >>> _ = Path("notes/fox.txt").write_text("The fox and the grapes")
    >>> with lshdb.open("fables.db") as db:
    ...     first = db.sync(["notes"])
    ...     _ = Path("notes/fox.txt").rename("notes/grapes.txt")
    ...     second = db.sync(["notes"])
    >>> first.added, second.added, second.moved
    (1, 0, 1)
    """
    return sync_store(store_of(db), directories, options)
