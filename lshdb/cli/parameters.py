"""Groups of options as parameters of a command: what typer makes its options of."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from inspect import Parameter
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer

import lshdb
from lshdb import groups, options
from lshdb.cli import messages
from lshdb.errors import UsageError
from lshdb.options import SqlValue
from lshdb.sources.paths import printable_path

DATABASE = Path("lsh.db")
_KEYS_OFFERED = 100
_OF_MOST = ("", options.OUTPUT, options.STAYS, options.REFERENCES, options.CUTTING)
"""Headings of options that most people use, unless the option says otherwise."""
_INT64 = range(-(1 << 63), 1 << 63)
_METAVARS = {int: "N", float: "NUMBER"}
_SIMPLE = (bool, int, float, str, Path)
"""Types that typer knows."""


def parameters_of(parameter: Parameter) -> list[Parameter]:
    """What typer gets for a parameter of a command's function: one, or one per option of a group.

    An `Option` beside the type is typer's. Groups check the bounds of theirs.
    """
    if groups.is_group(parameter.annotation):
        fields = groups.declared(parameter.annotation).values()
        return [_parameter(field) for field in fields if field.option.of_command]
    if get_origin(parameter.annotation) is Annotated:
        annotation, option = get_args(parameter.annotation)
        if isinstance(option, groups.Option):
            known = parameter.name, annotation, parameter.default, option, True, groups.Options
            return [_parameter(groups.Declared(*known), min=option.min, max=option.max)]
    return [parameter]


def _parameter(field: groups.Declared, **bounds: float | None) -> Parameter:
    name, annotation, default, option, *_ = field
    kind: Any = groups.without_none(annotation)
    flags, parse = option.flags, option.parse
    is_key = option.metavar == "KEY"
    if is_key:
        # A file name that is not UTF-8 becomes the key that add gave.
        parse = printable_path
    if kind is bool and "/" not in "".join(flags):
        default, flags = False, flags_of(name, default, option)
    elif parse is not None or kind not in _SIMPLE:
        # Of a union, such as values with and without names, the command line has the list.
        is_list = any(get_origin(part) is Sequence for part in (kind, *get_args(kind)))
        kind, default = list[str] if is_list and parse is None else str, default or None
    info: Any = typer.Option(  # type: ignore[call-overload, misc]
        *flags,
        help=option.help,
        metavar=option.metavar or _METAVARS.get(kind),
        parser=None if parse is None else _parser(parse),
        autocompletion=completed_keys if is_key else None,
        show_default="default" not in option.help,
        envvar=option.variable,
        show_envvar=False,
        readable=False,  # what opens a file reports it
        rich_help_panel=field.section or None,
        hidden=not (field.section in _OF_MOST if option.common is None else option.common),
        **bounds,
    )
    if default is None:
        kind = kind | None
    return Parameter(
        name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )


def flags_of(name: str, default: object, option: groups.Option) -> tuple[str, ...]:
    """How the command line writes an option; nothing for one of Python only."""
    if not option.of_command:
        return ()
    off = "no-" if default is True else ""
    return option.flags or (f"--{off}{name.replace('_', '-')}",)


def _parser(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    def parsed(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    return parsed


def grouped(group: Any, command_values: dict[str, Any]) -> groups.Options:
    """A group with the values of its options, which are taken out of those of the command.

    Its job shows a bar wherever a command shows one.
    """
    values: dict[str, Any] = {}
    for name, field in groups.declared(group).items():
        if name == "progress":
            values[name] = messages.shows_progress()
        if not field.option.of_command:
            continue
        value = command_values.pop(name)
        if flags_of(name, field.default, field.option)[0].startswith("--no-"):
            value = False if value else field.default
        if value is not None:
            values[name] = value
    if "parameters" in values:
        if "where" not in values:
            raise UsageError("-p is for the parameters of --where, which is not given")
        values["parameters"] = [*map(sql_value, values["parameters"])]
    options: groups.Options = group(**values)
    return options


def sql_value(given: str) -> SqlValue:
    """The value of a ? that `-p` gives: a number as JSON writes it, else a text.

    A number of more than 64 bits is a text, as SQLite would round it. `:text` at the end marks a
    text, and is no part of it.

    >>> [*map(sql_value, ["2024", "0.5", "2024:text", "1e3", "007", "null"])]
    [2024, 0.5, '2024', '1e3', '007', 'null']
    """
    text = given.removesuffix(":text")
    if text != given:
        return text
    with suppress(ValueError):
        if str(whole := int(text)) == text and whole in _INT64:
            return whole
    with suppress(ValueError):
        if str(number := float(text)) == text and isfinite(number):
            return number
    return text


def completed_keys(context: typer.Context, incomplete: str) -> list[str]:
    """The database's keys with this prefix, for the shell; none if it cannot be read.

    Unprintable keys are left out: the shell would show them unescaped.
    """
    path = context.params.get("db") or os.environ.get("LSHDB_PATH") or DATABASE
    try:
        with lshdb.open(path, mode="read", timeout=0) as database:
            keys = database.keys(prefix=incomplete, top=_KEYS_OFFERED)
    except lshdb.LshdbError:
        return []
    return [key for key in keys if key.isprintable()]
