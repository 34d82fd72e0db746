"""Writers of rows as they were read.

They go out as they were if the format stays: JSON lines and CSV byte for byte, Parquet and Arrow as
record batches. Otherwise their values go out: JSON as in metadata (lshdb.read.metadata), CSV with
texts as they are and other values as JSON, null as an empty field.
"""

import contextlib
import sys
from collections.abc import Iterator, Sequence, Set
from functools import partial
from operator import attrgetter
from tempfile import TemporaryFile
from typing import Any

from lshdb import errors, json_text
from lshdb.apps.dedup.rows import ArrowRows, Rows, rows_of
from lshdb.read import csv_rows, formats, json_rows, records, sinks
from lshdb.read.batch import Origin, Record, TableSchema

_BLOCK = 1 << 20
_FORM = attrgetter("delimiter", "escape", "quoting", "columns")
"""Of the head of a table what its rows are written by."""


class RowSink:
    """Rows that are written to a file in one format.

    Args:
        target: the file.
        head: of the tables that the rows are from; None to take it from the first of them.
    """

    def __init__(self, target: sinks.Target, head: TableSchema | None) -> None:
        self._target, self._head = target, head
        self._noted: set[str] = set()
        self._sink: Any = None
        if head is not None or formats.KIND[target.format] == "json_rows":
            self._begin(head)

    def _begin(self, head: TableSchema | None) -> None:
        """Write the beginning of the format."""
        format = self._target.format
        if head is not None and formats.KIND[format] == "arrow_rows":
            from lshdb.apps.dedup.arrow_tables import writable
            from lshdb.apps.tables.arrow_files import ArrowSink

            head = writable(head, format)
            self._sink = ArrowSink(self._target, head)
        else:
            self._sink = formats.format_named(format).sink(self._target, head)
        self._head = head

    def write(self, origin: Origin, indices: Sequence[int]) -> None:
        """Write rows as they were read, by their indices, ascending.

        Raises:
            InputError: a table has other columns than earlier rows.
        """
        rows, schema = rows_of(origin), origin.schema
        if self._sink is None:
            self._begin(schema)
        columns = () if self._head is None else self._head.columns
        if self._head is not None:
            check_columns(origin.name, schema, columns, self._head.later)
        if not indices:
            return
        if isinstance(self._sink, csv_rows.CsvSink):
            if schema is not None and _FORM(schema) == _FORM(self._sink.dialect):
                self._sink.put_lines([origin.rows[index] for index in indices])
                return
        elif isinstance(self._sink, json_rows.JsonSink):
            if schema is None:  # they are JSON already
                self._sink.put_lines(rows.lines(indices))
            else:
                values = self._records(rows, indices)
                self._sink.put_lines(json_rows.json_of(record) + b"\n" for record in values)
            return
        elif isinstance(rows, ArrowRows):
            from lshdb.apps.dedup.arrow_tables import fitted

            assert self._head is not None
            self._sink.put_batches([fitted(rows.batch_of(indices), self._head.schema)])
            return
        self._sink.put([*map(record.get, columns)] for record in self._records(rows, indices))

    def put(self, rows: sinks.RowValues) -> None:
        """Write rows of a value for each column of the head."""
        self._sink.put(rows)

    def _records(self, rows: Rows, indices: Sequence[int]) -> Sequence[Record]:
        """Rows as values; notes the columns for whose values the format has texts."""
        values, texts = [*rows.records(indices)], dict[str, str]()
        if isinstance(rows, ArrowRows):
            for record in values:
                texts |= json_text.text_fields(record)
        name = self._target.format.removesuffix("l").upper()
        new = {column: kind for column, kind in texts.items() if column not in self._noted}
        records.note_columns(f"{name} has the exact text of some values", new)
        self._noted |= texts.keys()
        return values

    def flush(self) -> None:
        """Pass buffered output to the system."""
        self._target.file.flush()

    def finish(self) -> None:
        """Write the end of the format; the file stays open."""
        if self._sink is None:
            self._begin(TableSchema(()))
        self._sink.finish()

    def abandon(self) -> None:
        """Write no more."""
        if self._sink is not None:
            self._sink.abandon()


class _Spooled:
    """JSON lines in a temporary file until their columns are known, then in a table."""

    def __init__(self, target: sinks.Target) -> None:
        self._target = target
        self._spool = TemporaryFile(buffering=_BLOCK, dir=target.beside)  # noqa: SIM115
        self._lines = RowSink(sinks.Target(self._spool, "jsonl"), None)
        self._typed = formats.KIND[target.format] == "arrow_rows"
        self._types: dict[str, Any] = {}

    def write(self, origin: Origin, indices: Sequence[int]) -> None:
        self._lines.write(origin, indices)
        rows = [*rows_of(origin).records(indices)]
        names = dict.fromkeys(name for row in rows for name in row)
        if not self._typed:
            self._types |= names
            return
        from lshdb.apps.dedup.arrow_tables import JsonColumn

        for name in names:
            column = self._types.setdefault(name, JsonColumn())
            column.add([row.get(name) for row in rows])

    def flush(self) -> None:
        """Nothing is in the output before the end."""

    def finish(self) -> None:
        schema = None
        if self._typed:
            text = formats.arrow().string()
            types = {name: column.type for name, column in self._types.items()}
            texts = [name for name, kind in types.items() if kind is None]
            schema = formats.arrow().schema([*(types | dict.fromkeys(texts, text)).items()])
            note = "has the text of values that no type of it has exactly"
            name = self._target.format.capitalize()
            records.note_columns(f"{name} {note}", dict.fromkeys(texts, "JSON"))
        table = RowSink(self._target, TableSchema(tuple(self._types), schema))
        self._spool.seek(0)
        chunks = iter(partial(self._spool.read, _BLOCK), b"")
        for block in json_rows.line_blocks(chunks, sys.maxsize):
            lines = json_rows.lines_in(block or b"")
            numbers = range(len(lines))
            table.write(Origin("lines", numbers, lines), numbers)
        table.finish()
        self._spool.close()

    def abandon(self) -> None:
        """Write nothing."""


@contextlib.contextmanager
def opened(
    target: sinks.Target, head: TableSchema | None, *, of_lines: bool
) -> Iterator["RowSink | _Spooled"]:
    """The writer of rows to a file; the end of the format is written where the context ends.

    Args:
        target: the file.
        head: of the tables that the rows are from; None if it is unknown before the rows.
        of_lines: whether the rows are JSON lines.

    Raises:
        UsageError: the format cannot have such columns.
    """
    is_spooled = of_lines and formats.KIND[target.format] != "json_rows"
    rows = _Spooled(target) if is_spooled else RowSink(target, head)
    with formats.completed(rows):
        yield rows


def check_columns(
    name: str,
    schema: TableSchema | None,
    earlier: Sequence[str],
    later: Set[str] = frozenset(),
) -> None:
    """InputError if the rows of a table of this name have other columns than earlier rows.

    Columns that came later may be missing, or new.
    """
    if schema is not None and (differ := (set(schema.columns) ^ set(earlier)) - later):
        where = "these rows" if min(differ) in schema.columns else "earlier rows"
        raise errors.InputError(
            f"{name}: column {min(differ)!r} is only in {where}: -o DIRECTORY writes a file for "
            "each table, and JSON lines have both"
        )
