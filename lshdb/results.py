"""How results show themselves in Python and in notebooks: short, whatever is in them.

A `repr` is as a dataclass makes it, with dots in place of further characters and items.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from reprlib import Repr
from typing import Any

from lshdb import formatting

_MAX_CHARACTERS = 6_000
"""Maximum characters of a `repr`, and of HTML."""
_SHOWN = 20
"""Maximum number of rows and columns that a notebook shows."""
_MAX_CELL = 200
"""Maximum characters of a value in a notebook."""
_SHORT = Repr()
_SHORT.maxlevel, _SHORT.maxother, _SHORT.maxstring = 4, 4_500, 500
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = 20


class Result:
    """A result whose `repr` and HTML have at most 6,000 characters."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__repr__ is Result.__repr__:
            # Its own attribute, so that a dataclass does not add another one.
            cls.__repr__ = Result.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return short(self)

    def _repr_html_(self) -> str | None:
        return notebook(("field", "value"), ((name, getattr(self, name)) for name in _names(self)))


def _names(value: Any) -> Sequence[str]:
    """The names of the fields that a dataclass shows."""
    shown = (field.name for field in dataclasses.fields(value) if field.repr)
    return [name for name in shown if not name.startswith("_")]


def short(value: Any) -> str:
    """The `repr` of a list, a named tuple or a dataclass, with at most 6,000 characters."""
    if isinstance(value, list):
        text = _SHORT.repr([*value])
    else:
        names = getattr(value, "_fields", None) or _names(value)
        shown = (f"{name}={_SHORT.repr(getattr(value, name))}" for name in names)
        text = f"{type(value).__qualname__}({', '.join(shown)})"
    return text if len(text) <= _MAX_CHARACTERS else f"{text[: _MAX_CHARACTERS - 3]}..."


def notebook(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str | None:
    """A table for a notebook: its first 20 rows and columns, as far as 6,000 characters go.

    None without jinja2, of the extra `web`, so that the notebook shows the repr.
    """
    from lshdb import templates  # of no use to --help

    def line(values: Sequence[object]) -> list[str]:
        texts = [value if isinstance(value, str) else _SHORT.repr(value) for value in values]
        lines = [" ".join(text[:_MAX_CHARACTERS].split()) for text in texts[:_SHOWN]]
        return [formatting.shortened(templates.visible(text), _MAX_CELL) for text in lines]

    try:
        template = templates.environment(Path(__file__).parent / "pages").get_template(
            "notebook.html"
        )
    except ModuleNotFoundError:
        return None
    head, shown = line(names), list[list[str]]()
    html = template.render(names=head, rows=[], more=True)
    for row in rows:
        shown.append(line(row))
        longer = template.render(names=head, rows=shown, more=True)
        if len(shown) > _SHOWN or len(longer) > _MAX_CHARACTERS:
            return html
        html = longer
    return template.render(names=head, rows=shown, more=False)
