"""Opening a database file, or making one."""

import os
from pathlib import Path

from lshdb.database import Database
from lshdb.groups import takes_only
from lshdb.options import OpenOptions
from lshdb.store.store import Store
from lshdb.tuning.resolve import check_against, resolve


@takes_only(OpenOptions)
def open_database(options: OpenOptions) -> Database:
    """Open a database file; make it where there is none.

    The settings describe a new file. For an existing file, those given must be its own.

    Raises:
        UsageError: wrong arguments, or a file that was open when the process was forked.
        SettingsError: impossible settings.
        SettingsMismatch: the file exists, with other settings.
        StoreError: the file cannot be opened, or is not lshdb's.

    >>> import lshdb
    >>> with lshdb.open("fables.db", threshold=0.7, shingle="char:5") as db:
    ...     db.settings.construction
    Construction(rows=4, bands=17)
    """
    path, limits, made = options.path, options.limits, None
    if not os.path.exists(path) or not os.path.getsize(path):
        made = resolve(options)  # impossible settings are refused before SQLite writes a file
    store = Store.open(
        Path(path), options.mode, options.timeout, lambda: made or resolve(options), limits=limits
    )
    try:
        check_against(options, store.settings, store.path)
    except BaseException:
        store.close()
        raise
    return Database(store)
