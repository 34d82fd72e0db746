"""Files that are written whole under their names, or not at all."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, Self

from lshdb.read import compression
from lshdb.store import partial_files

STDOUT = "-"


def is_stdout(path: str) -> bool:
    """Whether an output is standard output."""
    return path in (STDOUT, "/dev/stdout")


def is_stream(path: str) -> bool:
    """Whether an output is written as it comes: standard output, a pipe or a device."""
    if is_stdout(path) or path.startswith(("/dev/stderr", "/dev/fd/")):
        return True
    return os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))


@dataclass(eq=False)
class Output:
    """A file to be written, compressed by its suffix, or standard output. A context manager.

    Writes to a file beside it, NAME.N.lshdb.partial, which takes its name at the end: an
    interrupted job leaves no file that looks complete. A device or a pipe is written directly.

    Attributes:
        path: the file's path; `-` or /dev/stdout is standard output, from where it is.
        sync: whether the file survives a power cut from when it has its name.
    """

    path: str
    sync: bool = False

    def __post_init__(self) -> None:
        self._partial: partial_files.PartialFile | None = None
        suffix = compression.compression_of(self.path)
        if suffix is not None:
            compression.module_of(suffix)  # before the file is written
        if is_stdout(self.path):
            sys.stdout.flush()  # what was printed before comes first
            self._raw: BinaryIO = sys.stdout.buffer
            # A person sees each row as it is found; the console of Windows is no file of bytes.
            if sys.stdout.isatty() and os.name == "posix":
                self._raw = open(sys.stdout.fileno(), "wb", 0, closefd=False)  # noqa: SIM115
        elif is_stream(self.path):
            # Behind what is in a file that one of these names leads to.
            self._raw = open(self.path, "ab")  # noqa: SIM115  # closed by close
        else:
            if os.path.exists(self.path) and not os.access(self.path, os.W_OK):
                raise PermissionError(13, "permission denied", self.path)
            with self._named():
                self._partial = partial_files.PartialFile(self.path)
            self._raw = self._partial.file
        self._file = self._raw if suffix is None else compression.packed(self._raw, suffix)

    def __enter__(self) -> Self:
        return self

    def write(self, data: bytes) -> int:
        """Write bytes; an OSError names the file."""
        try:  # without the cost of `_named`, for millions of lines
            return self._file.write(data)
        except OSError as error:
            self._name(error)
            raise

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return self._file.closed

    def flush(self) -> None:
        """Pass buffered output to the system; a compressed file is left as it is."""
        if self._file is self._raw:
            with self._named():
                self._raw.flush()

    def close(self) -> None:
        """Close the file, and release its resources."""
        with self._named():
            if self._file is not self._raw:
                self._file.close()
            if is_stdout(self.path):
                self._raw.flush()
            else:
                self._raw.close()

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self.close()
            with self._named():
                if self._partial is not None and kind is None:
                    self._partial.take_name(sync=self.sync)
        except OSError:
            self._discard()
            if kind is None:
                raise
        else:
            if kind is not None:
                self._discard()

    def _discard(self) -> None:
        if self._partial is not None:
            self._partial.discard()

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Name the file in errors of the block."""
        try:
            yield
        except OSError as error:
            self._name(error)
            raise

    def _name(self, error: OSError) -> None:
        if not is_stdout(self.path):
            error.filename = self.path
