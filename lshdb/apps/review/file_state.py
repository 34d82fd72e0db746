"""Whether a file has changed since a result was computed."""

import os
import time
from collections.abc import Hashable
from pathlib import Path

_TICK = 50_000_000
"""Nanoseconds within which two writes may give a file the same time, with some margin."""


def stat_of(path: Path) -> tuple[tuple[int, int, int], ...]:
    """The inode, size and time of change of a database file, and those of its log."""
    states, real_path = [], os.path.realpath(path)
    for name in (real_path, f"{real_path}-wal"):
        try:
            status = os.stat(name)
        except FileNotFoundError:
            continue
        if status.st_size:  # an empty log comes and goes with readers
            states.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(states)


def state_of(path: Path) -> Hashable:
    """A value that stays equal only while a database is not written to or replaced.

    SQLite's own data_version would need a connection that stays open. A file that was written to
    just now has a state that equals no other, as another write may leave its time unchanged.

    """
    states = stat_of(path)
    just_now = any(abs(time.time_ns() - changed) < _TICK for _, _, changed in states)
    return object() if just_now else states
