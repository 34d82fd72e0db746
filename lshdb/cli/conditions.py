"""SQL from the command line: an expression or a statement, and the values for its parameters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from lshdb.errors import UsageError

if TYPE_CHECKING:
    from lshdb.store.rows import Parameters, SqlValue

_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_CONSTANTS: Final[dict[str, SqlValue]] = {"true": 1, "false": 0, "null": None}
"""As JSON has them, and as SQLite reads them from JSON."""
_TEXT: Final = ":text"
_PARAMETER: Final = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | `(?:[^`]|``)*` | \[[^\]]*\] | --[^\n]* | /\*.*?(?:\*/|$)
    | (?<![\w$]) (?:\?(?P<number>[0-9]*) | (?P<name>[:@$]\w+))""",
    re.VERBOSE | re.DOTALL,
)
"""A parameter, or what may have the characters of one and is none."""

Values: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter",
        "-p",
        metavar="[NAME=]VALUE",
        help="Value of a ? or of :NAME in the SQL.",
    ),
]


@dataclass(frozen=True, slots=True)
class Condition:
    """The options that say which documents are meant; UsageError for values without SQL."""

    where: Annotated[
        str | None,
        typer.Option(metavar="SQL", help="Only documents that match this expression."),
    ] = None
    parameter: Values = None

    def __post_init__(self) -> None:
        if self.where is None and self.parameter:
            raise UsageError("-p is for the parameters of --where, which is not given")

    def given(self) -> dict[str, Any]:
        """What the library is given: `where` and `parameters`, or nothing."""
        if self.where is None:
            return {}
        where, parameters = with_values(self.where, self.parameter or [])
        return {"where": where, "parameters": parameters}


ANY: Final = Condition()


def with_values(sql: str, values: list[str]) -> tuple[str, Parameters]:
    """SQL and the values of its parameters, as they are given on the command line.

    A value that is a number is compared as one: metadata ->> '$.year' is a number where the
    documents come from JSON, a text from CSV. What is compared with a value of numeric affinity is
    converted to a number, where it looks like one (but not by IN, which has the affinity of its
    left side).

    Raises:
        UsageError: the SQL has names for parameters, and a value has none of them.
    """
    found = [one for one in _PARAMETER.finditer(sql) if one["number"] is not None or one["name"]]
    names = {one["name"][1:] for one in found if one["name"]}
    if not names:
        numbers = {str(place) for place, value in enumerate(values, 1) if _is_number(value)}
        return _cast(sql, numbers), list(map(_value, values))
    named: dict[str, str] = {}
    for value in values:
        name, _, text = value.partition("=")
        name = name.removeprefix(":")
        if "=" not in value or name not in names:
            listed = ", ".join(sorted(names))
            raise UsageError(f"-p {value} is not NAME=VALUE with a parameter of the SQL: {listed}")
        named[name] = text
    numbers = {name for name, value in named.items() if _is_number(value)}
    return _cast(sql, numbers), {name: _value(value) for name, value in named.items()}


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def _value(text: str) -> SqlValue:
    return _CONSTANTS.get(text, text.removesuffix(_TEXT))


def _cast(sql: str, numbers: set[str]) -> str:
    """The SQL with the parameters that are numbers, by name or place, of a numeric affinity."""
    largest = 0

    def replaced(match: re.Match[str]) -> str:
        nonlocal largest
        name = match["name"] and match["name"][1:]
        if match["number"] is not None:
            place = int(match["number"] or largest + 1)  # as SQLite counts them
            largest = max(largest, place)
            name = str(place)
        return f"CAST({match[0]} AS NUMERIC)" if name in numbers else match[0]

    return _PARAMETER.sub(replaced, sql)
