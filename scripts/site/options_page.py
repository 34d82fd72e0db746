"""Writes docs/options.md, the names of all options, from their declarations.

usage: python scripts/site/options_page.py [OUT.md]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from lshdb import options
from lshdb.groups import Declared, Options, is_group
from lshdb.offers import OPTIONS

_OUT: Final = Path(__file__).resolve().parents[2] / "docs" / "options.md"
_HEAD: Final = """\
# All options

For those who look up an option: the names in Python and on the command line, by the group that
declares them. What each does, its values and its default are in `lshdb COMMAND --help-all`, and in
`help(lshdb.Database.pairs)` and so on. `max_similarity` is `--max-similarity` on the command line;
a flag of another name is beside its option, and those after "In Python" have no flag or another
form of it. A group also has the options of the groups it holds.
"""


def groups() -> list[Any]:
    """The groups, in the order of their declaration."""
    of_apps = [getattr(options, name) for name in OPTIONS]
    every = [one for one in [*vars(options).values(), *of_apps] if isinstance(one, type)]
    return [one for one in every if issubclass(one, Options) and one is not Options]


def own_options(group: Any) -> list[Declared]:
    """The options that a group itself declares."""
    return [option for option in group.declared.values() if option.group is group]


def parts(group: Any) -> list[str]:
    """The groups that a group holds."""
    kinds: list[Any] = [field.type for field in fields(group) if is_group(field.type)]
    return [kind.__name__ for kind in kinds]


def named(each: Declared) -> str:
    """An option by its name, with its flag if that has another one."""
    flags = each.flags
    usual = (f"--{each.name.replace('_', '-')}",)
    return f"`{each.name}`" + ("" if flags in ((), usual) else f" (`{'`, `'.join(flags)}`)")


def page() -> Iterator[str]:
    """The lines of the page."""
    yield _HEAD
    for group in groups():
        held = parts(group)
        more = f" Holds {', '.join(f'`{name}`' for name in held)}." if held else ""
        yield f"## {group.__name__}\n\n{(group.__doc__ or '').splitlines()[0]}{more}\n"
        own = own_options(group)
        for python, label in (False, ""), (True, "In Python: "):
            names = [named(each) for each in own if each.option.of_command is not python]
            if names:
                yield f"{label}{', '.join(names)}.\n"


if __name__ == "__main__":
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else _OUT
    out.write_text("\n".join(page()).replace("\n\n\n", "\n\n"), "utf-8")
