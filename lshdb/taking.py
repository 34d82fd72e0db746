"""Functions and methods whose arguments are a group of options; taking.pyi has their types."""

import functools
from collections.abc import Callable
from inspect import cleandoc, signature
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
        before = dict([*written.parameters.items()][: -1 if group else None])
        caller, count, last = function.__name__, len(before), [*written.parameters][-1]

        @functools.wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            leading, option_args = (args[:count], args[count:]) if group else (args, ())
            named = {name: keywords.pop(name) for name in before if name in keywords}
            if keywords and group is None:
                raise unexpected(caller, next(iter(keywords)), before)
            for name, value in [*zip(before, leading, strict=False), *named.items()]:
                check_value(name, value, before[name].annotation)
            if group is None:
                return function(*leading, **named)
            if len(option_args) == 1 and type(option_args[0]) is group and not keywords:
                options = option_args[0]
            else:
                options = group.of_call(caller, option_args, keywords)
            return function(*leading, **named, **{last: options})

        if group:
            lines = [
                f"    {option.name}: {option.option.help}" for option in group.declared.values()
            ]
            call.__signature__ = written.replace(  # type: ignore[attr-defined]
                parameters=[*before.values(), *unfold(group).parameters.values()]
            )
            call.__doc__ = "\n".join([cleandoc(function.__doc__ or ""), "", "Options:", *lines])
        return call

    return with_arguments
