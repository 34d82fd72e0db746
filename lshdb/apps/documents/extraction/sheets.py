"""Spreadsheets of all kinds, by calamine."""

import io
import json
import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile, is_zipfile

from lshdb.apps.documents.extraction.kinds import Metadata, Refused, note_damage, noted
from lshdb.apps.documents.extraction.office import read_part
from lshdb.apps.documents.extraction.packages import LOCKED, Package, tree

_CELLS = 4_000_000
"""Cells of a sheet, blank ones included, which calamine has in memory: 32 bytes each."""
_REPEATED = rb"\s+[\w-]+:number-(?:rows|columns)-repeated=[\"']\d+[\"']"
_CELL = rb"(?:[\w-]+:)?(?:covered-)?table-cell\b"
_BLANK = rb"<%b(?![^<>]*[:-]value=[\"'][^\"'])[^<>]*" % _CELL
_END = rb"(?:/>|>\s*(?:<(?!/?%b)[^<>]*>\s*)*+</%b>)" % (_CELL, _CELL)
_BLANK_CELLS = re.compile(rb"(%b?)%b([^<>]*?%b)" % (_BLANK, _REPEATED, _END))
_BLANK_ROWS = re.compile(
    rb"(<(?:[\w-]+:)?table-row\b[^<>]*?)%b([^<>]*(?:/>|>\s*(?:%b%b\s*)*+</(?:[\w-]+:)?table-row>))"
    % (_REPEATED, _BLANK, _END)
)
"""Cells and rows of OpenDocument without a value or text, and how often they are repeated."""
_INTEGER = struct.Struct("<I")
_BINARY_SHEET = re.compile(r"xl/worksheets/[^/]+\.bin")
_ROW_RECORD, _CELL_RECORDS, _SIZE_RECORD = 0, {*range(1, 12), 62}, 148
"""Records of XLSB sheets: a row, cells, and the size of the sheet."""
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")
_CELL_NAME = re.compile(rb"(<(?:\w+:)?(?:row|c)\b[^<>]*?)\s+r=[\"'][^\"'<>]*[\"']")
"""A row or cell, and where it is."""
_ROW = re.compile(rb"<(?:\w+:)?row\b[^<>]*?\sr=[\"'](\d+)")
_COLUMN = re.compile(rb"\sr=[\"']([A-Za-z]{1,3})\d")
_LAST_CELLS = re.compile(_BLANK_CELLS.pattern + rb"(?=\s*</(?:[\w-]+:)?table-row>)")
_LAST_ROWS = re.compile(_BLANK_ROWS.pattern + rb"(?=\s*</(?:[\w-]+:)?table>)")
"""The same behind the cells of a row and the rows of a sheet that have some."""
_OTHERS = {"comments": ("p", "t"), "drawing": ("p", "t"), "threadedComment": ("text",)}
"""Related parts of a sheet that have text, and its elements."""


def pages(path: str, about: Metadata) -> Iterator[str]:
    """The sheets: the name of each, and its cells; then its notes and text boxes."""
    package = Package(path) if is_zipfile(path) else None
    if package is not None:
        package.properties(about)
    book = _book(path, package)
    about["sheets"] = len(book.sheet_names)
    for name in book.sheet_names:
        try:
            rows = book.get_sheet_by_name(name).iter_rows()
            yield "\n".join([name, *("\t".join(map(_cell, row)).rstrip() for row in rows)])
        except Exception as error:  # calamine's has no base of its own
            if len(book.sheet_names) == 1:
                raise
            note_damage(about, f"sheet {name}", error)
    if package is not None:
        yield from _drawings_and_notes(package, about)


def rows(path: str, name: str) -> Iterator[str]:
    """The cells of a sheet as JSON: an array of the index of its first row, then its rows.

    Args:
        path: of the file.
        name: of the sheet; empty for the first one.

    Raises:
        Refused: there is no such sheet, or it has too many cells.
    """
    book = _book(path, Package(path) if is_zipfile(path) else None, keeps_places=True)
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


def _book(path: str, package: Package | None, *, keeps_places: bool = False) -> Any:
    """The sheets of a file."""
    from python_calamine import CalamineWorkbook, PasswordError

    data = Path(path).read_bytes()
    if package is not None:
        data = _packed_again(package, data, keeps_places)
    try:
        return CalamineWorkbook.from_object(io.BytesIO(data))
    except PasswordError as error:
        raise Refused(LOCKED) from error


def _cell(value: object) -> str:
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def _packed_again(package: Package, data: bytes, keeps_places: bool) -> bytes:
    """A file of sheets whose parts have slashes, and no more cells than fit.

    A value in the last cell that a sheet can have makes 17 billion of them, as calamine has blank
    ones, too. The cells of such a sheet lose their places, so that they follow each other: blank
    ones make no difference to the text. Where cells keep their places, it is refused.
    """
    cells, rows = (_LAST_CELLS, _LAST_ROWS) if keeps_places else (_BLANK_CELLS, _BLANK_ROWS)
    changed: dict[str, bytes | bytearray] = {}
    is_large = False
    for name in package.names:
        if name == "content.xml":
            sheet = package.read(name)
            changed[name] = rows.sub(rb"\1\2", cells.sub(rb"\1\2", sheet))
        if _BINARY_SHEET.fullmatch(name) and (nearer := _nearer(package.read(name))):
            changed[name] = nearer
            is_large = True
        if _SHEET.fullmatch(name):
            sheet = package.read(name)
            last = max(map(int, _ROW.findall(sheet)), default=0)
            if last > _CELLS >> 14 and last * _columns(sheet) > _CELLS:
                changed[name] = _CELL_NAME.sub(rb"\1", sheet)
                is_large = True
    if keeps_places and is_large:
        raise Refused(f"a sheet with more than {_CELLS:,} cells, blank ones included")
    if not changed and not package.has_backslashes:
        return data
    packed = io.BytesIO()
    with ZipFile(packed, "w", ZIP_STORED) as archive:
        for name in package.names:
            if not name.endswith("/"):
                archive.writestr(package.name_of(name), changed.get(name) or package.read(name))
    return packed.getvalue()


def _nearer(sheet: bytes) -> bytearray | None:
    """A sheet of XLSB whose cells follow each other; None if they fit where they are.

    Each record has a type and a size, both in groups of 7 bits ([MS-XLSB] 2.1.4). What the sheet
    says of its size need not be true.
    """
    data = bytearray(sheet)
    offset, rows, columns, column, last_row, last_column, size_offset = 0, 0, 0, 0, 0, 0, 0
    with suppress(IndexError, struct.error):  # a broken file, which calamine refuses
        while offset < len(data):
            kind, offset = _number(data, offset, 2)
            size, offset = _number(data, offset, 4)
            if kind == _SIZE_RECORD:
                size_offset = offset
            elif kind == _ROW_RECORD:
                last_row = max(last_row, *_INTEGER.unpack_from(data, offset))
                _INTEGER.pack_into(data, offset, rows)
                rows, column = rows + 1, 0
            elif kind in _CELL_RECORDS:
                last_column = max(last_column, *_INTEGER.unpack_from(data, offset))
                _INTEGER.pack_into(data, offset, column)
                column += 1
                columns = max(columns, column)
            offset += size
        if (last_row + 1) * (last_column + 1) > _CELLS:
            if size_offset:
                struct.pack_into("<4I", data, size_offset, 0, rows, 0, columns)
            return data
    return None


def _number(data: bytearray, offset: int, max_bytes: int) -> tuple[int, int]:
    """A number in groups of 7 bits, and the offset after it."""
    number = 0
    for index in range(max_bytes):
        byte = data[offset + index]
        number |= (byte & 127) << (7 * index)
        if byte < 128:
            return number, offset + index + 1
    return number, offset + max_bytes


def _columns(sheet: bytes) -> int:
    """The number of a sheet's columns up to the last one that has a cell."""
    letters = {column.upper() for column in _COLUMN.findall(sheet)}
    last = max(letters, key=lambda column: (len(column), column), default=b"A")
    number = 0
    for letter in last:
        number = number * 26 + letter - 64
    return number


def _drawings_and_notes(package: Package, about: Metadata) -> Iterator[str]:
    """The notes and text boxes of the sheets."""
    for sheet in filter(_SHEET.fullmatch, package.names):
        with noted(about, sheet):
            for _, kind, target in package.related(sheet):
                if kind in _OTHERS:
                    yield read_part(package, target, about, _OTHERS[kind])


def xml_2003(path: str, about: Metadata) -> Iterator[str]:
    """The sheets of a file in the XML of Excel 2003, which is often named .xls."""
    for sheet in tree(Path(path).read_bytes(), about, "sheets").iter("{*}Worksheet"):
        yield "\n".join([_name(sheet), *map(_row, sheet.iter("{*}Row"))])


def _name(element: Any) -> str:
    return next((value for key, value in element.attrib.items() if key.endswith("}Name")), "")


def _row(row: Any) -> str:
    return "\t".join("".join(data.itertext()) for data in row.iter("{*}Data", "{*}Comment"))


def delimited(path: str, _: Metadata) -> Iterator[str]:
    """The text of a file with tabs or commas, which is often named .xls."""
    from lshdb.read import encodings

    data = Path(path).read_bytes()
    if b"\0" in data[:4096] and encodings.of_mark(data) is None:
        raise Refused("no sheets that can be read (neither Excel's nor OpenDocument's)")
    yield encodings.decoded(data)
