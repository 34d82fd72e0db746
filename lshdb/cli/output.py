"""What the commands print: results to standard output, messages to standard error.

On a terminal results are tables, in a pipe plain lines with tabs, with --json JSON lines. Keys
and contents come from anywhere: control characters are printed as escapes, never as they are.
"""

from __future__ import annotations

import csv
import json
import math
import os
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, TextIO, TypeAlias

Cell: TypeAlias = str | int | float | bytes | None

_LONGEST_CELL: Final = 100


def escaped(text: str) -> str:
    r"""The text with every character that is not printable written as a backslash escape.

    >>> escaped("red \x1b[31m line\n")
    'red \\x1b[31m line\\n'
    """
    if text.isprintable():
        return text
    return "".join(c if _is_harmless(c) else ascii(c)[1:-1] for c in text)


def message(text: str) -> None:
    """Print a line to standard error."""
    try:
        print(escaped(text), file=sys.stderr)
    except OSError:
        # A log that cannot be written is no reason to leave the work half done.
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Let a stream that cannot be written take everything, also what Python holds till its end."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def json_line(fields: Mapping[str, object]) -> None:
    """Print a JSON object on a line; in ASCII, so that nothing in it acts on a terminal."""
    print("{" + ", ".join(f"{json.dumps(n)}: {_json(v)}" for n, v in fields.items()) + "}")


def on_terminal() -> bool:
    """Whether results go to a person's screen."""
    return sys.stdout.isatty()


def rows(names: Sequence[str], table: Iterable[Sequence[Cell]], separator: str = "\t") -> None:
    """Print a table: with borders and headings on a terminal, else lines of plain cells."""
    if not on_terminal():
        for row in table:
            print(separator.join(escaped(plain(cell)) for cell in row))
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in names:
        drawn.add_column(Text(escaped(name)), overflow="fold")
    for row in table:
        drawn.add_row(
            *(
                Text(_shortened(escaped(plain(c))), justify="left" if _is_text(c) else "right")
                for c in row
            )
        )
    Console(highlight=False).print(drawn)


def csv_rows(names: Sequence[str], table: Iterable[Sequence[Cell]]) -> None:
    """Print a table as CSV with a heading."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([csv_cell(name) for name in names])
    writer.writerows([csv_cell(cell) for cell in row] for row in table)


def csv_cell(cell: Cell) -> Cell:
    """A value as it stands in CSV: text is escaped, unless it is printable but for newlines."""
    if isinstance(cell, str):
        return "\n".join(escaped(line) for line in cell.split("\n"))
    return plain(cell)


def pairs(fields: Mapping[str, Cell]) -> None:
    """Print names with values, one on a line."""
    width = max(map(len, fields)) + 1
    for name, value in fields.items():
        print(f"{name + ':':<{width}} {escaped(plain(value))}")


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


def _shortened(text: str) -> str:
    if len(text) <= _LONGEST_CELL:
        return text
    half = (_LONGEST_CELL - 1) // 2
    return f"{text[:half]}\N{HORIZONTAL ELLIPSIS}{text[-half:]}"


def _is_text(cell: Cell) -> bool:
    return isinstance(cell, str)


def _is_harmless(character: str) -> bool:
    # Of the spaces Python takes only the ASCII one for printable.
    return character.isprintable() or unicodedata.category(character) == "Zs"


def _json(value: object) -> str:
    if isinstance(value, float) and math.isinf(value):
        # JSON has no infinity; this number is too large for any float, and is read as one.
        return "9e999" if value > 0 else "-9e999"
    return json.dumps(value)
