"""Files that take their names when they are complete, and partial files of killed commands.

A run locks the files that it will delete or rename, and the system releases the lock when the run
ends in any way. So an unlocked file is left over, even if another process has its number.
"""

import contextlib
import errno
import glob
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lshdb.errors import StoreError

try:
    import fcntl
except ImportError:  # Windows: nothing is locked, nothing cleared away
    fcntl = None  # type: ignore[assignment]

PARTIAL = ".lshdb.partial"
"""The suffix of a file, after its name and a number, until it is complete. It names the program, so
that what a killed run left is known as such."""
_PREFIX = ".lshdb-temporary-"
_BUFFER = 1 << 20


@dataclass(eq=False)
class PartialFile:
    """A new file NAME.N.lshdb.partial beside NAME, which takes that name when it is complete.

    It is locked until it is closed: others see that it is in use. What killed runs left of the same
    target is deleted: it never became complete.

    Attributes:
        private: whether only its owner may read it until it takes its name.
        target: the final name. A link stays, and leads to the new file.
        path: the name until then.
        file: the open file, for writing.
    """

    _target: str | Path
    private: bool = False

    def __post_init__(self) -> None:
        self.target = os.path.realpath(self._target)
        self.path = f"{self.target}.{os.getpid()}{PARTIAL}"
        for left in glob.glob(f"{glob.escape(self.target)}.*{PARTIAL}"):
            with contextlib.suppress(OSError), locked(left) as is_left:
                number = left[len(self.target) + 1 : -len(PARTIAL)]
                if fcntl and is_left and number.isdecimal():
                    os.unlink(left)
        mode = 0o600 if self.private else 0o666
        while True:
            self.file: BinaryIO = open(  # noqa: SIM115
                self.path, "xb", _BUFFER, opener=lambda path, flags: os.open(path, flags, mode)
            )
            _lock(self.file.fileno(), wait=True)
            # Before the lock, another run may have deleted it as left over.
            if os.path.exists(self.path):
                break
            self.file.close()

    def take_name(self, *, replace: bool = True, sync: bool = False) -> None:
        """Give the completed file its final name.

        Args:
            replace: whether to replace another file of that name, with the same permissions.
            sync: whether the file survives a power cut from then on.

        Raises:
            FileExistsError: there is another file of that name, and `replace` is false.
        """
        self.file.close()
        if replace and os.path.exists(self.target):
            os.chmod(self.path, stat.S_IMODE(os.stat(self.target).st_mode))
        if sync:
            _sync(self.path)
        if replace:
            os.replace(self.path, self.target)
        else:
            rename_new(self.path, self.target)
        if sync and os.name == "posix":  # elsewhere directories cannot be opened, and need not be
            _sync(os.path.dirname(self.target))

    def discard(self) -> None:
        """Close the file, and delete it if it has not taken its name."""
        with contextlib.suppress(OSError):
            self.file.close()
        with contextlib.suppress(OSError):
            os.unlink(self.path)


def system_directory() -> Path:
    """The system's directory for temporary files; StoreError if there is none."""
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        raise StoreError(
            "no directory for temporary files can be written: the variable TMPDIR names one"
        ) from error


@contextlib.contextmanager
def temporary_directory(beside: Path | None) -> Iterator[Path]:
    """A directory that is deleted at the end; first deletes those of killed runs there.

    Args:
        beside: the directory to make it in; None for the system's.
    """
    parent = beside or system_directory()
    for leftover in parent.glob(f"{_PREFIX}*") if fcntl else ():
        # Another user's cannot even be opened.
        with contextlib.suppress(OSError), locked(leftover) as is_left:
            if is_left and leftover.is_dir():
                shutil.rmtree(leftover, ignore_errors=True)
    while True:
        path, handle = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent)), None
        with contextlib.suppress(OSError):
            handle = os.open(path, os.O_RDONLY)
            _lock(handle, wait=True)
        # Before the lock, another run may have deleted it as left over.
        if path.is_dir():
            break
        if handle is not None:
            os.close(handle)
    try:
        yield path
    except StoreError as error:
        if str(path) not in str(error):
            raise
        raise StoreError(
            f"{error} (it is temporary: the variable TMPDIR names another directory for it)"
        ) from error
    finally:
        shutil.rmtree(path, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def rename_new(path: str, target: str) -> None:
    """Give a file a new name; FileExistsError if the name exists, also if it just came to exist.

    An existing file is never replaced or removed.
    """
    try:
        os.link(path, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from None
        os.rename(path, target)
        return
    os.unlink(path)


def _sync(path: str) -> None:
    # Windows writes out only what is open for writing; macOS leaves it to the disk, unless asked.
    descriptor = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        if hasattr(fcntl, "F_FULLFSYNC"):
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        else:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, *, wait: bool = False) -> bool:
    """Lock an open file until it is closed or the process ends; False if somebody else has.

    Args:
        descriptor: the file's.
        wait: whether to wait while another process has it locked.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except (AttributeError, OSError):
        return False
    return True


@contextlib.contextmanager
def locked(path: str | Path) -> Iterator[bool]:
    """Lock a file for this block; False if somebody else has it locked.

    Always true where there are no such locks, as on Windows, or no such file. A process that is
    forked meanwhile does not hold the lock, which ends with this process.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        yield True
        return
    process = os.getpid()
    _held.add(descriptor)
    try:
        yield fcntl is None or _lock(descriptor)
    finally:
        if os.getpid() == process:  # a child has closed its copy already
            _held.discard(descriptor)
            with contextlib.suppress(AttributeError, OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)  # also of copies in other processes
            os.close(descriptor)


_held: set[int] = set()
"""The descriptors of the files that `locked` has locked."""


def _close_in_child() -> None:
    """In a forked process: close its copies of the locked files, without unlocking them.

    A lock belongs to the open file, which both processes have: unlocking would end the parent's.
    """
    for descriptor in _held:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


@contextlib.contextmanager
def file_errors(subject: str, advice: str = "") -> Iterator[None]:
    """Raise StoreError for an error of the system, with what it is about and what to do."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StoreError(f"{subject}: {reason}{advice}") from error


def temporary_file_errors() -> contextlib.AbstractContextManager[None]:
    """`file_errors` about a temporary file."""
    subject = f"a temporary file in {system_directory()}"
    return file_errors(subject, "; TMPDIR names another directory")
