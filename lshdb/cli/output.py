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
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TextIO, TypeAlias

from lshdb.sources.paths import escaped

if TYPE_CHECKING:
    from lshdb.model import Settings
    from lshdb.sources.records import Failure

Cell: TypeAlias = str | int | float | bytes | None

_LONGEST_CELL: Final = 100
_LEAST_CELL: Final = 10
"""What a text keeps, in columns of the screen, however narrow that is."""
_GAP: Final = 3
"""Columns of the screen between two columns of a table."""
_quiet = False


def be_quiet() -> None:
    """Print no more notes and no progress."""
    global _quiet
    _quiet = True


def is_quiet() -> bool:
    """Whether only results, warnings and errors are wanted."""
    return _quiet


def message(text: str) -> None:
    """Print a note to standard error, which --quiet leaves out."""
    if not _quiet:
        tell(text)


def tell(text: str) -> None:
    """Print a warning or an error to standard error."""
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

    console = Console(highlight=False)
    headings = [escaped(name) for name in names]
    table = list(table)
    kinds = [[_is_text(cell) for cell in row] for row in table]
    cells = [[escaped(plain(cell)) for cell in row] for row in table]
    drawn = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in headings:
        drawn.add_column(Text(name), no_wrap=True)
    room = _room(headings, cells, kinds, console.width)
    for row, texts in zip(cells, kinds, strict=True):
        drawn.add_row(
            *(
                Text(_shortened(cell, most), justify="left")
                if text
                else Text(cell, justify="right")
                for cell, text, most in zip(row, texts, room, strict=True)
            )
        )
    console.print(drawn)


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


def _room(
    names: Sequence[str],
    cells: Sequence[Sequence[str]],
    kinds: Sequence[Sequence[bool]],
    width: int,
) -> list[int]:
    """Columns of the screen for each column of a table: numbers whole, texts share the rest.

    Short texts leave what they do not need to the long ones.
    """
    from rich.cells import cell_len

    room = [cell_len(name) for name in names]
    long: dict[int, int] = {}
    for row, texts in zip(cells, kinds, strict=True):
        for place, (cell, text) in enumerate(zip(row, texts, strict=True)):
            needed = min(cell_len(cell[:_LONGEST_CELL]), _LONGEST_CELL) if text else len(cell)
            room[place] = max(room[place], needed)
            if text:
                long[place] = 0
    left = (
        width
        - _GAP * len(names)
        - sum(size for place, size in enumerate(room) if place not in long)
    )
    for done, place in enumerate(sorted(long, key=room.__getitem__)):
        room[place] = min(room[place], max(left // (len(long) - done), _LEAST_CELL))
        left -= room[place]
    return room


def _shortened(text: str, most: int) -> str:
    """The text in so many columns of the screen: of a longer one its beginning and its end."""
    from rich.cells import cell_len, set_cell_size

    if len(text) <= _LONGEST_CELL and cell_len(text) <= most:
        return text
    end = (most - 1) // 2
    ending = text[-end:]
    while cell_len(ending) > end:
        ending = ending[1:]
    return f"{set_cell_size(text[:most], most - 1 - end)}\N{HORIZONTAL ELLIPSIS}{ending}"


def _is_text(cell: Cell) -> bool:
    return isinstance(cell, str)


def _json(value: object) -> str:
    if isinstance(value, float) and math.isinf(value):
        # JSON has no infinity; this number is too large for any float, and is read as one.
        return "9e999" if value > 0 else "-9e999"
    return json.dumps(value)


_FAILURES_SHOWN = 20


class Failures:
    """Tells the first failures, each on a line."""

    def __init__(self) -> None:
        self.count = 0

    def tell(self, failure: Failure) -> None:
        """Tell one."""
        self.count += 1
        if self.count <= _FAILURES_SHOWN:
            tell(f"lshdb: {failure.where or repr('')}: {failure.reason}")
        elif self.count == _FAILURES_SHOWN + 1:
            tell("lshdb: further failures are counted only")


def tell_recall(settings: Settings, threshold: float, advice: str = "") -> None:
    """Tell what share of the documents the index finds at a threshold below its own."""
    from lshdb.sketching.constructions import candidate_probability

    recall = candidate_probability(threshold, settings.construction)
    message(
        f"the index is made for similarity {settings.threshold:g}: of the documents at "
        f"{threshold:g} it finds about {recall:.1%}{advice}"
    )
