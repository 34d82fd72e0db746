"""Opening a database file, or making one."""

import os
from functools import cache
from pathlib import Path

from lshdb import errors
from lshdb.database import Database
from lshdb.maintain.resolve import check_against, resolve, with_passages
from lshdb.options import OpenOptions
from lshdb.sketch.settings import Settings
from lshdb.store.store import Store
from lshdb.taking import takes


@takes(OpenOptions)
def open(options: OpenOptions) -> Database:  # lshdb.open
    """Open a database file; make it where there is none.

    The settings describe a new file. An existing file may have been reindexed since, so its own
    threshold, recall, bands, rows and construction are used, with a SettingsWarning where others
    are given. All other settings that are given must be its own.

    Raises:
        UsageError: wrong arguments, or a file that was open when the process was forked.
        SettingsError: impossible settings.
        SettingsMismatch: the file exists, and its documents are compared in another way: shingle,
            permutations, sketch, seed, content, base, purpose, passages, reworded or root differ,
            or with `check_settings` any setting.
        StoreError: the file cannot be opened, or is not lshdb's.

    Warns:
        SettingsWarning: the file's index has other settings than those given.

    >>> import lshdb
    >>> with lshdb.open("fables.db", threshold=0.7, shingle="char:5") as db:
    ...     db.settings.construction
    Construction(rows=4, bands=17)
    """
    database, note = opened(options)
    try:
        if note:
            errors.warn(errors.SettingsWarning(note))
    except BaseException:  # where warnings are errors
        database.close()
        raise
    return database


def opened(options: OpenOptions, made: Settings | None = None) -> tuple[Database, str]:
    """A database, and what a SettingsWarning would say; empty if there is none.

    A new file has the settings `made`, or else those of the options.
    """
    path, settings = options.path, options.settings
    make = cache(lambda: made or resolve(with_passages(settings)))
    if not os.path.exists(path) or not os.path.getsize(path):
        make()  # impossible settings are refused before SQLite writes a file
    store = Store.open(
        Path(path),
        options.mode,
        options.timeout,
        make,
        root=options.root,
        limits=options.limits,
    )
    try:
        store.check_root(options.root)
        note = check_against(settings, store.settings, store.path, whole=options.check_settings)
    except BaseException:
        store.close()
        raise
    return Database(store), note
