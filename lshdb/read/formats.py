"""The formats of rows: modules of `lshdb.read.kinds.KINDS` that read and write."""

import contextlib
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Protocol, TypeVar, cast

from lshdb import errors
from lshdb.columns import Columns
from lshdb.read import batch, compression, kinds, paths, readers, sinks

KIND: Mapping[str, str] = {name: kinds.KINDS[name].reader for name in kinds.ROWS.values()} | {
    "xlsx": "json_rows"  # a reader of documents makes lines of JSON of a sheet
}
"""The module of each format: between formats of one module nothing is lost."""
_OF_DATABASES = (".db", ".sqlite", ".sqlite3")
"""Suffixes under which nobody looks for rows."""
_NAMES = "a file that ends in .csv, .jsonl, .parquet or .arrow"
AnyWriter = TypeVar("AnyWriter", bound=sinks.Writer)


class RowFormat(readers.Reader, Protocol):
    """Reads and writes files of rows.

    Batches take a megabyte or one row. If rows are wanted as they were read, the first batch of a
    table has its head and no rows.
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


@contextlib.contextmanager
def sink(target: sinks.Target, head: batch.TableSchema) -> Iterator[sinks.Sink]:
    """The writer of a table's rows to a file; the end of the format is written at the end.

    Raises:
        UsageError: the format cannot have such columns.
    """
    with completed(format_named(target.format).sink(target, head)) as rows:
        yield rows


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


def table_schema_of(
    columns: Columns, format: str, *, has_heading: bool = True
) -> batch.TableSchema:
    """The head of a table of results in a format."""
    schema = None
    if KIND[format] == "arrow_rows":
        from lshdb.read import arrow_rows

        schema = arrow_rows.schema_of(columns)
    return batch.TableSchema(tuple(columns), schema, has_heading=has_heading)


def arrow() -> Any:
    """The module pyarrow; UsageError if it is not installed."""
    try:
        import pyarrow
    except ImportError as error:
        raise errors.UsageError(f"tables need pyarrow: {errors.install('arrow')}") from error
    return pyarrow


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
        arrow()
    if paths.is_database(path):
        raise errors.UsageError(f"{path} is a database, and would be lost: name another file")
    if path.lower().endswith(_OF_DATABASES):
        raise errors.UsageError(
            f"{path} is the name of a database, and rows are no database: name {_NAMES}"
        )
    return format
