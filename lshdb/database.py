"""The database object, with one method for each thing that a user does, and opening one.

Methods import what only they need, which halves the time to start a query.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal, Self, get_args

import numpy.typing as npt

from lshdb.errors import UsageError
from lshdb.limits import DEFAULTS, Limits
from lshdb.model import (
    AddReport,
    Bucket,
    Cluster,
    Comparison,
    Construction,
    Content,
    Decision,
    Document,
    Info,
    Keep,
    Pair,
    Passages,
    Settings,
    StoredDocument,
    Verdict,
)
from lshdb.progress import Progress, shown
from lshdb.search.buckets import buckets_of
from lshdb.search.query import Query, row_of_key, search
from lshdb.settings import SettingsRequest, check_given, check_needed
from lshdb.shingling.content import from_stored
from lshdb.shingling.hashing import secret_seed
from lshdb.shingling.shingles import distinct_shingles
from lshdb.sources.metadata import from_json
from lshdb.store.connection import TIMEOUT, Mode
from lshdb.store.rows import Parameters
from lshdb.store.store import Store
from lshdb.tuning.resolve import resolve

if TYPE_CHECKING:
    from lshdb.exchange.results import Matches, PassageResults, Results, SqlRows
    from lshdb.ingest.add import Outcome
    from lshdb.ingest.reference import Reference
    from lshdb.maintenance.findings import CheckReport
    from lshdb.model import DecidedRow, DroppedRow, OnSimilar, Reindexed, SyncReport
    from lshdb.sketching.signature_sets import SignatureSet, Sketching
    from lshdb.sources.readers import Reader
    from lshdb.sources.records import Failure
    from lshdb.store.waiting import Order
    from lshdb.tuning.choices import Tuned
    from lshdb.tuning.measuring import Measured

_MAX_ROWS: Final = (1 << 63) - 1
_LONGEST_TIMEOUT: Final = 1_000_000.0
"""SQLite counts milliseconds in 32 bits."""


class Database:
    """An open lshdb file: documents, their signatures, and the buckets that find similar ones.

    Made by `lshdb.open`. Use it as a context manager, or call `close`. An object belongs to the
    thread that opened it; other threads and processes open the file themselves.
    """

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

    def __repr__(self) -> str:
        settings = self._store.settings  # as last read: a repr reads no file, and never fails
        index = f"{settings.shingling}, threshold {settings.threshold:g}, {settings.construction}"
        closed = ", closed" if self._store.closed else ""
        return f"<lshdb.Database {str(self.path)!r}: {index}{closed}>"

    @property
    def path(self) -> Path:
        """The file."""
        return self._store.path

    @property
    def settings(self) -> Settings:
        """The settings it was made with, or was reindexed to since, here or by another process."""
        with self._store.reading():
            return self._store.settings

    # adding and removing

    def add(
        self, key: str, content: Content, metadata: Mapping[str, object] | None = None
    ) -> AddReport:
        """Add a document, or replace the one that has this key.

        It is on the disk when this returns, which takes some milliseconds. For many documents use
        `add_many`, which waits once per batch.

        Args:
            key: the user's name for it, not empty and without NUL characters.
            content: a text; for `set` shingling a collection of strings and integers.
            metadata: its other fields, kept as JSON (see lshdb.sources.metadata.to_json).

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
        documents: Iterable[Document | tuple[str, Content] | Mapping[str, object]],
        *,
        on_batch: Callable[[AddReport], None] | None = None,
        workers: int | None = None,
        on_similar: OnSimilar = "keep",
        on_skip: Callable[[DroppedRow], None] | None = None,
        progress: bool | Progress = False,
    ) -> AddReport:
        """Add documents in batches, each written in one transaction, whole or not at all.

        A key given again replaces the earlier document, or changes nothing where content and
        metadata are the same.

        Args:
            documents: any number of documents, pairs of key and content, or dicts, by the rules
                for records of files: `key` (or `id`), `text` (or `set`), and all other fields as
                metadata; read as needed.
            on_batch: called with the report of each batch when it is safely in the file.
            workers: processes that sign documents beside this one, once there is more than a
                batch; None for as many as there are processors to spare. The result is the same.
            on_similar: `skip` leaves out each document that shares a bucket with one that is
                stored, or was added before it, and is similar to it. The old version of a
                document does not count; if another document is similar to the new version,
                the old one stays.
            on_skip: called with each document left out, when its batch is in the file.
            progress: show a bar, in a terminal or a notebook; or a function, called after each
                batch with the number of documents done, the number of all (None if `documents`
                has no length), and the unit, here `documents`.

        Returns:
            How many were added, updated, unchanged and skipped, and how many of the first two
            were empty.

        Raises:
            ContentError: a document that the database cannot take; earlier batches stay.
            StoreError: writing failed; earlier batches stay.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     db.add_many([("a", "The fox and the grapes"), ("b", "The fox and the grapes!")])
        AddReport(added=2, updated=0, unchanged=0, failed=0, empty=0, replaced=0, skipped=0)
        """
        check_needed(documents=documents, progress=progress)
        check_given(on_batch=on_batch, workers=workers, on_skip=on_skip)
        from lshdb.ingest.add import add_documents

        with shown(progress, "adding") as report:
            return add_documents(
                self._store,
                documents,
                workers=workers,
                on_similar=on_similar,
                on_batch=on_batch,
                on_skip=on_skip,
                progress=report,
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
        on_skip: Callable[[DroppedRow], None] | None = None,
        progress: bool | Progress = False,
    ) -> AddReport:
        """Add the documents of files and directories, as `lshdb add` does.

        Faster than `add_many` for lines and tables, which are parsed where they are signed.

        Args:
            paths: files, directories and patterns; `-` is the reader's standard input.
            reader: how they are read; None for what `lshdb add` does without options.
            on_batch: as for `add_many`.
            on_failure: called with each file and line that gives no document; they are counted,
                and the others are added.
            workers: as for `add_many`.
            on_similar: as for `add_many`.
            on_skip: as for `add_many`.
            progress: as for `add_many`, and before each call one with the bytes read; their total
                is known if all paths are uncompressed files, that of documents never.

        Raises:
            StoreError: writing failed; earlier batches stay.

        >>> import lshdb
        >>> from pathlib import Path
        >>> _ = Path("fables.jsonl").write_text('{"id": 1, "text": "The fox and the grapes"}')
        >>> with lshdb.open("fables.db") as db:
        ...     db.add_files(["fables.jsonl"]).added
        1
        """
        check_needed(paths=paths, progress=progress)
        check_given(reader=reader, workers=workers)
        check_given(on_batch=on_batch, on_failure=on_failure, on_skip=on_skip)
        from lshdb.ingest.add import add_documents, never_wait
        from lshdb.sources.readers import Reader

        if reader is None:
            of_sets = self._store.settings.shingling.of_sets
            reader = Reader(of_sets=of_sets, limits=self._store.limits)
        replaced = reader.replaced
        with reader.shown(progress, "adding", paths) as report:
            added = add_documents(
                self._store,
                reader.items(paths),
                parser=reader.parser,
                workers=workers,
                on_similar=on_similar,
                on_batch=on_batch,
                on_failure=on_failure,
                on_skip=on_skip,
                progress=report,
                prompt=never_wait(paths),
            )
        # Text files are decoded by the reader itself.
        return added + AddReport(replaced=reader.replaced - replaced)

    def sync(
        self,
        directories: Sequence[str],
        reader: Reader | None = None,
        *,
        dry_run: bool = False,
        remove_most: bool = False,
        on_batch: Callable[[AddReport], None] | None = None,
        on_failure: Callable[[Failure], None] | None = None,
        workers: int | None = None,
        progress: bool | Progress = False,
    ) -> SyncReport:
        """Bring the database in line with directories, as `lshdb sync` does.

        New text files are added, changed ones updated, and documents whose files are gone
        removed; a document whose file was moved gets the new key, and keeps its doc_id. Only
        documents that were read from files below the directories are touched.

        It may be interrupted, and run several times at once: each batch is a transaction, and
        the next run does the rest.

        Args:
            directories: each with all files below it.
            reader: which files are read, how, and what their keys are; None for what `lshdb sync`
                does without options.
            dry_run: change nothing; `SyncReport.changes` has what would happen, and
                `SyncReport.refused` whether it would be refused.
            remove_most: remove documents even if that is more than half of the 100 or more that
                came from files below one of the directories.
            on_batch: as for `add_many`.
            on_failure: called with each file and directory that cannot be read; its documents
                stay.
            workers: as for `add_many`.
            progress: as for `add_many`, with the documents that are written; no total.

        Raises:
            InputError: a directory does not exist, or most of its files are gone, as if it was
                not mounted (see `remove_most`); nothing is removed.
            UsageError: a path is not a directory, or the database holds sets.
            StoreError: writing failed; earlier batches stay.

        >>> import lshdb
        >>> from pathlib import Path
        >>> Path("notes").mkdir()
        >>> _ = Path("notes/fox.txt").write_text("The fox and the grapes")
        >>> with lshdb.open("fables.db") as db:
        ...     first = db.sync(["notes"])
        ...     _ = Path("notes/fox.txt").rename("notes/grapes.txt")
        ...     second = db.sync(["notes"])
        >>> first.added, second.added, second.moved
        (1, 0, 1)
        """
        from lshdb.ingest.sync import sync

        self._store.check_open()
        check_needed(directories=directories, dry_run=dry_run, remove_most=remove_most)
        check_needed(progress=progress)
        check_given(reader=reader, on_batch=on_batch, on_failure=on_failure, workers=workers)
        with shown(progress, "reading files") as report:
            return sync(
                self._store,
                directories,
                reader,
                dry_run=dry_run,
                remove_most=remove_most,
                on_batch=on_batch,
                on_failure=on_failure,
                workers=workers,
                progress=report,
            )

    def add_table(
        self,
        table: object,
        key: str = "id",
        text: str = "text",
        set: str | None = None,
        *,
        metadata: bool = True,
        metadata_fields: Sequence[str] = (),
        on_batch: Callable[[AddReport], None] | None = None,
        on_failure: Callable[[Failure], None] | None = None,
        workers: int | None = None,
        on_similar: OnSimilar = "keep",
        on_skip: Callable[[DroppedRow], None] | None = None,
    ) -> AddReport:
        """Add the rows of a table. Needs the extra `arrow` (pyarrow).

        Rows stay in Arrow's own form until they are parsed and signed. The other columns are kept
        as metadata, like those of a file.

        Args:
            table: anything with the Arrow C stream interface: a pyarrow Table, RecordBatch or
                RecordBatchReader, a pandas or Polars DataFrame, a DuckDB relation; an iterable
                of these, read as needed; or a Hugging Face dataset.
            key: the column of keys, strings or integers.
            text: the column of texts, where the database holds texts.
            set: the column of sets, lists of strings or integers, where it holds sets; `set`.
            metadata: whether the other columns are kept.
            metadata_fields: which of them; None for all except an unnamed index of pandas.
            on_batch: as for `add_many`.
            on_failure: called with each row that gives no document (a null, an empty key), named
                `table:ROW`, rows counted from 1; they are counted, and the others are added.
            workers: as for `add_many`.
            on_similar: as for `add_many`.
            on_skip: as for `add_many`.

        Raises:
            UsageError: this is not a table, or pyarrow is not installed.
            InputError: the table lacks a column, has it in another type, or cannot be read;
                earlier batches stay.
            ContentError: a database of signatures that were made elsewhere.
            StoreError: writing failed; earlier batches stay.

        >>> import lshdb, pyarrow
        >>> table = pyarrow.table({"id": [1, 2], "text": ["The fox and the grapes", None]})
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add_table(table, on_failure=print)
        Failure(where='table:2', reason="field 'text' is null, not a string")
        >>> report.added, report.failed
        (1, 1)
        """
        check_needed(key=key, text=text, metadata_fields=metadata_fields)
        check_given(
            set=set, on_batch=on_batch, on_failure=on_failure, workers=workers, on_skip=on_skip
        )
        from lshdb.exchange.tables import add_table

        return add_table(
            self._store,
            table,
            key,
            text,
            set,
            metadata=metadata,
            metadata_fields=metadata_fields,
            workers=workers,
            on_similar=on_similar,
            on_batch=on_batch,
            on_failure=on_failure,
            on_skip=on_skip,
        )

    def add_signatures(
        self,
        keys: Sequence[str],
        signatures: npt.ArrayLike,
        made_with: Sketching,
        *,
        shingles: npt.ArrayLike | None = None,
        digests: Sequence[bytes] | None = None,
        on_batch: Callable[[AddReport], None] | None = None,
    ) -> AddReport:
        """Add documents by their signatures, from another lshdb file or another program.

        The database must keep no contents, and its signatures must be made in the same way: others
        cannot be compared. For another program's signatures, make it with
        `shingle="foreign:NAME"`: the file then takes only lanes of this name, and no texts. The
        share of equal lanes is the estimate of the similarity.

        Args:
            keys: n keys, as for `add`; one given again replaces the earlier document.
            signatures: uint32[n, permutations]; other integers if they fit in 32 bits.
            made_with: how they were made.
            shingles: int64[n], how many shingles each document has, repetitions counted; not for
                another program's signatures, whose lengths and containment are unknown.
            digests: 16 bytes each, of the documents' contents, as `Database.signatures` has them:
                equal for equal documents only. None to compare signatures instead.
            on_batch: as for `add_many`.

        Raises:
            SettingsMismatch: the database keeps contents, or its signatures are made differently.
            ContentError: impossible signatures, keys or numbers; nothing is written.
            StoreError: writing failed; earlier batches stay.

        >>> import lshdb, numpy
        >>> lanes = numpy.random.default_rng(1).integers(1 << 32, size=(2, 128), dtype="u4")
        >>> lanes[1, :120] = lanes[0, :120]
        >>> with lshdb.open("peer.db", shingle="foreign:my lanes", content=False) as db:
        ...     report = db.add_signatures(
        ...         ["a", "b"], lanes, lshdb.Sketching.foreign("my lanes", 128)
        ...     )
        ...     list(db.pairs())
        [Pair(a='a', b='b', similarity=0.9375, exact=False, estimate=0.9375, identical=False)]
        """
        check_needed(keys=keys)
        check_given(digests=digests, on_batch=on_batch)
        from lshdb.exchange.signatures import add_signatures

        return add_signatures(self._store, keys, signatures, made_with, shingles, digests, on_batch)

    def dedup(
        self,
        paths: Iterable[str],
        reader: Reader | None = None,
        *,
        threshold: float | None = None,
        estimate: bool = False,
        numbered: bool = False,
        against: str | os.PathLike[str] | None = None,
        against_reader: Reader | None = None,
        on_batch: Callable[[AddReport], None] | None = None,
        on_failure: Callable[[Failure], None] | None = None,
        workers: int | None = None,
        progress: bool | Progress = False,
    ) -> Iterator[DecidedRow]:
        r"""Go through rows of files, and add the documents that are not similar to earlier ones.

        A row is dropped if its document is similar to one that is stored, or was kept before
        it, and shares a bucket with that. So no two of those kept are similar, as far as the
        index finds. A document that is stored already, key and content, is not kept either.

        Args:
            paths: files of JSON lines, CSV, Parquet and Arrow; `-` is the reader's standard input.
            reader: how they are read; None for what `lshdb dedup` does without options.
            threshold: drop a row of at least this similarity; None for the database's.
            estimate: decide by estimates even where content is kept: less exact.
            numbered: keys may be repeated: they are stored with a number before them, for a
                temporary database. Otherwise a document replaces the one with its key, as in
                `add_many`.
            against: a reference: a row is also dropped if its document is similar to one of
                these. Another database, whose signatures are made alike; or a file, directory
                or pattern, which is indexed in a temporary database. It is only read.
            against_reader: how its files are read, such as by other names of columns; None for
                `reader`.
            on_batch: as for `add_many`; called when the rows of the batch were taken.
            on_failure: as for `add_files`.
            workers: as for `add_many`.
            progress: as for `add_files`.

        Yields:
            Each row that is a document, in order; a kept one when it is safely in the file.

        Raises:
            UsageError: a threshold out of range.
            InputError: while iterating, before anything is added: the reference does not exist,
                has no document, or a part of it cannot be read.
            SettingsMismatch: while iterating, its signatures are made differently.
            StoreError: while iterating, writing failed; earlier batches stay.

        Warns:
            LimitWarning: kept documents were compared with a part of a large bucket only.

        >>> import lshdb
        >>> from pathlib import Path
        >>> _ = Path("news.jsonl").write_text(
        ...     '{"id": 1, "text": "The fox and the grapes"}\n'
        ...     '{"id": 2, "text": "The FOX and the grapes!"}\n'
        ... )
        >>> with lshdb.open("seen.db") as db:
        ...     [row.key for row in db.dedup(["news.jsonl"]) if row.dropped is None]
        ['1']
        """
        from lshdb.exchange.dedup import decided_rows

        outcomes = self.dedup_blocks(
            paths,
            reader,
            threshold=threshold,
            estimate=estimate,
            numbered=numbered,
            against=against,
            against_reader=against_reader,
            on_batch=on_batch,
            on_failure=on_failure,
            workers=workers,
            progress=progress,
        )
        return decided_rows(outcomes)

    def dedup_blocks(
        self,
        paths: Iterable[str],
        reader: Reader | None = None,
        *,
        threshold: float | None = None,
        estimate: bool = False,
        numbered: bool = False,
        against: str | os.PathLike[str] | Reference | None = None,
        against_reader: Reader | None = None,
        keep: Order = "first",
        fields: Sequence[str] = (),
        on_batch: Callable[[AddReport], None] | None = None,
        on_failure: Callable[[Failure], None] | None = None,
        workers: int | None = None,
        progress: bool | Progress = False,
    ) -> Iterator[Outcome]:
        """Like `dedup`, but yields rows and text files in the blocks in which they were read.

        With `keep`, the `longest` or the `last` of similar documents is kept, as if they came in
        that order: the input is read twice. Stored documents come before all of them. What is
        dropped comes with the `fields` of metadata, its own and the kept document's.
        """
        check_needed(paths=paths, fields=fields, progress=progress)
        check_given(reader=reader, threshold=threshold, against=against, workers=workers)
        check_given(against_reader=against_reader)
        check_given(on_batch=on_batch, on_failure=on_failure)
        from lshdb.ingest.add import Job
        from lshdb.ingest.dedup import Selection
        from lshdb.ingest.ordering import check_order, deduplicated, read_again
        from lshdb.ingest.reference import Reference, reference
        from lshdb.sources.readers import Reader
        from lshdb.sources.walking import Rules

        if reader is None:
            # Data is often kept out of git.
            rules = Rules(ignore=False)
            of_sets = self._store.settings.shingling.of_sets
            limits = self._store.limits
            reader = Reader(of_sets, fallback="jsonl", rules=rules, whole=True, limits=limits)
        selection = Selection(threshold, estimate, keep_blocks=True, fields=tuple(fields))
        check_order(keep)
        known: AbstractContextManager[Reference] | None = None
        if isinstance(against, Reference):
            known = nullcontext(against)
        elif against is not None:
            known = reference(
                against,
                against_reader or replace(reader),
                self._store.settings,
                self._store.timeout,
                limits=self._store.limits,
                fields=fields,
                on_failure=on_failure,
            )
        if keep != "first":
            paths = list(paths)
        job = Job(self._store, reader.parser, workers, on_failure, selection, numbered=numbered)
        return deduplicated(
            job,
            reader.items(paths),
            read_again(reader, paths),
            keep,
            reader.shown(progress, "dedup", paths),
            against=known,
            on_batch=on_batch,
        )

    def remove(self, key: str) -> None:
        """Remove a document; KeyNotFound if no document has the key."""
        check_needed(key=key)
        self.remove_many([key])

    def remove_many(self, keys: Sequence[str], *, dry_run: bool = False) -> int:
        """Remove all of these documents, or none if a key is missing: KeyNotFound.

        Args:
            keys: of the documents; a key may be repeated.
            dry_run: remove nothing, but look for all of the keys.

        Returns:
            The number of documents.
        """
        check_needed(keys=keys, dry_run=dry_run)
        for key in (keys := list(keys)):
            check_needed(key=key)
        from lshdb.ingest.add import remove

        return remove(self._store, keys, dry_run=dry_run)

    def remove_where(self, where: str, parameters: Parameters = ()) -> int:
        """Remove the documents that match an SQL expression, all in one transaction.

        `keys(where=...)` lists them.

        Args:
            where: an expression of the columns of `documents`, as for `query`.
            parameters: the values of its parameters.

        Returns:
            How many were removed.

        Raises:
            QueryError: `where` is not one expression, is wrong, or would do more than read.
            StoreError: writing failed; nothing is removed.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add("fox", "The fox and the grapes", {"year": 1912})
        ...     report = db.add("ant", "The ant and the dove", {"year": 2002})
        ...     db.remove_where("metadata ->> '$.year' < ?", [2000]), db.keys()
        (1, ['ant'])
        """
        check_needed(where=where)
        from lshdb.ingest.add import remove_where

        return remove_where(self._store, where, parameters)

    # documents

    def get(self, key: str) -> StoredDocument:
        """The document of a key; KeyNotFound if there is none.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     db.get("fox").content
        'The fox and the grapes'
        """
        check_needed(key=key)
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
        return isinstance(key, str) and self._store.document(key) is not None

    def __len__(self) -> int:
        return self._store.count()[0]

    def __iter__(self) -> Iterator[str]:
        """All keys, in the order of first addition, read as they are taken."""
        return (key for _, keys in self._store.all_keys() for key in keys)

    def __getitem__(self, key: str) -> StoredDocument:
        """The document of a key, as `get`; KeyNotFound, which is a KeyError, if there is none."""
        return self.get(key)

    def keys(self, *, where: str | None = None, parameters: Parameters = ()) -> list[str]:
        """All keys, in the order of first addition, or those of some documents.

        Args:
            where: an expression of the columns of `documents`, as for `query`.
            parameters: the values of its parameters.

        Raises:
            QueryError: `where` is not one expression, is wrong, or would do more than read.
        """
        check_given(where=where)
        if where is None:
            if parameters:
                raise UsageError("parameters need an expression: give where")
            with self._store.reading():
                return list(self)
        from lshdb.ingest.add import matching_keys

        return matching_keys(self._store, where, parameters)

    def keys_with_prefix(self, prefix: str, most: int = 100) -> list[str]:
        """The first keys that begin with this text, up to `most`, in the order of their bytes.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     _ = db.add_many([("fable/1", "The fox"), ("fable/2", "The crow"), ("poem", "O!")])
        ...     db.keys_with_prefix("fable/")
        ['fable/1', 'fable/2']
        """
        check_needed(prefix=prefix, most=most)
        if any("\ud800" <= character <= "\udfff" for character in prefix):
            return []  # no stored key has a lone surrogate
        if most < 1:
            raise UsageError(f"most {most} is below 1")
        found = self._store.keys_from(prefix, min(most, _MAX_ROWS))
        return [key for key in found if key.startswith(prefix)]

    def signatures(self) -> SignatureSet:
        """The signatures of all documents, as a matrix with its keys.

        Documents without shingles are similar to nothing and are left out.

        Raises:
            StoreError: the file cannot be read.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     found = db.signatures()
        >>> found.keys, found.signatures.shape, str(found.made_with)
        (['fox'], (1, 128), 'shingle word:3, 128 lanes, sketch fast, seed 1')
        """
        from lshdb.exchange.signatures import read_signatures

        return read_signatures(self._store)

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
        fields: Sequence[str] = (),
    ) -> Matches:
        """The stored documents similar to a document, best first.

        Candidates share a bucket with it. Where content is kept they are ranked by their exact
        Jaccard similarity, else by the estimate; `Match.exact` says which.

        Args:
            content: the document to compare with, a text or a set; or
            key: the key of a stored one, which is then not among the matches.
            top: maximum number of matches; None for all.
            threshold: the minimum similarity; None for the database's own. Below that the index
                finds fewer of the similar documents (see lshdb.sketching.constructions).
            estimate: rank by the estimate even where content is kept: faster, less exact.
            exhaustive: compare with every signature, not only with those that share a bucket.
            containment: rank by the share of the document's distinct shingles that a stored one
                holds, and compare that with the threshold: for a quotation in a longer text. The
                index finds by Jaccard similarity, which is low where the stored one is much
                longer (see lshdb.search.similarity.similarity_at). An index of passages finds all
                documents that hold a run of its length of the query.
            where: an SQL expression of the columns of `documents`, such as
                "metadata ->> '$.lang' = ?": only documents that match it are compared.
            parameters: values for each ? in it, or by name for each :name.
            fields: of the metadata, for `Match.metadata`; `a.b` is the field b of the object a, and
                `text` the document's text, or the JSON array of a set.

        Returns:
            A list, which also has `to_arrow()`, `df()` and a form for notebooks.

        Documents whose estimate is within 5 standard errors of what the threshold asks for are
        verified. With `top`, only some documents of a bucket of more than 2,000 are compared; a
        LimitWarning says so, unless the result is certain anyway.

        Raises:
            UsageError: neither or both of content and key, or numbers out of range.
            ContentError: a text for a database of sets, or the other way round.
            KeyNotFound: no document has the key.
            QueryError: `where` is not one expression, is wrong, or would do more than read.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     (match,) = db.query("the FOX, and the grapes")
        >>> match.key, match.similarity, match.exact, match.identical
        ('fox', 1.0, True, False)
        """
        check_given(key=key, top=top, threshold=threshold, where=where)
        check_needed(fields=fields)
        from lshdb.exchange.results import matches_of

        asked = Query(
            content,
            key,
            top,
            threshold,
            estimate,
            exhaustive,
            containment,
            where=where,
            parameters=parameters,
            fields=tuple(dict.fromkeys(fields)),
        )
        return matches_of(search(self._store, asked), containment, asked.fields)

    def query_many(
        self,
        documents: Iterable[Document | tuple[str, Content] | Mapping[str, object]],
        *,
        top: int | None = None,
        threshold: float | None = None,
        estimate: bool = False,
        exhaustive: bool = False,
        containment: bool = False,
        where: str | None = None,
        parameters: Parameters = (),
        fields: Sequence[str] = (),
        progress: bool | Progress = False,
        workers: int | None = None,
    ) -> Iterator[tuple[str, Matches]]:
        """The stored documents similar to each of many: the results of `query`, many times as fast.

        Queries are read and looked up in batches of some thousands. Each batch sees one state of
        the file, which others may write to meanwhile.

        Args:
            documents: any number of documents, pairs of key and content, or dicts, as for
                `add_many`; they are not stored.
            top: as for `query`, like all arguments up to `fields`.
            threshold: the minimum similarity.
            estimate: rank by the estimate.
            exhaustive: compare with every signature, which is as slow as single queries.
            containment: rank by containment.
            where: an SQL expression of the columns of `documents`.
            parameters: the values of its parameters.
            fields: of the metadata, for `Match.metadata`.
            progress: as for `add_many`, with `queries`; shown while the answers are taken.
            workers: as for `add_many`.

        Yields:
            The key of each document, in order, with its matches, best first, as `query` gives them:
            a list, which may be empty, and a table (`to_arrow`, `df`).

        One LimitWarning at the end says for how many queries a limit cut the matches.

        Raises:
            UsageError: numbers out of range.
            ContentError: a document that the database cannot take; earlier batches are answered.
            QueryError: `where` is not one expression, is wrong, or would do more than read.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     asked = [("a", "the FOX, and the grapes"), ("b", "The ant and the cricket")]
        ...     [(key, [match.key for match in matches]) for key, matches in db.query_many(asked)]
        [('a', ['fox']), ('b', [])]
        """
        from lshdb.exchange.results import answers_of
        from lshdb.ingest.queries import answer_many

        self._store.check_open()
        check_needed(documents=documents, fields=fields, progress=progress)
        check_given(top=top, threshold=threshold, where=where, workers=workers)
        asked = Query(
            "",
            None,
            top,
            threshold,
            estimate,
            exhaustive,
            containment,
            where=where,
            parameters=parameters,
            fields=tuple(dict.fromkeys(fields)),
        )
        total = len(documents) if isinstance(documents, Collection) else None
        answers = answer_many([self._store], documents, asked, workers=workers)
        return answers_of(answers, containment, asked.fields, progress, total)

    def query_signature(
        self,
        signature: npt.ArrayLike,
        made_with: Sketching,
        *,
        top: int | None = None,
        threshold: float | None = None,
        exhaustive: bool = False,
    ) -> Matches:
        """The stored documents similar to a document given by its signature only, best first.

        Similarities are estimates even where contents are kept.

        Args:
            signature: uint32[permutations].
            made_with: how it was made, which must be as in the database.
            top: as for `query`.
            threshold: as for `query`.
            exhaustive: as for `query`.

        Raises:
            SettingsMismatch: the signatures of the database are made differently.
            ContentError: this is not a signature.
            UsageError: numbers out of range.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add_many([("a", "The fox and the grapes"), ("b", "The fox; the ant")])
        ...     known = db.signatures()
        ...     [match.key for match in db.query_signature(known.signatures[0], known.made_with)]
        ['a']
        """
        check_given(top=top, threshold=threshold)
        from lshdb.exchange.results import matches_of
        from lshdb.exchange.signatures import query_signature

        found = query_signature(self._store, signature, made_with, top, threshold, exhaustive)
        return matches_of(found, containment=False, fields=())

    def passages(
        self,
        text: str | None = None,
        *,
        key: str | None = None,
        least: int | None = None,
        top: int | None = None,
        gap: int = 0,
        common: int | None = None,
        base: Sequence[str] = (),
    ) -> Passages:
        """The stored documents that share runs of words with a text, and which runs.

        Needs an index of passages (`passages` of lshdb.open or reindex). An index for N words
        finds every run of N words or more that is in both the text and a document, whatever
        else they hold; case and punctuation do not matter. Runs in `base` and common runs,
        those in more than `common` documents, are left out.

        Args:
            text: the text; or
            key: the key of a stored document, which is not among its own sources.
            least: words of the shortest run to show; None for that of the index.
            top: maximum number of documents, those that share most; None for all.
            gap: two runs with up to this many words between them, in either text, are one passage.
            common: a run in more documents than this is common; None for 100.
            base: texts that anyone may copy: a task, a template, a licence.

        Returns:
            The documents, the one that holds most of the text first, and the common runs.

        Raises:
            UsageError: no index of passages, neither or both of text and key, or numbers out of
                range.
            KeyNotFound: no document has the key.

        >>> import lshdb
        >>> with lshdb.open("poems.db", passages=4) as db:
        ...     report = db.add("frost", "Two roads diverged in a yellow wood, and sorry I could")
        ...     found = db.passages("He wrote that two roads diverged in a yellow wood.")
        >>> [(source.key, passage.text) for source in found for passage in source.passages]
        [('frost', 'two roads diverged in a yellow wood')]
        """
        from lshdb.search.passages import PassageQuery, find_passages

        check_given(text=text, key=key, least=least, top=top, common=common)
        check_needed(gap=gap, base=base)
        common = self._store.limits.common if common is None else common
        query = PassageQuery(least, top, gap, common, tuple(base))
        return find_passages(self._store, query, text, key)

    def passage_pairs(
        self,
        *,
        least: int | None = None,
        top: int | None = None,
        gap: int = 0,
        common: int | None = None,
        base: Sequence[str] = (),
    ) -> PassageResults:
        """All pairs of stored documents that share runs of words, and which runs.

        Each pair comes once, as it is found, in the order of addition; with `top` those that share
        most, best first. The arguments mean the same as for `passages`. The iterator reads one
        state of the file; `.df()` and `.to_arrow()` give a table, a row a passage, and `.common`
        names the longest runs in more than `common` documents.

        Raises:
            UsageError: no index of passages, or numbers out of range.
            StoreError: the file cannot be read, or a temporary one cannot be written.

        >>> import lshdb
        >>> with lshdb.open("essays.db", passages=4) as db:
        ...     report = db.add("a", "It was the best of times, it was the worst of times.")
        ...     report = db.add("b", "For me, it was the best of times!")
        ...     [(pair.a, pair.b, pair.words) for pair in db.passage_pairs()]
        [('a', 'b', 6)]
        """
        from lshdb.exchange.results import PassageResults, passage_lines
        from lshdb.search.passage_pairs import Noted, found_pairs, passage_pairs, passage_rows
        from lshdb.search.passages import PassageQuery

        self._store.check_open()
        check_given(least=least, top=top, common=common)
        check_needed(gap=gap, base=base)
        common = self._store.limits.common if common is None else common
        query = PassageQuery(least, top, gap, common, tuple(base))
        noted: Noted = []
        return PassageResults(
            lambda: passage_pairs(self._store, query, noted),
            lambda: passage_rows(self._store, query, noted),
            lambda: found_pairs(self._store, query, noted, passage_lines),
            noted,
        )

    def compare(self, a: str | Document, b: str | Document) -> Comparison:
        """What two documents have in common, and whether a query for one would find the other.

        Args:
            a: the key of a stored document, or a Document, whose key is then only its name.
            b: the other one.

        Returns:
            Sizes, exact similarity and containment, the estimate, the lanes and the buckets that
            agree, and the passages (for sets: the elements) that both share. Without contents
            only what signatures show.

        Raises:
            KeyNotFound: no document has the key.
            ContentError: a text for a database of sets, or the other way round.

        Passages are looked for in the first 4,000,000 characters, and at most 10,000 are shown; a
        LimitWarning says so where there are more.

        >>> import lshdb
        >>> with lshdb.open("fables.db", shingle="word:2") as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     compared = db.compare("fox", lshdb.Document("new", "the wolf and the grapes"))
        >>> compared.shared, compared.union, round(compared.similarity, 3)
        (2, 6, 0.333)
        >>> [compared.a_content[p.a_start : p.a_end] for p in compared.passages]
        ['and the grapes']
        """
        from lshdb.search.compare import compare

        return compare(self._store, a, b)

    def pairs(
        self,
        *,
        threshold: float | None = None,
        estimate: bool = False,
        ignore_decisions: bool = False,
        where: str | None = None,
        parameters: Parameters = (),
        key: str | None = None,
        top: int | None = None,
        fields: Sequence[str] = (),
    ) -> Results[Pair]:
        """All pairs of similar documents, each once, in the order of addition.

        Pairs share a bucket. Where content is kept, their similarities are exact. They come as
        they are found, from the state of the file when the first was asked for: others may
        write to it meanwhile.

        Args:
            threshold: the minimum similarity; None for the database's own. Below that the index
                finds fewer of the similar pairs (see lshdb.sketching.constructions).
            estimate: use estimates even where content is kept: faster, less exact.
            ignore_decisions: include pairs that are marked different (see `decide`).
            where: an SQL expression, as for `query`: only pairs of which both documents match it.
            parameters: the values of its parameters.
            key: only the pairs with this stored document, without a search for others.
            top: maximum number of pairs: the most similar ones, best first, when all are found;
                of equal ones those added first. Only these are kept in memory.
            fields: of the metadata, for `Pair.a_metadata` and `b_metadata`, as for `query`.

        Returns:
            An iterator, which also has `to_arrow()`, `df()` and a form for notebooks.

        Raises:
            UsageError: numbers out of range.
            KeyNotFound: while iterating, no document has the key.
            QueryError: while iterating, `where` is not one expression, or is wrong.
            StoreError: while iterating, the file cannot be read.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add_many([("a", "The fox and the grapes"), ("b", "The FOX, the ant")])
        ...     report += db.add("c", "the fox and the grapes!")
        ...     list(db.pairs())
        [Pair(a='a', b='c', similarity=1.0, exact=True, estimate=1.0, identical=False)]
        """
        self._store.check_open()
        check_given(threshold=threshold, where=where, key=key, top=top)
        check_needed(fields=fields, ignore_decisions=ignore_decisions)
        from lshdb.exchange.results import pair_results
        from lshdb.search.pairs import Request, all_pairs, pair_blocks

        request = Request(
            threshold,
            estimate,
            ignore_decisions=ignore_decisions,
            where=where,
            parameters=parameters,
            key=key,
            top=top,
            fields=tuple(dict.fromkeys(fields)),
        )
        return pair_results(
            partial(pair_blocks, self._store, request),
            partial(all_pairs, self._store, request),
            request.fields,
        )

    def clusters(
        self,
        *,
        threshold: float | None = None,
        keep: Keep = "first",
        star: bool = False,
        estimate: bool = False,
        ignore_decisions: bool = False,
        where: str | None = None,
        parameters: Parameters = (),
        key: str | None = None,
        top: int | None = None,
        min_size: int | None = None,
        max_size: int | None = None,
        fields: Sequence[str] = (),
    ) -> Results[Cluster]:
        """Clusters of similar documents, and which document of each to keep.

        A cluster is all documents that similar pairs connect; with `star`, each is similar to the
        kept one itself. Clusters come in the order of their first members, when all are found.
        Unlike for `pairs`, there is a limit on what is compared in one bucket; with exact
        similarities, few files reach it (see lshdb.search.limits).

        Args:
            threshold: as for `pairs`.
            keep: which member to keep, the `first` or `last` added or the `longest`.
            star: in the order of `keep`, each document takes those that are similar to it and not
                yet taken.
            estimate: as for `pairs`.
            ignore_decisions: as if nothing were decided. Otherwise pairs that are marked different
                connect nothing; documents marked `keep` are preferred as the kept one, and
                those marked `drop` are the kept one only if the whole cluster is;
                `Cluster.decided` has the decision about each member.
            where: an SQL expression, as for `query`: only documents that match it are compared,
                so that no other document connects two of them.
            parameters: the values of its parameters.
            key: only the cluster with this stored document.
            top: maximum number of clusters: those with the largest mean similarity to the kept
                document, best first.
            min_size: only clusters of this many documents or more.
            max_size: only clusters of this many documents or fewer.
            fields: of the metadata, for `Cluster.metadata`, as for `query`.

        Returns:
            An iterator, which also has `to_arrow()`, `df()` and a form for notebooks. A row of
            the table is a member: its role is `keep`, `member`, or `below` if it is less similar
            to the kept one than the threshold. `key`, `top` and sizes do not change the numbers
            of clusters.

        Raises:
            UsageError: numbers out of range, or an unknown `keep`.
            KeyNotFound: while iterating, no document has the key.
            QueryError: while iterating, `where` is not one expression, or is wrong.
            StoreError: while iterating, the file cannot be read.

        Warns:
            LimitWarning: some candidates were not compared; similar ones would change the clusters.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add_many([("a", "The fox and the grapes"), ("b", "The FOX, the ant")])
        ...     report += db.add("c", "the fox and the grapes!")
        ...     [(cluster.keep, cluster.members) for cluster in db.clusters(keep="longest")]
        ...     db.clusters().to_arrow().select(["cluster", "key", "role"]).to_pylist()
        [('c', ('a', 'c'))]
        [{'cluster': 1, 'key': 'a', 'role': 'keep'}, {'cluster': 1, 'key': 'c', 'role': 'member'}]
        """
        self._store.check_open()
        check_given(threshold=threshold, where=where, key=key)
        check_given(top=top, min_size=min_size, max_size=max_size)
        check_needed(fields=fields, ignore_decisions=ignore_decisions)
        from lshdb.exchange.results import cluster_results
        from lshdb.search.pairs import Request, all_clusters

        if keep == "longest" and self.settings.shingling.foreign:
            raise UsageError("signatures made elsewhere have no lengths: keep first or last")
        request = Request(
            threshold,
            estimate,
            keep,
            star,
            ignore_decisions,
            where=where,
            parameters=parameters,
            key=key,
            top=top,
            min_size=min_size,
            max_size=max_size,
            fields=tuple(dict.fromkeys(fields)),
        )
        least = self.settings.threshold if threshold is None else threshold
        return cluster_results(partial(all_clusters, self._store, request), least, request.fields)

    # deciding

    def decide(
        self,
        verdict: Verdict,
        keys: Sequence[str],
        *,
        note: str | None = None,
        who: str | None = None,
    ) -> list[Decision]:
        """Store a decision about documents.

        A decision is about the present content: a document with other content is undecided, until
        it has the old content again. Nothing is removed before `remove_decided`.

        Args:
            verdict: `keep` or `drop` for each of the documents, which a later decision overrules;
                or `different`: none of them is a duplicate of another, so that `pairs` leaves
                out their pairs, and no cluster offers one in place of another.
            keys: of the documents, two or more if they are different.
            note: why.
            who: who decided; None for the user of this process.

        Returns:
            The decisions: one for each document, or one for all if they are different.

        Raises:
            KeyNotFound: no document has one of the keys; nothing is written.
            UsageError: an unknown verdict, or too few keys.
            StoreError: writing failed; the database is as before.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add_many([("a", "The fox and the grapes"), ("b", "The FOX, the ant")])
        ...     report += db.add("c", "the fox and the grapes!")
        ...     (made,) = db.decide("different", ["a", "c"], note="two editions", who="ann")
        ...     made.keys, list(db.pairs()), len(list(db.pairs(ignore_decisions=True)))
        (('a', 'c'), [], 1)
        """
        check_needed(verdict=verdict, keys=keys)
        for key in (keys := list(keys)):
            check_needed(key=key)
        check_given(note=note, who=who)
        from lshdb.ingest.deciding import decide

        return decide(self._store, verdict, keys, note, who)

    def decisions(self) -> list[Decision]:
        """All decisions, in the order in which they were stored, and whether they still hold.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     made = db.decide("drop", ["fox"]) + db.decide("keep", ["fox"])
        ...     [(one.decision, one.verdict, one.state) for one in db.decisions()]
        [(1, 'drop', 'overruled'), (2, 'keep', 'holds')]
        """
        from lshdb.search.decisions import read_decisions

        with self._store.reading():
            return read_decisions(self._store)

    def add_decisions(self, decisions: Iterable[Decision]) -> int:
        """Store decisions that were made elsewhere, such as in a copy of the file.

        Decisions that the file already has are left out; their documents need not exist. A decision
        without digests gets those that the documents have now. All get new numbers; of two
        decisions about one content, the one with the later time holds.

        Returns:
            How many are new.

        Raises:
            InputError: one is not a decision; nothing is written.
            KeyNotFound: one has no digests, and a document does not exist; nothing is written.
        """
        check_needed(decisions=decisions)
        from lshdb.ingest.deciding import add_decisions

        return add_decisions(self._store, decisions)

    def undo_decision(self, decision: int | None = None, decided: str | None = None) -> Decision:
        """Undo a decision, so that the one before it holds again.

        Args:
            decision: its number; None for the last one.
            decided: its time, so that a newer decision with the same number is not undone.

        Returns:
            The decision.

        Raises:
            KeyNotFound: the decision does not exist.
        """
        check_given(decision=decision, decided=decided)
        from lshdb.ingest.deciding import undo

        return undo(self._store, decision, decided)

    def remove_decided(self, *, dry_run: bool = False) -> list[str]:
        """Remove the documents that the decisions mark as `drop`.

        The decisions stay: a document that comes back with the same content is marked again, and
        `sync` leaves out its file. Files are not deleted: `dropped_files` lists them.

        Args:
            dry_run: remove nothing.

        Returns:
            The keys of the documents, in the order of their bytes.
        """
        check_needed(dry_run=dry_run)
        from lshdb.ingest.deciding import remove_decided

        return remove_decided(self._store, dry_run=dry_run)

    def dropped_files(self, root: str | None = None) -> list[str]:
        """The paths of files whose documents the decisions mark as `drop`, removed or not.

        Each file is read: one whose text has changed since the decision is left out.

        Args:
            root: the directory that keys of files are relative to; None for the current one.

        >>> import lshdb
        >>> from pathlib import Path
        >>> _ = Path("old.txt").write_text("The fox and the grapes")
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add_files(["old.txt"])
        ...     made = db.decide("drop", ["old.txt"])
        ...     db.remove_decided(), db.dropped_files()
        (['old.txt'], ['old.txt'])
        """
        check_given(root=root)
        from lshdb.ingest.sync import dropped_files

        return dropped_files(self._store, root)

    # looking inside

    def info(self) -> Info:
        """Settings, numbers of documents, size of the file."""
        with self._store.reading():
            documents, empty = self._store.count()
            return Info(self._store.settings, documents, empty, self._store.bytes())

    def buckets(self, top: int = 10) -> list[Bucket]:
        """The buckets with the most documents, largest first; UsageError if top is below 1."""
        check_needed(top=top)
        if top < 1:
            raise UsageError(f"top {top} is below 1")
        with self._store.reading():
            return self._store.largest_buckets(min(top, _MAX_ROWS))

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

    def buckets_of(self, key: str) -> list[Bucket]:
        """The buckets that a document is in, one per band; KeyNotFound if it does not exist."""
        check_needed(key=key)
        with self._store.reading():
            row = row_of_key(self._store, key)
            if row.signature is None:
                return []
            return self._store.bucket_sizes(buckets_of(self._store, row.signature))

    def count_distinct(self, document: StoredDocument) -> int | None:
        """How many distinct shingles a document has; None where content is not kept."""
        check_needed(document=document)
        if document.content is None:
            return None
        settings = self._store.settings
        return len(distinct_shingles([document.content], settings.shingling, secret_seed()).hashes)

    def data_version(self) -> int:
        """A number that changes when another connection changes the file.

        It shows whether results are still up to date; do not compare numbers of two handles.
        """
        return self._store.data_version()

    def sql(self, statement: str, parameters: Parameters = ()) -> SqlRows:
        """Run a SELECT on the file's tables and views.

        Args:
            statement: one that only reads.
            parameters: values for each ? in it, or by name for each :name.

        Returns:
            An iterator of the rows as they come, named tuples, which also has `dicts()`,
            `to_arrow()`, `df()` and a form for notebooks.

        Raises:
            QueryError: the SQL is wrong, or would do more than read.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     [row.key for row in db.sql("SELECT * FROM documents WHERE shingles > ?", [2])]
        ['fox']
        """
        self._store.check_open()
        check_needed(statement=statement)
        from lshdb.exchange.results import SqlRows

        return SqlRows(partial(self._store.sql, statement, parameters))

    # choosing and changing the index

    def tune(
        self,
        *,
        threshold: float | None = None,
        recall: float | None = None,
        permutations: int | None = None,
        documents: int | None = None,
        construction: str | None = None,
        seed: int = 1,
    ) -> list[Tuned]:
        """The constructions worth having for this database, best first.

        A sample of its signatures shows how similar documents are, and so how many candidates a
        query will have; without a database see `lshdb.tune`.

        Args:
            threshold: a Jaccard similarity; None for the database's own.
            recall: the share of pairs to find there; None for the database's own.
            permutations: lanes of a signature; None for as many as the database has, or the
                named construction takes.
            documents: how many documents a query searches; None for as many as there are.
            construction: one to judge too; it comes last, unless it is worth having.
            seed: of the sample; the same file and seed give the same result.

        Raises:
            UsageError: numbers out of range, or a construction of more lanes than `permutations`.
            SettingsError: no construction of this many lanes reaches the recall.

        Warns:
            LimitWarning: buckets were too large to be read whole.
        """
        check_needed(seed=seed)
        check_given(threshold=threshold, recall=recall, permutations=permutations)
        from lshdb.tuning.choices import tune
        from lshdb.tuning.sampling import distribution_of

        own = self.settings
        if permutations is None:
            lanes = 0 if construction is None else Construction.parse(construction).lanes
            permutations = max(own.permutations, lanes)
        count, distribution = distribution_of(self._store, seed)
        return tune(
            own.threshold if threshold is None else threshold,
            own.recall if recall is None else recall,
            permutations,
            distribution,
            count if documents is None else documents,
            construction=construction,
        )

    def measure(
        self,
        *,
        threshold: float | None = None,
        sample: int | None = None,
        seed: int = 1,
        progress: bool | Progress = False,
    ) -> Measured:
        """Measure what the index finds and costs, by brute force for a sample of the documents.

        Args:
            threshold: the similarity of a similar pair; None for the database's own.
            sample: how many documents to compare with all; None for a run of some seconds.
            seed: of the sample; the same file and seed give the same result.
            progress: as for `add_many`, with `comparisons`.

        Raises:
            UsageError: numbers out of range.

        >>> import lshdb
        >>> with lshdb.open("fables.db", threshold=0.5) as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     report += db.add("ant", "The fox and the grapes and the ant")
        ...     measured = db.measure()
        >>> measured.recall.pairs, measured.recall.recall, measured.candidates
        (1, 1.0, 1.0)
        """
        check_needed(seed=seed, progress=progress)
        check_given(threshold=threshold, sample=sample)
        from lshdb.tuning.measuring import measure

        least = self.settings.threshold if threshold is None else threshold
        with shown(progress, "comparing") as report:
            return measure(self._store, least, sample, seed, report)

    def reindex(
        self,
        *,
        threshold: float | None = None,
        recall: float | None = None,
        bands: int | None = None,
        rows: int | None = None,
        construction: str | None = None,
        passages: int | None = None,
        progress: bool | Progress = False,
    ) -> Reindexed:
        """Rebuild the index from the stored signatures, for another threshold or shape.

        What is not given stays as it is; without a shape, bands and rows are chosen as for a new
        file. Shingles, permutations, sketch and seed are part of the signatures and cannot change.

        All is one transaction: until it is done, queries elsewhere use the old index, and if it
        fails or the process dies, the file is as before. Others can read meanwhile, but not
        write. Other handles to the file notice at their next call.

        Args:
            threshold: the minimum similarity of similar documents, in (0, 1].
            recall: the share of pairs at the threshold that the index must find.
            bands: with rows, the shape of the index.
            rows: of a band.
            construction: the shape as text, "and ROWS, or BANDS" or a cascade.
            passages: words of the shortest run that the index of passages finds; 0 deletes it.
            progress: as for `add_many`, with `rows`: signatures read and band rows written; for
                passages with `fingerprints`. The function must not use this object.

        Raises:
            SettingsError: nothing is given, or the stored signatures cannot give it.
            StoreError: writing failed; the file is as before.

        >>> import lshdb
        >>> with lshdb.open("fables.db", threshold=0.8) as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     db.reindex(threshold=0.5).after.construction
        Construction(rows=3, bands=35)
        """
        from lshdb.maintenance.reindex import reindex
        from lshdb.settings import SettingsRequest

        check_needed(progress=progress)
        request = SettingsRequest(
            threshold=threshold,
            recall=recall,
            bands=bands,
            rows=rows,
            construction=construction,
            passages=passages,
        )
        with shown(progress, "reindexing") as report:
            return reindex(self._store, request, report)

    # keeping the file

    def check(
        self,
        *,
        deep: bool = False,
        repair: bool = False,
        progress: bool | Progress = False,
    ) -> CheckReport:
        """Check whether the file is whole, and with `repair` repair what can be derived.

        The arguments are those of `lshdb.check`, which also checks a file that cannot be opened.

        Raises:
            StoreError: with `repair`, the file cannot be written.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     db.check().problems
        ()
        """
        self._store.check_open()
        from lshdb.maintenance.check import check

        if repair:
            with self._store.writing():
                pass  # a database that was opened for reading is not written
        return check(
            self.path,
            deep=deep,
            repair=repair,
            progress=progress,
            timeout=self._store.timeout,
        )

    def backup(
        self,
        path: str | os.PathLike[str],
        *,
        replace: bool = False,
        progress: bool | Progress = False,
    ) -> None:
        """Copy the database, as it is at this moment, to a file; others may write meanwhile.

        The copy is one file, and gets its name when all of it is on the disk.

        Args:
            path: the file to create.
            replace: whether to replace an existing file.
            progress: as for `add_many`, with `pages`.

        Raises:
            UsageError: it is the database itself.
            StoreError: it exists already, or is in use, or cannot be written.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     db.backup("copy.db")
        >>> lshdb.check("copy.db", deep=True).ok
        True
        """
        self._store.check_open()
        check_needed(path=path, progress=progress)
        from lshdb.store.backup import back_up

        with shown(progress, "copying") as report:
            back_up(self.path, Path(path), self._store.timeout, replace=replace, progress=report)


def open_database(
    path: str | os.PathLike[str] = "lsh.db",
    *,
    threshold: float | None = None,
    recall: float | None = None,
    shingle: str | None = None,
    permutations: int | None = None,
    bands: int | None = None,
    rows: int | None = None,
    construction: str | None = None,
    sketch: str | None = None,
    seed: int | Literal["random"] | None = None,
    content: bool | None = None,
    purpose: str | None = None,
    passages: int | None = None,
    mode: Mode = "create",
    timeout: float = TIMEOUT,
    limits: Limits = DEFAULTS,
) -> Database:
    """Open a database file; make it where there is none.

    The settings describe a new file. For an existing file, those given must be its own.

    Args:
        path: the file. SQLite's `:memory:` is refused: a database is always a file.
        threshold: the minimum similarity of similar documents, in (0, 1]; 0.8.
        recall: the share of pairs at the threshold that the index must find; 0.99.
        shingle: `word:w`, `char:k` or `set`; `word:3`.
        permutations: lanes of a signature, 16 to 4096; 128, or what the shape takes.
        bands: with rows, the shape of the index, instead of the one that reaches the recall.
        rows: of a band.
        construction: the same as text, "and ROWS, or BANDS", or a cascade of levels, innermost
            first: "and 4, or 4, and 4, or 4" (see lshdb.Construction).
        sketch: `fast` (the default) or `minhash`.
        seed: of all hashes, 0 to 2^63 - 1; 1. `random` is one that nobody can predict, kept in
            the file; an existing file must have such a seed.
        content: whether to keep the documents, so that similarities are exact; True.
        purpose: `short-text`, `documents`, `code` or `baskets`: its usual shingle and threshold,
            where they are not given.
        passages: the number of words of the shortest run that an index of copied passages (see
            Database.passages) always finds, 3 to 1000; 0 for no such index. With `char`
            shingles, characters.
        mode: `create` makes the file if there is none; `write` and `read` need an existing one.
        timeout: seconds to wait while another process writes, up to 1,000,000.
        limits: sizes of batches and other numbers, see lshdb.Limits.

    Raises:
        UsageError: wrong arguments, or a file that was open when the process was forked.
        SettingsError: impossible settings.
        SettingsMismatch: the file exists, with other settings.
        StoreError: the file cannot be opened, or is not lshdb's.

    >>> import lshdb
    >>> with lshdb.open("fables.db", threshold=0.7, shingle="char:5") as db:
    ...     db.settings.construction
    Construction(rows=4, bands=17)
    """
    check_needed(path=path, timeout=timeout, limits=limits)
    request = SettingsRequest(
        threshold=threshold,
        recall=recall,
        shingle=shingle,
        permutations=permutations,
        bands=bands,
        rows=rows,
        construction=construction,
        sketch=sketch,
        seed=seed,
        content=content,
        purpose=purpose,
        passages=passages,
    )
    if mode not in get_args(Mode):
        raise UsageError(f"mode {mode!r} is not create, write or read")
    if not 0 <= timeout <= _LONGEST_TIMEOUT:
        raise UsageError(f"timeout {timeout:g} is not from 0 to {_LONGEST_TIMEOUT:,.0f} seconds")
    if _is_empty(path):
        resolve(request)  # impossible settings are refused before SQLite writes a file
    store = Store.open(Path(path), mode, timeout, lambda: resolve(request), limits=limits)
    try:
        request.check_against(store.settings, store.path)
    except BaseException:
        store.close()
        raise
    return Database(store)


def _is_empty(path: str | os.PathLike[str]) -> bool:
    try:
        return os.stat(path).st_size == 0
    except OSError:
        return True
