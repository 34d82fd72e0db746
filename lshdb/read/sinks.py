"""What writers of all formats share: a target, and a sink for rows.

Rows come as a reader gave them, or as values. Those of a reader go out as they were if the format
stays: JSON lines and CSV byte for byte, Parquet and Arrow as record batches. Otherwise their values
go out: JSON as in metadata (lshdb.read.metadata), CSV with texts as they are and other values as
JSON, null as an empty field.
"""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from lshdb import errors, json_text
from lshdb.read import batch, outputs, records
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


class Sink:
    """Rows that are written to a file in one format."""

    def __init__(self, target: Target, head: batch.TableSchema | None) -> None:
        self._file = target.file
        self._screen = target.screen
        self._columns: Sequence[str] | None = None
        self._later = frozenset[str]()
        self._noted: set[str] = set()
        self._format = target.format
        if head is not None:
            self._begin(head)

    def _begin(self, head: batch.TableSchema) -> None:
        """Write the beginning of the format, for rows with these columns."""
        self._columns, self._later = head.columns, head.later

    def write(self, origin: batch.Origin, indices: Sequence[int]) -> None:
        """Write rows as they were read, by their indices, ascending.

        Raises:
            InputError: a table has other columns than earlier rows.
        """
        rows = rows_of(origin)
        if self._columns is None and rows.schema is not None:
            self._begin(rows.schema)
        if self._columns is not None:
            check_columns(origin.name, rows.schema, self._columns, self._later)
        self._write(rows, indices)

    def _write(self, rows: batch.Rows, indices: Sequence[int]) -> None:
        """The same, of rows with the columns of the head, if they have one."""
        raise NotImplementedError

    def put(self, rows: RowValues) -> None:
        """Write rows as they come, of a value for each column of the head."""
        raise NotImplementedError

    def _records(self, rows: batch.Rows, indices: Sequence[int]) -> Iterable[batch.Record]:
        """Rows as values; notes the columns for whose values the format has texts."""
        if isinstance(rows, records.TextRows):
            return rows.records(indices)
        values, texts = [*rows.records(indices)], dict[str, str]()
        for record in values:
            texts |= json_text.text_fields(record)
        name = self._format.removesuffix("l").upper()
        new = {column: kind for column, kind in texts.items() if column not in self._noted}
        records.note_columns(f"{name} has the exact text of some values", new)
        self._noted |= texts.keys()
        return values

    def _put_values(self, rows: batch.Rows, indices: Sequence[int]) -> None:
        """Write the values of rows of another format."""
        assert self._columns is not None, "values have the columns of a head"
        columns = self._columns
        self.put([*map(record.get, columns)] for record in self._records(rows, indices))

    def flush(self) -> None:
        """Pass buffered output to the system."""
        self._file.flush()

    def finish(self) -> None:
        """Write the end of the format; the file stays open."""

    def abandon(self) -> None:
        """Write no more."""


class LineSink(Sink):
    """Rows on lines: one without its end, as the last of a file may be, gets it before the next."""

    _newline = b"\n"
    _is_ended = True

    def _put_lines(self, lines: Iterable[bytes]) -> None:
        """Write lines, of which only the last may have no end; on a screen each at once."""
        for some in arrays.bounded(lines, len, 0 if self._screen else _AT_ONCE):
            data = b"".join(some)
            self._file.write(data if self._is_ended else self._newline + data)
            self._is_ended = data.endswith(b"\n")


def rows_of(origin: batch.Origin) -> batch.Rows:
    """The rows themselves, which the reader was asked for."""
    assert origin.rows is not None, "rows are wanted"
    return origin.rows


def check_columns(
    name: str,
    schema: batch.TableSchema | None,
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


def several_types(column: str) -> errors.UsageError:
    """The error of a column that has values of several types."""
    return errors.UsageError(
        f"column {column} has values of several types, which Parquet cannot hold: write .csv or "
        ".jsonl, or use CAST in SQL"
    )
