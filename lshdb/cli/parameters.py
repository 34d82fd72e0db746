"""Groups of options as parameters of a command: what typer makes its options of."""

import os
from collections.abc import Callable, Sequence
from dataclasses import fields
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer

import lshdb
from lshdb.cli.sql_values import with_values
from lshdb.errors import UsageError
from lshdb.groups import Option, Options, option_of, signature_of, without_none
from lshdb.sources.paths import printable_path

DATABASE = Path("lsh.db")
_KEYS_OFFERED = 100
_SIMPLE = (bool, int, float, str, Path)
"""Types that typer knows."""


def is_group(annotation: object) -> bool:
    """Whether a parameter of this type stands for the options of a group."""
    return isinstance(annotation, type) and issubclass(annotation, Options)


def parameters_of(one: Parameter) -> list[Parameter]:
    """What a parameter of a function is for its command: one, or one for each option of a group.

    An `Option` beside the type is typer's. Groups check the bounds of theirs.
    """
    if is_group(one.annotation):
        own = signature_of(one.annotation).parameters
        declared = [(own[each.name], option_of(each)) for each in fields(one.annotation)]
        return [_parameter(each, option) for each, option in declared if option.of_command]
    if get_origin(one.annotation) is Annotated:
        annotation, option = get_args(one.annotation)
        if isinstance(option, Option):
            own_type = one.replace(annotation=annotation)
            return [_parameter(own_type, option, min=option.min, max=option.max)]
    return [one]


def _parameter(one: Parameter, option: Option, **bounds: float | None) -> Parameter:
    kind: Any = without_none(one.annotation)
    default, flags, parse = one.default, option.flags, option.parse
    is_key = option.metavar == "KEY"
    if is_key:
        # A file name that is not UTF-8 becomes the key that add gave.
        parse = printable_path
    if kind is bool and "/" not in "".join(flags):
        default, flags = False, flags_of(one.name, default, option)
    elif parse is not None or kind not in _SIMPLE:
        # Of a union, such as values with and without names, the command line has the list.
        is_list = any(get_origin(one) is Sequence for one in (kind, *get_args(kind)))
        kind, default = list[str] if is_list and parse is None else str, default or None
    info: Any = typer.Option(  # type: ignore[call-overload]
        *flags,
        help=option.help,
        metavar=option.metavar,
        parser=None if parse is None else _parser(parse),
        autocompletion=completed_keys if is_key else None,
        show_default="default" not in option.help,
        envvar=option.variable,
        show_envvar=False,
        readable=False,  # what opens a file reports it
        **bounds,
    )
    if default is None:
        kind = kind | None
    return one.replace(
        default=default, annotation=Annotated[kind, info], kind=Parameter.KEYWORD_ONLY
    )


def flags_of(name: str, default: object, option: Option) -> tuple[str, ...]:
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


def grouped(group: Any, given: dict[str, Any]) -> Options:
    """A group with the values of its options, which are taken out of those of the command."""
    values = {}
    for one in fields(group):
        option = option_of(one)
        if not option.of_command:
            continue
        value = given.pop(one.name)
        if flags_of(one.name, one.default, option)[0].startswith("--no-"):
            value = False if value else one.default
        if value is not None:
            values[one.name] = value
    if "parameters" in values:
        if "where" not in values:
            raise UsageError("-p is for the parameters of --where, which is not given")
        sql = with_values(values["where"], values["parameters"], "--where")
        values["where"], values["parameters"] = sql
    made: Options = group(**values)
    return made


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
