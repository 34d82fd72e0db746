"""Documents that others are compared with: kept ones, those of a database or of a reference."""

import dataclasses
import functools
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lshdb.apps.dedup.model import DroppedRow
from lshdb.apps.dedup.spool import SpooledDocument
from lshdb.apps.merging.merging import Rebased
from lshdb.apps.passages.model import CopiedPassage
from lshdb.apps.review.decisions import Contents, decision_rows
from lshdb.read.batch import RowPlace
from lshdb.read.metadata import picked
from lshdb.store.lookups import StoreReader
from lshdb.store.store import Store
from lshdb.text import arrays

REFERENCES_LISTED = 10
"""Documents of references that are listed of a row that matches more."""
_LINE_BITS = 40
"""Of a packed location, for the number of a line; the others are for that of the file."""
_KEY_IS_FILE = -1
"""The location of a text file: its key is its name."""


@dataclasses.dataclass(frozen=True, slots=True)
class DropReason:
    """Why a document is dropped.

    Attributes:
        doc_id: the kept document.
        similarity: of the two documents.
        exact: whether the similarity is exact.
        passage: the longest that both share; only by the rule `copied`.
    """

    doc_id: int
    similarity: float
    exact: bool
    passage: CopiedPassage | None = None


@dataclasses.dataclass(eq=False)
class Locations:
    """Where documents are from: 8 bytes for each of a run.

    Attributes:
        first: the first doc_id of the run.
    """

    first: int = 1

    def __post_init__(self) -> None:
        self._files: dict[str | None, int] = {None: 0}
        self._names: list[str | None] = [None]
        self._packed = array("q")
        self._replaced = dict[int, int]()  # of lower doc_ids

    def add(self, doc_id: int, where: RowPlace) -> None:
        """Note where a document is from."""
        file, line = where
        # A text file is its own key, and the names of millions take room.
        packed = 0 if file is None else _KEY_IS_FILE
        if line is not None:
            number = self._files.setdefault(file, len(self._names))
            self._names += [file] if number == len(self._names) else []
            packed = number << _LINE_BITS | line
        if doc_id >= self.first:
            self._packed.extend([0] * (doc_id - self.first - len(self._packed)))  # of others
            self._packed.append(packed)
        else:
            self._replaced[doc_id] = packed

    def where(self, doc_id: int, key: str) -> RowPlace:
        """Where a document is from; without a file and a line if it is not of this run."""
        index = doc_id - self.first
        in_run = 0 <= index < len(self._packed)
        packed = self._packed[index] if in_run else self._replaced.get(doc_id, 0)
        if packed == _KEY_IS_FILE:
            return key, None
        line = packed & (1 << _LINE_BITS) - 1
        return self._names[packed >> _LINE_BITS], line or None


@dataclasses.dataclass(frozen=True, eq=False)
class Collection:
    """Documents that others are compared with.

    Attributes:
        store: the file of the documents.
        locations: the files and lines of the documents; none for a database that is a reference.
        reference: the name of a reference; None for documents of the run, and those stored before.
        all_rows: the file of all rows of the run, kept or not, where rarity is counted among them.
        is_private: whether only this run uses the file, so that it can be read while it is written.
        new_keys: what keys of files in the database are from the root of the run; None if the same.
        original_keys: by doc_id, the keys of documents of the run that are stored under others.
    """

    store: Store
    locations: Locations = dataclasses.field(default_factory=Locations)
    reference: str | None = None
    is_private: bool = False
    original_keys: dict[int, str] = dataclasses.field(default_factory=dict)
    new_keys: Rebased | None = None
    all_rows: Store | None = None

    @functools.cached_property
    def decided(self) -> Contents:
        """The decisions in its file when it was first asked for them."""
        with self.store.reading():
            return Contents(decision_rows(self.store))

    @property
    def is_reference(self) -> bool:
        """Whether documents are only compared with it, and none is added."""
        return self.reference is not None

    @contextmanager
    def reader(self) -> Iterator[StoreReader]:
        """A reader of the documents; a database is read as it is now, whatever others write."""
        if self.is_private:
            yield self.store
            return
        with self.store.snapshot() as (reader, _):
            yield reader

    def rebased(self, reader: StoreReader, doc_ids: arrays.IntArray, keys: list[str]) -> list[str]:
        """The keys of documents, those of files from the root of the run."""
        if self.new_keys is None:
            return keys
        files = {file.doc_id for file in reader.files_of(doc_ids.tolist()) if file.state}
        return [
            self.new_keys.key(key) if doc_id in files else key
            for doc_id, key in zip(doc_ids.tolist(), keys, strict=True)
        ]

    def parts(self) -> Iterator[tuple[StoreReader, arrays.IntArray, list[str]]]:
        """The doc_ids and keys of all documents, part by part, with what reads them."""
        with self.reader() as reader:
            for doc_ids, keys in reader.all_keys():
                for part in arrays.chunks_of(reader.lengths(doc_ids), reader.limits.text_batch):
                    yield reader, doc_ids[part], self.rebased(reader, doc_ids[part], keys[part])

    def documents(self) -> Iterator[list[SpooledDocument]]:
        """All documents, part by part, with -1 in place of a number."""
        where = self.locations.where
        for reader, doc_ids, keys in self.parts():
            files = reader.files_of(doc_ids.tolist())
            columns = files, keys, reader.contents(doc_ids), reader.metadata_of(doc_ids)
            yield [
                SpooledDocument(
                    -1, key, stored or "", metadata, *where(file.doc_id, key), file.state
                )
                for file, key, stored, metadata in zip(*columns, strict=True)
            ]


class MatchedReferences:
    """The documents of references that rows match: the most similar ones, and how many more."""

    def __init__(self) -> None:
        self._best = defaultdict[int, list[tuple[float, str]]](list)
        self._counts = Counter[int]()

    def add(self, row: int, matches: Iterable[tuple[float, str]]) -> None:
        """Note similarities and keys of documents; of equal ones, the first noted come first."""
        best = sorted([*self._best[row], *matches], key=lambda match: -match[0])
        self._counts[row] += len(best) - len(self._best[row])
        self._best[row] = best[:REFERENCES_LISTED]

    def named(self, row: int, dropped: DroppedRow) -> DroppedRow:
        """The dropped row with the keys of the documents, if it matches any."""
        if row not in self._counts:
            return dropped
        keys = [key for _, key in self._best[row]]
        if more := self._counts[row] - len(keys):
            keys.append(f"and {more:,} more")
        return dataclasses.replace(dropped, references=tuple(keys))


def picked_fields(
    fields: Sequence[str], metadata: str | None, kept_metadata: str | None
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Fields of the metadata of a dropped row and of the kept one; None if no field is wanted."""
    return (picked(metadata, fields), picked(kept_metadata, fields)) if fields else (None, None)
