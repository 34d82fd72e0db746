"""What writers of all formats share: a target, and values that come row by row.

Values are written as JSON, in CSV texts as they are and others as JSON, null as an empty field.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from lshdb.read import outputs
from lshdb.text import arrays

_AT_ONCE = 1 << 16
"""Bytes of lines that are written at once: short lines take half the time."""
RowValues = Iterable[Sequence[object]]
"""Rows, of a value for each column."""


@dataclass(frozen=True)
class Target:
    """Where rows are written to, and how.

    Attributes:
        file: opened for writing.
        format: a name of lshdb.read.formats.
        screen: whether a terminal may show the values of `put`: control characters are escapes.
        beside: the directory of a temporary file for lines; None for the system's.
    """

    file: outputs.Output | IO[bytes]
    format: str
    screen: bool = False
    beside: Path | None = None


class Writer(Protocol):
    """Writes rows to a file in one format."""

    def flush(self) -> None:
        """Pass buffered output to the system."""

    def finish(self) -> None:
        """Write the end of the format; the file stays open."""

    def abandon(self) -> None:
        """Write no more."""


class Sink(Writer, Protocol):
    """Writes rows of values."""

    def put(self, rows: RowValues) -> None:
        """Write rows as they come, of a value for each column."""


class LineSink:
    """Rows on lines: one without its end, as the last of a file may be, gets it before the next.

    Attributes:
        screen: as that of the target.
        newline: what ends a line.
    """

    newline = b"\n"
    _is_ended = True

    def __init__(self, target: Target) -> None:
        self._file, self.screen = target.file, target.screen

    def put_lines(self, lines: Iterable[bytes]) -> None:
        """Write lines, of which only the last may have no end; on a screen each at once."""
        for some in arrays.bounded(lines, len, 0 if self.screen else _AT_ONCE):
            data = b"".join(some)
            self._file.write(data if self._is_ended else self.newline + data)
            self._is_ended = data.endswith(b"\n")

    def flush(self) -> None:
        """As Sink.flush."""
        self._file.flush()

    def finish(self) -> None:
        """As Sink.finish: lines have no end."""

    def abandon(self) -> None:
        """As Sink.abandon."""
