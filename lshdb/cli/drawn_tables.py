"""Tables on a terminal: they fit the screen, and break no word.

Where there is room, a column beside a document's key has its title or first words; a long text
stands below its row. Keys and texts come from anywhere: control characters are printed as escapes.
"""

import re
from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from lshdb import formatting
from lshdb.cli import messages, options
from lshdb.sources.paths import escaped

_LONGEST_CELL = 100
"""Characters of a text that a table shows, half of them from its end."""
_LONGEST_TEXT = 400
"""Characters of a text below a row."""
_SHORT = 12
"""Width of a value that never moves to another line."""
_GAP = 2
"""Width between two columns."""
_SET_IN = (0, 0, 0, 1)
"""Where a row is set in as in a table: nothing above, to the right and below."""
_BELOW = (0, 0, 0, 4)
"""How a text below a row is set in."""
_NARROWEST = 16
"""Width that first words need: less of them says nothing."""
_WIDEST = 60
_WORD = re.compile(r"[^\W_]*[\W_]*")
"""A word of a text or of a path, with what is behind it."""


def draw(
    names: Sequence[str], rows: Sequence[Sequence[Any]], headed: bool, extras: options.Extras
) -> None:
    """Print a table that fits the screen.

    If it would be too wide, the long values of a row are below each other, in one column. There a
    text goes on in the next line between two words.
    """
    console = Console(highlight=False)
    columns = [index for index, name in enumerate(names) if name != extras.below]
    heads = [Text(escaped(names[index])) for index in columns]
    cells = [[_cell(row[index]) for index in columns] for row in rows]
    widths = [max(text.cell_len for text in column) for column in zip(heads, *cells, strict=True)]
    taken = sum(widths) + _GAP * len(widths)
    is_long = [taken > console.width and width > _SHORT for width in widths]
    short = [index for index, moves in enumerate(is_long) if not moves]
    long = [index for index, moves in enumerate(is_long) if moves]
    free = console.width - sum(widths[index] for index in short) - _GAP * (len(short) + 1)
    keys = [name for name in extras.keys if name in names]
    words = _first_words(names, rows, keys, console.width - taken, extras)

    def table(shown: slice, header: bool) -> Table:
        """Some of the rows, without the texts below them."""
        made = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_header=header)
        made.show_edge = extras.below not in names
        for index in short:
            made.add_column(heads[index], min_width=widths[index])
        if long:
            made.add_column(Text(" / ").join(heads[index] for index in long))
        for name in keys if words else ():
            made.add_column(f"{name} begins with" if len(keys) > 1 else "begins with", no_wrap=True)
        for row, first_words in zip(cells[shown], (words or [[]] * len(rows))[shown], strict=True):
            parts = (_WORD.findall(row[index].plain) for index in long)
            together = Text("\n".join(messages.wrapped(part, free) for part in parts))
            together.overflow = "fold"
            made.add_row(*(row[index] for index in short), *[together][: len(long)], *first_words)
        return made

    if extras.below not in names:
        console.print(table(slice(None), headed))
        return
    below = names.index(extras.below)
    if headed:
        console.print(Padding(table(slice(0), True), _SET_IN))
    for number, row in enumerate(rows):
        console.print(Padding(table(slice(number, number + 1), False), _SET_IN))
        console.print(Padding(Text(_single_line(row[below], _LONGEST_TEXT)), _BELOW))


def _first_words(
    names: Sequence[str],
    rows: Sequence[Sequence[Any]],
    keys: Sequence[str],
    width: int,
    extras: options.Extras,
) -> list[list[Text]]:
    """The first words of the documents of each row; empty where there are none, or no room."""
    if extras.words_of is None or not keys or width // len(keys) - _GAP < _NARROWEST:
        return []
    indices = [names.index(name) for name in keys]
    known = extras.words_of([row[index] for row in rows for index in indices])
    widest = min(width // len(keys) - _GAP, _WIDEST)

    def cut(text: str) -> Text:
        shown = Text(_single_line(text[: 4 * widest], 4 * widest))
        shown.truncate(widest, overflow="ellipsis")
        return shown

    return [[cut(known.get(row[index], "")) for index in indices] for row in rows if known]


def _single_line(text: object, longest: int) -> str:
    """A text without line ends and control characters, without its middle if it is longer."""
    return escaped(formatting.shortened(" ".join(str(text).split()), longest))


def _cell(value: object) -> Text:
    """The text of a value, shortened; numbers are to the right."""
    text = escaped(formatting.plain(value))
    if isinstance(value, str | tuple):
        return Text(formatting.shortened(text, _LONGEST_CELL))
    return Text(text, justify="right")
