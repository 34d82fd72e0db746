"""For the reference: methods that take a group of options, as imported, and examples as code."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any

import griffe

from lshdb.offers import METHODS

_EXAMPLE = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.DOTALL | re.MULTILINE)


def fenced(text: str) -> str:
    r"""A docstring with its examples in fences, in which brackets are no links.

    >>> fenced("It adds.\n\n>>> [1 + 1]\n[2]")
    'It adds.\n\n```python\n>>> [1 + 1]\n[2]\n```'
    """
    return text if "```" in text else _EXAMPLE.sub(r"```python\n\g<0>\n```", text)


class TakenOptions(griffe.Extension):
    """Gives such methods the arguments and the docstring that Python shows."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Put fences around examples."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Give `Database` the methods of apps."""
        if cls.path == "lshdb.database.Database":
            for name, place in METHODS.items():
                cls.set_member(name, griffe.Alias(name, place.replace(":", "."), parent=cls))

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Replace what was read from the source."""
        if not any("takes" in str(one.value) for one in func.decorators):
            return
        found: Any = import_module(func.module.path)
        for name in func.path.removeprefix(f"{func.module.path}.").split("."):
            found = getattr(found, name)
        func.docstring = griffe.Docstring(
            fenced(inspect.getdoc(found) or ""), parent=func, parser=griffe.Parser.google
        )
        func.parameters = griffe.Parameters(
            *(
                griffe.Parameter(
                    one.name,
                    annotation=_shown(one.annotation),
                    kind=getattr(griffe.ParameterKind, one.kind.name.lower()),
                    default=None if one.default is one.empty else repr(one.default),
                )
                for one in inspect.signature(found).parameters.values()
            )
        )


def _shown(annotation: Any) -> str | None:
    if annotation is inspect.Parameter.empty:
        return None
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
