"""Writes tests/project/interface.txt: names, signatures, fields of results, columns, commands.

usage: python scripts/site/interface.py [OUT.txt]
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import lshdb
from lshdb import columns
from lshdb.apps.passages import model as of_passages
from lshdb.apps.report import evidence
from lshdb.cli.app import COMMANDS, make_app
from lshdb.offers import METHODS, NAMES

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
    modules = columns, of_passages, evidence
    for name, declared in sorted({k: v for one in modules for k, v in vars(one).items()}.items()):
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
    arguments = [_type(str(one)) for one in found.parameters.values()]
    if of_app:
        arguments[0] = "self"
    given = ",\n        ".join(arguments)
    return f"(\n        {given}\n    ) -> {_type(found.return_annotation)}"


def _type(annotation: Any) -> str:
    """An annotation, in which public types have the names that `import lshdb` gives."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\blshdb\.[\w.]*\.(\w+)", _public, text)


def _public(match: re.Match[str]) -> str:
    return f"lshdb.{match[1]}" if match[1] in NAMES else match[0]


if __name__ == "__main__":
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else _OUT
    out.write_text("\n".join(lines()) + "\n", "utf-8")
