"""Whether two paths lead to one file: a link to it, a mount, `d/a.txt` and `./d/a.txt`.

What moves, removes or compares files asks here, for names alone do not say it.
"""

import hashlib
import io
import os
import stat
from collections.abc import Sequence
from itertools import pairwise
from typing import IO, cast

from lshdb.store import location


def new_hash() -> hashlib.blake2b:
    """The hash of a file's bytes: BLAKE2b, 16 bytes."""
    return hashlib.blake2b(digest_size=16)


def digest_of(file: IO[bytes]) -> bytes:
    """The digest of the bytes of an open file from where it is."""
    return hashlib.file_digest(cast(io.BufferedReader, file), new_hash).digest()


def may_repeat(paths: Sequence[str]) -> bool:
    """Whether inputs may lead to a file twice.

    Directories that are apart do not, if they are in one mount and have none below them: links in
    a directory are not followed. Then no file needs to be remembered.
    """
    if not all(map(os.path.isdir, paths)):
        return len(paths) > 1
    starts = sorted(os.fsencode(os.path.join(os.path.realpath(path), "")) for path in paths)
    if any(inner.startswith(outer) for outer, inner in pairwise(starts)):
        return True
    points = [os.path.join(point, b"") for point in location.mount_points()]
    if any(point.startswith(start) and point != start for point in points for start in starts):
        return True
    return len({max(filter(start.startswith, points), default=b"") for start in starts}) > 1


class FilesRead:
    """The files that were read so far, where one may be reached again by another path.

    Args:
        before: files that were read elsewhere, such as those of a reference.

    Attributes:
        before: the same.
        is_needed: whether files are to be remembered, even where no path repeats.
    """

    def __init__(self, before: "FilesRead | None" = None) -> None:
        self.before = before
        self._paths: dict[object, str] = {}
        self.is_needed = before is not None
        if before is not None:
            before.is_needed = True

    def earlier(
        self, path: str, archive: str | None = None, *, remember: bool = True
    ) -> str | None:
        """The path by which the same file was read before; None if it was not.

        Args:
            path: of the file.
            archive: the path of the archive that the file is a member of.
            remember: whether a regular file counts as read from now on.
        """
        identity = _identity(path, archive)
        if identity is None:
            return None
        inside = 0 if archive is None else len(path) - len(archive)
        for files in (self.before, self):
            other = None if files is None else files._paths.get(identity)
            # A file may be gone, and a new one have its inode.
            if other and is_same_file(archive or path, other[: len(other) - inside]):
                return other
        if remember:
            self._paths[identity] = path
        return None

    def forget(self, path: str, archive: str | None = None) -> None:
        """Forget a file that was not read in the end."""
        self._paths.pop(_identity(path, archive), None)


def _identity(path: str, archive: str | None) -> object:
    """A value that all paths of one file share; None if it is not a regular file.

    Two hard links have an inode in common, but not a real path.
    """
    try:
        status = os.stat(archive or path)
        if not stat.S_ISREG(status.st_mode):
            return None
        identity: object = status.st_dev << 64 | status.st_ino
        if status.st_nlink > 1 or status.st_ino == 0:
            identity = os.path.realpath(archive or path)
    except (OSError, ValueError):  # gone, or no path at all
        return None
    return identity if archive is None else (identity, path[len(archive) :])


def is_same_file(path: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether two paths lead to one regular file, of which there is only one copy.

    The real paths are equal; or the file has one name only, so that another path with its device
    and inode is a mount of its directory. Two hard links are two files: each can be removed alone.
    An inode of 0, as of some network file systems, says nothing.
    """
    try:
        status, other_status = os.stat(path), os.stat(other)
        if not (stat.S_ISREG(status.st_mode) and stat.S_ISREG(other_status.st_mode)):
            return False
        if os.path.realpath(path) == os.path.realpath(other):
            return True
        return status.st_nlink == 1 and status.st_ino != 0 and os.path.samefile(path, other)
    except (OSError, ValueError):  # one is gone, or no path at all
        return False
