"""Functions and methods whose arguments are a group of options; taking.pyi has their types."""

import functools
from collections.abc import Callable
from inspect import Signature, cleandoc, signature
from typing import Any

from lshdb.groups import check_value, unexpected, unfold


def takes(group: Any = None) -> Any:
    """Give a function or a method the options of a group as arguments, which it gets as one object.

    Its signature shows all of them, and its docstring gets a line for each. Other arguments come
    before the group, and their types are checked by their annotations. Without a group, that is
    all.

    Raises:
        UsageError: an argument has another type; the message names it.
        TypeError: an argument is unknown, missing or given twice; the message names the function.
    """

    def with_arguments(function: Callable[..., Any]) -> Any:
        written = signature(function)
        parameters_before = [*written.parameters.values()][: -1 if group else None]
        leading_part, count = Signature(parameters_before), len(parameters_before)
        caller = function.__name__

        @functools.wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            leading, option_args = (args[:count], args[count:]) if group else (args, ())
            named = {
                name: keywords.pop(name) for name in leading_part.parameters if name in keywords
            }
            if keywords and group is None:
                raise unexpected(caller, next(iter(keywords)), leading_part.parameters)
            try:
                bound = leading_part.bind(*leading, **named)
            except TypeError as error:
                raise TypeError(f"{caller}(): {error}") from None
            for name, value in bound.arguments.items():
                check_value(name, value, leading_part.parameters[name].annotation)
            if group is None:
                return function(*bound.args, **bound.kwargs)
            if len(option_args) == 1 and type(option_args[0]) is group and not keywords:
                return function(*bound.args, *option_args)
            return function(*bound.args, group.of_call(caller, option_args, keywords))

        if group:
            lines = [
                f"    {option.name}: {option.option.help}" for option in group.declared.values()
            ]
            call.__signature__ = written.replace(  # type: ignore[attr-defined]
                parameters=[*parameters_before, *unfold(group).parameters.values()]
            )
            call.__doc__ = "\n".join([cleandoc(function.__doc__ or ""), "", "Options:", *lines])
        return call

    return with_arguments
