"""For the reference: methods whose arguments are a group of options, as they are when imported."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import griffe


class TakenOptions(griffe.Extension):
    """Gives such methods the arguments and the docstring that Python shows."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Replace what was read from the source."""
        if not any("takes" in str(one.value) for one in func.decorators):
            return
        found: Any = import_module(func.module.path)
        for name in func.path.removeprefix(f"{func.module.path}.").split("."):
            found = getattr(found, name)
        func.docstring = griffe.Docstring(
            inspect.getdoc(found) or "", parent=func, parser=griffe.Parser.google
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
