"""The database object: one method for each thing that a user does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import get_args

from lshdb.comparing import compare
from lshdb.errors import UsageError
from lshdb.ingest import Selection, add_documents, deduplicated_lines, remove
from lshdb.inside import Inside
from lshdb.joining import Request, all_clusters, all_pairs
from lshdb.model import (
    AddReport,
    Cluster,
    Comparison,
    Content,
    Document,
    Keep,
    Match,
    Pair,
)
from lshdb.outcomes import Line, OnSimilar, Skipped
from lshdb.readers import Reader
from lshdb.records import Failure
from lshdb.screening import Screening
from lshdb.search import Query, search
from lshdb.signers import default_workers


class Database(Inside):
    """An open lshdb file: documents, their signatures, and the buckets that find similar ones.

    Made by `lshdb.open`. Use it as a context manager, or call `close`. An object belongs to the
    thread that opened it; other threads and processes open the file themselves.
    """

    def __enter__(self) -> Database:
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

    # documents in and out

    def add(self, key: str, content: Content) -> AddReport:
        """Add a document, or replace the one that has this key.

        Args:
            key: the user's name for it, not empty and without NUL characters.
            content: a text; for `set` shingling a collection of strings and integers.

        Raises:
            ContentError: the database cannot take it.
            StoreError: writing failed; the database is as before.

        >>> import lshdb
        >>> with lshdb.open("fruit.db", shingle="set", threshold=0.5) as db:
        ...     db.add("breakfast", ["apple", "milk", "oats"]).added
        1
        """
        return self.add_many([Document(key, content)])

    def add_many(
        self,
        documents: Iterable[Document | tuple[str, Content]],
        *,
        on_batch: Callable[[AddReport], None] | None = None,
        workers: int | None = None,
        on_similar: OnSimilar = "keep",
        on_skip: Callable[[Skipped], None] | None = None,
    ) -> AddReport:
        """Add documents in batches, each written in one transaction, whole or not at all.

        A key given again replaces the earlier document, or changes nothing where the content is
        the same.

        Args:
            documents: any number of documents, or pairs of key and content; read as needed.
            on_batch: called with the report of each batch when it is safely in the file.
            workers: processes that sign documents beside this one, once there is more than a
                batch; None for as many as there are processors to spare. The result is the same.
            on_similar: `skip` leaves out each document that shares a bucket with one that is
                stored, or was added before it, and is similar to it. The old version of a
                document is no reason to leave out the new one; if another one is, the old
                version stays.
            on_skip: called with each document left out, when its batch is in the file.

        Returns:
            How many were added, updated, unchanged and skipped, and how many of the first two
            were empty.

        Raises:
            ContentError: a document that the database cannot take; the batches before its own
                stay.
            StoreError: writing failed; the batches before stay.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     db.add_many([("a", "The fox and the grapes"), ("b", "The fox and the grapes!")])
        AddReport(added=2, updated=0, unchanged=0, failed=0, empty=0, replaced=0, skipped=0)
        """
        return add_documents(
            self._store,
            documents,
            on_batch or _ignore,
            default_workers() if workers is None else workers,
            screening=self._screening(on_similar),
            on_skip=on_skip or _ignore,
        )

    def add_files(
        self,
        paths: Iterable[str],
        reader: Reader | None = None,
        *,
        on_batch: Callable[[AddReport], None] | None = None,
        on_failure: Callable[[Failure], None] | None = None,
        workers: int | None = None,
        on_similar: OnSimilar = "keep",
        on_skip: Callable[[Skipped], None] | None = None,
    ) -> AddReport:
        """Add the documents of text files, directories and JSON lines, as `lshdb add` does.

        Faster than `add_many` for JSON lines, which are parsed where they are signed.

        Args:
            paths: files and directories; `-` is the reader's standard input.
            reader: how they are read; None for what `lshdb add` does without options.
            on_batch: as for `add_many`.
            on_failure: called with each file and line that gives no document; the others are
                added, and these counted.
            workers: as for `add_many`.
            on_similar: as for `add_many`.
            on_skip: as for `add_many`.

        Raises:
            StoreError: writing failed; the batches before stay.

        >>> import lshdb
        >>> from pathlib import Path
        >>> _ = Path("fables.jsonl").write_text('{"id": 1, "text": "The fox and the grapes"}')
        >>> with lshdb.open("fables.db") as db:
        ...     db.add_files(["fables.jsonl"]).added
        1
        """
        if reader is None:
            reader = Reader(of_sets=self.settings.shingling.of_sets)
        before = reader.replaced
        report = add_documents(
            self._store,
            reader.items(paths),
            on_batch or _ignore,
            default_workers() if workers is None else workers,
            reader.parser,
            on_failure or _ignore,
            self._screening(on_similar),
            on_skip or _ignore,
        )
        # Text files are decoded by the reader itself.
        return report + AddReport(replaced=reader.replaced - before)

    def dedup(
        self,
        paths: Iterable[str],
        reader: Reader | None = None,
        *,
        threshold: float | None = None,
        estimate: bool = False,
        numbered: bool = False,
        on_batch: Callable[[AddReport], None] | None = None,
        on_failure: Callable[[Failure], None] | None = None,
        workers: int | None = None,
    ) -> Iterator[Line]:
        r"""Go through lines of JSON, and add the documents that are similar to none before them.

        A line is kept if its document shares a bucket with none that is stored, or was kept
        before it, and is similar to it. So no two of those kept are similar, as far as the index
        tells. A document that is stored already, key and content, is not kept either.

        Args:
            paths: files of JSON lines; `-` is the reader's standard input.
            reader: how they are read; None for what `lshdb dedup` does without options.
            threshold: the similarity from which on a line is not kept; None for the database's.
            estimate: decide by estimates even where content is kept: less exact.
            numbered: keys may be repeated: they are stored with a number before them, for a
                database that is thrown away. Else a document replaces the one with its key, as
                in `add_many`.
            on_batch: as for `add_many`; called when the lines of the batch were taken.
            on_failure: as for `add_files`.
            workers: as for `add_many`.

        Yields:
            Each line that is a document, in order, when it is safely in the file if it is kept.

        Raises:
            UsageError: a threshold out of range.
            StoreError: while iterating, writing failed; the batches before stay.

        Warns:
            LimitWarning: kept documents were compared with a part of a large bucket only.

        >>> import lshdb
        >>> from pathlib import Path
        >>> _ = Path("news.jsonl").write_text(
        ...     '{"id": 1, "text": "The fox and the grapes"}\n'
        ...     '{"id": 2, "text": "The FOX and the grapes!"}\n'
        ... )
        >>> with lshdb.open("seen.db") as db:
        ...     [line.key for line in db.dedup(["news.jsonl"]) if line.skipped is None]
        ['1']
        """
        if reader is None:
            reader = Reader(of_sets=self.settings.shingling.of_sets, format="jsonl")
        return deduplicated_lines(
            self._store,
            reader.items(paths),
            on_batch or _ignore,
            default_workers() if workers is None else workers,
            reader.parser,
            on_failure or _ignore,
            Selection(Screening(self._least(threshold), estimate), numbered, keep_lines=True),
        )

    def _screening(self, on_similar: OnSimilar) -> Screening | None:
        if on_similar not in get_args(OnSimilar):
            raise UsageError(f"on_similar {on_similar!r} is not {' or '.join(get_args(OnSimilar))}")
        return Screening(self.settings.threshold) if on_similar == "skip" else None

    def remove(self, key: str) -> None:
        """Remove a document; KeyNotFound if no document has the key."""
        self.remove_many([key])

    def remove_many(self, keys: Sequence[str]) -> None:
        """Remove documents, all or (if a key is not there) none: KeyNotFound."""
        remove(self._store, keys)

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

        Documents whose estimate is within 5 standard errors of what the threshold asks for are
        verified. With `top`, of a bucket of more than 2,000 documents only some are compared; a
        LimitWarning says so unless the result is certain all the same.

        Raises:
            UsageError: neither or both of content and key, or numbers out of range.
            ContentError: a text for a database of sets, or the other way round.
            KeyNotFound: no document has the key.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     db.query("the FOX, and the grapes")
        [Match(key='fox', similarity=1.0, exact=True, estimate=1.0, bands=16, containment=None)]
        """
        least = self._least(threshold)
        return search(
            self._store, Query(content, key, top, least, estimate, exhaustive, containment)
        )

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
        return all_pairs(self._store, Request(self._least(threshold), estimate))

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
        return all_clusters(self._store, Request(self._least(threshold), estimate, keep, star))

    def _least(self, threshold: float | None) -> float:
        return self.settings.threshold if threshold is None else threshold


def _ignore(_: object) -> None:
    pass
