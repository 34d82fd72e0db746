"""The options of a condition on documents: an SQL expression, and the values for its parameters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:
    from lshdb.store.rows import SqlValue

_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_CONSTANTS: Final[dict[str, SqlValue]] = {"true": 1, "false": 0, "null": None}
"""As JSON has them, and as SQLite reads them from JSON."""
_TEXT: Final = ":text"
_PARAMETER: Final = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | `(?:[^`]|``)*` | \[[^\]]*\] | \?(?P<number>[0-9]*)""",
    re.VERBOSE,
)
"""A parameter, or what may have a question mark that is none."""


@dataclass(frozen=True, slots=True)
class Condition:
    """The options that say which documents are meant."""

    where: Annotated[
        str | None,
        typer.Option(metavar="SQL", help="Only documents that match this SQL expression."),
    ] = None
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            "-p",
            metavar="VALUE",
            help="Value for a ? in --where; VALUE:text is always a text.",
        ),
    ] = None

    def given(self) -> dict[str, Any]:
        """What the library is given: `where` and `parameters`."""
        if self.where is None:
            return {"where": None, "parameters": self.parameter or ()}
        values = self.parameter or []
        return {"where": _with_numbers(self.where, values), "parameters": list(map(_value, values))}


ANY: Final = Condition()


def _value(text: str) -> SqlValue:
    return _CONSTANTS.get(text, text.removesuffix(_TEXT))


def _with_numbers(where: str, values: list[str]) -> str:
    """The expression with numbers of a type by which SQLite compares texts as numbers, too.

    metadata ->> '$.year' is a number where the documents come from JSON, a text from CSV. What is
    compared with a value of numeric affinity is converted to a number, where it looks like one
    (but not by IN, which has the affinity of its left side).
    """
    numbers = [_NUMBER.fullmatch(value) is not None for value in values]
    largest = 0

    def replaced(match: re.Match[str]) -> str:
        nonlocal largest
        if match["number"] is None:
            return match[0]
        number = int(match["number"] or largest + 1)  # as SQLite counts them
        largest = max(largest, number)
        is_number = 0 < number <= len(numbers) and numbers[number - 1]
        return f"CAST({match[0]} AS NUMERIC)" if is_number else match[0]

    return _PARAMETER.sub(replaced, where)
