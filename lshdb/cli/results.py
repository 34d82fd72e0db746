"""Results: rows of named columns, as text, JSON lines, CSV, or a file of its own.

A command names the columns of its rows, takes a `Form` among its parameters, and calls
`write_results` (or `write_record`, for one row): it then has every format, with the same columns in
each. Rows are written as they come; a table on a terminal and a batch of Parquet wait for some
thousands.

Text is for people: a table on a terminal, plain lines with tabs in a pipe, fewer columns and fewer
digits. Keys and contents come from anywhere: what goes to standard output has control characters
as escapes, a file has them as they are.
"""

from __future__ import annotations

import csv
import json
import math
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from itertools import chain, islice
from operator import itemgetter
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Literal,
    TextIO,
    TypeAlias,
    get_args,
    get_origin,
    get_type_hints,
)

from lshdb.cli.files import Output
from lshdb.cli.messages import message, warn
from lshdb.cli.options import Form
from lshdb.errors import UsageError
from lshdb.formatting import counted, number, shortened, worded
from lshdb.sources.paths import escaped

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.text import Text

Cell: TypeAlias = str | int | float | bytes | None
Columns: TypeAlias = Mapping[str, type]
"""Names and types: str, int, float, bool; list for JSON arrays and objects, which are JSON text in
CSV and Parquet; object for any value of SQLite or JSON. Every value may be None."""

_NESTED: Final = (list, tuple, dict)
_to_json: Final = json.JSONEncoder(default=asdict).encode
_ROW_GROUP: Final = 10
"""Batches of a row group of Parquet, 100,000 rows."""
_TABLE_ROWS: Final = 1_000
_TABLE_SECONDS: Final = 1.0
"""Rows per table on a terminal: a long table is printed in parts, without waiting for the last."""
_LONGEST_CELL: Final = 100
"""Characters of a text that a table shows, half of them from its end."""


def columns_of(kind: type) -> dict[str, type]:
    """The fields of a dataclass as columns, with their types."""
    hints = get_type_hints(kind)
    return {field.name: _column_type(hints[field.name]) for field in fields(kind)}


def fields_of(columns: Columns) -> list[str]:
    """The columns of metadata, which may have any values."""
    return [name for name, kind in columns.items() if kind is object]


def noting_absent(
    columns: Columns, rows: Iterable[Sequence[Any]], names: Iterable[str]
) -> Iterator[Sequence[Any]]:
    """The rows; a note at the end names the fields of metadata without a value in any of them."""
    order = list(columns)
    # For two documents, a.NAME and b.NAME.
    empty = {
        name: [order.index(one) for one in fields_of(columns) if f".{one}".endswith(f".{name}")]
        for name in names
    }
    found = False
    for row in rows:
        found = True
        if empty:
            empty = {
                name: places
                for name, places in empty.items()
                if all(row[place] is None for place in places)
            }
        yield row
    if found and empty:
        warn(f"lshdb: no document here has a value for {', '.join(empty)}: is the name right?")


def _column_type(hint: Any) -> type:
    if isinstance(hint, UnionType):
        hint = next(one for one in get_args(hint) if one is not NoneType)
    if get_origin(hint) is Literal:
        return str
    return hint if hint in (str, int, float, bool) else list


def write_results(
    columns: Columns,
    rows: Iterable[Sequence[Any]],
    form: Form,
    *,
    shown: Sequence[str] = (),
    separator: str = "\t",
    noun: Sequence[str] = ("row",),
    none: str | None = None,
    batches: Callable[[], Iterator[pa.RecordBatch]] | None = None,
    lines: Callable[[], Iterator[str]] | None = None,
) -> int:
    """Write rows in the requested format, and return how many; a file then gets its name.

    Args:
        columns: the names of the columns, and their types.
        rows: a value for each column, as they come.
        form: the format.
        shown: the columns of the text, in order; all if none are named.
        separator: between the cells of a line of text.
        noun: the name of a row, and of several if it does not end in s, for the count of a file.
        none: the note in place of an empty table.
        batches: the same rows for Parquet, if they exist as columns (a quarter of the CPU for
            millions of pairs).
        lines: the same as JSON lines, many at a time, if they exist so.

    Raises:
        UsageError: a column has values of several types, which Parquet cannot hold.
        OSError: the file cannot be written; it names the file.
    """
    count = 0

    def taken() -> Iterator[Sequence[Any]]:
        nonlocal count
        for row in rows:
            count += 1
            yield row

    headed = form.heading is not False
    if form.as_json:
        count = _write_json(columns, rows, sys.stdout, lines)
    elif form.as_csv:
        printable = ([csv_cell(cell) for cell in row] for row in taken())
        _write_csv(columns, printable, sys.stdout, headed)
    elif form.output is None:
        some = taken()
        first = next(some, None)
        if first is None and none is not None:
            message(none)
            return 0
        everything = some if first is None else chain([first], some)
        _write_text(columns, everything, shown or tuple(columns), separator, form.heading, first)
    else:
        with Output(form.output) as output:
            if form.is_parquet:
                count = _write_parquet(columns, taken(), output, batches and batches())
            elif form.output.lower().endswith((".csv", ".csv.gz")):
                _write_csv(columns, taken(), output, headed)
            else:
                count = _write_json(columns, rows, output, lines)
        message(f"{form.output}: {counted(count, *noun)}")
    return count


def write_record(
    record: Mapping[str, Any],
    form: Form,
    text: Mapping[str, Any] | None = None,
    types: Columns | None = None,
) -> None:
    """Write one row; as text, names with values, one on a line.

    Args:
        record: the names of the columns, with the values.
        form: the format.
        text: other names and values for text; None is left out.
        types: the types of columns whose value may be None.
    """
    if not form.is_text:
        known = types or {}
        columns = {
            name: known.get(name, _column_type(type(value))) for name, value in record.items()
        }
        write_results(columns, [tuple(record.values())], form)
        return
    shown = {name: value for name, value in (text or record).items() if value is not None}
    width = max(map(len, shown)) + 1
    for name, value in shown.items():
        print(f"{name + ':':<{width}} {escaped(plain(value))}")


# JSON


def json_line(fields: Mapping[str, object]) -> None:
    """Print a JSON object on a line; in ASCII, so that a terminal obeys nothing in it."""
    _write_json(fields, [tuple(fields.values())], sys.stdout)


def _write_json(
    names: Iterable[str],
    rows: Iterable[Sequence[object]],
    file: TextIO | Output,
    lines: Callable[[], Iterator[str]] | None = None,
) -> int:
    """Write an object a line, from the rows or as they are; how many."""
    count = 0
    if lines is not None:
        for some in lines():
            file.write(some)
            count += some.count("\n")
        return count
    fields = ", ".join(_to_json(name).replace("%", "%%") + ": %s" for name in names)
    line = f"{{{fields}}}\n"
    # Encoding each row as a dict takes half as long again.
    for row in rows:
        file.write(line % tuple([_JSON.get(type(value), _json)(value) for value in row]))
        count += 1
    return count


def _json(value: object) -> str:
    if isinstance(value, bytes):
        # As sqlite-utils and Datasette write and read it.
        return _to_json({"$base64": True, "encoded": b64encode(value).decode()})
    if isinstance(value, float) and math.isinf(value):
        # JSON has no infinity; this number is too large for any float, and is read as one.
        return "9e999" if value > 0 else "-9e999"
    return _to_json(value)


_JSON: Final[Mapping[type, Callable[[Any], str]]] = {
    str: _to_json,
    int: repr,
    float: lambda value: repr(value) if math.isfinite(value) else _json(value),
}


# CSV


def _write_csv(
    names: Iterable[str], rows: Iterable[Sequence[object]], file: TextIO | Output, headed: bool
) -> None:
    """Write a row a line, but for newlines in quotes."""
    writer = csv.writer(file, lineterminator="\n")
    if headed:
        writer.writerow(names)
    for row in rows:
        writer.writerow(map(_csv_value, row))


def csv_cell(cell: Any) -> Any:
    """A value for CSV: text is escaped unless all but its newlines are printable."""
    return "\n".join(map(escaped, cell.split("\n"))) if isinstance(cell, str) else cell


def _csv_value(value: object) -> object:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes) or (isinstance(value, float) and math.isinf(value)):
        return plain(value)
    return _flat(value)  # a float with all of its digits


def _flat(value: object) -> object:
    """A value of a cell; lists, tuples and dicts as JSON text, which is ASCII."""
    return _to_json(value) if isinstance(value, _NESTED) else value


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

    kinds = [str if kind is list else kind for kind in columns.values()]
    if list in columns.values() or object in kinds:
        rows = (list(map(_flat, row)) for row in rows)
    if object in kinds:
        first = list(islice(rows, _TABLE_ROWS))
        kinds = [_kind({type(row[place]) for row in first}) for place in range(len(kinds))]
        rows = _of_kinds(list(columns), kinds, chain(first, rows))
    schema = schema_of(dict(zip(columns, kinds, strict=True)), nullable=True)
    batches = batches or row_batches(schema, rows)
    count = 0
    with output.named(), pq.ParquetWriter(output.file, schema) as writer:
        while group := list(islice(batches, _ROW_GROUP)):
            table = pa.Table.from_batches(group).cast(schema)
            writer.write_table(table)
            count += table.num_rows
    return count


def _kind(found: set[type]) -> type:
    """The type of a column of SQL, by the types of its first values."""
    kinds = found - {NoneType}
    return float if kinds == {int, float} else next(iter(kinds), str)


def _of_kinds(
    names: Sequence[str], kinds: Sequence[type], rows: Iterable[Sequence[object]]
) -> Iterator[Sequence[object]]:
    """The rows; UsageError at a value of another type than its column of Parquet."""
    for row in rows:
        for name, kind, value in zip(names, kinds, row, strict=True):
            if not (value is None or type(value) is kind or (kind, type(value)) == (float, int)):
                raise UsageError(
                    f"column {name} has values of several types, which Parquet cannot hold: write "
                    ".csv or .jsonl, or use CAST in SQL"
                )
        yield row


# text


def on_terminal() -> bool:
    """Whether results go to a person's screen."""
    return sys.stdout.isatty()


def _write_text(
    columns: Columns,
    rows: Iterable[Sequence[Any]],
    shown: Sequence[str],
    separator: str,
    heading: bool | None,
    first: Sequence[Any] | None,
) -> None:
    """Print lines, or on a terminal a table whose heading says whether similarities are exact."""
    names = list(columns)
    drawn = on_terminal()
    headings = {name: name for name in shown}
    if drawn and heading is not False and "exact" in headings and "identical" in columns:
        del headings["exact"]
        if first is not None and not first[names.index("exact")]:
            headings["similarity"] = "estimate"

    def cell_of(name: str) -> Callable[[Sequence[Any]], Any]:
        place = names.index(name)
        if name in ("exact", "similarity") and "identical" in columns:
            same = names.index("identical")
            if name == "exact":
                return lambda row: exactness(row[place], row[same])
            if "exact" not in headings:
                return lambda row: "identical" if row[same] else number(row[place], drawn)
        if columns[name] is float:
            return lambda row: number(row[place], drawn)
        return itemgetter(place)

    cells_of = [cell_of(name) for name in headings]
    cells = ([cell(row) for cell in cells_of] for row in rows)
    if drawn:
        _print_tables(list(headings.values()), cells, heading is not False)
        return
    if heading:
        print(separator.join(map(escaped, headings)))
    for line in cells:
        print(separator.join([escaped(plain(cell)) for cell in line]))


def exactness(exact: bool, identical: bool) -> str:
    """The kind of a similarity: of identical documents, exact, or an estimate."""
    return "identical" if identical else "exact" if exact else "estimate"


def _print_tables(names: Sequence[str], rows: Iterable[Sequence[Cell]], headed: bool) -> None:
    waiting: list[Sequence[Cell]] = []
    begun, drawn = time.monotonic(), False
    for row in rows:
        waiting.append(row)
        if len(waiting) == _TABLE_ROWS or time.monotonic() - begun > _TABLE_SECONDS:
            _draw(names, waiting, headed)
            waiting, begun, drawn = [], time.monotonic(), True
    if waiting or not drawn:
        _draw(names, waiting, headed)


def _draw(names: Sequence[str], rows: Iterable[Sequence[Any]], headed: bool) -> None:
    """Print a table that fits the screen: numbers on one line, texts on as many as needed."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_header=headed)
    for name in names:
        drawn.add_column(Text(escaped(name), no_wrap=True))
    for row in rows:
        drawn.add_row(*map(_cell, row))
    Console(highlight=False).print(drawn)


def _cell(cell: object) -> Text:
    from rich.text import Text

    text = escaped(plain(cell))
    if not isinstance(cell, str | tuple):
        return Text(text, justify="right", no_wrap=True)
    return Text(shortened(text, _LONGEST_CELL), overflow="fold")


def plain(cell: Any) -> str:
    """A value as the sqlite3 shell prints it in its list mode; a BLOB in hexadecimal."""
    if isinstance(cell, bytes):
        return f"x'{cell.hex()}'"
    if isinstance(cell, tuple):
        return ", ".join(map(str, cell))
    if isinstance(cell, list | dict):
        return _to_json(cell)
    if isinstance(cell, float):
        if math.isinf(cell):
            return "Inf" if cell > 0 else "-Inf"
        text = format(cell or 0.0, ".15g")  # the shell shows -0.0 as 0.0
        mantissa, e, exponent = text.partition("e")
        if mantissa.lstrip("-").isdigit():
            mantissa += ".0"
        return mantissa + e + exponent
    return worded(cell)
