"""How rows of a long table are read: each is an element of the set that has its key.

The rows of a set may be anywhere in the input, also in several files. They wait in a temporary
file, so that memory is bounded by the largest set.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lshdb import errors, json_text
from lshdb.apps.long_tables import statements as sql
from lshdb.keys import key_of_id
from lshdb.limits import OBJECT_BYTES
from lshdb.model import Failure
from lshdb.options import LongTableOptions
from lshdb.read.batch import Batch, Record
from lshdb.read.metadata import field_value
from lshdb.read.paths import escaped
from lshdb.read.records import field_paths
from lshdb.read.session import SessionOptions
from lshdb.store.partial_files import temporary_directory
from lshdb.store.spool import PrivateFile
from lshdb.text.arrays import bounded
from lshdb.text.content import normalized
from lshdb.text.shingling import Content, Shingling

_BLOCK = 1 << 20
"""About the bytes of the sets of a batch."""
_ELEMENT = 60
"""Bytes of an element's object, about."""
_MISSING = object()


@dataclass(frozen=True)
class ElementRows(SessionOptions):
    """How rows become elements; the key of a row is that of its set.

    Attributes:
        element_field: the field of the element.
    """

    element_field: str = ""

    @cached_property
    def content_field(self) -> str:
        """As RecordOptions.content_field."""
        return self.element_field

    def document(self, record: Record) -> tuple[str | None, Content, str | None, bool]:
        """As RecordOptions.document; the content is the element."""
        name = self.element_field
        key = self.key_in(record)
        value = field_value(record, field_paths(name, record)[0], _MISSING)
        if value is _MISSING:
            raise self.no_content(record, name)
        try:
            element = key_of_id(value)
        except errors.InputError as error:
            raise errors.InputError(f"field {name!r} {error}") from error
        if element is None:
            raise errors.InputError(f"field {name!r} is null, and no element of a set")
        return key, element, None, False

    def named_key(self) -> str:
        """As RecordOptions.named_key."""
        return f"field {self.key_field!r}: name it with {self.option('--set-key', 'set_key=')}"

    def no_content(self, record: Record, content_field: str) -> errors.InputError:  # noqa: ARG002
        """As RecordOptions.no_content."""
        option = self.option("--set-item", "set_item=")
        return errors.InputError(f"no field {content_field!r}: name it with {option}")

    def whole_documents(self, batches: Iterable[Batch], beside: Path) -> Iterator[Batch]:
        """The sets, each when all rows of all of them are read, and failures at once."""
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
                yield self._sets(sets)

    def _sets(self, sets: Iterable[tuple[str, list[str]]]) -> Batch:
        """The batch of sets; of a bag, an element counts as often as it has rows."""
        keys: list[str] = []
        contents: list[Content] = []
        failures: list[tuple[int, Failure]] = []
        for index, (key, elements) in enumerate(sets):
            try:
                content = Counter(elements) if self.of_sets == "bag" else elements
                contents.append(normalized(content, self.limits.largest_document, self.of_sets))
                keys.append(key)
            except errors.ContentError as error:
                where = f"{self.key_field} {escaped(key)}"
                failures.append((index, Failure(where, str(error))))
        size = sum(OBJECT_BYTES + _ELEMENT * len(content) for content in contents)
        return Batch(keys, contents, failures=failures, size=size)


def element_rows(
    options: LongTableOptions, shingling: Shingling, others: Mapping[str, Any]
) -> ElementRows:
    """How the rows of a long table are read.

    Args:
        options: the columns.
        shingling: that of the documents.
        others: how other rows are read, by the names of SessionOptions.

    Raises:
        UsageError: the database holds no sets, or other options make no sense with these.
    """
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
    values = {
        **others,
        "key_field": options.set_key,
        "element_field": options.set_item,
        "metadata": False,
    }
    return ElementRows(shingling.of_sets, **values)
