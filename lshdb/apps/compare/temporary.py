"""A database for one job."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from lshdb.database import Database
from lshdb.limits import DEFAULTS
from lshdb.maintain.resolve import resolve
from lshdb.options import SettingsOptions
from lshdb.sketch.settings import Settings
from lshdb.write.temporary import temporary_store


@contextmanager
def temporary_database(
    settings: Settings | None = None, root: str | None = None
) -> Iterator[Database]:
    """An empty database that is deleted at the end.

    Args:
        settings: None for the default ones.
        root: the directory that keys of files are relative to; None for the current one.
    """
    settings = settings or resolve(SettingsOptions())
    with temporary_store(settings, DEFAULTS, root=root or os.path.realpath(os.curdir)) as store:
        yield Database(store)
