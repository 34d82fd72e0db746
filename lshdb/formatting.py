"""Numbers as people and scripts read them: in text, in pages and in messages.

A count alone is `f"{count:,}"`.
"""

import math
from collections.abc import Sequence
from typing import Any


def share(value: float, decimals: int = 4) -> str:
    """A share of 1, such as a similarity, for people; never rounded up to 1.

    >>> share(1.0), share(0.99999), share(0.5), share(0.9999, 2)
    ('1.0000', '0.9999', '0.5000', '0.99')
    """
    return f"{min(value, 1 - 0.1**decimals) if value < 1 else value:.{decimals}f}"


def sameness(identical: bool, same_text: bool) -> str:
    """What two documents share beyond similarity, in words; empty for other texts.

    >>> sameness(True, True), sameness(False, True), sameness(False, False)
    ('identical', 'same text', '')
    """
    return "identical" if identical else "same text" if same_text else ""


def number(value: float | None, drawn: bool = False) -> str | None:
    """A number of a column: a share as by `share` if it is drawn, with six digits for scripts.

    A larger number is a mean of counts, and has one digit.

    >>> number(2 / 3), number(2 / 3, drawn=True), number(9.0)
    ('0.666667', '0.6667', '9.0')
    """
    if value is None:
        return None
    if abs(value) > 1:
        return f"{value:.1f}"
    return share(value) if drawn else f"{value:.6f}"


def worded(cell: object) -> str:
    """A value that is no share, as text: nothing for None, yes or no for a boolean.

    >>> worded(None), worded(True), worded(12)
    ('', 'yes', '12')
    """
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return "" if cell is None else str(cell)


def percent(value: float) -> str:
    """A share of 1 in percent, never rounded up to all.

    >>> percent(1.0), percent(0.99999), percent(0.5)
    ('100.0%', '99.9%', '50.0%')
    """
    return f"{min(value, 0.999) if value < 1 else value:.1%}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """A count with its noun.

    >>> counted(1, "pair"), counted(1_000, "pair"), counted(2, "match", "matches")
    ('1 pair', '1,000 pairs', '2 matches')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def size(count: int) -> str:
    """A number of bytes.

    >>> size(27), size(43_100_000)
    ('27 bytes', '43 MB')
    """
    return f"{count:,} bytes" if count < 500_000 else f"{count / 1e6:,.0f} MB"


def shortened(text: str, maximum: int) -> str:
    """A text of at most `maximum` characters, without its middle if it is longer.

    >>> shortened("a long text", 7)
    'a l…ext'
    """
    half = (maximum - 1) // 2
    return text if len(text) <= maximum else f"{text[:half]}\N{HORIZONTAL ELLIPSIS}{text[-half:]}"


def listed(values: Sequence[object], shown: int) -> str:
    """The first values of a sequence, and the number of the others.

    >>> listed(["a", "b", "c"], 3), listed(["a", "b", "c"], 2)
    ('a, b, c', 'a, b and 1 more')
    """
    more = len(values) - shown
    return ", ".join(map(str, values[:shown])) + (f" and {more:,} more" if more > 0 else "")


def plain(cell: Any) -> str:
    """A value as the sqlite3 shell prints it in its list mode; a BLOB in hexadecimal."""
    if isinstance(cell, bytes):
        return f"x'{cell.hex()}'"
    if isinstance(cell, tuple):
        return ", ".join(map(str, cell))
    if isinstance(cell, list | dict):
        from lshdb.json_text import dumps  # this module is needed where nothing is JSON

        return dumps(cell)
    if isinstance(cell, float):
        if math.isinf(cell):
            return "Inf" if cell > 0 else "-Inf"
        text = format(cell or 0.0, ".15g")  # the shell shows -0.0 as 0.0
        mantissa, e, exponent = text.partition("e")
        if mantissa.lstrip("-").isdigit():
            mantissa += ".0"
        return mantissa + e + exponent
    return worded(cell)
