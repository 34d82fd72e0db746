"""Archives, ZIP and tar, as directories of files: their members are read where they are.

Nothing is written under a name that an archive gives. A packed tar is unpacked into memory, or a
file without a name, so that its members can be read in any order; PDF and the like are copied to a
temporary file for the programs that read them. Archives in archives are binary files.

Bytes are counted as they are read, whatever an archive says of its sizes.
"""

import contextlib
import io
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from shutil import copyfileobj
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, cast
from weakref import finalize
from zlib import crc32

from lshdb.errors import InputError, LshdbError
from lshdb.limits import Limits
from lshdb.read import compression, walking
from lshdb.read.paths import archive_of, is_archive

_Listed = Iterator[tuple[str, int, bool, Callable[[], Any]]]
"""Of members: name, size, whether it is a regular file, and what opens it."""


_IS_UTF8 = 1 << 11
"""The flag of a name in a ZIP file that is UTF-8."""


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive; see lshdb.read.files.Member. Walking asks it as an os.DirEntry.

    Attributes:
        name: its path in the archive.
        path: the same from the path of the archive.
        archive: the path of that.
        status: its size, and the times, device and inode of the archive.
        open: opens it, or raises InputError.
    """

    name: str
    path: str
    archive: str
    status: os.stat_result
    open: Callable[[], Any]

    def is_dir(self) -> bool:
        """Whether it is a directory: these are only in the names of files."""
        return False

    is_symlink = is_dir

    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return stat.S_ISREG(self.status.st_mode)

    def inode(self) -> int:
        """A number that no file has."""
        return 0

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:  # noqa: ARG002
        """As of a file."""
        return self.status


class Archives:
    """Reads archives, of which one is open at a time; see lshdb.read.formats.Archives.

    Args:
        limits: `largest_archive` is for what is unpacked of one, `archive_contents` for its list of
            members.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._stack = contextlib.ExitStack()
        self._read: tuple[str, int] | None = None
        self._members: dict[str, Member] = {}
        self._left = 0
        finalize(self, self._stack.close)

    def members(self, archive: str) -> dict[str, Member]:
        """The files in an archive, by name and path; of equal names the last, as if unpacked.

        Raises:
            InputError, OSError: it cannot be read.
        """
        status = os.stat(archive)
        time = status.st_mtime_ns
        if self._read != (archive, time):
            self._read = None
            self._stack.close()
            with _reported():
                members = sorted(self._listed(archive, status), key=attrgetter("name"))
                self._members = {member.path: member for member in members}
            self._read, self._left = (archive, time), self._limits.largest_archive
        return self._members

    def member(self, path: str) -> Member | None:
        """See lshdb.read.formats.Archives."""
        archive = archive_of(path)
        return None if archive is None else self.members(archive).get(path)

    def walk(self, *arguments: Any) -> "_Walk":
        """See lshdb.read.formats.Archives."""
        walk = _Walk(*arguments)
        walk.archives = self
        return walk

    @contextlib.contextmanager
    def opened(self, member: Member) -> Iterator[BinaryIO]:
        """See lshdb.read.formats.Archives; an archive is opened again if another one is open."""
        if self._members.get(member.path) is not member:
            now = self.members(member.archive).get(member.path)
            if now is None:
                raise InputError("no such file or directory")
            member = now
        with _reported():
            file = member.open()
        bounded = _Bounded(file, self._left)
        try:
            with file, io.BufferedReader(bounded) as stream:
                yield cast(BinaryIO, stream)
        finally:
            self._left = bounded.left

    def _listed(self, archive: str, archive_status: os.stat_result) -> Iterator[Member]:
        lower = archive.lower()
        file: Any = self._stack.enter_context(open(archive, "rb"))  # noqa: SIM115
        if suffix := ".gz" if lower.endswith(".tgz") else compression.compression_of(archive):
            spool = SpooledTemporaryFile(self._limits.largest_row)  # noqa: SIM115
            self._stack.callback(spool.close)
            with compression.unpacked(file, suffix) as stream:
                copyfileobj(_Bounded(stream, self._limits.largest_archive), spool)
            spool.seek(0)
            file = spool
        bounded = _Bounded(file, self._limits.archive_contents)
        for stored_name, size, is_file, opener in (_zip if lower.endswith(".zip") else _tar)(
            bounded
        ):
            parts = stored_name.replace("\\", "/").split("/")
            name = path = "/".join(part for part in parts if part not in ("", ".", ".."))
            if stored_name.startswith("/") or ".." in parts or "\0" in stored_name:
                path, opener = stored_name, partial(_refuse, "its name leads out of the archive")
            mode = stat.S_IFREG if is_file else stat.S_IFIFO
            _, *which_file = archive_status[:4]  # inode, device and hard links
            # SQLite has no larger sizes.
            about = (mode, *which_file, 0, 0, min(size, sys.maxsize), 0, 0, 0)
            times = {name: getattr(archive_status, name) for name in ("st_mtime_ns", "st_ctime_ns")}
            status = os.stat_result(about, times)
            yield Member(name, f"{archive}/{path}", archive, status, opener)
        bounded.left = sys.maxsize  # what is read of members is counted by itself


class _Walk(walking.Walk):
    """A walk in a directory or an archive that reads archives, but none in archives."""

    archives: Archives

    def is_directory(self, entry: walking.Entry) -> bool:
        """Whether an entry is a directory or an archive."""
        is_packed = not isinstance(entry, Member) and is_archive(entry.path) and entry.is_file()
        return is_packed or super().is_directory(entry)

    def listed(self, path: str, rules: walking.Rules) -> tuple[list[walking.Entry], walking.Rules]:
        """The entries of a directory or an archive, in which no ignore file is read."""
        if not (is_archive(path) and os.path.isfile(path)):
            return super().listed(path, rules)
        entries: list[Any] = [*self.archives.members(path).values()]
        if not entries:
            self._skipped.add("empty", path, "it has no files")
        return entries, rules


class _Bounded(io.RawIOBase):
    """A stream of which a limited number of bytes is read.

    Attributes:
        left: how many more.
    """

    def __init__(self, file: Any, left: int) -> None:
        self._file, self.left = file, left

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, origin: int = 0) -> int:
        return int(self._file.seek(offset, origin))

    def readinto(self, buffer: Any) -> int:
        with _reported():
            count: int = self._file.readinto(memoryview(buffer)[: self.left + 1])
        self.left -= count
        if self.left < 0:
            raise InputError("its archive has too much in it: unpack it, and leave parts out")
        return count


def _zip(file: Any) -> _Listed:
    from zipfile import ZipFile  # most commands read no archive

    archive = ZipFile(file)
    for member in archive.infolist():
        name = _name_in_zip(member)
        if not name.endswith(("/", "\\")):
            opener: Callable[[], Any] = partial(archive.open, member)
            if member.flag_bits & 1:
                opener = partial(_refuse, "encrypted: it asks for a password")
            is_file = stat.S_IFMT(member.external_attr >> 16) in (0, stat.S_IFREG)
            yield name, member.file_size, is_file, opener


def _name_in_zip(member: Any) -> str:
    """The name of a member of a ZIP file, which says whether it is UTF-8.

    If it says no, the name is that of its Unicode Path field (APPNOTE 4.6.9), which counts if it
    was made for this name, or UTF-8 nevertheless, as of macOS, or else in code page 437.
    """
    if member.flag_bits & _IS_UTF8:
        return str(member.filename)
    name = member.orig_filename.encode("cp437")
    checksum = crc32(name).to_bytes(4, "little")
    if field := re.search(rb"(?s)up(..)\x01" + re.escape(checksum), member.extra):
        size = int.from_bytes(field[1], "little")
        name = member.extra[field.end() : field.end(1) + size]
    try:
        return str(name.decode())
    except UnicodeDecodeError:
        return str(member.filename)


def _tar(file: Any) -> _Listed:
    from tarfile import BLOCKSIZE, TarFile

    archive = TarFile(fileobj=file)
    for member in archive:
        if not member.isdir():
            opener = partial(archive.extractfile, member)
            yield member.name, member.size, member.isreg() and not member.issparse(), opener
    file.seek(archive.offset)
    if file.read(BLOCKSIZE).strip(b"\0"):  # tarfile passes over the rest
        raise InputError("damaged, or not all of it")


def _refuse(reason: str) -> None:
    raise InputError(reason)


@contextlib.contextmanager
def _reported() -> Iterator[None]:
    """InputError for whatever the libraries raise about files of strangers."""
    try:
        yield
    except (LshdbError, OSError):
        raise
    except Exception as error:
        raise InputError(f"damaged, or of an unknown kind ({error!s:.200})") from error
