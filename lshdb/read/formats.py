"""The formats of rows: one table of modules that read and write.

A module has `read(Input, format)` for batches of documents, and `sink(Target, TableSchema)` for a
writer.
"""

import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from os.path import splitext
from tempfile import TemporaryFile
from typing import Any, Protocol, cast

from lshdb import errors
from lshdb.columns import Columns
from lshdb.keys import with_article
from lshdb.read import batch, compression, inputs, json_rows, kinds, paths, records, sinks

KIND: Mapping[str, str] = {
    "jsonl": "json",
    "json": "json",
    "xlsx": "json",
    "csv": "csv",
    "tsv": "csv",
    "parquet": "columns",
    "arrow": "columns",
    "arrows": "columns",
}
"""The kind of each format, where `arrow` is an Arrow file and `arrows` an Arrow stream: between
formats of one kind nothing is lost. Their suffixes are in lshdb.read.paths."""
_MODULES = {
    "json": "lshdb.read.json_rows",
    "csv": "lshdb.read.csv_rows",
    "columns": "lshdb.read.arrow_rows",
}
_STREAM = ".arrows"
_OF_DATABASES = (".db", ".sqlite", ".sqlite3")
"""Suffixes under which nobody looks for rows."""
_BLOCK = 1 << 20


class RowFormat(Protocol):
    """Reads and writes files of rows."""

    def read(self, source: inputs.Input, format: str) -> Iterator[batch.Batch]:
        """The documents of a file, in batches that take a megabyte or one row.

        If rows are wanted as they were read, the first batch of a table has its head and no rows.
        """

    def sink(self, target: sinks.Target, head: batch.TableSchema | None) -> sinks.Sink:
        """A writer of rows."""


def check_one_table(rows: object) -> None:
    """UsageError for a column alone, or for several tables."""
    library, kind = type(rows).__module__.partition(".")[0], type(rows).__name__
    if library in ("pandas", "polars") and kind == "Series":
        raise errors.UsageError('a Series has no columns: give a table, series.to_frame("text")')
    if library == "datasets" and isinstance(rows, Mapping):
        first = next(iter(rows), "train")
        raise errors.UsageError(
            f"{with_article(kind)} has a table for each split: give one, such as ds[{first!r}]"
        )


def format_named(name: str) -> RowFormat:
    """The module of a format; InputError without the library that it takes."""
    kind = KIND[name]
    try:
        if kind == "columns":
            import_module("pyarrow")
        return cast(RowFormat, import_module(_MODULES[kind]))
    except ImportError as error:
        raise errors.InputError(
            f"Parquet and Arrow take pyarrow: {errors.install('arrow')}"
        ) from error


@contextlib.contextmanager
def sink(
    target: sinks.Target, head: batch.TableSchema | None, *, of_lines: bool = False
) -> Iterator[sinks.Sink]:
    """The writer of rows to a file; the end of the format is written where the context ends.

    Args:
        target: the file.
        head: of the tables that the rows are from; None if it is unknown before the rows.
        of_lines: whether the rows are JSON lines.

    Raises:
        UsageError: the format cannot have such columns.
    """
    if of_lines and KIND[target.format] != "json":
        rows: sinks.Sink = _Spooled(target)
    else:
        rows = format_named(target.format).sink(target, head)
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
    if KIND[format] == "columns":
        from lshdb.read import arrow_rows

        schema = arrow_rows.schema_of(columns)
    return batch.TableSchema(tuple(columns), schema, has_heading=has_heading)


def arrow() -> Any:
    """The module pyarrow; UsageError if it is not installed."""
    try:
        import pyarrow
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("pyarrow"):
            raise
        raise errors.UsageError(f"tables need pyarrow: {errors.install('arrow')}") from None
    return pyarrow


def output_format(path: str, default: str) -> str:
    """The format of a file to be written: by its suffix, else the default, but no JSON array.

    Raises:
        UsageError: rows cannot be written in this format, or the file is a database.
    """
    format: str = paths.format_of(path)
    if format == "text":
        if (kind := kinds.KINDS.get(kinds.kind_of(path))) and not kind.is_text:
            raise errors.UsageError(
                f"{path}: no rows are written as {kind.name}: name a file that ends in .csv, "
                ".jsonl, .parquet or .arrow"
            )
        format = "jsonl" if default in ("json", "xlsx") else default
    if format == "arrow" and path.lower().endswith(_STREAM):
        format = "arrows"
    if KIND[format] == "columns":
        if compression.compression_of(path):
            raise errors.UsageError(
                f"{path}: {format} is compressed inside: leave out the last suffix"
            )
        arrow()
    if paths.is_database(path):
        raise errors.UsageError(f"{path} is a database, and would be lost: name another file")
    if splitext(path)[1].lower() in _OF_DATABASES:
        raise errors.UsageError(
            f"{path} is the name of a database, and rows are no database: name a file that ends in "
            ".csv, .jsonl, .parquet or .arrow"
        )
    return format


class _Spooled(sinks.Sink):
    """JSON lines in a temporary file until their columns are known, then in a table."""

    def __init__(self, target: sinks.Target) -> None:
        super().__init__(target, None)
        self._target = target
        self._spool = TemporaryFile(buffering=_BLOCK, dir=target.beside)  # noqa: SIM115
        self._lines = json_rows.sink(sinks.Target(self._spool, "jsonl"), None)
        self._typed = KIND[target.format] == "columns"
        self._types: dict[str, Any] = {}

    def write(self, origin: batch.Origin, indices: Sequence[int]) -> None:
        self._lines.write(origin, indices)
        rows = [*sinks.rows_of(origin).records(indices)]
        names = dict.fromkeys(name for row in rows for name in row)
        if not self._typed:
            self._types |= names
            return
        from lshdb.read import arrow_rows

        for name in names:
            column = self._types.setdefault(name, arrow_rows.JsonColumn())
            column.add([row.get(name) for row in rows])

    def finish(self) -> None:
        schema = None
        if self._typed:
            text = arrow().string()
            types = {name: column.type for name, column in self._types.items()}
            texts = [name for name, kind in types.items() if kind is None]
            schema = arrow().schema([*(types | dict.fromkeys(texts, text)).items()])
            note = "has the text of values that no type of it has exactly"
            name = self._target.format.capitalize()
            records.note_columns(f"{name} {note}", dict.fromkeys(texts, "JSON"))
        head = batch.TableSchema(tuple(self._types), schema)
        table = format_named(self._target.format).sink(self._target, head)
        self._spool.seek(0)
        chunks = iter(partial(self._spool.read, _BLOCK), b"")
        for block in json_rows.line_blocks(chunks, sys.maxsize):
            rows = json_rows.rows_of(json_rows.lines_in(block or b""))
            numbers = range(len(rows.texts))
            table.write(batch.Origin("lines", numbers, rows), numbers)
        table.finish()
        self._spool.close()
