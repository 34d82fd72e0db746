"""What is asked of an open file; lshdb.database adds what changes it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from lshdb.content import from_stored
from lshdb.errors import UsageError
from lshdb.lookup import buckets_of
from lshdb.metadata import from_json
from lshdb.model import (
    Bucket,
    Cluster,
    Comparison,
    Content,
    Document,
    Info,
    Keep,
    Match,
    Pair,
    StoredDocument,
)
from lshdb.planning import Planning
from lshdb.search import Query, row_of_key, search
from lshdb.signing import distinct_shingles
from lshdb.store import Parameters, SqlValue, Store

_MOST_ROWS: Final = (1 << 63) - 1

# What only some of the methods need, they import: a query starts in half of the time.


class Reading(Planning):
    """The part of `Database` that only reads."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; safe to call twice."""
        self._store.close()

    @property
    def path(self) -> Path:
        """The file."""
        return self._store.path

    # documents

    def get(self, key: str) -> StoredDocument:
        """The document of a key; KeyNotFound if there is none.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     db.get("fox").content
        'The fox and the grapes'
        """
        with self._store.reading():
            row = row_of_key(self._store, key)
            keys = None
            if row.signature is not None:
                keys = buckets_of(self._store, row.signature)
        content = None
        if row.content is not None:
            content = from_stored(row.content, self._store.settings.shingling)
        return StoredDocument(
            row.doc_id,
            row.key,
            content,
            row.shingles,
            row.signature,
            keys,
            from_json(row.metadata),
        )

    def __contains__(self, key: str) -> bool:
        return self._store.document(key) is not None

    def __len__(self) -> int:
        return self._store.count()[0]

    def keys(self) -> list[str]:
        """All keys, in the order of first addition."""
        return self._store.keys()

    def keys_with_prefix(self, prefix: str, most: int = 100) -> list[str]:
        """The first keys that begin with this text, at most so many, in the order of their bytes.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     _ = db.add_many([("fable/1", "The fox"), ("fable/2", "The crow"), ("poem", "O!")])
        ...     db.keys_with_prefix("fable/")
        ['fable/1', 'fable/2']
        """
        found = self._store.keys_from(prefix, most)
        return [key for key in found if key.startswith(prefix)]

    # similar documents

    def query(
        self,
        content: Content | None = None,
        *,
        key: str | None = None,
        top: int | None = None,
        threshold: float | None = None,
        estimate: bool = False,
        exhaustive: bool = False,
        containment: bool = False,
        where: str | None = None,
        parameters: Parameters = (),
    ) -> list[Match]:
        """The stored documents similar to a document, best first.

        Candidates share a bucket with it. Where content is kept they are ranked by their exact
        Jaccard similarity, else by the estimate; `Match.exact` says which.

        Args:
            content: the document to compare with, a text or a set; or
            key: the key of a stored one, which is then not among the matches.
            top: how many matches at the most; None for all.
            threshold: the least similarity; None for the database's own. Below it the index
                finds fewer of the similar documents (see lshdb.scurve).
            estimate: rank by the estimate even where content is kept: faster, less exact.
            exhaustive: compare with every signature rather than those that share a bucket.
            containment: rank by the share of the document's distinct shingles that a stored one
                holds, and compare that with the threshold: for a quotation in a longer text. The
                index finds by Jaccard similarity, which is low where the stored one is much
                longer (see lshdb.jaccard.similarity_at).
            where: an SQL expression of the columns of `documents`, such as
                "metadata ->> '$.lang' = ?": only documents of which it is true are compared.
            parameters: values for each ? in it, or by name for each :name.

        Documents whose estimate is within 5 standard errors of what the threshold asks for are
        verified. With `top`, of a bucket of more than 2,000 documents only some are compared; a
        LimitWarning says so unless the result is certain all the same.

        Raises:
            UsageError: neither or both of content and key, or numbers out of range.
            ContentError: a text for a database of sets, or the other way round.
            KeyNotFound: no document has the key.
            QueryError: `where` is not one expression, is wrong, or would do more than read.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     db.query("the FOX, and the grapes")
        [Match(key='fox', similarity=1.0, exact=True, estimate=1.0, bands=16, containment=None)]
        """
        with self._store.reading():
            least = self._store.settings.threshold if threshold is None else threshold
            asked = Query(
                content,
                key,
                top,
                least,
                estimate,
                exhaustive,
                containment,
                where=where,
                parameters=parameters,
            )
            return search(self._store, asked)

    def compare(self, a: str | Document, b: str | Document) -> Comparison:
        """What two documents have in common, and whether a query for one would find the other.

        Args:
            a: the key of a stored document, or a Document, whose key is then only its name.
            b: the other one.

        Returns:
            Sizes, exact similarity and containment, the estimate, the lanes and the buckets that
            agree, and the passages (of sets: the elements) that both share. Without kept content
            only what signatures tell.

        Raises:
            KeyNotFound: no document has the key.
            ContentError: a text for a database of sets, or the other way round.

        Passages are looked for in the first 4,000,000 characters, and 10,000 at the most are
        told; a LimitWarning says so where there is more.

        >>> import lshdb
        >>> with lshdb.open("fables.db", shingle="word:2") as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     compared = db.compare("fox", lshdb.Document("new", "the wolf and the grapes"))
        >>> compared.shared, compared.union, round(compared.similarity, 3)
        (2, 6, 0.333)
        >>> [compared.a_content[p.a_start : p.a_end] for p in compared.passages]
        ['and the grapes']
        """
        from lshdb.comparing import compare

        return compare(self._store, a, b)

    def pairs(self, *, threshold: float | None = None, estimate: bool = False) -> Iterator[Pair]:
        """All pairs of similar documents, each once, in the order of addition.

        Pairs share a bucket. Where content is kept their similarities are exact. They come as
        they are found, of the database as it was when the first was asked for: it may be written
        meanwhile.

        Args:
            threshold: the least similarity; None for the database's own. Below it the index
                finds fewer of the similar pairs (see lshdb.scurve).
            estimate: tell estimates even where content is kept: faster, less exact.

        Raises:
            UsageError: a threshold out of range.
            StoreError: while iterating, the file cannot be read.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add_many([("a", "The fox and the grapes"), ("b", "The FOX, the ant")])
        ...     report += db.add("c", "the fox and the grapes!")
        ...     list(db.pairs())
        [Pair(a='a', b='c', similarity=1.0, exact=True, estimate=1.0)]
        """
        from lshdb.joining import Request, all_pairs

        return all_pairs(self._store, Request(threshold, estimate))

    def clusters(
        self,
        *,
        threshold: float | None = None,
        keep: Keep = "first",
        star: bool = False,
        estimate: bool = False,
    ) -> Iterator[Cluster]:
        """The documents that belong together, cluster by cluster, and which of them to keep.

        A cluster is all documents that similar pairs connect; `star` makes each similar to the
        kept one itself. Clusters come in the order of their first members, when all are found.
        Unlike for `pairs`, there is a limit on what is compared in one bucket; with exact
        similarities, few files reach it (see lshdb.thinning).

        Args:
            threshold: as for `pairs`.
            keep: which member to keep, the `first` or `last` added or the `longest`.
            star: documents in the order of `keep` each take those that are similar to them and
                not yet taken.
            estimate: as for `pairs`.

        Raises:
            UsageError: a threshold out of range, or an unknown `keep`.
            StoreError: while iterating, the file cannot be read.

        Warns:
            LimitWarning: candidates were not compared that would change the clusters if similar.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add_many([("a", "The fox and the grapes"), ("b", "The FOX, the ant")])
        ...     report += db.add("c", "the fox and the grapes!")
        ...     [(cluster.keep, cluster.members) for cluster in db.clusters(keep="longest")]
        [('c', ('a', 'c'))]
        """
        from lshdb.joining import Request, all_clusters

        if keep == "longest" and self.settings.shingling.foreign:
            raise UsageError(
                "of signatures that were made elsewhere no lengths are known: keep first or last"
            )
        return all_clusters(self._store, Request(threshold, estimate, keep, star))

    # looking inside

    def info(self) -> Info:
        """Settings, numbers of documents, size of the file."""
        with self._store.reading():
            documents, empty = self._store.count()
            return Info(self._store.settings, documents, empty, self._store.bytes())

    def buckets(self, top: int = 10) -> list[Bucket]:
        """The buckets with the most documents, largest first; UsageError if top is below 1."""
        if top < 1:
            raise UsageError(f"top {top} is not at least 1")
        with self._store.reading():
            return self._store.largest_buckets(min(top, _MOST_ROWS))

    def buckets_of_size(self) -> dict[int, int]:
        """How many buckets there are of each number of documents, the smallest first.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add_many([("a", "The fox and the grapes"), ("b", "The FOX, the ant")])
        ...     report += db.add("c", "the fox and the grapes!")
        ...     db.buckets_of_size()
        {1: 16, 2: 16}
        """
        return self._store.buckets_of_size()

    def data_version(self) -> int:
        """A number that is another one after other connections have changed the file.

        It tells whether what was read is still so; numbers of two open handles say nothing.
        """
        return self._store.data_version()

    def buckets_of(self, key: str) -> list[Bucket]:
        """The buckets that a document is in, one of each band; KeyNotFound without one."""
        with self._store.reading():
            row = row_of_key(self._store, key)
            if row.signature is None:
                return []
            return self._store.bucket_sizes(buckets_of(self._store, row.signature))

    def count_distinct(self, document: StoredDocument) -> int | None:
        """How many distinct shingles a document has; None where content is not kept."""
        if document.content is None:
            return None
        settings = self._store.settings
        return len(distinct_shingles([document.content], settings.shingling, settings.seed).hashes)

    def sql(self, statement: str) -> tuple[list[str], Iterator[tuple[SqlValue, ...]]]:
        """Run a SELECT on the file's tables and views: column names, and rows as they come.

        Raises:
            QueryError: the SQL is wrong, or would do anything but read.
        """
        return self._store.sql(statement)

    def backup(
        self,
        path: str | os.PathLike[str],
        *,
        replace: bool = False,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Copy the database, as it is at this moment, to a file; others may write meanwhile.

        The copy is one file, and has its name only when all of it is on the disk.

        Args:
            path: the file to be made.
            replace: whether it may be there already; it is then replaced.
            on_progress: called with how many pages of how many are copied.

        Raises:
            UsageError: it is the database itself.
            StoreError: it is there already, or in use, or cannot be written.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     db.backup("copy.db")
        >>> lshdb.check("copy.db", deep=True).ok
        True
        """
        from lshdb.store.backup import back_up

        back_up(
            self.path,
            Path(path),
            self._store.timeout,
            replace=replace,
            on_progress=on_progress or (lambda _done, _total: None),
        )
