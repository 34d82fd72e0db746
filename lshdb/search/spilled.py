"""What does not fit in memory: a temporary file that worker processes read too."""

import os
from tempfile import TemporaryFile
from typing import Any

from lshdb.store.partial_files import temporary_file_errors

CAN_SHARE = hasattr(os, "pread")
"""Whether a worker process can read the file."""


class Spool:
    """A temporary file of bytes. A worker process gets all but the file, whose descriptor it has.

    Attributes:
        descriptor: of the file.
        size: how many bytes there are.
    """

    def __init__(self) -> None:
        """Make the file."""
        with temporary_file_errors():
            self._file = TemporaryFile()  # noqa: SIM115
        self.descriptor = self._file.fileno()
        self.size = 0

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_file"}

    def close(self) -> None:
        """Delete the file."""
        self._file.close()

    def append(self, data: bytes | memoryview) -> int:
        """Write bytes behind the others; where they begin."""
        begin = self.size
        with temporary_file_errors():
            self._file.write(data)
            self._file.flush()
        self.size += memoryview(data).nbytes
        return begin

    def __getitem__(self, part: slice) -> bytes:
        """The bytes between two offsets, both given."""
        begin, size = part.start, part.stop - part.start
        if CAN_SHARE:
            return os.pread(self.descriptor, size, begin)
        self._file.seek(begin)
        data = self._file.read(size)
        self._file.seek(self.size)
        return data
