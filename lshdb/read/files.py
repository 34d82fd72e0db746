"""A file that is read: looked at once, where its path is given or where a walk comes to it.

What moves, removes or compares files asks here whether two paths lead to one file, by a link, a
mount, or as `d/a.txt` and `./d/a.txt`: names alone do not say it.
"""

import os
import stat
import time
from _blake2 import blake2b  # where hashlib has it from, which loads OpenSSL besides
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Protocol

from lshdb.errors import InputError
from lshdb.read import paths
from lshdb.store import guard
from lshdb.store.rows import FileState

_SETTLED = 2_000_000_000
"""Nanoseconds after which a change gives a file another time, even in FAT."""
_HALF = 1 << 63
"""SQLite's integers are from minus this to below it: times of years to 2262."""
_PIECE = 1 << 16
"""Bytes that are hashed at once."""


class Member(Protocol):
    """A file in an archive, as an app reads it."""

    @property
    def archive(self) -> str:
        """The path of the archive."""

    def stat(self) -> os.stat_result:
        """Its size, and the times, device and inode of the archive."""


@dataclass(frozen=True)
class File:
    """A file or directory, or a member of an archive; or nothing, with the reason.

    Attributes:
        path: as given, or below a directory that was given; `-` for standard input.
        status: what the path leads to, before it is read; None for standard input, and for nothing.
        key: of its document, if it is one; empty where the root of keys is not known.
        is_named: whether the user named it, and not a directory that it is in.
        sheet: the name behind `#` of a sheet in a spreadsheet; else empty.
        member: in an archive; None for a file of its own.
        fault: why there is nothing to read.
        looked: when the status was asked for, in nanoseconds since 1970.
    """

    path: str
    status: os.stat_result | None = None
    key: str = ""
    is_named: bool = True
    sheet: str = ""
    member: Member | None = None
    fault: InputError | OSError | None = None
    looked: int = field(default_factory=time.time_ns)

    @property
    def place(self) -> str:
        """The file on the disk that is opened: without a sheet, and of a member the archive."""
        if self.member is not None:
            return self.member.archive
        return self.path.removesuffix(f"#{self.sheet}") if self.sheet else self.path

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory."""
        return self.status is not None and stat.S_ISDIR(self.status.st_mode)

    @property
    def is_regular(self) -> bool:
        """Whether it is a file with an end."""
        return self.status is not None and stat.S_ISREG(self.status.st_mode)

    @property
    def is_archive(self) -> bool:
        """Whether it is an archive; those in archives are binary files."""
        return self.is_regular and self.member is None and paths.is_archive(self.path)

    @property
    def identity(self) -> object:
        """A value that all paths of one file share; None if it is no regular file, or a sheet.

        Two hard links have an inode in common, but not a real path.
        """
        if self.status is None or not self.is_regular or self.sheet:
            return None
        identity: object = self.status.st_dev << 64 | self.status.st_ino
        if self.status.st_nlink > 1 or self.status.st_ino == 0:
            identity = os.path.realpath(self.place)
        return identity if self.member is None else (identity, self.path[len(self.place) :])

    def is_database(self) -> bool:
        """Whether it is an SQLite database; the log of an open one is none."""
        if self.status is None or not self.is_regular or guard.is_open(self.status, as_log=True):
            return False
        try:
            return paths.is_database(self.place, self.status)
        except OSError:
            return False  # reading it says why it cannot be read

    def state(self, extracted: str | None = None, digest: bytes | None = None) -> FileState | None:
        """What is stored of the file; None if it is not a regular one.

        Args:
            extracted: as of the state.
            digest: of its bytes.
        """
        status = self.status
        if status is None or not self.is_regular:
            return None
        # A program may set a time in the future, and no time of change.
        is_past = status.st_mtime_ns <= self.looked
        changed = status.st_mtime_ns if is_past else status.st_ctime_ns
        return FileState(
            status.st_size,
            stored_time(status.st_mtime_ns) if self.looked - changed > _SETTLED else None,
            extracted,
            stored_time(status.st_ctime_ns),
            (status.st_dev + _HALF) % (2 * _HALF) - _HALF,
            (status.st_ino + _HALF) % (2 * _HALF) - _HALF,
            digest,
        )


def stored_time(nanoseconds: int) -> int:
    """A time since 1970 as an integer that SQLite holds: the nearest of those from 1677 to 2262."""
    return min(max(nanoseconds, -_HALF), _HALF - 1)


def resolved(
    path: str,
    member_of: Callable[[str], Member | None] | None = None,
    root: str | None = None,
    key: str | None = None,
) -> File:
    """What a path leads to.

    Args:
        path: of a file, a directory, a sheet or a member of an archive, or `-`.
        member_of: finds the member of an archive by a path into that; None if nothing does.
        root: the real path of the directory that keys are relative to; None if it is not known.
        key: of a file that the user did not name; None to make it from the path.
    """
    if path == paths.STDIN:
        return File(path)
    looked = time.time_ns()
    status, member, sheet = None, None, ""
    fault: InputError | OSError | None = None
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:  # such as for a null byte
        fault = error if isinstance(error, OSError) else InputError(str(error))
        try:
            place, sheet = paths.file_and_sheet(path)
            if sheet:
                status = os.stat(place)
            elif member_of and (member := member_of(path)):
                status = member.stat()
            fault = fault if status is None else None
        except (InputError, OSError) as inner:
            fault = inner
    is_named = key is None
    if key is None and root is not None and status and not stat.S_ISDIR(status.st_mode):
        real = os.path.abspath(path)  # that of a pipe, such as /dev/fd/3, and not of its target
        if stat.S_ISREG(status.st_mode):  # as `key_of`, which would look at the file again
            directory, name = os.path.split(path)
            real = os.path.join(os.path.realpath(directory), name)
        key = paths.key_of_real(real, root)
    return File(path, status, key or "", is_named, sheet, member, fault, looked)


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

    def earlier(self, file: File) -> str | None:
        """The path by which the same file was read before; None, from now on its, if it was not."""
        if (identity := file.identity) is None:
            return None
        inside = len(file.path) - len(file.place)
        for files in (self.before, self):
            other = None if files is None else files._paths.get(identity)
            # A file may be gone, and a new one have its inode.
            if other and is_same_file(file.place, other[: len(other) - inside]):
                return other
        self._paths[identity] = file.path
        return None

    def forget(self, file: File) -> None:
        """Forget a file that was not read in the end."""
        self._paths.pop(file.identity, None)

    def is_left_out(self, path: str) -> bool:
        """Whether a real path, or a directory on the way to it, was left out on purpose."""
        while path not in self.left_out:
            path, inner = os.path.dirname(path), path
            if path == inner:
                return False
        return True


def new_hash() -> blake2b:
    """The hash of a file's bytes: BLAKE2b, 16 bytes."""
    return blake2b(digest_size=16)


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
    return is_same_file(paths.path_of_key(key, root), paths.path_of_key(other, root))
