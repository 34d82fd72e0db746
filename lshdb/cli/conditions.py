"""SQL from the command line: an expression or a statement, and the values for its parameters."""

import re
from collections.abc import Sequence

from lshdb.errors import UsageError
from lshdb.options import SqlValue

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_CONSTANTS: dict[str, SqlValue] = {"true": 1, "false": 0, "null": None}
"""Numbers of JSON, as SQLite reads them."""
_TEXT = ":text"
_PARAMETER = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | `(?:[^`]|``)*` | \[[^\]]*\] | --[^\n]* | /\*.*?(?:\*/|$)
    | (?<![\w$]) (?:\?(?P<number>[0-9]*) | (?P<name>[:@$]\w+))""",
    re.VERBOSE | re.DOTALL,
)
"""A parameter, or text in SQL that only looks like one."""


def with_values(sql: str, values: Sequence[str], what: str) -> tuple[str, list[SqlValue]]:
    """SQL and the values of its ?, in order, as the command line gives them.

    A numeric value is compared as a number: metadata ->> '$.year' is a number if the documents
    come from JSON, a text from CSV. SQLite converts what is compared with a value of numeric
    affinity to a number, if it looks like one (but not for IN, which has the affinity of its left
    side).

    Raises:
        UsageError: the SQL, called `what`, has names for parameters.
    """
    largest = 0

    def replaced(match: re.Match[str]) -> str:
        nonlocal largest
        if match["name"]:
            raise UsageError(
                f"{what} has {match['name']}: write ? for it, and give each ? a -p VALUE"
            )
        if match["number"] is None:
            return match[0]
        number = int(match["number"] or largest + 1)  # as SQLite counts them
        largest = max(largest, number)
        is_number = _NUMBER.fullmatch("".join(values[number - 1 : number]))
        return f"CAST({match[0]} AS NUMERIC)" if is_number else match[0]

    given = [_CONSTANTS.get(value, value.removesuffix(_TEXT)) for value in values]
    return _PARAMETER.sub(replaced, sql), given
