"""Whether two paths lead to one file: links to it, a mount, `d/a.txt` and `./d/a.txt`.

What moves, removes or compares files asks here, for names alone do not say it.
"""

import os
import stat
from typing import IO, TYPE_CHECKING

from lshdb.read.paths import path_of_key

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
