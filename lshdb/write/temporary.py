"""Temporary files of documents."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from lshdb.errors import TIMEOUT
from lshdb.limits import Limits
from lshdb.sketch.settings import Settings
from lshdb.store.partial_files import temporary_directory
from lshdb.store.store import Store


@contextlib.contextmanager
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
        with contextlib.closing(
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
