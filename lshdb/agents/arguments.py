"""From what a client sends to the arguments of a tool, which are a group of options.

Models and clients send null for omitted arguments, numbers as keys, whole numbers as floats and
numbers as strings. A value with one possible meaning is accepted; any other value is refused by a
line that says what to send.
"""

from collections.abc import Mapping
from contextlib import suppress
from difflib import get_close_matches
from inspect import Parameter
from typing import Annotated, Any, TypeVar

from lshdb import UsageError, groups, keys
from lshdb.json_schema import option_schema
from lshdb.json_text import without_surrogates

_Group = TypeVar("_Group", bound=groups.Options)
_KEY = str | int
_TRUTHS = {"true": True, "false": False}

ComparedText = Annotated[str | None, groups.argument("A text to compare; or give a key.")]
Key = Annotated[
    Any,
    groups.argument(
        "A stored document in place of a text: its key or its uri.", convert=keys.key_argument
    ),
]
ToolTop = Annotated[int, groups.Option("Maximum number of results.", min=1, max=100)]
ToolThreshold = Annotated[
    float | None, groups.proportion("Minimum similarity; by default the database's.")
]


def schema_of_tool(group: type[groups.Options]) -> dict[str, Any]:
    """The JSON schema of a tool's arguments."""
    return {
        "type": "object",
        "properties": {
            name: option_schema(option, _sent_type(option))
            for name, option in groups.declared(group).items()
        },
        "required": _required(group),
        "additionalProperties": False,
    }


def arguments_of(
    tool: str, group: type[_Group], values: Mapping[str, Any]
) -> tuple[_Group, list[str]]:
    """The arguments of a tool, and notes about changes to them.

    Raises:
        UsageError: an argument is unknown, missing, or of another type or range.
    """
    known = groups.declared(group)
    for name in values:
        if name not in known:
            matches = get_close_matches(name, known, 1)
            hint = f"; did you mean {matches[0]}?" if matches else ""
            raise UsageError(
                f"{tool} has no argument {name!r:.100}, only {', '.join(known) or 'none'}{hint}"
            )
    present = {name: value for name, value in values.items() if value is not None}
    for name in _required(group):
        if name not in present:
            raise UsageError(f"{tool} needs {name}: {_help(known[name])}")
    notes: list[str] = []
    for name, value in present.items():
        present[name] = value = _converted(known[name], value)
        if known[name].option.convert is None and isinstance(value, str):
            present[name] = without_surrogates(value)
            if present[name] is not value:
                notes.append(f"{name} had half a surrogate pair, which was replaced by U+FFFD")
    return group(**present), notes


def _required(group: type[groups.Options]) -> list[str]:
    every = groups.declared(group).items()
    return [name for name, option in every if option.default is Parameter.empty]


def _help(option: groups.Declared) -> str:
    text = option.option.help.rstrip(".")
    return text[:1].lower() + text[1:]


def _sent_type(option: groups.Declared) -> Any:
    """The type of the value that a client sends for an option."""
    convert = option.option.convert
    if convert is keys.key_arguments:
        return list[_KEY] | str | int
    return _KEY if convert is keys.key_argument else None


def _converted(option: groups.Declared, value: Any) -> Any:
    """A value in the type of its option, if it has one possible meaning in that type."""
    kind = groups.without_none(option.annotation)
    if kind in (int, float) and isinstance(value, bool):
        raise UsageError(f"{option.name} {str(value).lower()} is not a number")
    if kind is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and kind in (int, float):
        with suppress(ValueError):
            return kind(value)
    if kind is bool and isinstance(value, str):
        return _TRUTHS.get(value.casefold(), value)
    return value
