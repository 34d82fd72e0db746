"""Spreadsheets of all kinds, by calamine."""

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

from lshdb.apps.documents.extraction.kinds import Metadata, Refused, note_damage, noted
from lshdb.apps.documents.extraction.office import read_part
from lshdb.apps.documents.extraction.packages import LOCKED, Package

_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")
_OTHERS = {"comments": ("p", "t"), "drawing": ("p", "t"), "threadedComment": ("text",)}
"""Related parts of a sheet that have text, and its elements."""


def pages(path: str, about: Metadata) -> Iterator[str]:
    """The sheets: the name of each, and its cells; then its notes and text boxes."""
    package = Package(path) if is_zipfile(path) else None
    if package is not None:
        package.properties(about)
    book = _book(path)
    about["sheets"] = len(book.sheet_names)
    for name in book.sheet_names:
        try:
            rows = book.get_sheet_by_name(name).iter_rows()
            yield "\n".join([name, *("\t".join(map(_cell, row)).rstrip() for row in rows)])
        except Exception as error:  # calamine's has no base of its own
            if len(book.sheet_names) == 1:
                raise
            note_damage(about, f"sheet {name}", error)
    if package is None:
        return
    for sheet in filter(_SHEET.fullmatch, package.names):
        with noted(about, sheet):
            for _, kind, target in package.related(sheet):
                if kind in _OTHERS:
                    yield read_part(package, target, about, _OTHERS[kind])


def rows(path: str, name: str) -> Iterator[str]:
    """The cells of a sheet as JSON: an array of the index of its first row, then its rows.

    Args:
        path: of the file.
        name: of the sheet; empty for the first one.

    Raises:
        Refused: there is no such sheet.
    """
    book = _book(path)
    names = book.sheet_names
    if not names or name not in ("", *names):
        raise Refused(f"no sheet {name!r}: it has {', '.join(map(repr, names))}")
    sheet = book.get_sheet_by_name(name or names[0])
    yield json.dumps([(sheet.start or (0, 0))[0]])
    for row in sheet.iter_rows():
        yield json.dumps([*map(_value, row)])


def _value(cell: Any) -> object:
    """A cell as a value of JSON; None for a blank one."""
    if isinstance(cell, float):
        return int(cell) if cell.is_integer() and abs(cell) < 1 << 53 else cell
    if hasattr(cell, "isoformat"):
        return cell.isoformat()
    return cell if isinstance(cell, bool | int) else str(cell) or None


def _book(path: str) -> Any:
    """The sheets of a file."""
    from python_calamine import CalamineWorkbook, PasswordError

    try:
        return CalamineWorkbook.from_object(io.BytesIO(Path(path).read_bytes()))
    except PasswordError as error:
        raise Refused(LOCKED) from error


def _cell(value: object) -> str:
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)
