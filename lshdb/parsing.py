"""From blocks of rows, however they are written, to documents."""

from __future__ import annotations

from collections.abc import Iterator

from lshdb.model import Document
from lshdb.records import Failure, Lines, RecordParser


def numbered(lines: Lines, parser: RecordParser) -> Iterator[tuple[int, Document | Failure]]:
    """The documents of a block, and a Failure for each row that is none.

    Each comes with the place of its row (of CSV: its first line) in the block, from 0.
    """
    if lines.format == "jsonl":
        return parser.numbered(lines)
    # Loaded only where they are needed: in most processes that sign, none is.
    if lines.format == "arrow":
        from lshdb import arrow_rows

        return arrow_rows.documents(lines, parser)
    from lshdb import csv_rows

    return csv_rows.documents(lines, parser)
