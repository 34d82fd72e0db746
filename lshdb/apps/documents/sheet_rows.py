"""Rows of spreadsheets: each becomes a line of JSON, by the names in the sheet's first row.

Whole numbers are integers, dates and times are texts as ISO 8601 writes them, and blank cells are
null. calamine reads the file, in the process for documents.
"""

import json
from collections.abc import Iterator

from lshdb.errors import InputError
from lshdb.read import batch, json_rows, records


def lines(cells: str, options: records.RecordOptions) -> Iterator[bytes]:
    """The rows as lines of JSON, with blank ones for the header and what is before it.

    Args:
        cells: JSON arrays on lines: the index of the first row, then the rows.
        options: how rows become documents.

    Raises:
        InputError: the first row lacks names of columns of documents.
    """
    first, *rows = map(json.loads, cells.splitlines())
    if not rows:
        raise InputError("an empty sheet: its first row must name the columns")
    names = records.distinct_names(["" if cell is None else str(cell) for cell in rows[0]])
    options.check_columns(names)
    yield b"\n" * (first[0] + 1)
    for row in rows[1:]:
        if any(cell is not None for cell in row):
            values = zip(names, row, strict=True)
            record: batch.Record = {name: cell for name, cell in values if name or cell is not None}
            yield json_rows.json_of(record) + b"\n"
        else:
            yield b"\n"
