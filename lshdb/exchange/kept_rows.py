"""The files whose rows are deduplicated, and those that the kept ones are written to."""

import os
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from lshdb.errors import InputError, UsageError
from lshdb.options import WalkingOptions
from lshdb.sources import formats, outputs, readers, sinks, walking
from lshdb.sources.batch import Origin
from lshdb.sources.paths import format_of, is_database, printable_path


@dataclass(frozen=True, slots=True)
class Table:
    """A file of rows, or standard input.

    Attributes:
        path: the file's.
        name: from the directory that it was found in, else without its directory.
    """

    path: str
    name: str


def find_tables(
    paths: Iterable[str], rules: WalkingOptions, skipped_files: walking.SkippedFiles
) -> list[Table]:
    """The named tables, and the files of directories that are tables by their suffix.

    Raises:
        UsageError: a database.
        InputError, OSError: a file or directory that cannot be read, or has no table in it.
    """
    found = []
    for path in paths:
        if path == outputs.STDOUT or not os.path.isdir(path):
            check_readable(path)
            found.append(Table(path, os.path.basename(path)))
            continue
        inside = []
        for entry in walking.walk(path, rules, skipped_files):
            if isinstance(entry, tuple):
                raise entry[1]
            if format_of(entry.path) != "text":
                check_readable(entry.path)
                inside.append(Table(entry.path, os.path.relpath(entry.path, path)))
            else:
                skipped_files.add("texts", entry.path, "not a table by its suffix")
        if not inside:
            raise InputError(
                f"{printable_path(path)}: no table in it: none of its files ends in .jsonl, .csv, "
                ".parquet or .arrow"
            )
        found += inside
    return found


def check_readable(path: str) -> None:
    """Raise an error for a missing file or a database, before anything is written."""
    if path == outputs.STDOUT:
        return
    if not os.path.isfile(path):
        os.stat(path)
    elif is_database(path):
        raise UsageError(
            f"{printable_path(path)} is a database: dedup reads tables and texts; -d names a "
            "database to compare with"
        )


def targets(tables: Sequence[Table], directory: str) -> list[str]:
    """The output files in a directory, one per table; UsageError if two have the same name."""
    seen: dict[str, str] = {}
    for table in tables:
        if table.path == outputs.STDOUT:
            raise UsageError(f"standard input has no name for a file in {directory}")
        if table.name in seen:
            raise UsageError(
                f"{seen[table.name]} and {table.path} would both go to "
                f"{os.path.join(directory, table.name)}"
            )
        seen[table.name] = table.path
    return [os.path.join(directory, table.name) for table in tables]


def checked_format(path: str, default: str) -> str:
    """The format of a file to be written (see `output_format`); UsageError for a terminal."""
    format = formats.output_format(path, default)
    if formats.KIND[format] == "columns" and path == outputs.STDOUT and sys.stdout.isatty():
        raise UsageError(f"{format} is not for a terminal: name a file with -o")
    return format


@dataclass(eq=False)
class KeptRows:
    """Writes kept rows to one file, or one per table. Use as a context manager.

    The files get their names at the end, if nothing failed.

    Attributes:
        paths: the tables that the rows are from.
        output: the file for all rows, or one for each table.
        reader: of the tables.
        beside: the directory of a temporary file; None for the system's.
        keep, warn: as for Output.

    Raises:
        UsageError, InputError: these rows cannot go there.
    """

    paths: Sequence[str]
    output: str | Sequence[str]
    reader: readers.Reader
    beside: Path | None = None
    keep: bool = False
    warn: Callable[[str], None] = lambda _: None

    def __post_init__(self) -> None:
        self._is_one = isinstance(self.output, str)
        self._outputs = [self.output] if isinstance(self.output, str) else self.output
        self._numbers = {printable_path(path): i for i, path in enumerate(self.paths)}
        self._formats = [
            checked_format(output, self.reader.format_of(path))
            for output, path in zip(self._outputs, self.paths, strict=False)
        ]
        # Also reads the heads for a directory: a wrong table is refused before anything is written.
        format = self._formats[0] if self._is_one else "jsonl"
        self._head = self.reader.common_head(self.paths, format)
        self._writers = self._opened()

    def __enter__(self) -> Self:
        self._now, (self._output, self._rows) = 0, next(self._writers)
        return self

    @property
    def same_format(self) -> bool:
        """Whether rows go out as they came, in lines or rows of CSV."""
        came = {*map(self.reader.format_of, self.paths)}
        return len(came) == 1 and came == {*self._formats} <= {"jsonl", "csv", "tsv"}

    def write(self, origin: Origin, indices: Sequence[int]) -> None:
        """Write some rows of a table."""
        while not self._is_one and self._now < self._numbers[origin.name]:
            self._now, (self._output, self._rows) = self._now + 1, next(self._writers)
        self._rows.write(origin, indices)
        self._output.filled |= bool(indices)

    def flush(self) -> None:
        """Pass buffered output to the system."""
        self._rows.flush()

    def _opened(self) -> Generator[tuple[outputs.Output, sinks.Sink]]:
        """Each output in turn, also those without rows; the next ends the one before."""
        with ExitStack() as files:
            for path, source, format in zip(self._outputs, self.paths, self._formats, strict=False):
                head = self._head
                if not self._is_one:
                    if os.path.isfile(source):
                        head = self.reader.head(source)
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                output = files.enter_context(outputs.Output(path, self.keep, self.warn))
                target = sinks.Target(output, format, beside=self.beside)
                of_lines = formats.KIND[self.reader.format_of(source)] == "json"
                # What a database already has stays, with its end.
                with formats.sink(target, head, of_lines=of_lines, keep=self.keep) as rows:
                    yield output, rows
                output.close()

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if error is None:
            for _rest in self._writers:
                pass
        else:
            with suppress(type(error)):
                self._writers.throw(error)
