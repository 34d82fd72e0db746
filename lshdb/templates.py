"""HTML from templates: of notebooks in lshdb/pages, of pages and reports in lshdb/web/pages.

Needs jinja2, of the extra `web`.
"""

import dataclasses
import functools
import re
from collections.abc import Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING

from lshdb import formatting

if TYPE_CHECKING:
    import jinja2

SHOWN = 20
"""Rows that a notebook shows of a table."""
_PAGES = Path(__file__).parent / "pages"
_INVISIBLE = re.compile(
    # Controls except tab and line ends, and characters that change the direction of text.
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """Rows for a notebook, in which everything is text.

    Attributes:
        names: of the columns; none if the rows need no names.
        rows: those to show, with a value for each column.
        count: the number of all rows; None if unknown, but more than these.
        none: the text in place of no rows.
        title: what they are.
        whole: whether columns without any value are shown, too.
    """

    names: Sequence[str]
    rows: Sequence[Sequence[object]]
    count: int | None = 0
    none: str = ""
    title: str = ""
    whole: bool = False

    @property
    def is_number(self) -> list[bool]:
        """Of each column with a name, whether its values are numbers."""
        columns = zip(*self.rows, strict=True) if self.names else repeat((), len(self.rows[0]))
        return [
            any(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in column)
            for column in columns
        ]

    def filled(self) -> "Table":
        """The same without the columns that have no value in any row."""
        if self.whole or not self.rows:
            return self
        columns = [*zip(*self.rows, strict=True)]
        kept = [
            index for index, column in enumerate(columns) if any(map(formatting.worded, column))
        ]
        rows = [[row[index] for index in kept] for row in self.rows]
        return dataclasses.replace(
            self, names=[self.names[index] for index in kept if self.names], rows=rows
        )


def facts(values: Mapping[str, object], title: str = "") -> "Table":
    """Names with their values, one pair per line, without the names whose value is None."""
    rows = [(name, value) for name, value in values.items() if value is not None]
    return Table((), rows, len(rows), title=title)


def html_tables(*tables: Table) -> str | None:
    """Tables for a notebook; None without jinja2, so that the notebook shows the repr."""
    try:
        template = environment(_PAGES).get_template("notebook.html")
    except ModuleNotFoundError:
        return None
    return template.render(tables=[table.filled() for table in tables])


@functools.cache
def environment(pages: Path) -> "jinja2.Environment":
    """The templates of a folder, with the filters that all of them use."""
    import jinja2

    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(pages),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "visible": visible,
        "number": "{:,}".format,
        "digits": formatting.digits,
        "percent": formatting.percent,
        "counted": formatting.counted,
        "plain": lambda value: (
            formatting.number(value, True) if isinstance(value, float) else formatting.worded(value)
        ),
    }
    return templates


def visible(text: str) -> str:
    r"""The text with invisible and direction-changing characters as backslash escapes.

    >>> visible("red \x1b[31m line\n")
    'red \\x1b[31m line\n'
    """
    return _INVISIBLE.sub(lambda match: ascii(match[0])[1:-1], text)
