"""The door for what reads and writes files: modules of this room for rows, apps for documents.

`lshdb.read.kinds.KINDS` says what reads a kind. Where an app is missing, its files are named as
what they are, and not read.
"""

import contextlib
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, BinaryIO, Protocol, TypeVar, cast

from lshdb import errors, offers
from lshdb.columns import Columns
from lshdb.read import batch, compression, files, inputs, kinds, paths, sinks, walking

KIND: Mapping[str, str] = {name: kinds.KINDS[name].reader for name in kinds.ROWS.values()} | {
    "xlsx": "json_rows"  # a reader of documents makes lines of JSON of a sheet
}
"""The module of each format: between formats of one module nothing is lost."""
_OF_DATABASES = (".db", ".sqlite", ".sqlite3")
"""Suffixes under which nobody looks for rows."""
_NAMES = "a file that ends in .csv, .jsonl, .parquet or .arrow"
AnyWriter = TypeVar("AnyWriter", bound=sinks.Writer)


APP = "documents"
MISSING = f"belongs to the app {APP!r}, which is not installed"


class Reader(Protocol):
    """Reads files that the core does not: documents such as PDF and mail, and rows of spreadsheets.

    `lshdb.offers.READERS` names a class, which is made of session.SessionOptions: UsageError for
    options that are invalid. A session makes one, and sessions that are like it use the same.

    All is called in the process and thread that reads, before documents are signed, outside of any
    transaction, for one file after the other.
    """

    def in_utf8(self, source: inputs.Input, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """The chunks of a file in UTF-8, by its options or byte order mark; see Input.guessed."""

    def batches(
        self, source: inputs.Input, format: str, start: bytes
    ) -> Iterator[batch.Batch] | None:
        """The documents of a file, or the rows of the sheet `source.file.sheet` or the first one.

        Args:
            source: a regular file that is not one of other rows.
            format: `xlsx` for rows of a sheet, `text` for others.
            start: up to `kinds.PROBE` first bytes.

        Returns:
            None for a text. A file that is one document has its own key; of several each has
            `KEY#NAME` (see paths.file_of_key), and those that cannot be read are failures of a
            batch. A batch of a file that is a document has its state, with a digest of bytes that
            were read.

        Raises:
            inputs.Skipped: it is not read, with the reason.
            InputError: there are no documents, or no more, with the reason.
        """

    @staticmethod
    def lacks_library(kind: str) -> bool:
        """Whether the library that reads a kind is not installed."""


class Archives(Protocol):
    """Reads archives as directories; made of limits.Limits."""

    def member(self, path: str) -> files.Member | None:
        """The member of an archive that a path leads to, if it leads into one.

        Raises:
            InputError, OSError: the archive cannot be read.
        """

    def opened(self, member: Any) -> contextlib.AbstractContextManager[BinaryIO]:
        """The bytes of a member, also of an archive that is not the open one.

        Raises:
            InputError: it is gone or damaged, or too much of an archive is read.
        """

    def walk(self, *arguments: Any) -> walking.Walk:
        """As the class walking.Walk, of a directory or an archive, and of the archives in it."""


class RowFormat(Protocol):
    """Reads and writes files of rows; in the process and thread that reads, as a `Reader`.

    Batches take a megabyte or one row. If rows are wanted as they were read, the first batch of a
    table has its head and no rows.
    """

    def read(self, source: inputs.Input, kind: str) -> Iterator[batch.Batch]:
        """The documents of an open file of a kind in `lshdb.read.kinds.KINDS`.

        Rows that cannot be read are failures of a batch.

        Raises:
            InputError: there are no documents, or no more, with the reason.
        """

    def sink(self, target: sinks.Target, head: batch.TableSchema | None) -> sinks.Sink:
        """A writer of rows with the columns of a head; None for JSON with any."""


def format_named(name: str) -> RowFormat:
    """The module of a format; InputError without the library that it takes."""
    try:
        return cast(RowFormat, import_module(f"lshdb.read.{KIND[name]}"))
    except ImportError as error:
        raise errors.InputError(
            f"Parquet and Arrow take pyarrow: {errors.install('arrow')}"
        ) from error


def write_table(
    target: sinks.Target, columns: Columns, rows: sinks.RowValues, *, has_heading: bool = True
) -> None:
    """Write a table of results to a file; `has_heading` is whether CSV names the columns.

    Raises:
        UsageError: the format cannot have such columns.
    """
    if KIND[target.format] == "arrow_rows":
        arrow_writer(target.format)(target, columns, rows)
        return
    head = batch.TableSchema(tuple(columns), has_heading=has_heading)
    with completed(format_named(target.format).sink(target, head)) as sink:
        sink.put(rows)


@contextlib.contextmanager
def completed(rows: AnyWriter) -> Iterator[AnyWriter]:
    """A writer that is finished where the context ends, or abandoned by an error."""
    try:
        yield rows
    except BaseException:
        with contextlib.suppress(errors.LshdbError, OSError):
            rows.abandon()
        raise
    rows.finish()


def arrow() -> Any:
    """The module pyarrow; UsageError if it is not installed."""
    try:
        import pyarrow
    except ImportError as error:
        raise errors.UsageError(f"tables need pyarrow: {errors.install('arrow')}") from error
    return pyarrow


def arrow_writer(name: str) -> Any:
    """What writes results to a file of Arrow or Parquet, see `offers.WRITERS`.

    Raises:
        UsageError: its app or pyarrow is not installed.
    """
    arrow()
    return offers.offered(offers.WRITERS, name)


def output_format(path: str, default: str) -> str:
    """The format of a file to be written: by its suffix, else the default, but no JSON array.

    Raises:
        UsageError: rows cannot be written in this format, or the file is a database.
    """
    format: str = paths.format_of(path)
    if format == "text":
        if (kind := kinds.KINDS.get(kinds.kind_of(path))) and not kind.is_text:
            raise errors.UsageError(f"{path}: no rows are written as {kind.name}: name {_NAMES}")
        format = "jsonl" if default in ("json", "xlsx") else default
    if KIND[format] == "arrow_rows":
        if compression.compression_of(path):
            raise errors.UsageError(
                f"{path}: {format} is compressed inside: leave out the last suffix"
            )
        arrow_writer(format)
    if paths.is_database(path):
        raise errors.UsageError(f"{path} is a database, and would be lost: name another file")
    if path.lower().endswith(_OF_DATABASES):
        raise errors.UsageError(
            f"{path} is the name of a database, and rows are no database: name {_NAMES}"
        )
    return format


def made(name: str, options: object) -> Any:
    """A reader, see `offers.READERS`; None if its app is missing."""
    app = offers.app_of(offers.READERS[name])
    return offers.offered(offers.READERS, name)(options) if offers.is_there(app) else None


def why_unread(kind: str) -> str:
    """Why files of a kind are not read here, as their app or a library is missing; else empty."""
    name = kinds.KINDS[kind].name
    if not offers.is_there(APP):
        return f"{name}: {MISSING}"
    lacks = offers.offered(offers.READERS, "documents").lacks_library(kind)
    return f"{name}: needs {errors.install('documents')}" if lacks else ""
