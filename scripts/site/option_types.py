"""Writes the .pyi files of lshdb: what type checkers and editors know of what is made by tables.

A group of options that holds groups takes their options by name, which no type checker can see in
its class: in options.pyi its constructor has all of them, with their types and defaults. The names
that `import lshdb` gives, and the methods of `Database` that apps have, are texts in lshdb.offers:
__init__.pyi
and app_methods.pyi declare them.

usage: python scripts/site/option_types.py [DIRECTORY]
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import fields
from functools import cache
from importlib import import_module
from inspect import Parameter
from pathlib import Path
from typing import Any, Final

from lshdb import options
from lshdb.groups import is_group
from lshdb.offers import METHODS, NAMES, OPTIONS

_SOURCE: Final = Path(options.__file__)
_HEAD: Final = """\
# Written by scripts/site/option_types.py.
# ruff: noqa
# fmt: off

"""


def pages() -> dict[str, str]:
    """The texts of the files, by their names."""
    names = [f"from {place.replace(':', ' import ')}" for place in NAMES.values()]
    texts = {
        "__init__": "\n".join(["__version__: str", f"__all__ = {[*NAMES]}", *names]) + "\n",
        "app_methods": _of_methods(),
        "options": _of_options(_SOURCE),
    }
    for file in sorted(_SOURCE.parent.glob("apps/*/options.py")):
        texts[f"apps/{file.parent.name}/options"] = _of_options(file)
    return {f"{name}.pyi": _HEAD + text for name, text in texts.items()}


def _of_methods() -> str:
    """The functions of apps as methods, and the imports that their types need."""
    imports, lines = set[str](), list[str]()
    for name, place in METHODS.items():
        module = import_module(place.partition(":")[0])
        nodes = [*ast.walk(ast.parse(Path(str(module.__file__)).read_text("utf-8")))]
        (found,) = (one for one in nodes if isinstance(one, ast.FunctionDef) and one.name == name)
        found.args.args[0] = ast.arg("self")
        method = "\n".join(_of_function(found, "    "))
        lines.append(method)
        imports |= {
            f"from {one.module} import {alias.name}"
            for one in nodes
            if isinstance(one, ast.ImportFrom)
            for alias in one.names
            if alias.asname is None and re.search(rf"\b{alias.name}\b", method)
        }
    return "\n".join([*sorted(imports), "", "class AppMethods:", *lines]) + "\n"


def _of_options(source: Path) -> str:
    """The groups of options of a module."""
    core, tree = (ast.parse(path.read_text("utf-8")) for path in (_SOURCE, source))
    lines = ["from typing import overload", *_imports(core)]
    if source == _SOURCE:
        groups = (place.replace(":", " import ") for place in OPTIONS.values())
        lines += (f"from {group} as {group.split()[-1]}" for group in groups)
    else:
        lines += ["from lshdb.options import *", *_imports(tree)]
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            lines += ["", *_of_class(node)]
        elif isinstance(node, ast.FunctionDef):
            if not node.name.startswith("_"):
                lines += _of_function(node)
        elif isinstance(node, ast.Assign) and not ast.unparse(node).startswith("_"):
            lines.append(_of_value(node))
    return "\n".join(lines) + "\n"


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.If):  # what only type checkers import
            yield from map(ast.unparse, node.body)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            yield ast.unparse(node)


def _of_value(node: ast.Assign) -> str:
    """The line of a type, or of a constant."""
    value = node.value
    if isinstance(value, ast.Subscript):
        return f"{ast.unparse(node.targets[0])} = {_type(value)}"
    return ast.unparse(node)


def _of_function(node: ast.FunctionDef, indent: str = "") -> Iterator[str]:
    returned = ast.unparse(node.returns or ast.Constant(None))
    yield from (f"{indent}@{ast.unparse(one)}" for one in node.decorator_list)
    yield f"{indent}def {node.name}({ast.unparse(node.args)}) -> {returned}: ..."


@cache
def _written(group: Any) -> dict[str, ast.AnnAssign]:
    """The declarations of a group, by the names of its fields."""
    (found,) = ast.parse(textwrap.dedent(inspect.getsource(group))).body
    assert isinstance(found, ast.ClassDef)
    return {
        line.target.id: line
        for line in found.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    }


def _of_class(node: ast.ClassDef) -> Iterator[str]:
    group: Any = getattr(options, node.name)
    parts = [field.name for field in fields(group) if is_group(field.type)]
    yield f"class {node.name}(Options):"
    for line in node.body:
        if isinstance(line, ast.AnnAssign) and "ClassVar" not in ast.unparse(line.annotation):
            # The constructor of a group without parts is made of its fields.
            default = f" = {ast.unparse(line.value)}" if line.value and not parts else ""
            yield f"    {ast.unparse(line.target)}: {_type(line.annotation)}{default}"
        elif isinstance(line, ast.FunctionDef) and line.name != "__post_init__":
            yield from _of_function(line, "    ")
    if not parts:
        return
    options_of = group.declared
    yield from _constructor(
        (_written(one.group)[one.name], one.kw_only) for one in options_of.values()
    )
    # A part as a whole can be left out if none of its options must be given.
    yield from _constructor(
        (_written(group)[field.name], field.name in parts or options_of[field.name].kw_only)
        for field in fields(group)
    )


def _constructor(arguments: Iterable[tuple[ast.AnnAssign, bool]]) -> Iterator[str]:
    """The lines of an overload, from declarations; and whether each goes by its name only."""
    yield "    @overload"
    yield "    def __init__("
    yield "        self,"
    by_name = False
    for line, kw_only in sorted(arguments, key=lambda argument: argument[1]):
        if kw_only and not by_name:
            by_name = True
            yield "        *,"
        yield f"        {ast.unparse(line.target)}: {_type(line.annotation)}{_default(line)},"
    yield "    ) -> None: ..."


def _default(line: ast.AnnAssign) -> str:
    """The default of an argument; that of a part is not written."""
    value = line.value
    if isinstance(value, ast.Call):
        given = {one.arg: one.value for one in value.keywords}
        if "default" not in given:
            return ""
        value = given["default"]
    if value is not None:
        return f" = {ast.unparse(value)}"
    part = getattr(options, ast.unparse(line.annotation), None)
    is_optional = (
        part is not None
        and is_group(part)
        and all(one.default is not Parameter.empty for one in part.declared.values())
    )
    return " = ..." if is_optional else ""


def _type(annotation: ast.expr) -> str:
    """A type as it is written, without what an option says besides."""
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Annotated":
        assert isinstance(annotation.slice, ast.Tuple)
        annotation = annotation.slice.elts[0]
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value
    return ast.unparse(annotation)


if __name__ == "__main__":
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else _SOURCE.parent
    for name, text in pages().items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text, "utf-8")
