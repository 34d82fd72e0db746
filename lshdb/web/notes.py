"""What the library says of limits while a page is made, told on that page.

`warnings.catch_warnings` changes what all threads do; pages are made in several.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from lshdb.errors import LimitWarning

_here = threading.local()
_lock = threading.Lock()
_installed = False


@contextmanager
def noted() -> Iterator[list[str]]:
    """Collect the texts of the LimitWarnings that arise in this thread."""
    _install()
    before = getattr(_here, "notes", None)
    notes: list[str] = []
    _here.notes = notes
    try:
        yield notes
    finally:
        _here.notes = before


def _install() -> None:
    """Once for the process: send LimitWarnings to the thread's list, all others where they went."""
    global _installed
    with _lock:
        if _installed:
            return
        _installed = True
    usual = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        notes: list[str] | None = getattr(_here, "notes", None)
        if notes is None or not issubclass(category, LimitWarning):
            usual(message, category, filename, lineno, file, line)
        elif str(message) not in notes:
            notes.append(str(message))

    warnings.showwarning = show
    warnings.simplefilter("always", LimitWarning)
