"""What a killed command leaves behind, and how another run knows that nobody uses it any more.

A run keeps a lock on what it will delete or rename, and the system takes the lock away when the
run ends in whatever way. So what is not locked is left over, also where a process has its number.
"""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

try:
    import fcntl
except ImportError:  # Windows: nothing is locked, nothing cleared away
    fcntl = None  # type: ignore[assignment]

PARTIAL: Final = ".partial"
"""How a file is named, after its name and a number, until it is complete."""
_PREFIX: Final = ".lshdb-dedup-"


@contextlib.contextmanager
def temporary_directory(beside: Path | None) -> Iterator[Path]:
    """A directory that is deleted at the end, and those of killed runs in the same place now.

    Args:
        beside: the directory that it is made in; None for the system's own.
    """
    place = Path(tempfile.gettempdir()) if beside is None else beside
    _clear(place)
    while True:
        path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
        handle = _locked(path)
        # Between the two another run may have thought it left over.
        if path.is_dir():
            break
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def lock(file: BinaryIO | int) -> None:
    """Show that an open file is in use, until it is closed or the process ends."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def left_over(target: str) -> list[str]:
    """The files TARGET.NUMBER.partial that no running command writes."""
    found = []
    for path in sorted(glob.glob(f"{glob.escape(target)}.*{PARTIAL}")):
        number = path[len(target) + 1 : -len(PARTIAL)]
        if number.isdecimal() and (handle := _locked(Path(path))) is not None:
            os.close(handle)
            found.append(path)
    return found


def _clear(place: Path) -> None:
    """Delete the directories of killed runs: their databases were of no use but to them."""
    for path in place.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            own = not hasattr(os, "geteuid") or path.lstat().st_uid == os.geteuid()
            if own and path.is_dir() and (handle := _locked(path)) is not None:
                shutil.rmtree(path, ignore_errors=True)
                os.close(handle)


def _locked(path: Path) -> int | None:
    """An open, locked file or directory; None if another process has it locked."""
    if fcntl is None:
        return None
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            return None
        return handle
    return None
