"""Writes docs/options.md, a table of every option, from their declarations.

usage: python scripts/site/options_page.py [OUT.md]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from lshdb import options
from lshdb.cli.parameters import flags_of
from lshdb.groups import Declared, Option, Options, declared, is_group, kind_of
from lshdb.offers import OPTIONS

_OUT: Final = Path(__file__).resolve().parents[2] / "docs" / "options.md"
_HEAD: Final = """\
# All options

For those who look up an option: each one of the library and the command line, by the group that
declares it. A group also has the options of the groups that it holds. The first column is the
name in Python, the second what a command takes; what has no second is for Python only.
"""


def groups() -> list[Any]:
    """The groups, in the order of their declaration."""
    of_apps = [getattr(options, name) for name in OPTIONS]
    every = [one for one in [*vars(options).values(), *of_apps] if isinstance(one, type)]
    return [one for one in every if issubclass(one, Options) and one is not Options]


def own_options(group: Any) -> list[Declared]:
    """The options that a group itself declares."""
    return [option for option in declared(group).values() if option.group is group]


def parts(group: Any) -> list[str]:
    """The groups that a group holds."""
    kinds: list[Any] = [field.type for field in fields(group) if is_group(field.type)]
    return [kind.__name__ for kind in kinds]


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
        held = parts(group)
        more = f" Holds {', '.join(f'`{name}`' for name in held)}." if held else ""
        yield f"## {group.__name__}\n\n{(group.__doc__ or '').splitlines()[0]}{more}\n"
        own = own_options(group)
        if own:
            yield "| option | command line | values | default | |"
            yield "| --- | --- | --- | --- | --- |"
        for each in own:
            option = each.option
            flags = ", ".join(f"`{flag}`" for flag in flags_of(each.name, each.default, option))
            simple = isinstance(each.default, bool | int | float | str)
            default = f"`{each.default!r}`" if simple else ""
            kind = named_kind(each.annotation, option).replace("|", r"\|")
            yield f"| `{each.name}` | {flags} | {kind} | {default} | {option.help} |"
        yield ""


if __name__ == "__main__":
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else _OUT
    out.write_text("\n".join(page()).replace("\n\n\n", "\n\n"), "utf-8")
