"""Results: rows of named columns, as text, JSON lines, CSV, or a file of its own.

A command names the columns of its rows, takes a `Form` among its parameters, and calls
`write_results`: it has every format then, with the same columns in each. Rows are written as they
come; a table on a terminal and a batch of Parquet wait for some thousands.

Text is for people: a table on a terminal, plain lines with tabs in a pipe, fewer columns and fewer
digits. Keys and contents come from anywhere: what goes to standard output has control characters
as escapes, a file has them as they are.
"""

from __future__ import annotations

import csv
import json
import math
import os
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeAlias

from lshdb.cli.files import STDOUT, Output, check_distinct
from lshdb.cli.messages import message
from lshdb.cli.options import AsCsv, AsJson, OutputFile
from lshdb.errors import UsageError
from lshdb.sources.paths import escaped

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console, ConsoleOptions
    from rich.measure import Measurement
    from rich.text import Text

Cell: TypeAlias = str | int | float | bytes | None
Columns: TypeAlias = Mapping[str, type]
"""Names and types: str, int; float, a share of 1; bool, whether `similarity` is exact; object, any
value of SQLite."""

_SUFFIXES: Final = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".parquet")
_ROW_GROUP: Final = 10
"""Batches of a row group of Parquet, 100,000 rows."""
_TABLE_ROWS: Final = 1_000
_TABLE_SECONDS: Final = 1.0
"""A long table on a terminal is printed as several: its first rows do not wait for the last."""
_LONGEST_CELL: Final = 100
_LEAST_CELL: Final = 10
"""What a text keeps, in columns of the screen, however narrow that is."""


@dataclass(frozen=True, slots=True)
class Form:
    """The options that say in which format a command gives its results.

    Raises:
        UsageError: more than one is given, or the file's suffix names no format.
    """

    as_json: AsJson = False
    as_csv: AsCsv = False
    output: OutputFile = None

    def __post_init__(self) -> None:
        if self.as_json + self.as_csv + (self.output is not None) > 1:
            raise UsageError("give one of --json, --csv and --output")
        if self.output is not None and not self.output.lower().endswith(_SUFFIXES):
            raise UsageError(f"--output {self.output}: the name must end in {', '.join(_SUFFIXES)}")

    @property
    def is_text(self) -> bool:
        """Whether results are printed for people."""
        return not (self.as_json or self.as_csv or self.output)

    @property
    def is_parquet(self) -> bool:
        """Whether results go to a file of Parquet."""
        return self.output is not None and self.output.lower().endswith(".parquet")

    def check(self, *read: str | os.PathLike[str]) -> None:
        """UsageError where the file cannot be written, before there is any work.

        Args:
            read: the databases and files that the command reads.
        """
        if self.output is None:
            return
        names = [os.fspath(path) for path in read]
        logs = [name + end for name in names if name != STDOUT for end in ("-wal", "-shm")]
        check_distinct([*names, *logs], [self.output])
        if self.is_parquet:
            from lshdb.exchange.tables import arrow

            arrow()


TEXT: Final = Form()


def write_results(
    columns: Columns,
    rows: Iterable[Sequence[Any]],
    form: Form,
    *,
    shown: Sequence[str] = (),
    unnamed: Collection[str] = (),
    separator: str = "\t",
    counted: tuple[str, str] = ("row", "rows"),
    none: str | None = None,
    batches: Callable[[], Iterator[pa.RecordBatch]] | None = None,
) -> None:
    """Write rows in the format that is asked for; a file gets its name when all is written.

    Args:
        columns: the names of the columns, and their types.
        rows: a value for each column, as they come.
        form: the format.
        shown: the columns of the text, in order; all if none is named.
        unnamed: columns that need no heading on a terminal.
        separator: between the cells of a line of text.
        counted: what rows are called where a file's are counted, one and several.
        none: the note that there is no row, instead of an empty table.
        batches: the same rows for Parquet, where they are there as columns (a quarter of the CPU
            of millions of pairs).

    Raises:
        UsageError: a column has values of several types, and Parquet is asked for.
        OSError: the file cannot be written; it names the file.
    """
    rows = iter(rows)
    if form.as_json:
        _write_json(columns, rows, sys.stdout)
    elif form.as_csv:
        _write_csv(columns, ([csv_cell(cell) for cell in row] for row in rows), sys.stdout)
    elif form.output is None:
        first = next(rows, None)
        if first is None and none is not None:
            message(none)
            return
        everything = rows if first is None else chain([first], rows)
        _write_text(columns, everything, shown or tuple(columns), unnamed, separator, first)
    else:
        with Output(form.output) as output:
            if form.is_parquet:
                count = _write_parquet(columns, rows, output, batches and batches())
            elif form.output.lower().endswith((".csv", ".csv.gz")):
                count = _write_csv(columns, rows, output)
            else:
                count = _write_json(columns, rows, output)
        message(f"{form.output}: {count:,} {counted[count != 1]}")


# JSON


def json_line(fields: Mapping[str, object]) -> None:
    """Print a JSON object on a line; in ASCII, so that nothing in it acts on a terminal."""
    _write_json(fields, [tuple(fields.values())], sys.stdout)


def _write_json(
    names: Iterable[str], rows: Iterable[Sequence[object]], file: TextIO | Output
) -> int:
    """Write an object a line; how many."""
    starts = [f"{json.dumps(name)}: " for name in names]
    count = 0
    for row in rows:
        values = [start + _json(value) for start, value in zip(starts, row, strict=True)]
        file.write(f"{{{', '.join(values)}}}\n")
        count += 1
    return count


def _json(value: object) -> str:
    if isinstance(value, bytes):
        return f'"{value.hex()}"'
    if isinstance(value, float) and math.isinf(value):
        # JSON has no infinity; this number is too large for any float, and is read as one.
        return "9e999" if value > 0 else "-9e999"
    return json.dumps(value)


# CSV


def _write_csv(
    names: Iterable[str], rows: Iterable[Sequence[object]], file: TextIO | Output
) -> int:
    """Write a heading and a row a line, but for newlines in quotes; how many rows."""
    writer = csv.writer(file, lineterminator="\n")
    count = -1
    for row in chain([names], rows):
        writer.writerow(map(_csv_value, row))
        count += 1
    return count


def csv_cell(cell: Cell) -> Cell:
    """A value as it stands in CSV: text is escaped, unless it is printable but for newlines."""
    return "\n".join(map(escaped, cell.split("\n"))) if isinstance(cell, str) else cell


def _csv_value(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes) or (isinstance(value, float) and math.isinf(value)):
        return plain(value)
    return value  # a float with all of its digits


# Parquet


def _write_parquet(
    columns: Columns,
    rows: Iterator[Sequence[object]],
    output: Output,
    batches: Iterator[pa.RecordBatch] | None,
) -> int:
    """Write row groups; how many rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from lshdb.exchange.tables import row_batches, schema_of

    kinds = list(columns.values())
    if object in kinds:
        first = list(islice(rows, _TABLE_ROWS))
        kinds = [_kind({type(row[place]) for row in first}) for place in range(len(kinds))]
        rows = _of_kinds(list(columns), kinds, chain(first, rows))
    schema = schema_of(dict(zip(columns, kinds, strict=True)), nullable=object in columns.values())
    batches = batches or row_batches(schema, rows)
    count = 0
    with output.named(), pq.ParquetWriter(output.file, schema) as writer:
        while group := list(islice(batches, _ROW_GROUP)):
            table = pa.Table.from_batches(group, schema)
            writer.write_table(table)
            count += table.num_rows
    return count


def _kind(found: set[type]) -> type:
    """The type of a column of SQL, by the types of its first values."""
    kinds = found - {type(None)}
    return float if kinds == {int, float} else next(iter(kinds), str)


def _of_kinds(
    names: Sequence[str], kinds: Sequence[type], rows: Iterable[Sequence[object]]
) -> Iterator[Sequence[object]]:
    """The rows; UsageError at a value of another type, which a column of Parquet cannot hold."""
    for row in rows:
        for name, kind, value in zip(names, kinds, row, strict=True):
            if not (value is None or type(value) is kind or (kind, type(value)) == (float, int)):
                raise UsageError(
                    f"column {name} has values of several types, which Parquet has not: "
                    "use CAST in the SQL, or write .csv or .jsonl"
                )
        yield row


# text


def _write_text(
    columns: Columns,
    rows: Iterable[Sequence[Any]],
    shown: Sequence[str],
    unnamed: Collection[str],
    separator: str,
    first: Sequence[Any] | None,
) -> None:
    """Print lines; on a terminal the heading says whether similarities are exact."""
    names = list(columns)
    headings = {name: "" if name in unnamed else name for name in shown}
    if on_terminal() and "exact" in headings:
        del headings["exact"]
        if first is not None and not first[names.index("exact")]:
            headings["similarity"] = "estimate"
    share = "{:.4f}".format if on_terminal() else "{:.6f}".format
    formats: dict[type, Callable[[Any], str]] = {
        float: share,
        bool: lambda exact: "exact" if exact else "estimate",
    }
    places = [(names.index(name), formats.get(columns[name])) for name in headings]
    cells = (
        [row[place] if text is None else text(row[place]) for place, text in places] for row in rows
    )
    table(list(headings.values()), cells, separator)


def on_terminal() -> bool:
    """Whether results go to a person's screen."""
    return sys.stdout.isatty()


def facts(fields: Mapping[str, Cell]) -> None:
    """Print names with values, one on a line."""
    width = max(map(len, fields)) + 1
    for name, value in fields.items():
        print(f"{name + ':':<{width}} {escaped(plain(value))}")


def table(names: Sequence[str], rows: Iterable[Sequence[Cell]], separator: str = "\t") -> None:
    """Print rows: tables with a heading on a terminal, else lines of plain cells."""
    if not on_terminal():
        for row in rows:
            print(separator.join([escaped(plain(cell)) for cell in row]))
        return
    waiting: list[Sequence[Cell]] = []
    begun, drawn = time.monotonic(), False
    for row in rows:
        waiting.append(row)
        if len(waiting) == _TABLE_ROWS or time.monotonic() - begun > _TABLE_SECONDS:
            _draw(names, waiting)
            waiting, begun, drawn = [], time.monotonic(), True
    if waiting or not drawn:
        _draw(names, waiting)


def _draw(names: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    """Print a table that fits the screen: numbers whole, texts share the rest."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in names:
        drawn.add_column(Text(escaped(name), no_wrap=True))
    for row in rows:
        drawn.add_row(
            *(
                _Shortened(escaped(cell))
                if isinstance(cell, str)
                else Text(plain(cell), justify="right", no_wrap=True)
                for cell in row
            )
        )
    Console(highlight=False).print(drawn)


class _Shortened:
    """A text that shows its beginning and its end where it has too little room."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        from rich.cells import cell_len
        from rich.measure import Measurement

        most = min(cell_len(self._text[:_LONGEST_CELL]), _LONGEST_CELL)
        return Measurement(min(most, _LEAST_CELL), most)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        from rich.cells import cell_len, set_cell_size
        from rich.text import Text

        text, most = self._text, options.max_width
        if len(text) > _LONGEST_CELL or cell_len(text) > most:
            size = (most - 1) // 2
            ending = text[-size:] if size else ""
            while cell_len(ending) > size:
                ending = ending[1:]
            text = f"{set_cell_size(text[:most], most - 1 - size)}\N{HORIZONTAL ELLIPSIS}{ending}"
        yield Text(text, no_wrap=True)


def plain(cell: Cell) -> str:
    """A value as the sqlite3 shell prints it in its list mode; a BLOB in hexadecimal."""
    if cell is None:
        return ""
    if isinstance(cell, bytes):
        return f"x'{cell.hex()}'"
    if isinstance(cell, float):
        if math.isinf(cell):
            return "Inf" if cell > 0 else "-Inf"
        text = format(cell or 0.0, ".15g")  # the shell shows -0.0 as 0.0
        mantissa, e, exponent = text.partition("e")
        if mantissa.lstrip("-").isdigit():
            mantissa += ".0"
        return mantissa + e + exponent
    return str(cell)
