"""Files that are written whole under their names, or not at all."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, Self

from lshdb.read import compression
from lshdb.read.paths import descriptor_of
from lshdb.store import partial_files

STDOUT = "-"


@dataclass(eq=False)
class Output:
    """A file to be written, compressed by its suffix, or standard output. A context manager.

    Writes to a file beside it, NAME.N.lshdb.partial, which takes its name at the end: an
    interrupted job leaves no file that looks complete. A device or a pipe is written directly, and
    so is an open file such as /dev/stdout, from where it is.

    Attributes:
        path: the file's path, or `-`.
        sync: whether the file survives a power cut from when it has its name.
    """

    path: str
    sync: bool = False

    def __post_init__(self) -> None:
        self._partial: partial_files.PartialFile | None = None
        suffix = compression.compression_of(self.path)
        if suffix is not None:
            compression.module_of(suffix)  # before the file is written
        if self.path == STDOUT:
            sys.stdout.flush()  # what was printed before comes first
            self._raw: BinaryIO = sys.stdout.buffer
            # A person sees each row as it is found; the console of Windows is no file of bytes.
            if sys.stdout.isatty() and os.name == "posix":
                self._raw = open(sys.stdout.fileno(), "wb", 0, closefd=False)  # noqa: SIM115
        elif (descriptor := descriptor_of(self.path)) is not None:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
            with self._named():
                # Its position is shared: it may be at the end of a file that others write, too.
                copy = os.dup(descriptor)
            self._raw = open(copy, "wb", 0 if os.isatty(copy) else -1)  # noqa: SIM115
        elif os.path.exists(self.path) and not os.path.isfile(self.path):
            self._raw = open(self.path, "wb")  # noqa: SIM115  # closed by close
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

    def writable(self) -> bool:
        """True, as pyarrow asks."""
        return True

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
            if self.path == STDOUT:
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
        if self.path != STDOUT:
            error.filename = self.path
