"""Writes docs/options.md, a table of every option, from their declarations.

usage: python scripts/site/options_page.py [OUT.md]
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, get_args

from lshdb import options
from lshdb.cli.parameters import flags_of
from lshdb.groups import Option, Options, kind_of, option_of

_OUT: Final = Path(__file__).resolve().parents[2] / "docs" / "options.md"
_HEAD: Final = """\
# All options

For those who look up an option: each one of the library and the command line, by the group that
declares it. A group also has the options of the groups that it extends. The first column is the
name in Python, the second what a command takes; what has no second is for Python only.
"""


def groups() -> list[Any]:
    """The groups, in the order of their declaration."""
    every = [one for one in vars(options).values() if isinstance(one, type)]
    return [one for one in every if issubclass(one, Options) and one is not Options]


def own_fields(group: Any) -> list[Any]:
    """The options that a group itself declares."""
    names = inspect.get_annotations(group)
    return [one for one in fields(group) if one.name in names]


def named_kind(annotation: Any, option: Option) -> str:
    """What the values of an option are called, with their range."""
    what = option.metavar or (option.kind or kind_of(annotation))[0]
    low, high = (option.min if option.above is None else option.above), option.max
    if low is not None:
        what += f" above {low:g}" if option.above is not None else f" from {low:g}"
    return what if high is None else f"{what} to {high:,}"


def page() -> Iterator[str]:
    """The lines of the page."""
    yield _HEAD
    for group in groups():
        own = own_fields(group)
        if not own:
            continue
        extended = [one.__name__ for one in group.__bases__ if one is not Options]
        more = f" Extends {', '.join(f'`{one}`' for one in extended)}." if extended else ""
        yield f"## {group.__name__}\n\n{(group.__doc__ or '').splitlines()[0]}{more}\n"
        yield "| option | command line | values | default | |"
        yield "| --- | --- | --- | --- | --- |"
        for one in own:
            annotation, option = get_args(one.type)[0], option_of(one)
            flags = ", ".join(f"`{flag}`" for flag in flags_of(one.name, one.default, option))
            simple = isinstance(one.default, bool | int | float | str)
            default = f"`{one.default!r}`" if simple else ""
            kind = named_kind(annotation, option).replace("|", r"\|")
            yield f"| `{one.name}` | {flags} | {kind} | {default} | {option.help} |"
        yield ""


def main() -> None:
    """Write the page."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else _OUT
    out.write_text("\n".join(page()).replace("\n\n\n", "\n\n"), "utf-8")


if __name__ == "__main__":
    main()
