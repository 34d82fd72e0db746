"""How results show themselves in Python: short, whatever is in them.

A `repr` is as a dataclass makes it, with dots in place of further characters and items.
"""

import dataclasses
from reprlib import Repr
from typing import Any

_MAX_CHARACTERS = 6_000
"""Maximum characters of a `repr`."""
_SHORT = Repr()
_SHORT.maxlevel, _SHORT.maxother, _SHORT.maxstring = 4, 4_500, 500
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = 20


class Result:
    """A result whose `repr` has at most 6,000 characters."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__repr__ is Result.__repr__:
            # Its own attribute, so that a dataclass does not add another one.
            cls.__repr__ = Result.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return short(self)


def short(value: Any) -> str:
    """The `repr` of a list, a named tuple or a dataclass, with at most 6,000 characters."""
    if isinstance(value, list):
        text = _SHORT.repr([*value])
    else:
        names = getattr(value, "_fields", None) or [
            field.name
            for field in dataclasses.fields(value)
            if field.repr and not field.name.startswith("_")
        ]
        shown = (f"{name}={_SHORT.repr(getattr(value, name))}" for name in names)
        text = f"{type(value).__qualname__}({', '.join(shown)})"
    return text if len(text) <= _MAX_CHARACTERS else f"{text[: _MAX_CHARACTERS - 3]}..."
