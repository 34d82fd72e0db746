"""SQL from the command line: an expression or a statement, and the values for its parameters."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from lshdb.errors import UsageError

if TYPE_CHECKING:
    from lshdb.store.rows import Parameters, SqlValue

_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_CONSTANTS: Final[dict[str, SqlValue]] = {"true": 1, "false": 0, "null": None}
"""Numbers of JSON, as SQLite reads them."""
_TEXT: Final = ":text"
_PARAMETER: Final = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | `(?:[^`]|``)*` | \[[^\]]*\] | --[^\n]* | /\*.*?(?:\*/|$)
    | (?<![\w$]) (?:\?(?P<number>[0-9]*) | (?P<name>[:@$]\w+))""",
    re.VERBOSE | re.DOTALL,
)
"""A parameter, or text in SQL that only looks like one."""

# typer's own copy of click, or click itself for an older typer.
_CLICK_TYPES: Final = import_module(typer.BadParameter.__module__.replace("exceptions", "types"))

NamedValues: TypeAlias = Annotated[
    list[Any] | None,
    typer.Option(
        "--parameter",
        "-p",
        metavar="NAME VALUE",
        help="Value of :NAME in the SQL; repeatable.",
        click_type=_CLICK_TYPES.Tuple([str, str]),
    ),
]
"""Pairs of a name and a value: typer has no annotation for an option of two words that repeats."""


def with_values(sql: str | None, values: list[str]) -> dict[str, Any]:
    """The options `where` and `parameters` for an expression and the values of its ?, in order.

    A numeric value is compared as a number: metadata ->> '$.year' is a number if the documents
    come from JSON, a text from CSV. SQLite converts what is compared with a value of numeric
    affinity to a number, if it looks like one (but not for IN, which has the affinity of its left
    side).

    Raises:
        UsageError: the SQL has names for parameters, or there are values and no SQL.
    """
    if sql is None:
        raise UsageError("-p is for the parameters of --where, which is not given")
    if names := _names(sql):
        raise UsageError(f"--where has {names[0]}: write ? for it, and give each ? a -p VALUE")
    numbers = {str(place) for place, value in enumerate(values, 1) if _is_number(value)}
    return {"where": _cast(sql, numbers), "parameters": list(map(_value, values))}


def with_named_values(sql: str, values: list[tuple[str, str]]) -> tuple[str, Parameters]:
    """A statement and the values of its :NAME; values are as for `with_values`.

    Raises:
        UsageError: a parameter has no value or no name, or a value has no parameter.
    """
    names = _names(sql)
    wanted = [name[1:] for name in names]
    given = {name.lstrip(":@$"): value for name, value in values}
    for name in given:
        if name not in wanted:
            there = f"it has {', '.join(names)}" if names else f"write :{name} where the value goes"
            raise UsageError(f"-p {name}: the SQL has no parameter of this name; {there}")
    for name in names:
        if name[1:] not in given:
            raise UsageError(f"the SQL has {name}: give it a value by -p {name[1:]} VALUE")
    if any(one["number"] is not None for one in _PARAMETER.finditer(sql)):
        raise UsageError("the SQL has ?: write :NAME for it, and give it a value by -p NAME VALUE")
    numbers = {name for name, value in given.items() if _is_number(value)}
    return _cast(sql, numbers), {name: _value(value) for name, value in given.items()}


def _names(sql: str) -> list[str]:
    """The named parameters, with the sign before each, once each."""
    return [*dict.fromkeys(one["name"] for one in _PARAMETER.finditer(sql) if one["name"])]


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
