"""The database object: one method for each thing that a user does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from lshdb.exchange import Exchange
from lshdb.model import AddReport, Content, Document

if TYPE_CHECKING:
    from lshdb.examining import OnProgress
    from lshdb.findings import CheckReport
    from lshdb.outcomes import Line, OnSimilar, Reindexed, Skipped
    from lshdb.readers import Reader
    from lshdb.records import Failure
    from lshdb.screening import Screening


class Database(Exchange):
    """An open lshdb file: documents, their signatures, and the buckets that find similar ones.

    Made by `lshdb.open`. Use it as a context manager, or call `close`. An object belongs to the
    thread that opened it; other threads and processes open the file themselves.
    """

    def add(
        self, key: str, content: Content, metadata: Mapping[str, object] | None = None
    ) -> AddReport:
        """Add a document, or replace the one that has this key.

        Args:
            key: the user's name for it, not empty and without NUL characters.
            content: a text; for `set` shingling a collection of strings and integers.
            metadata: what else is known of it, kept as JSON (see lshdb.metadata.to_json).

        Raises:
            ContentError: the database cannot take it.
            StoreError: writing failed; the database is as before.

        >>> import lshdb
        >>> with lshdb.open("fruit.db", shingle="set", threshold=0.5) as db:
        ...     db.add("breakfast", ["apple", "milk", "oats"]).added
        1
        """
        return self.add_many([Document(key, content, metadata)])

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

        A key given again replaces the earlier document, or changes nothing where content and
        metadata are the same.

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
        from lshdb.ingest import add_documents
        from lshdb.processes import default_workers

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
        """Add the documents of files and directories, as `lshdb add` does.

        Faster than `add_many` for lines and tables, which are parsed where they are signed.

        Args:
            paths: files, directories and patterns; `-` is the reader's standard input.
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
        from lshdb.ingest import add_documents
        from lshdb.processes import default_workers
        from lshdb.readers import Reader

        if reader is None:
            reader = Reader(of_sets=self.settings.shingling.of_sets)
        before = reader.replaced
        report = add_documents(
            self._store,
            reader.items(paths, apart=True),
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
        from lshdb.ingest import Selection, deduplicated_lines
        from lshdb.processes import default_workers
        from lshdb.readers import Reader
        from lshdb.screening import Screening

        if reader is None:
            reader = Reader(of_sets=self.settings.shingling.of_sets, format="jsonl")
        return deduplicated_lines(
            self._store,
            reader.items(paths),
            on_batch or _ignore,
            default_workers() if workers is None else workers,
            reader.parser,
            on_failure or _ignore,
            Selection(Screening(threshold, estimate), numbered, keep_lines=True),
        )

    def reindex(
        self,
        *,
        threshold: float | None = None,
        recall: float | None = None,
        bands: int | None = None,
        rows: int | None = None,
        construction: str | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> Reindexed:
        """Make the index anew from the stored signatures, for another threshold or shape.

        What is not given stays as it is; without a shape, bands and rows are chosen as for a new
        file. Shingles, permutations, sketch and seed are in the signatures and cannot change.

        All is one transaction: until it is done, queries elsewhere are answered by the old index,
        and if it fails or the process dies, the file is as before. Others can read meanwhile, and
        not write. Other handles to the file notice with what they do next.

        Args:
            threshold: the similarity from which documents count as similar, in (0, 1].
            recall: the share of pairs at the threshold that the index shall find.
            bands: with rows, the shape of the index.
            rows: of a band.
            construction: the shape as text, "and ROWS, or BANDS" or a cascade.
            on_progress: called now and then with the steps done and all steps; a step is a
                signature read or a band row written. It must not use this object.

        Raises:
            SettingsError: nothing is given, or what is cannot be had from the stored signatures.
            StoreError: writing failed; the file is as before.

        >>> import lshdb
        >>> with lshdb.open("fables.db", threshold=0.8) as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     db.reindex(threshold=0.5).after.construction
        Construction(rows=3, bands=35)
        """
        from lshdb.reindexing import reindex
        from lshdb.settings import SettingsRequest

        request = SettingsRequest(
            threshold=threshold, recall=recall, bands=bands, rows=rows, construction=construction
        )
        return reindex(self._store, request, on_progress)

    def _screening(self, on_similar: OnSimilar) -> Screening | None:
        from lshdb.screening import screening

        return screening(on_similar)

    def remove(self, key: str) -> None:
        """Remove a document; KeyNotFound if no document has the key."""
        self.remove_many([key])

    def remove_many(self, keys: Sequence[str]) -> None:
        """Remove documents, all or (if a key is not there) none: KeyNotFound."""
        from lshdb.ingest import remove

        remove(self._store, keys)

    def check(
        self,
        *,
        deep: bool = False,
        repair: bool = False,
        on_progress: OnProgress | None = None,
    ) -> CheckReport:
        """See whether the file is whole, and with `repair` put right what can be derived.

        The arguments are those of `lshdb.check`, which also looks at a file that cannot be opened.

        Raises:
            StoreError: with `repair`, the file cannot be written.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     db.check().problems
        ()
        """
        from lshdb.checking import check

        if repair:
            with self._store.writing():
                pass  # a database that was opened for reading is not written
        return check(
            self.path,
            deep=deep,
            repair=repair,
            on_progress=on_progress,
            timeout=self._store.timeout,
        )


def _ignore(_: object) -> None:
    pass
