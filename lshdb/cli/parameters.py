"""Groups of options as parameters of a command: what typer makes its options of."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, get_args, get_origin

import typer

from lshdb.cli.conditions import with_values
from lshdb.groups import Option, Options, declared, fields_of, without_none

DATABASE: Final = Path("lsh.db")
_KEYS_OFFERED: Final = 100


def parameters_of(group: Any) -> list[inspect.Parameter]:
    """The parameters of a command for a group of options."""
    given = inspect.signature(group, eval_str=True).parameters.values()
    if not issubclass(group, Options):
        return [*map(own_parameter, given)]
    return [
        _parameter(one, *declared(group)[one.name])
        for one in given
        if declared(group)[one.name][1].of_command
    ]


def own_parameter(one: inspect.Parameter) -> inspect.Parameter:
    """A parameter of a command that is in no group: an `Option` beside its type is typer's."""
    option = next(iter(getattr(one.annotation, "__metadata__", ())), None)
    if not isinstance(option, Option):
        return one
    bounds = {"min": option.min, "max": option.max}
    return _parameter(one, one.annotation.__origin__, option, **bounds)


def _parameter(
    one: inspect.Parameter, annotation: Any, option: Option, **bounds: Any
) -> inspect.Parameter:
    """The parameter of a command for an option; groups check the bounds of theirs."""
    kind: Any = without_none(annotation)
    default, flags, parse = one.default, option.flags, None
    is_key = option.metavar == "KEY"
    if kind is bool:
        default, flags = False, flags_of(one.name, one.default, option)
    elif is_key or option.parse is not None or kind not in (int, float, str, Path):
        parse, default = key_of_text if is_key else option.parse, default or None
        # Of a union, such as values with and without names, the command line has the list.
        is_list = parse is None and Sequence in [get_origin(one) for one in (kind, *get_args(kind))]
        kind = list[str] | None if is_list else str if default else str | None
    elif default is None:
        kind = kind | None
    info = typer.Option(
        *flags,
        help=option.help,
        metavar=option.metavar,
        parser=None if parse is None else _parser(parse),
        autocompletion=completed_keys if is_key else None,
        show_default=option.shown,
        **bounds,
    )
    return one.replace(default=default, annotation=Annotated[kind, info], kind=one.KEYWORD_ONLY)


def flags_of(name: str, default: object, option: Option) -> tuple[str, ...]:
    """How the command line writes an option; nothing for one of Python only."""
    if not option.of_command:
        return ()
    off = "no-" if default is True else ""
    return option.flags or (f"--{off}{name.replace('_', '-')}",)


def _turns_off(default: object, option: Option) -> bool:
    """Whether the command line has an option to turn off what is on by default."""
    return default is True or any(flag.startswith("--no-") for flag in option.flags)


def _parser(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    def parsed(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    return parsed


def values_of(group: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The values of a group's options, which are taken out of those of the command."""
    if not issubclass(group, Options):
        return {name: given.pop(name) for name in inspect.signature(group).parameters}
    values = {}
    for one in fields_of(group):
        option = declared(group)[one.name][1]
        if not option.of_command:
            continue
        value = given.pop(one.name)
        if _turns_off(one.default, option):
            value = False if value else one.default
        if value is not None:
            values[one.name] = value
    if "parameters" in values or "where" in values:
        values |= with_values(values.get("where"), values.get("parameters", []))
    return values


def key_of_text(text: str) -> str:
    """A key: a file name that is not UTF-8 becomes the key that `add` gave."""
    from lshdb.sources.paths import printable_path

    return printable_path(text)


def completed_keys(context: typer.Context, incomplete: str) -> list[str]:
    """The database's keys with this prefix, for the shell; none if it cannot be read.

    Unprintable keys are left out: the shell would show them unescaped.
    """
    import lshdb

    path = context.params.get("db") or os.environ.get("LSHDB_PATH") or DATABASE
    try:
        with lshdb.open(path, mode="read", timeout=0) as database:
            keys = database.keys(prefix=incomplete, top=_KEYS_OFFERED)
    except lshdb.LshdbError:
        return []
    return [key for key in keys if key.isprintable()]
