"""A run of dedup: rows are read, signed, decided on and given back, and kept ones stored.

With a database, a run is whole or not at all: while rows are decided on, the database is only read,
and what is kept goes into a temporary collection. When its caller has written all that it writes,
`merge` adds the collection to the database in one transaction. A run that is killed before has
changed nothing; the same run again writes the same rows. A run that writes to a pipe cannot take
back what it has written: it adds each batch to the database before the rows of the batch go out.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, cast

from lshdb.deduplication import ordering
from lshdb.deduplication.collection import Collection
from lshdb.deduplication.containing import Deciding
from lshdb.deduplication.cutting import Cutting
from lshdb.deduplication.deciding import Clusters, Decided, Plan, Versions, decided
from lshdb.deduplication.references import Opening, Reference
from lshdb.deduplication.rules import RowRule, Rule, WholeRule, rule_of
from lshdb.errors import InputError, UsageError
from lshdb.ingest.add import added
from lshdb.ingest.batches import Job, signed
from lshdb.ingest.locations import Locations
from lshdb.ingest.merging import merge_whole
from lshdb.ingest.parts import SignedPart
from lshdb.ingest.temporary import temporary_store
from lshdb.ingest.writing import Writer
from lshdb.keys import distinct_key
from lshdb.limits import Limits
from lshdb.model import AddReport, DroppedRow, Failure
from lshdb.options import TIMEOUT, RuleOptions
from lshdb.progress import Progress, silent
from lshdb.shingling.content import digest
from lshdb.sketching.settings import Settings
from lshdb.sources.batch import Batch
from lshdb.sources.session import Session
from lshdb.store.partial_files import temporary_directory
from lshdb.store.spool import Spool, SpooledDocument
from lshdb.store.store import Store

_CHANGED = "the input has changed while it was read"


class RowSource(Protocol):
    """Rows or text files that can be read again, unless they are decided on as they come."""

    def batches(self) -> Iterator[Batch]:
        """All of them."""

    def again(self, *, only_rows: bool = True) -> Iterator[Batch]:
        """All of them once more, not counted again: rows with or without their documents."""


def _ignore(_: object) -> None:
    pass


@dataclass(eq=False, kw_only=True)
class Run:
    """One run. A context manager: temporary files are deleted at its end.

    Attributes:
        options: which rows are dropped, and which of similar ones stays.
        root: the directory from which keys of files are paths.
        rule: the rule that they name.
        settings: by which documents are signed: those of the database if there is one.
        source: the rows.
        references: with which rows are compared first.
        of_references: reads those that are files: all of a file, or nothing.
        batches: the documents of a reference that is data of a program, with some names of fields.
        timeout: of databases that are references.
        shows_progress: whether a bar is shown while references are read, or a function.
        only_against: whether rows are compared with references only, and not with each other.
        database: opens the database that kept rows are added to; None without one.
        stored: the database, if it has documents and is open already.
        staged: whether kept rows are added at the end, by `merge`.
        cutting: how passages are cut out; None to drop rows.
        fields: of metadata, which dropped rows have.
        clusters: whether clusters are numbered.
        workers, limits, on_failure: of the job that signs documents.
        beside: the directory of temporary files; None for the system's.
        on_batch: called with the results of each batch, when it is decided on or in the file.
        progress: called with the numbers of rows; its units name the step.
    """

    options: RuleOptions
    root: str = ""
    rule: Rule
    settings: Settings
    source: RowSource
    references: Sequence[Reference] = ()
    of_references: Session
    batches: Callable[[Any, Mapping[str, str]], Iterator[Batch]] | None = None
    timeout: float = TIMEOUT
    shows_progress: bool | Progress = False
    only_against: bool = False
    database: Callable[[], Store] | None = None
    stored: Store | None = None
    staged: bool = False
    cutting: Cutting | None = None
    fields: Sequence[str] = ()
    clusters: bool = False
    workers: int | None = None
    limits: Limits
    on_failure: Callable[[Failure], object] | None = None
    beside: Path | None = None
    on_batch: Callable[[AddReport], object] = _ignore
    progress: Progress = silent
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stage: Store | None = None
        check_plan(self.options, self.references, only_against=self.only_against)
        if self.database is not None and self.options.drop_all:
            raise UsageError(
                "drop_all decides on all rows at once: give no database that keeps those of "
                "earlier runs; against compares with one"
            )
        if self.database is not None and self.only_against:
            raise UsageError(
                "only_against stores nothing: give the database as a reference, with against"
            )
        if self.stored is not None:
            self.rule.check(self.stored.settings, str(self.stored.path))

    def __enter__(self) -> Self:
        self._stack = ExitStack()
        opening = Opening(
            self.rule,
            self.settings,
            self.of_references,
            self.limits,
            self.batches,
            self.fields,
            self.workers,
            self.on_failure,
            self.timeout,
            self.beside,
            self.shows_progress,
        )
        with ExitStack() as stack:
            self._opened = [
                stack.enter_context(opening.open(reference)) for reference in self.references
            ]
            if self.database is not None and self.stored is None and not self.staged:
                self.stored = stack.enter_context(closing(self.database()))
                self.rule.check(self.stored.settings, str(self.stored.path))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # An error of a temporary file says so.
        self._stack.__exit__(kind, error, traceback)

    @property
    def _stores_at_once(self) -> bool:
        """Whether kept documents go into the database batch by batch."""
        return self.database is not None and not self.staged

    @property
    def _job(self) -> Job:
        assert self._stage is not None
        return Job(self._stage, self.workers, self.on_failure)

    def decided(self) -> Generator[Decided]:
        """What is decided, in the order of the input and in the batches in which it was read."""
        if ordering.reads_twice(self.options):
            yield from self._twice()
            return
        stored = self._stored_collection()
        kept = stored
        if stored is None or self.staged:
            kept = self._private()
        store = self._stage if self._stage is not None else cast(Store, self.stored)
        plan = self._plan(stored, None if self.only_against else kept)
        done = 0
        job = Job(store, self.workers, self.on_failure)
        for report, batches in decided(job, self.source.batches(), plan):
            yield from batches
            done += report.documents + report.failed
            self.progress(done, None, "documents")
            self.on_batch(report)

    def merge(self) -> AddReport:
        """Add what was kept to the database, when all has been written."""
        if self.database is None or not self.staged or self._stage is None:
            return AddReport()
        store = self.stored
        if store is None:
            store = self._stack.enter_context(closing(self.database()))
        return merge_whole(store, self._stage)

    def _stored_collection(self) -> Collection | None:
        if self.stored is None:
            return None
        return Collection(self.stored, Locations(self.stored.last_doc_id() + 1))

    def _private(self) -> Collection:
        """A temporary collection, which becomes the stage."""
        self._stage = self._temporary()
        return Collection(self._stage, Locations(1), is_private=True)

    def _temporary(self) -> Store:
        settings = self.settings
        if self.database is None or self._stores_at_once:
            settings = self.rule.index(settings)
        store = temporary_store(settings, self.limits, self.beside, keys_repeat=True)
        return self._stack.enter_context(store)

    def _plan(
        self,
        stored: Collection | None,
        kept: Collection | None,
        everything: Collection | None = None,
    ) -> Plan:
        assert isinstance(self.rule, RowRule)
        is_ordered = ordering.reads_twice(self.options)
        return Plan(
            self.rule,
            self._opened,
            stored,
            kept,
            everything,
            stored_first=is_ordered,
            fields=self.fields,
            cutting=self.cutting,
            clusters=Clusters(is_ordered) if self.clusters else None,
        )

    def _twice(self) -> Iterator[Decided]:
        """Decide on all rows before any is given back."""
        directory = self._stack.enter_context(temporary_directory(self.beside))
        spool = self._stack.enter_context(closing(Spool(directory / "spool.db", self.limits)))
        on_all = self.rule.on_all(self.settings) if isinstance(self.rule, WholeRule) else None
        private = self._private()
        report = ordering.take_in(
            spool,
            self.source.batches(),
            self._job,
            self.progress,
            self.options,
            on_all,
            root=self.root,
        )
        if not self._stores_at_once:
            self.on_batch(report)
        if on_all is None:
            self._decide_row_by_row(spool, private)
        else:
            stored = self._mark_stored(spool)
            references = [*self._opened, *filter(None, [self._stored_collection()])]
            dropped = set[int](stored)
            deciding = Deciding(
                self.fields, self.options.drop_all, self.only_against, self._no_reason
            )
            others = dict[tuple[object, ...], int]()
            for some in on_all.decisions(spool, references, deciding):
                spool.drop((number, row) for number, row, _ in some)
                for number, row, kept in some:
                    cluster = kept + 1
                    if kept < 0:
                        other = row.reference, row.kept, row.kept_file, row.kept_line
                        cluster = others.setdefault(other, number + 1)
                    spool.cluster([(number, cluster)])
                dropped.update(number for number, _, _ in some)
                self.progress(len(dropped), None, "documents dropped")
            if self.staged and self.database is not None:
                staying = ordering.kept(spool, self.settings.shingling)
                for report in added(self._job, staying):
                    self.on_batch(report)
        yield from self._given_back(spool)

    def _decide_row_by_row(self, spool: Spool, private: Collection) -> None:
        """Decide on the rows of a temporary file, in the order in which similar ones stay."""

        def ordered() -> Generator[Batch]:
            metadata = bool(self.fields) or self.database is not None
            return ordering.in_order(spool, self.settings.shingling, metadata=metadata)

        plan = self._plan(self._stored_collection(), None if self.only_against else private)
        if self.options.drop_all:
            with closing(ordered()) as items:
                for report in added(self._job, items, private.locations):
                    self.on_batch(report)
            plan = self._plan(None, None, private)
        done = 0
        with closing(ordered()) as items:
            for report, batches in decided(replace(self._job, on_failure=None), items, plan):
                for batch in batches:
                    assert batch.origin is not None
                    numbers = batch.origin.numbers
                    rows = zip(numbers, batch.dropped, strict=True)
                    spool.drop((number, row) for number, row in rows if row is not None)
                    if batch.clusters:
                        spool.cluster(zip(numbers, batch.clusters, strict=True))
                done += report.documents
                if not self._stores_at_once:
                    self.on_batch(replace(report, failed=0))
                self.progress(done, None, "documents decided")

    def _given_back(self, spool: Spool) -> Iterator[Decided]:
        """Read the input once more, with what is decided of each row."""
        seen = 0
        if not self._stores_at_once:
            for batch in self.source.again():
                self.progress(seen, spool.count, "rows written")
                yield _of_spool(batch, spool, seen)
                seen += batch.count
        else:
            assert self.stored is not None
            versions = Versions(self.stored, self.stored.last_doc_id())
            again = self.source.again(only_rows=False)
            with signed(Job(self.stored, self.workers), again) as stream:
                for parts in stream:
                    some = list[Decided]()
                    with self.stored.writing():
                        writer = Writer(self.stored)
                        for part in parts:
                            rows = _of_spool(part.batch, spool, seen)
                            if [*rows.keys] != [*part.batch.keys]:
                                raise InputError(_CHANGED)
                            seen += part.batch.count
                            self._store(writer, part, rows, versions)
                            some.append(rows)
                        writer.finish()
                    self.on_batch(writer.report)
                    yield from some
                    self.progress(seen, spool.count, "documents written")
        if seen != spool.count:
            raise InputError(_CHANGED)

    def _store(self, writer: Writer, part: SignedPart, rows: Decided, versions: Versions) -> None:
        """Add the kept documents of a part to the database."""
        if part.signed is None:  # it has none
            writer.write(part)
            return
        kept = [index for index, dropped in enumerate(rows.dropped) if dropped is None]
        states, wheres = part.batch.states, part.batch.where()
        part = part.take(kept)
        versions.look_up(part.keys, part.digests)
        keys, used = list[str](), set(versions.known)
        for index, key, content_digest in zip(kept, part.keys, part.digests, strict=True):
            is_row = wheres[index][1] is not None
            if is_row and key in used and versions.same(key, content_digest) is None:
                key = distinct_key(key, content_digest)
            used.add(key)
            keys.append(key)
        stored = {*keys}
        states = [(key, state) for key, state in states if key in stored]
        writer.write(replace(part, batch=replace(part.batch, keys=keys, states=states)))

    def _mark_stored(self, spool: Spool) -> list[int]:
        """Drop the documents that an earlier run stored, with key and content; their numbers."""
        found = list[int]()
        if self.stored is None:
            return found
        versions = Versions(self.stored, self.stored.last_doc_id())
        for some in spool.kept():
            digests = [digest(document.stored.encode()) for document in some]
            keys = [document.key for document in some]
            versions.look_up(keys, digests)
            rows = []
            for document, content_digest in zip(some, digests, strict=True):
                same = versions.same(document.key, content_digest)
                if same is not None:
                    own = document.key, document.file, document.line, same.key, None, None
                    rows.append((document.number, DroppedRow(*own, 1.0, True, True)))
            spool.drop(rows)
            found += (number for number, _ in rows)
        return found

    def _no_reason(
        self, collection: Collection, kept: SpooledDocument, document: SpooledDocument
    ) -> bool:
        """Whether a document of a collection is no reason to drop one, by a rule on all rows."""
        if collection.is_reference:
            return False
        if kept.key == document.key:
            return True
        content_digest = digest(document.stored.encode())
        return any(
            mark == content_digest and other == kept.key and doc_id
            for _, mark, other, _, doc_id in collection.store.different_from([document.key])
        )


def check_plan(
    options: RuleOptions, references: Sequence[Reference], *, only_against: bool
) -> None:
    """UsageError for options that do not go together; before anything is read."""
    rule_of(options)
    for reference in references:
        reference.check()
    if not only_against:
        return
    if not references:
        raise UsageError("only_against compares with references only: give one with against")
    if options.ordered or options.drop_all:
        raise UsageError(
            "only_against compares no row with another, so that none of them comes first: give no "
            "order and no drop_all"
        )


def _of_spool(batch: Batch, spool: Spool, first: int) -> Decided:
    """The rows or files of a batch, each with its decision; the first one has a number."""
    decisions = spool.decisions(first, first + batch.count)
    indices, keys, dropped, clusters = (
        zip(*decisions, strict=True) if decisions else ((), (), (), ())
    )
    own = [cluster or first + index + 1 for index, cluster in zip(indices, clusters, strict=True)]
    indices = cast("tuple[int, ...]", indices)
    return Decided(batch.origin, keys, indices, dropped, own)
