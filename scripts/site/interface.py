"""Writes tests/project/interface.txt: names, signatures, fields of results, columns, commands.

usage: python scripts/site/interface.py [OUT.txt]
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import lshdb
from lshdb import columns
from lshdb.cli.app import COMMANDS, make_app
from lshdb.offers import METHODS

_OUT = Path(__file__).resolve().parents[2] / "tests" / "project" / "interface.txt"


def lines() -> Iterator[str]:
    """The lines of the picture."""
    for name in lshdb.__all__:
        one: Any = getattr(lshdb, name)
        if inspect.isclass(one):
            yield f"class {name}"
            yield from _members(one)
        else:
            yield f"def {name}{_signature(one)}"
    for name, declared in sorted(vars(columns).items()):
        if name.isupper() and name[0] != "_" and isinstance(declared, dict):
            yield f"columns {name}: {', '.join(declared)}"
    for name in sorted(COMMANDS):
        for option in make_app().get_command(None, name).params:
            yield f"lshdb {name} {'/'.join(option.opts)} default {option.default!r}"


def _members(kind: type) -> Iterator[str]:
    if is_dataclass(kind):
        own = [one for one in fields(kind) if one.name[0] != "_"]
        yield from (f"    {one.name}: {_type(one.type)}" for one in own)
    of_apps = METHODS if kind is lshdb.Database else ()
    for name in sorted({*vars(kind), *of_apps}):
        member = getattr(kind, name) if name in of_apps else vars(kind)[name]
        if name.startswith("_"):
            continue
        if inspect.isfunction(member):
            yield f"    def {name}{_signature(member, name in of_apps)}"
        elif isinstance(member, property):
            yield f"    {name}: property"


def _signature(function: Any, of_app: bool = False) -> str:
    # Each argument on a line of its own, so that a difference shows what changed.
    found = inspect.signature(function)
    arguments = [str(one) for one in found.parameters.values()]
    if of_app:
        arguments[0] = "self"
    given = ",\n        ".join(arguments)
    return f"(\n        {given}\n    ) -> {_type(found.return_annotation)}"


def _type(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


if __name__ == "__main__":
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else _OUT
    out.write_text("\n".join(lines()) + "\n", "utf-8")
