"""The door for parts of the index: tables that an app derives from the texts of documents."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from lshdb import offers
from lshdb.progress import Progress
from lshdb.sketch.part_rows import PartRows
from lshdb.sketch.settings import Settings
from lshdb.store.index import Index, IndexRows
from lshdb.text.arrays import IntArray
from lshdb.text.kinds import Tokens

Documents = Iterable[tuple[IntArray, list[str]]]
"""The ids int64[n] and texts of some documents at a time."""


class IndexPart(Protocol):
    """A part of the index that follows from the texts of documents, such as fingerprints.

    To add one: its name in `offers.PARTS` and in `offers.TABLES`, its tables in NAME.sql of the
    app's folder, and in `settings.parts_of` which files have it. A file has all of its tables or
    none: the core makes them with the file or when it is reindexed, and drops them.

    The core calls `made` for the documents of a batch, in whichever process signs them, with no
    file. All else is called in the writer's process and transaction, but `stored` and `expected`
    also in that of a check that only reads. Only documents with shingles have rows.

    Attributes:
        collects: whether rows of several batches are held, up to `limits.fingerprints`, and then
            written together, as a table is filled fastest in the order of its key.
    """

    collects: bool

    def made(self, texts: Sequence[str], settings: Settings, tokens: Tokens | None, /) -> PartRows:
        """The rows of n texts, documents 0 to n - 1.

        Args:
            texts: n texts that are shingled together, at least one.
            settings: of the file.
            tokens: of the texts, where the kind of shingles has cut them already; else None.
        """

    def write(self, index: Index, rows: PartRows, /) -> None:
        """Insert rows, whose documents are the doc_ids, none of which has a row."""

    def remove(
        self, index: Index, doc_ids: IntArray, texts: Sequence[str], settings: Settings, /
    ) -> None:
        """Delete the rows of documents int64[n] with these n texts, as they were inserted."""

    def rebuild(
        self, index: Index, documents: Documents, settings: Settings, progress: Progress, /
    ) -> int:
        """Replace all rows by those of all documents; return how many were written.

        `progress` is called with the number so far.
        """

    def expected(self, doc_ids: IntArray, texts: Sequence[str], settings: Settings, /) -> IndexRows:
        """What `stored` must give for documents int64[n] with n texts, in any order."""

    def stored(self, index: Index, /) -> Iterator[IndexRows]:
        """Integers of each row, int64[c, r], some thousands at a time."""


def part(name: str) -> IndexPart:
    """A part of the index by its name; UsageError if its app is missing."""
    index_part: IndexPart = offers.offered(offers.PARTS, name)
    return index_part
