"""HTML from templates of apps, in their folders.

Needs jinja2, of the extra `web`.
"""

import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING

from lshdb import formatting

if TYPE_CHECKING:
    import jinja2

_INVISIBLE = re.compile(
    # Controls except tab and line ends, and characters that change the direction of text.
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)


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
        "digits": functools.partial(formatting.share, decimals=2),
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
