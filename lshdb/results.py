"""How results show themselves, in Python and in notebooks: short, whatever is in them.

A `repr` is as a dataclass makes it, and says where it left out characters and items. A notebook
gets HTML from the template in lshdb/pages; this needs jinja2, of the extra `web`.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard, cast

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
_MAX_LINES = 56
_LINES_AROUND = 6
"""Maximum number of lines of a table's HTML that are no rows."""
_PAGES = Path(__file__).parent / "pages"


class Result:
    """A result whose `repr` and HTML have at most 6,000 characters, on at most 60 lines."""

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


def short(value: object, characters: int = _VALUES) -> str:
    """The `repr` of a value on one line, which says what it leaves out beyond the characters."""
    text = _Short(characters).of(value)
    limit = characters + _MAX_CHARACTERS - _VALUES
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def html_tables(*tables: Table) -> str | None:
    """Tables for a notebook; None without jinja2, so that the notebook shows the repr."""
    from lshdb import templates  # of no use to --help

    try:
        template = templates.environment(_PAGES).get_template("notebook.html")
    except ModuleNotFoundError:
        return None
    characters, lines, shown = _VALUES, _MAX_LINES, []
    for table in tables:
        names, rows = _filled(table)
        columns = len(rows[0]) if rows else 0
        lines -= _LINES_AROUND
        kept: list[list[str]] = []
        for row in [names, *rows][: max(0, min(SHOWN, lines)) + 1] if rows else ():
            cells = [_cell(value, _MAX_CELLS // min(columns, SHOWN)) for value in row[:SHOWN]]
            characters -= sum(_length(cell) + 9 for cell in cells) + 10
            if characters < 0:
                break
            kept.append(cells)
        lines -= len(kept)
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
        text = short(value, maximum)
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


@dataclasses.dataclass
class _Short:
    """Makes the `repr` of a value short; `left` is the number of characters that may follow."""

    left: int

    def of(self, value: Any) -> str:
        """A value as it is shown."""
        if isinstance(value, str | bytes):
            return self._text(value)
        if isinstance(value, Mapping):
            entries = ((f"{self.of(name)}: ", item) for name, item in value.items())
            return self._joined("{", entries, len(value), "}")
        if isinstance(value, list):
            return self._joined("[", (("", item) for item in value), len(value), "]")
        if isinstance(value, tuple):
            named = [f"{name}=" for name in getattr(value, "_fields", ())]
            opening = f"{type(value).__name__}(" if named else "("
            closing = ",)" if len(value) == 1 and not named else ")"
            return self._joined(
                opening, zip(named or [""] * len(value), value, strict=True), len(value), closing
            )
        if isinstance(value, Result) and type(value).__repr__ == Result.__repr__:
            names = [field.name for field in dataclasses.fields(cast(Any, value)) if field.repr]
            fields = ((f"{name}=", getattr(value, name)) for name in names)
            return self._joined(f"{type(value).__qualname__}(", fields, len(names), ")")
        text = " ".join(repr(value).split())
        self.left -= len(text)
        more = len(text) - _MAX_TEXT
        return f"{text[:_MAX_TEXT]}... {more:,} more characters" if more > 0 else text

    def _text(self, value: str | bytes) -> str:
        length = maximum = max(min(self.left, _MAX_TEXT), 1)
        while len(text := repr(value[:length])) > maximum + len(repr(value[:0])):
            length //= 2
        self.left -= len(text)
        more = len(value) - length
        return f"{text}... {more:,} more characters" if more > 0 else text

    def _joined(
        self, opening: str, entries: Iterable[tuple[str, object]], count: int, closing: str
    ) -> str:
        """The entries, each a value with what is before it, and the number of those left out."""
        parts: list[str] = []
        for prefix, value in entries:
            if self.left <= 0:
                parts.append(f"... {count - len(parts):,} more")
                break
            self.left -= len(prefix) + 2
            parts.append(prefix + self.of(value))
        return f"{opening}{', '.join(parts)}{closing}"
