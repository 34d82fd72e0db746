"""The door to a file as it is at one moment, for apps that compare, report and show documents."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from lshdb.limits import Limits
from lshdb.sketch.settings import Settings
from lshdb.text.arrays import IntArray, Lanes


class Snapshot(Protocol):
    """The documents of a file in one transaction, which others may change meanwhile.

    `with store.snapshot(condition) as (snapshot, keep)` opens one, on a connection of its own, in
    any thread; `keep` says of int64[n] doc_ids which match the condition, bool[n], and is None for
    all. Within `with store.reading()` the store is one itself, for the thread that opened it.
    Documents are named by their doc_ids, int64[n], which this snapshot gave; what it says of them
    has their order. Another doc_id, or a value of another type in the file, is a DamagedFile.

    Attributes:
        settings: those of the index at this moment.
        limits: how much is read at once.
    """

    settings: Settings
    limits: Limits

    def all_keys(self) -> Iterator[tuple[IntArray, list[str]]]:
        """The doc_ids and keys of all documents, in the order of addition, many at a time."""

    def keys_of(self, doc_ids: IntArray) -> list[str]:
        """Their keys."""

    def contents(self, doc_ids: IntArray) -> Iterator[str]:
        """Their texts, or the JSON of sets, read as they are asked for."""

    def metadata_of(self, doc_ids: IntArray, fields: Sequence[str] = ()) -> Iterator[str | None]:
        """Their other fields as JSON, None without any; with the text if it is among `fields`."""

    def signatures_of(self, doc_ids: IntArray) -> Lanes:
        """Their signatures [n, lanes]; each must have shingles, and so a signature."""

    def documents_of_buckets(
        self, buckets: IntArray, first: int | None = None, max_rows: int | None = None
    ) -> tuple[IntArray, IntArray]:
        """The members of buckets int64[b], as sketch.banding.bucket_codes gives them.

        Returns:
            int64[r], the index of a bucket, and int64[r], a doc_id, ordered by both; of each
            bucket the `first` members, and at most `max_rows` rows.
        """
