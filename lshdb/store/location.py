"""Where a database file is, and whether it can have one log only.

SQLite keeps the log beside the file, by the file's name. It follows symbolic links, so these are
safe. It does not know of hard links, nor of a mount of the file alone (as by
`docker -v x.db:/data/x.db`): by each name the same file has another log, and each undoes what the
other has.
"""

import contextlib
import os
import re
import stat
import sys
from pathlib import Path

from lshdb.errors import StoreError, UsageError

_MOUNTS = "/proc/self/mountinfo"
_ESCAPE = re.compile(rb"\\([0-7]{3})")
_LONGEST_PATH = 504
"""Bytes of a path that SQLite takes on Unix: 512 with those of `-journal`."""
_LONGEST_NAME = 255 - len("-journal")
"""Bytes of a name, beside which there is room for the names of SQLite's other files."""
_KINDS = {
    stat.S_ISDIR: "a directory",
    stat.S_ISFIFO: "a pipe",
    stat.S_ISSOCK: "a socket",
    stat.S_ISCHR: "a device",
    stat.S_ISBLK: "a device",
}


def located(path: Path) -> Path:
    """Where a path leads to now, without links and from the root.

    Raises:
        StoreError: the path is relative, and the current directory is gone.
    """
    try:
        return Path(os.path.realpath(path))
    except OSError as error:
        raise StoreError(
            f"{path} cannot be opened: the current directory was deleted: change to another one, "
            "or give the whole path"
        ) from error


def check_kind(path: Path) -> None:
    """StoreError if there is something else than a file, such as a pipe, which would wait."""
    try:
        mode = os.stat(path).st_mode  # a link of /proc leads to a pipe, which has no real path
    except OSError:
        return  # SQLite makes it, or says why not
    for is_kind, kind in _KINDS.items():
        if is_kind(mode):
            raise StoreError(f"{path} cannot be opened: it is {kind}")


def length_fault(real_path: Path) -> str | None:
    """Why a name is too long for a database; None if it is not."""
    if os.name != "posix":
        return None
    whole, name = len(os.fsencode(real_path)), len(os.fsencode(real_path.name))
    if whole > _LONGEST_PATH:
        return f"its whole path has {whole} bytes, and may have {_LONGEST_PATH}"
    if name > _LONGEST_NAME:
        return f"its name has {name} bytes, and may have {_LONGEST_NAME}"
    return None


def real_root(directory: str | os.PathLike[str]) -> str:
    """The real path of a root; UsageError if there is no such directory."""
    root = ""
    with contextlib.suppress(OSError, ValueError):
        root = os.path.realpath(directory)
    if not (os.fspath(directory) and os.path.isdir(root)):
        raise UsageError(f"root {os.fspath(directory)!r:.200}: no such directory")
    return root


def root_to_store(root: str, real_path: Path) -> str:
    """A real root of keys as a database stores it: the path from the real directory of its file.

    The absolute path on another drive, from where no path leads there.
    """
    with contextlib.suppress(ValueError):
        root = os.path.relpath(root, real_path.parent)
    return root.replace(os.sep, "/")


def other_names(path: Path, real_path: Path) -> tuple[str, str] | None:
    """By what a file has other names that may have logs of their own, and what to do about it.

    None if it has none.
    """
    try:
        status = os.stat(real_path)
    except OSError:
        return None
    if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
        return f"it has {status.st_nlink} names (hard links)", (
            f"delete the others (find DIRECTORY -samefile {path} lists them), or work on a copy "
            "(lshdb backup makes one)"
        )
    if _is_mounted(real_path, status):
        return "it is mounted alone, without its directory", "mount the directory instead"
    return None


def mount_points() -> list[bytes]:
    """The files and directories where something is mounted; only Linux has such a list."""
    try:
        with open(_MOUNTS, "rb") as file:  # a space is \040 there, so that it ends a field
            return [
                _ESCAPE.sub(lambda match: bytes([int(match[1], 8)]), line.split(b" ", 5)[4])
                for line in file
            ]
    except OSError:
        return []


def _is_mounted(real_path: Path, status: os.stat_result) -> bool:
    """Whether a file is a mount point, as bind mounts of single files are.

    Linux has a list of them. There devices say nothing: in an overlay, as of a container, files and
    their directory have different ones.
    """
    if sys.platform == "linux":
        return os.fsencode(real_path) in mount_points()
    return os.name == "posix" and status.st_dev != os.stat(real_path.parent).st_dev
