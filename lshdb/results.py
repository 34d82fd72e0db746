"""How results show themselves, in Python and in notebooks: short, whatever is in them.

A `repr` is as a dataclass makes it, with dots in place of further characters and items. A notebook
gets HTML from the template in lshdb/pages; this needs jinja2, of the extra `web`.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from reprlib import Repr
from typing import Any, TypeGuard

from lshdb import formatting

SHOWN = 20
"""Maximum number of rows, columns and items that a notebook shows of a table or a list."""
_MAX_CHARACTERS = 6_000
"""Maximum characters of a `repr`, and of HTML, with what is around the values."""
_VALUES = 4_500
"""Characters of the values in them: the value or row that exceeds them is the last."""
_MAX_TEXT = 500
"""Maximum characters of a text in a `repr`."""
_MAX_CELLS = 2_000
"""Maximum characters of a row of HTML."""
_SHORT = Repr()
_SHORT.maxlevel, _SHORT.maxother = 4, _VALUES
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = SHOWN
_SHORT.maxstring = _MAX_TEXT
_PAGES = Path(__file__).parent / "pages"


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

    def _notebook(self) -> Mapping[str, object]:
        """What a notebook shows, by name: values, and lists of results or of mappings."""
        return _fields(self)

    def _repr_html_(self) -> str | None:
        facts, tables = [], []
        for name, value in self._notebook().items():
            if _are_records(value):
                records = [_fields(record) for record in value[:SHOWN]]
                rows = [[record.get(name) for name in records[0]] for record in records]
                tables.append(Table([*records[0]], rows, len(value), title=name))
            elif value is not None:
                facts.append((name, value))
        return html_tables(Table((), facts, len(facts)), *tables)


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """Rows for a notebook, in which everything is text.

    Attributes:
        names: of the columns; none if the rows need no names.
        rows: those to show, with a value for each column.
        count: the number of all rows; None if unknown, but more than these.
        none: the text in place of no rows.
        title: what they are.
        whole: whether columns without any value are shown, too.
    """

    names: Sequence[str]
    rows: Sequence[Sequence[object]]
    count: int | None = 0
    none: str = ""
    title: str = ""
    whole: bool = False


def short(value: Any) -> str:
    """The `repr` of a list, a named tuple or a dataclass, with at most 6,000 characters."""
    if isinstance(value, list):
        text = _SHORT.repr([*value])
    else:
        names = getattr(value, "_fields", None)
        names = names or [field.name for field in dataclasses.fields(value) if field.repr]
        shown = (f"{name}={_SHORT.repr(getattr(value, name))}" for name in names)
        text = f"{type(value).__qualname__}({', '.join(shown)})"
    return text if len(text) <= _MAX_CHARACTERS else f"{text[: _MAX_CHARACTERS - 3]}..."


def html_tables(*tables: Table) -> str | None:
    """Tables for a notebook; None without jinja2, so that the notebook shows the repr."""
    from lshdb import templates  # of no use to --help

    try:
        template = templates.environment(_PAGES).get_template("notebook.html")
    except ModuleNotFoundError:
        return None
    characters, shown = _VALUES, []
    for table in tables:
        names, rows = _filled(table)
        columns = len(rows[0]) if rows else 0
        kept: list[list[str]] = []
        for row in [names, *rows][: SHOWN + 1] if rows else ():
            cells = [_cell(value, _MAX_CELLS // min(columns, SHOWN)) for value in row[:SHOWN]]
            characters -= sum(_length(cell) + 9 for cell in cells) + 10
            if characters < 0:
                break
            kept.append(cells)
        head, *body = kept or [[]]
        count = len(body)
        notes = [_cell(table.none, _MAX_TEXT)] if table.none and not rows else []
        if table.count is None or table.count > count:
            more = "" if table.count is None else f" {table.count - count:,}"
            notes.append(f"...{more} more rows")
        if columns > SHOWN:
            notes.append(f"... {columns - SHOWN:,} more columns")
        shown.append((_cell(table.title, _MAX_TEXT), head, body, notes))
    return template.render(tables=shown)


def _filled(table: Table) -> tuple[Sequence[str], Sequence[Sequence[object]]]:
    """Names and rows, without the columns that have no value in any row."""
    if table.whole or not table.names:
        return table.names, table.rows
    columns = zip(*table.rows, strict=True)
    kept = [
        index
        for index, column in enumerate(columns)
        if not all(value is None or (isinstance(value, str) and not value) for value in column)
    ]
    return [table.names[index] for index in kept], [[row[i] for i in kept] for row in table.rows]


def _cell(value: Any, maximum: int) -> str:
    """A value as one line of text, which has at most `maximum` characters in HTML."""
    if isinstance(value, float):
        text = formatting.number(value, True) or ""
    elif isinstance(value, str):
        text = value
    elif _are_records(value):
        text = f"{len(value):,}"
    elif isinstance(value, list | tuple):
        text = ", ".join(_cell(item, maximum) for item in value[:SHOWN]) or "none"
        text += f" and {len(value) - SHOWN:,} more" if len(value) > SHOWN else ""
    elif isinstance(value, Mapping | Result | bytes):
        text = _SHORT.repr(value)
    else:
        text = formatting.worded(value)
    from lshdb import templates  # of no use to --help

    length = maximum
    while True:
        cell = " ".join(templates.visible(formatting.shortened(text, length)).split())
        if _length(cell) <= maximum:
            return cell
        length //= 2


def _length(text: str) -> int:
    """The maximum length of a text in HTML."""
    return len(text) + 4 * sum(map(text.count, "&<>\"'"))


def _are_records(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a list of results or mappings, with at least one."""
    return isinstance(value, list | tuple) and any(
        isinstance(record, Result | Mapping) for record in value[:1]
    )


def _fields(value: Any) -> Mapping[str, object]:
    """The fields of a result that it shows, or the entries of a mapping."""
    if isinstance(value, Mapping):
        return value
    return {
        field.name: getattr(value, field.name)
        for field in dataclasses.fields(value)
        if field.repr and not field.name.startswith("_")
    }
