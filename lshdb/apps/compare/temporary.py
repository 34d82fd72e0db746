"""A database for one job."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from lshdb.database import Database
from lshdb.errors import TIMEOUT
from lshdb.limits import DEFAULTS, Limits
from lshdb.maintain.resolve import resolve
from lshdb.options import SettingsOptions
from lshdb.sketch.settings import Settings
from lshdb.store.partial_files import temporary_directory
from lshdb.store.store import Store


@contextmanager
def temporary_store(
    settings: Settings,
    limits: Limits,
    beside: Path | None = None,
    *,
    root: str,
    keys_repeat: bool = False,
) -> Iterator[Store]:
    """A file that is deleted at the end.

    Args:
        settings: of the file.
        limits: on its batches.
        beside: its directory; None for that of the system.
        root: the directory that keys of files are relative to.
        keys_repeat: whether documents are all new, though their keys may be repeated.
    """
    with temporary_directory(beside) as directory:
        path, limits = directory / "temporary.db", replace(limits, durable=False)
        with closing(
            Store.open(
                path,
                "create",
                TIMEOUT,
                lambda: settings,
                keys_repeat=keys_repeat,
                root=root,
                limits=limits,
            )
        ) as store:
            yield store


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
