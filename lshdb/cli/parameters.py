"""Functions as commands, and groups of options as their parameters: what typer makes options of."""

import errno
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache, wraps
from inspect import Parameter, Signature, signature
from itertools import chain
from math import isfinite
from pathlib import Path
from string import ascii_uppercase
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from lshdb import errors, groups, options
from lshdb.cli import messages, running
from lshdb.errors import UsageError
from lshdb.options import SqlValue
from lshdb.read.paths import printable_path

DATABASE = Path("lsh.db")
_OF_MOST = ("", options.OUTPUT, options.STAYS, options.REFERENCES, options.CUTTING)
"""Headings of options that most people use, unless the option says otherwise."""
_INT64 = range(-(1 << 63), 1 << 63)
_METAVARS = {int: "N", float: "NUMBER"}
_SIMPLE = (bool, int, float, str, Path)
"""Types that typer knows."""


def command(function: Callable[..., bool | None]) -> Callable[..., None]:
    """Make a function a command: its errors are one line, without a traceback.

    It returns whether something failed, or was found that should not be there.
    The command has the option --quiet besides its own. A parameter whose type is a group of options
    stands for these; one with an `Option` beside its type is an option, too.
    """
    function_parameters = signature(function, eval_str=True).parameters.values()

    @wraps(function)
    def run(**values: Any) -> None:
        if values.pop("quiet", False):
            messages.quiet = True
        try:
            for parameter in function_parameters:
                if groups.is_group(parameter.annotation):
                    values[parameter.name] = grouped(parameter.annotation, values)
            # Each once: parts of a job may have the same to say.
            with errors.limits_to(lru_cache(lambda cut: messages.warn(f"lshdb: {cut}"))):
                has_failed = function(**values)
            # Here and not at the interpreter's end, where an error could not change the status.
            sys.stdout.flush()
            if has_failed:
                raise typer.Exit(running.FAILED)
        except errors.LshdbError as error:
            status = running.WRONG_USAGE if isinstance(error, errors.UsageError) else running.FAILED
            raise running.failed(str(error), status) from None
        except OSError as error:
            # Windows has no error of its own for a pipe that is closed.
            closed = os.name == "nt" and error.errno == errno.EINVAL and not error.filename
            if not (closed or isinstance(error, BrokenPipeError)):
                raise running.output_failed(error) from None
            # The reader has what it wanted, as in `| head`: nothing failed.
            messages.discard(sys.stdout)
            raise typer.Exit from None
        except MemoryError:
            raise running.failed("out of memory") from None
        except KeyboardInterrupt:
            raise running.failed("interrupted", running.INTERRUPTED) from None

    quiet = Parameter("quiet", Parameter.KEYWORD_ONLY, default=False, annotation=running.Quiet)
    parameters = chain.from_iterable(map(parameters_of, function_parameters))
    run.__signature__ = Signature([*parameters, quiet])  # type: ignore[attr-defined]
    return run


def parameters_of(parameter: Parameter) -> list[Parameter]:
    """What typer gets for a parameter of a command's function: one, or one per option of a group.

    An `Option` beside the type is typer's. Groups check the bounds of theirs.
    """
    if groups.is_group(parameter.annotation):
        fields = parameter.annotation.declared.values()
        return [_parameter(field) for field in fields if field.option.of_command]
    if get_origin(parameter.annotation) is Annotated:
        annotation, option = get_args(parameter.annotation)
        if isinstance(option, groups.Option):
            name, default = parameter.name, parameter.default
            field = groups.Declared(name, annotation, default, option, True, groups.Options)
            return [_parameter(field, min=option.min, max=option.max)]
    return [parameter]


def _parameter(field: groups.Declared, **bounds: float | None) -> Parameter:
    name, annotation, default, option, *_ = field
    kind: Any = groups.without_none(annotation)
    values = "|".join(get_args(kind)) if get_origin(kind) is Literal else ""
    flags, parse = option.flags, option.parse
    if option.metavar == "KEY":
        # A file name that is not UTF-8 becomes the key that add gave.
        parse = printable_path
    if kind is bool and "/" not in "".join(flags):
        default, flags = False, field.flags
    elif parse is not None or kind not in _SIMPLE:
        # Of a union, such as values with and without names, the command line has the list.
        is_list = any(get_origin(part) is Sequence for part in (kind, *get_args(kind)))
        kind, default = list[str] if is_list and parse is None else str, default or None
    metavar = option.metavar or values or _METAVARS.get(kind, "")
    completion: Any = _completing(metavar) if "|" in metavar else None
    info: Any = typer.Option(  # type: ignore[call-overload]
        *flags,
        help=option.help,
        metavar=metavar or None,
        autocompletion=completion,
        parser=None if parse is None else _parser(parse),
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


def _completing(metavar: str) -> Callable[[str], list[str]]:
    """What completes a value, of those that a metavar lists: `keep|drop|word:W`."""
    values = [value.rstrip(ascii_uppercase) for value in metavar.split("|")]
    return lambda incomplete: [
        value for value in values if value.islower() and value.startswith(incomplete)
    ]


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
    for name, field in group.declared.items():
        if name == "progress":
            values[name] = messages.shows_progress()
        if not field.option.of_command:
            continue
        value = command_values.pop(name)
        if field.flags[0].startswith("--no-"):
            value = False if value else field.default
        if value is not None:
            values[name] = value
    if "parameters" in values:
        values["parameters"] = [*map(sql_value, values["parameters"])]
    try:
        options: groups.Options = group(**values)
    except UsageError as error:
        name, _, reason = str(error).partition(" ")
        if (named := group.declared.get(name)) is None:
            raise
        # Programs call it by its name, people by its flag.
        raise type(error)(f"{named.flags[0]} {reason}") from None
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
