"""HTML from templates, for pages, reports and notebooks: all of it is in web/pages.

Needs jinja2, of the extra `web`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lshdb.formatting import counted, percent, share, worded

if TYPE_CHECKING:
    import jinja2

_PAGES = Path(__file__).parents[1] / "web" / "pages"
_INVISIBLE = re.compile(
    # Controls except tab and line ends, and characters that change the direction of text.
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)


def rendered(template: str, **context: object) -> str:
    """The HTML of a template; ModuleNotFoundError without jinja2."""
    return environment().get_template(f"{template}.html").render(context)


def html_table(
    names: Sequence[str], rows: Iterable[Sequence[object]], count: int | None
) -> str | None:
    """Rows as a table for a notebook, in which everything is text.

    None without jinja2, so that the notebook shows the repr.

    Args:
        names: of the columns.
        rows: those to show.
        count: the number of all rows; None if unknown, but more than these.
    """
    try:
        return rendered("notebook", names=names, rows=list(rows), count=count)
    except ModuleNotFoundError:
        return None


@functools.cache
def environment() -> jinja2.Environment:
    """The templates, with the filters that all of them use."""
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_PAGES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "visible": visible,
        "number": "{:,}".format,
        "share": share,
        "percent": percent,
        "counted": counted,
        "plain": lambda value: share(value) if isinstance(value, float) else worded(value),
    }
    return made


def visible(text: str) -> str:
    r"""The text with invisible and direction-changing characters as backslash escapes.

    >>> visible("red \x1b[31m line\n")
    'red \\x1b[31m line\n'
    """
    return _INVISIBLE.sub(lambda found: ascii(found[0])[1:-1], text)
