"""Results: rows of named columns, as text, JSON lines, CSV, or a file of its own.

A command names the columns of its rows, takes a `Form` among its parameters, and calls
`write_results` (or `write_record`, for one row): it then has every format, with the same columns in
each. Rows are written as they come; a table on a terminal and a batch of Parquet wait for some
thousands. Files, and all formats but text, are those of lshdb.read.

Text is for people: a table on a terminal, plain lines with tabs in a pipe, fewer columns and fewer
digits. Keys and contents come from anywhere: what goes to standard output has control characters
as escapes, a file has them as they are.
"""

import itertools
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from operator import attrgetter, itemgetter
from typing import Any

from lshdb import formatting
from lshdb.cli import files, messages, options
from lshdb.columns import Columns, columns_of
from lshdb.json_text import encode
from lshdb.read import paths
from lshdb.read.metadata import from_json
from lshdb.read.outputs import STDOUT, is_stream
from lshdb.store.store import Store

_KEYS = ("a", "b", "key")
"""The columns that have keys of documents, below which a terminal shows their first words."""
_BEGINNING = 250
"""Bytes read of a document to show its first words."""
_TABLE_ROWS = 1_000
_LONGEST_CELL = 160
"""Characters of a text that a table on a terminal shows, half of them from its end."""
_LONGEST_WORDS = 60
"""Characters of a document's title or first words, below its key."""
_SHORT: Mapping[str, Callable[[str], str]] = {
    "text": lambda text: " ".join(text.split()),
    "decided": lambda time: time[:16].replace("T", " "),
}
"""What a table on a terminal shows of columns: a passage without line ends, a time in minutes."""


def fields_of(columns: Columns) -> list[str]:
    """The columns of metadata, which may have any values."""
    return [name for name, kind in columns.items() if kind is object]


def noting_absent(
    columns: Columns, rows: Iterable[Sequence[Any]], names: Sequence[str]
) -> Iterator[Sequence[Any]]:
    """The rows; a note at the end names the fields of metadata without a value in any of them."""
    # For two documents, columns of all fields of the one come before those of the other.
    field = dict(zip(fields_of(columns), itertools.cycle(names), strict=False))
    absent = set(names)
    row = None
    for row in rows:
        if absent:
            of_row = zip(columns, row, strict=True)
            absent -= {field.get(name) for name, value in of_row if value is not None}
        yield row
    if row is not None and absent:
        missing_fields = ", ".join(name for name in names if name in absent)
        messages.warn(
            f"lshdb: no document here has a value for {missing_fields}: is the name right?"
        )


def write_results(
    columns: Columns | type,
    rows: Iterable[Any],
    form: options.Form,
    *,
    shown: Sequence[str] = (),
    fields: Sequence[str] = (),
    noun: Sequence[str] = ("row",),
    none: str | None = None,
    store: Store | None = None,
    has_words: bool = True,
) -> int:
    """Write rows in the requested format, and return how many; a file then gets its name.

    Args:
        columns: the names of the columns, and their types; or the class of the rows, a dataclass
            with a field for each.
        rows: a value for each column, or objects of the class, as they come.
        form: the format.
        shown: the columns of the text, in order; all if none are named.
        fields: the names of fields of metadata, whose columns come last.
        noun: the name of a row, and of several if it does not end in s, for the count of a file.
        none: the note in place of an empty table.
        store: has the documents of the rows, to show which are one file, and on a terminal their
            titles or first words; fields take the place of these.
        has_words: whether the rows are of documents, not of folders.

    Raises:
        UsageError: a column has values of several types, which Parquet cannot hold.
        OSError: the file cannot be written; it names the file.
    """
    names: Columns = columns_of(columns) if isinstance(columns, type) else columns
    sequences = rows if names is columns else map(attrgetter(*names), rows)
    count = 0

    def counting() -> Iterator[Sequence[Any]]:
        nonlocal count
        for row in noting_absent(names, sequences, fields) if fields else sequences:
            count += 1
            yield row

    with ExitStack() as stack:
        if isinstance(rows, Generator):
            # Also where a pipe is closed: the last to close the database then removes its log.
            stack.callback(rows.close)
        rows = counting()
        if form.is_text:
            first = [*itertools.islice(rows, 1)]
            if not first and none is not None:
                messages.message(none)
                return 0
            shown = (*shown, *fields_of(names)) if shown and fields else shown or tuple(names)
            has_words = has_words and not fields
            _write_text(names, itertools.chain(first, rows), shown, form.heading, store, has_words)
            return count
        _write_formatted(names, rows, form)
        if form.output is not None and not is_stream(form.output):
            messages.message(f"{form.output}: {formatting.counted(count, *noun)}")
        return count


def _write_formatted(columns: Columns, rows: Iterable[Sequence[Any]], form: options.Form) -> None:
    """Write rows as CSV, JSON or in the format of a file."""
    from lshdb.read import formats, sinks  # 15 ms, which text does not need

    path = STDOUT if form.output is None else form.output
    format = "csv" if form.as_csv else formats.output_format(path, "jsonl")
    if object in columns.values() and formats.KIND[format] != "arrow_rows":
        rows = (
            [formatting.plain(value) if isinstance(value, bytes) else value for value in row]
            for row in rows
        )
    with files.output_to(path) as output:
        target = sinks.Target(output, format, is_stream(path))
        formats.write_table(target, columns, rows, has_heading=form.heading is not False)


def write_record(
    record: Mapping[str, Any],
    form: options.Form,
    text: Mapping[str, Any] | None = None,
) -> None:
    """Write one row; as text, names with values, one on a line.

    Args:
        record: the names of the columns, with the values.
        form: the format.
        text: other names and values for text; None is left out.
    """
    if not form.is_text:
        columns = {
            name: type(value) if isinstance(value, str | int | float) else list
            for name, value in record.items()
        }
        write_results(columns, [tuple(record.values())], form)
        return
    shown = {name: value for name, value in (text or record).items() if value is not None}
    width = max(map(len, shown)) + 1
    for name, value in shown.items():
        print(f"{name + ':':<{width}} {paths.escaped(formatting.plain(value))}")


def json_line(fields: Mapping[str, object]) -> None:
    """Print a JSON object on a line; in ASCII, so that a terminal obeys nothing in it."""
    from lshdb.read.json_rows import in_ascii

    print(in_ascii(encode(fields)).decode())


# text


def _write_text(
    columns: Columns,
    rows: Iterable[Sequence[Any]],
    shown: Sequence[str],
    heading: bool | None,
    store: Store | None,
    has_words: bool,
) -> None:
    """Print lines as they come, or on a terminal tables: a long one does not wait for its last."""
    # Values of SQL are printed as the sqlite3 shell does.
    separator = "|" if {*columns.values()} == {object} else "\t"
    names = list(columns)
    is_drawn = sys.stdout.isatty()

    def cell_of(name: str) -> Callable[[Sequence[Any]], Any]:
        index = names.index(name)
        if name == "exact" and "identical" in columns:
            identical, same_text = names.index("identical"), names.index("same_text")
            keys = [names.index(key) for key in ("a", "b", "key", "keep") if key in names][:2]

            def kind(row: Sequence[Any]) -> str:
                if store and row[identical] and row[keys[0]] != row[keys[-1]]:
                    from lshdb.read.files import have_one_file  # a query needs none

                    if have_one_file(row[keys[0]], row[keys[1]], store.root):
                        return "one file"
                return exactness(row[index], row[identical], row[same_text])

            return kind
        if columns[name] is float:
            return lambda row: formatting.number(row[index], is_drawn)
        return itemgetter(index)

    cells_of = [*map(cell_of, shown)]
    lines = ([cell(row) for cell in cells_of] for row in rows)
    if is_drawn:
        tables = iter(lambda: [*itertools.islice(lines, _TABLE_ROWS)], [])
        for rows_of_table in itertools.chain([next(tables, [])], tables):
            _print_table(shown, rows_of_table, heading is not False, store if has_words else None)
        return
    if heading:
        print(separator.join(map(paths.escaped, shown)))
    for line in lines:
        print(separator.join([paths.escaped(formatting.plain(cell)) for cell in line]))


def _print_table(
    names: Sequence[str],
    rows: Sequence[Sequence[Any]],
    is_headed: bool,
    store: Store | None,
) -> None:
    """Print a table of rich: it fits the terminal, and nothing in it is markup or an escape."""
    from rich.box import SIMPLE_HEAD  # 40 ms, which only a terminal needs
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    keys = [index for index, name in enumerate(names) if name in _KEYS]
    shown_keys = [row[index] for row in rows for index in keys]
    beginnings = store.beginnings(shown_keys, _BEGINNING) if store else {}
    words = {
        key: str((from_json(metadata) or {}).get("title") or start)
        for key, (metadata, start, _) in beginnings.items()
        if start
    }
    table = Table(box=SIMPLE_HEAD, show_header=is_headed)
    for name in names:
        table.add_column(Text(paths.escaped(name)), overflow="fold")
    for row in rows:
        cells = []
        for index, value in enumerate(row):
            if isinstance(value, str) and names[index] in _SHORT:
                value = _SHORT[names[index]](value)
            text = formatting.shortened(paths.escaped(formatting.plain(value)), _LONGEST_CELL)
            cell = Text(text, justify="left" if isinstance(value, str | tuple) else "right")
            if index in keys and value in words:
                start = " ".join(words[value].split())[:_LONGEST_WORDS]
                cell.append(f"\n{paths.escaped(start)}", "dim")
            cells.append(cell)
        table.add_row(*cells)
    Console(highlight=False).print(table)


def exactness(exact: bool, identical: bool, same_text: bool) -> str:
    """The kind of a similarity: of identical documents, of the same text, exact, or an estimate."""
    return formatting.sameness(identical, same_text) or ("exact" if exact else "estimate")
