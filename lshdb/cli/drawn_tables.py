"""Tables on a terminal: they fit the screen, and break no word.

Where there is room, a column beside a document's key has its title or first words; a long text
stands below its row. Keys and texts come from anywhere: control characters are printed as escapes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lshdb.formatting import plain, shortened
from lshdb.sources.paths import escaped

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

CellRow = Sequence[Any]
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


@dataclass(frozen=True, slots=True)
class Extras:
    """What a terminal shows of rows, and a pipe does not.

    Attributes:
        keys: the columns that have keys of documents.
        words_of: gives the titles or first words of documents by their keys.
        below: the column with a long text.
    """

    keys: Sequence[str] = ()
    words_of: Callable[[Sequence[str]], Mapping[str, str]] | None = None
    below: str = ""


NONE = Extras()


@dataclass(eq=False)
class _Table:
    """Rows as they are drawn.

    Attributes:
        heads: the names of the columns.
        cells: of each row, the texts, and whether each is a number.
        words: of each row, the first words of its documents; as many for each, perhaps none.
        long: the columns that are below each other, in one column, for else the table is too wide.
        texts: of each row, the text below it, or None.
    """

    heads: list[str]
    cells: list[list[tuple[str, bool]]]
    words: list[list[str]]
    long: list[int]
    texts: list[str | None]

    def rendered(self, console: Console, widths: Sequence[int], headed: bool) -> RenderableType:
        """The table, or several of one row each, with the texts between them."""
        from rich.box import SIMPLE_HEAD
        from rich.console import Group
        from rich.padding import Padding
        from rich.table import Table
        from rich.text import Text

        short = [index for index in range(len(self.heads)) if index not in self.long]
        free = console.width - sum(widths[index] for index in short) - _GAP * (len(short) + 1)
        beside = len(self.words[0]) if self.words else 0
        of_words = ["begins with"] if beside == 1 else ["a begins with", "b begins with"][:beside]

        def empty(header: bool) -> Table:
            made = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_header=header)
            made.show_edge = not any(self.texts)
            for index in short:
                made.add_column(Text(self.heads[index]), min_width=widths[index])
            if self.long:
                made.add_column(Text(" / ".join(self.heads[index] for index in self.long)))
            for head in of_words:
                made.add_column(Text(head), no_wrap=True)
            return made

        def added(table: Table, row: Sequence[tuple[str, bool]], words: Sequence[str]) -> None:
            line = [Text(text, justify="right" if is_number else None) for text, is_number in row]
            below = "\n".join(_wrapped(row[index][0], free) for index in self.long)
            last = [Text(below, overflow="fold")] if self.long else []
            table.add_row(*(line[index] for index in short), *last, *(Text(text) for text in words))

        words = self.words or [[]] * len(self.cells)
        if not any(self.texts):
            table = empty(headed)
            for row, first_words in zip(self.cells, words, strict=True):
                added(table, row, first_words)
            return table
        parts: list[RenderableType] = [Padding(empty(True), _SET_IN)] if headed else []
        for row, first_words, text in zip(self.cells, words, self.texts, strict=True):
            table = empty(False)
            added(table, row, first_words)
            parts += Padding(table, _SET_IN), Padding(Text(text or "", overflow="fold"), _BELOW)
        return Group(*parts)


def draw(
    names: Sequence[str], rows: Iterable[CellRow], headed: bool, extras: Extras = NONE
) -> None:
    """Print a table that fits the screen.

    If it would be too wide, the long values of a row are below each other, in one column. There a
    text goes on in the next line between two words.
    """
    from rich.cells import cell_len
    from rich.console import Console

    console = Console(highlight=False)
    rows = [*rows]
    below = names.index(extras.below) if extras.below in names else None
    columns = [index for index in range(len(names)) if index != below]
    texts = [None if below is None else _single_line(row[below], _LONGEST_TEXT) for row in rows]
    heads = [escaped(names[index]) for index in columns]
    cells = [[_cell(row[index]) for index in columns] for row in rows]
    lines = [heads, *([text for text, _ in row] for row in cells)]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    taken = sum(widths) + _GAP * len(widths)
    long: list[int] = []
    if taken > console.width:
        long = [index for index, width in enumerate(widths) if width > _SHORT]
    keys = [names.index(name) for name in extras.keys if name in names]
    words: list[list[str]] = []
    if extras.words_of is not None and keys:
        room = (console.width - taken) // len(keys) - _GAP
        if room >= _NARROWEST:
            known = extras.words_of([row[index] for row in rows for index in keys])
            if known:
                most = min(room, _WIDEST)
                words = [[_cut(known.get(row[index], ""), most) for index in keys] for row in rows]
    console.print(_Table(heads, cells, words, long, texts).rendered(console, widths, headed))


def _single_line(text: object, longest: int) -> str:
    """A text without line ends and control characters, without its middle if it is longer."""
    return escaped(shortened(" ".join(str(text).split()), longest))


def _cut(text: str, width: int) -> str:
    """The beginning of a text that is not wider than this."""
    from rich.text import Text

    shown = Text(_single_line(text[: 4 * width], 4 * width))
    shown.truncate(width, overflow="ellipsis")
    return shown.plain


def _wrapped(text: str, width: int) -> str:
    """A text in lines that end between two words, unless a word alone is wider than one."""
    from rich.cells import cell_len

    lines = [""]
    for word in _WORD.findall(text):
        if cell_len(lines[-1] + word.rstrip()) > width and lines[-1]:
            lines.append("")
        lines[-1] += word
    return "\n".join(lines)


def _cell(cell: object) -> tuple[str, bool]:
    """The text of a value, shortened, and whether it is a number."""
    text = escaped(plain(cell))
    is_text = isinstance(cell, str | tuple)
    return shortened(text, _LONGEST_CELL) if is_text else text, not is_text
