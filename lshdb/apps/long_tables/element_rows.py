"""Long tables: rows of a key and one element become one set for each key.

The rows of a set may be anywhere in the input, also in several files. They wait in a temporary
file, so that memory is bounded by the largest set.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from lshdb import errors, json_text
from lshdb.limits import OBJECT_BYTES
from lshdb.model import Failure
from lshdb.options import LongTableOptions
from lshdb.read.batch import Batch
from lshdb.read.paths import escaped
from lshdb.read.records import RecordOptions
from lshdb.store import statements as sql
from lshdb.store.partial_files import temporary_directory
from lshdb.store.spool import PrivateFile
from lshdb.text.arrays import bounded
from lshdb.text.content import normalized
from lshdb.text.shingling import Content, Shingling

_BLOCK = 1 << 20
"""About the bytes of the sets of a batch."""
_ELEMENT = 60
"""Bytes of an element's object, about."""


def reading(
    options: LongTableOptions, shingling: Shingling, others: Mapping[str, Any]
) -> dict[str, Any]:
    """How rows of a long table are read, as fields of RecordOptions; empty for other tables.

    Args:
        options: the columns.
        shingling: that of the documents.
        others: how other rows are read.

    Raises:
        UsageError: the database holds no sets, or other options make no sense with these.
    """
    if options.set_item is None:
        return {}
    if not shingling.of_sets:
        raise errors.UsageError(
            f"set_item makes sets, and this database holds texts (shingle {shingling}): make one "
            "of sets with lshdb init --for baskets (shingle set)"
        )
    for name in ("auto_key", "metadata_fields"):
        if others.get(name):
            raise errors.UsageError(
                f"{name} is for rows that are documents: leave it out with set_item"
            )
    return {
        "key_field": options.set_key,
        "element_field": options.set_item,
        "metadata": False,
        "auto_key": False,
    }


def grouped(batches: Iterable[Batch], options: RecordOptions, beside: Path) -> Iterator[Batch]:
    """The sets of long tables, each when all rows of all of them are read, and failures at once.

    Args:
        batches: of rows that were read with an `element_field`.
        options: with which they were read.
        beside: where the temporary file has room, unless TMPDIR names another place.
    """
    with (
        temporary_directory(None if os.environ.get("TMPDIR") else beside) as directory,
        closing(PrivateFile(directory / "elements.db", sql.GROUPING_TABLE)) as waiting,
    ):
        for batch in batches:
            elements = zip(batch.keys, map(str, batch.contents), strict=True)
            waiting.write(sql.GROUPING_ADD, elements)
            if batch.failures or batch.replaced:
                yield Batch(failures=batch.failures, replaced=batch.replaced)
        rows = (
            (key, json_text.loads(stored.encode()))
            for key, stored in waiting.read(sql.GROUPING_SETS)
        )
        for sets in bounded(rows, lambda row: OBJECT_BYTES + _ELEMENT * len(row[1]), _BLOCK):
            yield _sets(sets, options)


def _sets(sets: Iterable[tuple[str, list[str]]], options: RecordOptions) -> Batch:
    """The batch of sets; of a bag, an element counts as often as it has rows."""
    keys: list[str] = []
    contents: list[Content] = []
    failures: list[tuple[int, Failure]] = []
    for index, (key, elements) in enumerate(sets):
        try:
            content = Counter(elements) if options.of_sets == "bag" else elements
            contents.append(normalized(content, options.limits.largest_document, options.of_sets))
            keys.append(key)
        except errors.ContentError as error:
            where = f"{options.key_field} {escaped(key)}"
            failures.append((index, Failure(where, str(error))))
    size = sum(OBJECT_BYTES + _ELEMENT * len(content) for content in contents)
    return Batch(keys, contents, failures=failures, size=size)
