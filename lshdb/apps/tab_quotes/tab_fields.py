r"""Which quotes between tabs quote a field, and which lines are one row.

Fields between tabs are written by the rules of CSV, and as they are: a quote at the beginning of a
field quotes it only if the field ends with a quote.
"""

import csv
import re
from collections.abc import Iterator
from itertools import islice

from lshdb.read.csv_rows import Lines

_FIELD = re.compile(r'(?:^|\t)(?:"((?:[^"]++|"")*+)"(?=\t|\Z)|([^\t]*+))')
"""A field between tabs: what is in its quotes, or the field as it is."""
_OPEN_FIELD = re.compile(r'(?:^|\t)(?:"(?:[^"]++|"")*+"(?=\t|\Z)|("(?:[^"]++|"")*+\Z)|[^\t]*+)')
"""A field between tabs; the group is not empty if it has a first quote, and no last one."""
_END_OF_FIELD = re.compile(r'(?:[^"]++|"")*+(?:\Z|("(?=\t|\r?\n?\Z)))')
"""A line that begins in quotes, up to their end or its own."""
_JOINED = 1_000
"""Lines of a row between tabs; and lines that say whether a file is by the rules of CSV."""


class TabQuotes:
    """Reads the lines with quotes of a file.

    Args:
        lines: of the file, of which those of a row are taken.
    """

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._tried = 0  # lines before this number are not joined with the next ones
        # Whether the file is by the rules of CSV, although tabs delimit its fields.
        self._is_csv: bool | None = None

    def fields(self, line: str, count: int) -> list[str]:
        """The fields of a line, and of the next ones if one of these closes a quote in it.

        The row has the header's number of fields, and none of the further lines has it, unless the
        file is by the rules of CSV. Lines that were tried in vain are not tried again: they would
        lead to the same end, and take quadratic time.

        Args:
            line: the first one.
            count: the header's number of fields; 0 for the header itself.
        """
        return self._joined(line, count) or fields_of(line, count)

    def _joined(self, line: str, count: int) -> list[str]:
        """The fields of several lines; none if the line is a row by itself."""
        lines = self._lines
        if lines.number <= self._tried:
            return []
        if self._is_csv is None and count:
            self._is_csv = _is_csv([line, *islice(self._further(), _JOINED)], count)
            lines.give_back()
        if not _has_open_field(line):
            return []
        parts = [line]
        for further in self._further():
            if not self._is_csv and (
                len(parts) > _JOINED or len(fields_of(further, count)) == count
            ):
                break
            parts.append(further)
            in_quotes = _END_OF_FIELD.match(further)
            if in_quotes is None:  # behind the next quote there is more: the first one is data
                break
            if in_quotes[1] and not _has_open_field(further[in_quotes.end() :]):
                fields = fields_of("".join(parts), count)
                if len(fields) == (count or len(fields)):
                    return fields
                break
        lines.give_back()
        self._tried = lines.number + len(parts) - 2
        return []

    def _further(self) -> Iterator[str]:
        """Take further lines of the record, as many as it may have bytes."""
        lines = self._lines
        while lines.read() and (line := lines.waiting[-1]):
            if len(lines.record) + len(line) > lines.largest:
                break
            yield next(lines)


def fields_of(text: str, count: int) -> list[str]:
    r"""The fields of a row between tabs.

    A field that begins with a quote is quoted if the next quote that is not doubled is followed by
    a tab or the end; else the quote is data. Tabs in quotes are data if the row has this number of
    fields then, and not if it has it otherwise.

    >>> fields_of('a\t"b ""c"" d"\t"e" f\t"g\n', 4)
    ['a', 'b "c" d', '"e" f', '"g']
    """
    text = text.removesuffix("\n").removesuffix("\r")
    parts = text.split("\t")
    if '"' not in text:
        return parts
    fields = [quoted.replace('""', '"') or plain for quoted, plain in _FIELD.findall(text)]
    if len(fields) != count == len(parts):
        return [fields_of(part, 1)[0] for part in parts]
    return fields


def _has_open_field(text: str) -> bool:
    return any(_OPEN_FIELD.findall(text.removesuffix("\n").removesuffix("\r")))


def _is_csv(lines: list[str], count: int) -> bool:
    """Whether the rules of CSV give each row its number of fields, and tabs alone do not.

    The last row may be cut off.
    """
    reader = csv.reader(lines, strict=True, delimiter="\t")
    try:
        if any(len(row) != count and any(row) for row in reader):
            return False
    except csv.Error:
        if reader.line_num < len(lines):
            return False
    return any(line.count("\t") + 1 != count and line.strip() for line in lines)
