"""Whether two paths lead to one file: links to it, a mount, `d/a.txt` and `./d/a.txt`.

What moves, removes or compares files asks here, for names alone do not say it.
"""

import os
import stat
from typing import IO, TYPE_CHECKING

from lshdb.sources.paths import path_of_key

if TYPE_CHECKING:
    import hashlib

_PIECE = 1 << 16
"""Bytes that are hashed at once."""


def new_hash() -> "hashlib.blake2b":
    """The hash of a file's bytes: BLAKE2b, 16 bytes."""
    import hashlib  # loads OpenSSL, which a search never needs

    return hashlib.blake2b(digest_size=16)


def digest_of(file: IO[bytes]) -> bytes:
    """The digest of the bytes of an open file from where it is."""
    hasher = new_hash()
    while data := file.read(_PIECE):  # hashlib.file_digest takes 256 KB for each small file
        hasher.update(data)
    return hasher.digest()


class FilesRead:
    """The files of a run: those that were read so far, and those that were left out on purpose.

    Args:
        before: files that were read elsewhere, such as those of a reference.

    Attributes:
        before: the same.
        left_out: real paths of files and directories that are hidden, ignored or excluded: no link
            makes them read.
        directories: real paths of the directories that were walked.
    """

    def __init__(self, before: "FilesRead | None" = None) -> None:
        self.before = before
        self._paths: dict[object, str] = {}
        self.left_out: set[str] = set()
        self.directories: set[str] = set()

    def earlier(self, path: str, archive: str | None = None) -> str | None:
        """The path by which the same file was read before; None, from now on that, if it was not.

        Args:
            path: of the file.
            archive: the path of the archive that the file is a member of.
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
        self._paths[identity] = path
        return None

    def forget(self, path: str, archive: str | None = None) -> None:
        """Forget a file that was not read in the end."""
        self._paths.pop(_identity(path, archive), None)

    def is_left_out(self, path: str) -> bool:
        """Whether a real path, or a directory on the way to it, was left out on purpose."""
        while path not in self.left_out:
            path, inner = os.path.dirname(path), path
            if path == inner:
                return False
        return True


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


def file_identity(path: str | os.PathLike[str]) -> object:
    """A value that all paths of one regular file share, hard links too; None for no such file.

    Device and inode; the real path where the inode is 0, as on some network file systems.
    """
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            return None
        return identity_of(status, path)
    except (OSError, ValueError):  # gone, or no path at all
        return None


def identity_of(status: os.stat_result, path: str | os.PathLike[str]) -> object:
    """What `file_identity` gives for a file with this status."""
    return (status.st_dev, status.st_ino) if status.st_ino else os.path.realpath(path)


def is_same_file(path: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether two paths lead to one regular file: deleting one of them frees no space.

    That is so of a link, a mount, and of hard links, which are documents of their own.
    """
    identity = file_identity(path)
    return identity is not None and identity == file_identity(other)


def have_one_file(key: str, other: str, root: str) -> bool:
    """Whether two keys, of files below a root, are names of one file; see `is_same_file`."""
    return is_same_file(path_of_key(key, root), path_of_key(other, root))
