"""A run of dedup: reads, signs and decides on rows, and stores the kept ones.

With a database, a run is whole or not at all: while it decides, the database is only read, and kept
documents go into a temporary collection. When the caller has written all of its outputs, `merge`
adds the collection to the database in one transaction. A run that is killed before has changed
nothing, and writes the same rows when it is started again. Output to a pipe cannot be changed any
more, so such a run adds each batch to the database before the rows of the batch are written.

The same run again keeps no row: all are in the database. So that it does not replace the complete
output by an empty one, after a kill or not, the merge notes a digest of the rows that were read and
of the files that were written, in its transaction. A run that keeps nothing, and finds its rows and
its output there, leaves the output as it is.

For an order that is not that of the input, the input is read twice. First all documents are written
to a temporary file, and read from it in the order of decisions; then the input is read again for
the kept rows. What a caller takes one by one is in the database before the first of them: a command
does not write such rows to a pipe, as those that are lost on the way would count as written.
"""

import contextlib
import hashlib
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, Self, cast

from lshdb import model
from lshdb.apps.compare.temporary import temporary_store
from lshdb.apps.dedup import data_frames, deciding, rules
from lshdb.apps.dedup.adding import has_run, merge_whole
from lshdb.apps.dedup.collection import Collection, Locations
from lshdb.apps.dedup.containing import Codes
from lshdb.apps.dedup.options import CUT_OF_TEXTS, RowsOptions, RuleOptions
from lshdb.apps.dedup.references import Reference, outermost, references_of
from lshdb.apps.dedup.spool import Spool
from lshdb.apps.keeping import ranking
from lshdb.apps.merging.merging import rebased
from lshdb.apps.signatures import signature_sets
from lshdb.errors import TIMEOUT, InputError, UsageError, warn
from lshdb.formatting import counted
from lshdb.options import FileName, WritingOptions
from lshdb.progress import Progress, silent
from lshdb.read.batch import Batch, Origin
from lshdb.read.counts import Failures
from lshdb.read.files import FilesRead, is_same_file, stored_time
from lshdb.read.paths import STDIN, escaped, expanded, path_of_key
from lshdb.read.session import Session
from lshdb.sketch.settings import Settings
from lshdb.store.partial_files import temporary_directory
from lshdb.store.store import Store
from lshdb.text import content
from lshdb.write.add import added
from lshdb.write.batches import Job


class RowSource(Protocol):
    """Rows or text files that can be read again, unless they are decided on as they come."""

    def batches(self) -> Iterator[Batch]:
        """All rows or texts."""

    def again(self) -> Iterator[Batch]:
        """All rows or texts once more, not counted again; rows without their documents.

        Raises:
            InputError: they have changed; now, or when all are read.
        """


@dataclass(eq=False)
class Run:
    """One run. A context manager: temporary files are deleted at its end.

    Attributes:
        rows: which rows are kept.
        rule: the rule that these options name.
        references: those that they name.
        settings: the settings by which documents are signed: those of the database if there is one.
        session: reads the rows, and gets the failures of the job.
        source: the rows.
        paths: the files that they are from.
        of_references: reads references, with the fields of the rows; None for a session like that
            of the rows.
        timeout: seconds to wait for databases that are references.
        write: how documents are written.
        database: opens the database that kept rows are added to, if it is not open.
        stored: the database, if it is open.
        staged: whether kept rows are added at the end, by `merge`.
        beside: the directory of temporary files; None for the system's.
        unkeyed: how many rows so far have their place for a key, as their id gives none.
    """

    rows: RowsOptions
    rule: rules.Rule
    references: Sequence[Reference]
    settings: Settings
    session: Session
    source: RowSource
    paths: Iterable[str] = ()
    of_references: Session | None = None
    timeout: float = TIMEOUT
    write: WritingOptions = field(default_factory=WritingOptions)
    database: Callable[[], Store] | None = None
    stored: Store | None = None
    staged: bool = False
    beside: Path | None = None
    unkeyed: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._stage: Store  # since rows are decided on
        self._session_of_references = self.of_references or self.session.apart()
        self._limits = self.session.options.limits
        # That keys of files are relative to: each door knows it.
        self._root = cast(str, self.session.options.root)
        self._rows_read = hashlib.blake2b(digest_size=16)
        self._choice = self.rows.choice
        self._is_stored = self.stored is not None or self.database is not None
        if not all(reference.is_database for reference in self.references):
            self.session.files_read = FilesRead(self._session_of_references.files_read)
        self._is_twice = reads_twice(self.rule, self._choice, self.settings)
        self._inside = holding(self._choice.order.keep_in)
        if self._is_twice:
            check_read_twice(self.paths)
        self._on_batch = self.write.on_batch or (lambda _: None)
        self._progress: Progress = silent
        if self.stored is not None:
            self.rule.check(self.stored.settings, str(self.stored.path))

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            self._opened = [
                stack.enter_context(self._open(reference)) for reference in self.references
            ]
            if self.database is not None and self.stored is None and not self.staged:
                self.stored = stack.enter_context(contextlib.closing(self.database()))
                self.rule.check(self.stored.settings, str(self.stored.path))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)  # an error of a temporary file says so

    def _open(self, reference: Reference) -> contextlib.AbstractContextManager[Collection]:
        """Open a reference: a database, or a temporary one with the documents of a reference.

        Raises:
            InputError: it does not exist, or a part of it gives no document: rows that resemble
                this part would silently stay.
            SettingsMismatch: the database has other signatures.
        """
        if reference.is_database:
            return self._database_of(reference.name)
        usual, fields = self._session_of_references.options, {**reference.fields}
        if "text" in fields:
            fields.setdefault("set", fields["text"])
        names: dict[str, Any] = {f"{name}_field": field for name, field in fields.items()}
        if not reference.is_path:
            options = replace(usual, **names, order_field="")
            rows = data_frames.frame_of(reference.data, options)
            return self._indexed(rows.batches(), reference.name, contextlib.nullcontext(silent))
        wanted = self.rows.fields
        session = self._session_of_references.like(
            **names,
            format="auto",
            fallback=usual.fallback if usual.format == "auto" else usual.format,
            stdin=None,
            auto_key=True,
            order_field="",
            any_id=True,
            metadata=bool(wanted),
            metadata_fields=outermost(wanted),
            whole=False,
        )
        paths = [reference.name]
        progress = session.shown(self.write.progress, "indexing", paths)
        return self._indexed(session.batches(paths), reference.name, progress)

    @contextlib.contextmanager
    def _database_of(self, name: str) -> Iterator[Collection]:
        with contextlib.closing(
            Store.open(Path(name), "read", self.timeout, limits=self._limits)
        ) as store:
            self.rule.check(store.settings, name)
            # Documents are signed with as many bits as the reference has.
            compared = replace(self.settings, lane_bits=store.settings.lane_bits)
            signature_sets.check_comparable(
                name,
                signature_sets.Sketching.of(store.settings),
                signature_sets.Sketching.of(compared),
            )
            yield Collection(store, reference=name, new_keys=rebased(store, self._root))

    @contextlib.contextmanager
    def _indexed(
        self,
        items: Iterable[Batch],
        name: str,
        progress: contextlib.AbstractContextManager[Progress],
    ) -> Iterator[Collection]:
        """A reference in a temporary file."""
        total, locations = model.AddReport(), Locations()
        with self._temporary(self.rule.index(self.settings)) as store:
            failures = Failures(self.session.counts.failures)
            with progress as show:
                job = replace(self._job(store), on_failure=failures)
                for report in added(job, items, locations.add):
                    total += report
                    show(total.documents, None, "documents")
            if total.failed:
                first = failures.kept[0]
                raise InputError(
                    f"{name} cannot be read whole ({total.failed:,} failed, the first: "
                    f"{first.where}: {first.reason}), and rows similar to what is missing would "
                    "stay: nothing is written; repair it, or add the rest of it to a database with "
                    "lshdb add, and compare with that"
                )
            if not total.documents:
                raise InputError(f"{name}: no document in it to compare with")
            yield Collection(store, locations, reference=name, is_private=True)

    def _temporary(self, settings: Settings) -> contextlib.AbstractContextManager[Store]:
        return temporary_store(
            settings, self._limits, self.beside, root=self._root, keys_repeat=True
        )

    def _job(self, store: Store) -> Job:
        return Job(store, self.write.workers, self.session.counts.failures)

    def decided(self) -> Generator[deciding.DecidedBatch]:
        """The decisions, in the order and the batches of the input."""
        progress = self.session.shown(self.write.progress, "dedup", self.paths)
        with progress as self._progress:
            yield from self._twice() if self._is_twice else self._once()

    def _once(self) -> Iterator[deciding.DecidedBatch]:
        """The decisions, each given back as soon as it is made."""
        stored = self._stored_collection()
        stage = self._private() if stored is None or self.staged else None
        kept, plan = stage or stored, self._plan(stored, stage)
        assert kept is not None
        count = 0
        for report, batches in deciding.decided(self._job(kept.store), self._batches(), plan):
            yield from batches
            count += report.documents + report.failed
            self._progress(count, None, "documents")
            self._on_batch(report)

    def _batches(self) -> Iterator[Batch]:
        """The rows, of which a digest is taken if their output is whole or not at all.

        Raises:
            UsageError: there is none, as all files are references, too.
        """
        counts, batch = self.session.counts, None
        for batch in self.source.batches():
            self.unkeyed += batch.unkeyed
            if self.rows.cut is not None and batch.origin is None and batch.keys:
                raise UsageError(CUT_OF_TEXTS)
            if self.staged and self._is_stored:
                for key, form in zip(batch.keys, map(content.encoded, batch.contents), strict=True):
                    row = f"{len(key)} {len(form)} {key}{form}"
                    self._rows_read.update(row.encode("utf-8", "surrogatepass"))
            yield batch
        if self.references and not (batch or counts.statuses) and counts.skipped["repeated"]:
            raise UsageError("against has the same files as the data, and no others are there")

    def _digest_with(self, outputs: Iterable[str]) -> bytes:
        """The digest of the rows that were read, and of the files that were written."""
        digest = self._rows_read.copy()
        for path in outputs:
            with open(path, "rb") as file:
                digest.update(hashlib.file_digest(file, "blake2b").digest())
        return digest.digest()

    def is_repeated(self, outputs: Sequence[str]) -> bool:
        """Whether an earlier run read the same rows, and wrote just these files."""
        return (
            self.staged
            and self.stored is not None
            and all(map(os.path.isfile, outputs))
            and has_run(self.stored, self._digest_with(outputs))
        )

    def merge(self, outputs: Sequence[str] = ()) -> None:
        """Add the kept documents to the database, when all outputs are written.

        Args:
            outputs: the files of rows, which have their names.
        """
        if self.stored is None and self.database is not None:
            self.stored = self._stack.enter_context(contextlib.closing(self.database()))
        if self.stored is not None and self.staged:
            run = self._digest_with(outputs) if outputs else None
            merge_whole(self.stored, self._stage, run)

    def warn_of_ids(self) -> None:
        """Issue a warning if there are rows whose id gives no key."""
        if self.unkeyed:
            warn(UserWarning(unkeyed_note(self.unkeyed)))

    def _stored_collection(self) -> Collection | None:
        if self.stored is None:
            return None
        return Collection(self.stored, Locations(self.stored.last_doc_id() + 1))

    def _private(self) -> Collection:
        """A temporary collection for kept documents."""
        settings = self.settings if self._is_stored else self.rule.index(self.settings)
        self._stage = self._stack.enter_context(self._temporary(settings))
        return Collection(self._stage, is_private=True)

    def _plan(self, stored: Collection | None, stage: Collection | None) -> deciding.Plan:
        assert isinstance(self.rule, rules.RowRule)
        return deciding.Plan(
            self.rule,
            self._opened,
            stored,
            None if self._choice.drop.only_against else stage,
            is_ordered=self._is_twice,
            options=self.rows,
            text_field=self.session.options.content_field,
        )

    def _twice(self) -> Iterator[deciding.DecidedBatch]:
        """The decisions, if all rows are decided on before any is given back."""
        directory = self._stack.enter_context(temporary_directory(self.beside))
        spool = self._stack.enter_context(
            contextlib.closing(Spool(directory / "spool.db", self._limits))
        )
        is_by_row = isinstance(self.rule, rules.RowRule)
        on_all = None if is_by_row else Codes(self.settings.shingling)
        reports = [self._take_in(spool, on_all)]
        if on_all is None:
            reports += self._decided_one_by_one(spool, self._private())
        else:
            dropped = 0
            for decisions in on_all.decisions(spool, self._opened, self.rows):
                spool.drop(decisions)
                dropped += len(decisions)
                self._progress(dropped, None, "documents dropped")
        again = self.source.again()
        if self.stored is not None and not self.staged:
            merge_whole(self.stored, self._stage)
        for report in reports:
            self._on_batch(report)
        yield from self._reread(spool, again)

    def _take_in(self, spool: Spool, on_all: Codes | None) -> model.AddReport:
        """Write all documents to the temporary file, in the order in which they are decided on.

        With `on_all`, it gets them, too, and the report counts those without shingles.
        """
        from lshdb.apps.keeping.field_order import FieldOrder  # the order of the input needs none

        order, empty, failed = self._choice.order, 0, 0
        field_order = FieldOrder(order.field, order.unordered) if order.field else None
        for batch in self._batches():
            for _, failure in batch.failures:
                failed += 1
                self.session.counts.failures(failure)
            forms, sizes = [*map(content.encoded, batch.contents)], [*map(len, batch.contents)]
            numbers = [spool.count + index for index in batch.indices or range(len(forms))]
            if on_all is not None:
                sizes = on_all.add(numbers, forms)
                empty += sizes.count(0)
            field_ranks = field_order.ranks(batch) if field_order else [None] * len(forms)
            ranks = self._ranks(batch, numbers, sizes, field_ranks)
            columns = numbers, batch.keys, ranks, forms, batch.all_metadata(), batch.where()
            states = dict(batch.states)
            spool.add(
                (number, key, *rank, form, metadata, *where, states.get(key))
                for number, key, rank, form, metadata, where in zip(*columns, strict=True)
            )
            spool.count += batch.count
            self._progress(spool.count, None, "rows read")
        if field_order is not None:
            field_order.finish("row")
        spool.order(descending=ranking.is_descending(order) or on_all is not None)
        return model.AddReport(empty=empty, failed=failed)

    def _ranks(
        self,
        batch: Batch,
        numbers: Sequence[int],
        sizes: Iterable[int],
        field_ranks: Iterable[bytes | None],
    ) -> Iterator[ranking.Rank]:
        """The group and the rank of each document; UsageError if it has no file that is needed.

        Args:
            batch: the documents.
            numbers: the number of each document.
            sizes: the length of each document, or its number of shingles.
            field_ranks: the rank of each by a field; None without one.
        """
        order, root, inside = self._choice.order, self._root, self._inside
        by_size = order.keep == "longest" or not isinstance(self.rule, rules.RowRule)
        by_time = order.keep in ("newest", "oldest")
        columns = numbers, sizes, field_ranks, batch.where()
        for number, size, field_rank, (file, line) in zip(*columns, strict=True):
            path = os.path.abspath(os.path.join("" if line else root, file or ""))
            if "\\x" in path:  # as bytes that are not UTF-8 are written
                path = path_of_key(path, root)
            if file is None and (inside or by_time or order.keep == "shortest-path"):
                raise UsageError(f"keep {order.keep}: these rows are in no file")
            yield ranking.rank(
                order,
                number=number,
                size=size if by_size else None,
                field_rank=field_rank,
                path=file or "",
                modified=stored_time(os.stat(path).st_mtime_ns) if by_time else None,
                elsewhere=inside is not None and not inside(path),
            )

    def _in_order(self, spool: Spool) -> Generator[Batch]:
        """The documents in the order of decisions, with their numbers as those of their rows."""
        for documents in spool.batches_of(spool.in_order()):
            yield Batch(
                [document.key for document in documents],
                [
                    content.from_stored(document.stored, self.settings.shingling)
                    for document in documents
                ],
                [document.metadata for document in documents],
                Origin("", [document.number for document in documents]),
                range(len(documents)),
                [(document.key, document.state) for document in documents if document.state],
                size=sum(document.stored.__sizeof__() for document in documents),
                wheres=[(document.file, document.line) for document in documents],
            )

    def _decided_one_by_one(self, spool: Spool, private: Collection) -> Iterator[model.AddReport]:
        """Decide on the rows of a temporary file one by one, in its order; the reports."""
        plan, job = self._plan(self._stored_collection(), private), self._job(private.store)
        if self._choice.drop_all:
            with contextlib.closing(self._in_order(spool)) as items:
                yield from added(job, items, private.locations.add)
            plan = replace(plan, references=[*plan.references, private], stage=None)
        elif plan.stage is not None and _compares_records(self.rule, self.settings):
            all_rows = self._stack.enter_context(self._temporary(self.settings))
            with contextlib.closing(self._in_order(spool)) as items:
                for _ in added(self._job(all_rows), items):
                    pass
            plan = replace(plan, stage=replace(private, all_rows=all_rows))
        count = 0
        with contextlib.closing(self._in_order(spool)) as items:
            for report, batches in deciding.decided(job, items, plan):
                for batch in batches:
                    assert batch.origin is not None
                    numbers = batch.origin.numbers
                    rows = zip(numbers, batch.dropped, strict=True)
                    spool.drop((number, row) for number, row in rows if row is not None)
                count += report.documents
                yield report
                self._progress(count, None, "documents decided")

    def _reread(self, spool: Spool, again: Iterator[Batch]) -> Iterator[deciding.DecidedBatch]:
        """The decisions, with the rows of the input, which is read once more."""
        seen, changed = 0, InputError("the input has changed while it was read")
        for batch in again:
            self._progress(seen, spool.count, "rows written")
            decisions = spool.decisions(seen, seen + batch.count)
            keys = [key for _, key, _ in decisions]
            indices = [index for index, *_ in decisions]
            seen += batch.count
            if batch.origin is None and keys != [*batch.keys]:
                raise changed
            dropped = [reason for *_, reason in decisions]
            yield deciding.DecidedBatch(batch.origin, keys, indices, dropped)
        if seen != spool.count:
            raise changed


def unkeyed_note(count: int) -> str:
    """What is said of rows whose id gives no key."""
    return (
        f"{counted(count, 'id gives', 'ids give')} no key, such as floats from 2^53 on, which "
        "may be rounded: the keys of these rows are FILE:ROW"
    )


def reads_twice(rule: rules.Rule, options: RuleOptions, settings: Settings | None = None) -> bool:
    """Whether all rows are read before the first one is decided on; by settings if known."""
    if settings is not None and _compares_records(rule, settings):
        return True
    return options.order.ordered or options.drop_all or not isinstance(rule, rules.RowRule)


def _compares_records(rule: rules.Rule, settings: Settings) -> bool:
    return settings.records and isinstance(rule, rules.SimilarRule)


def holding(directory: str | None) -> Callable[[str], bool] | None:
    """A function that says whether a file is in a directory, by their real paths; None without one.

    Raises:
        InputError: there is no such directory.
    """
    if directory is None:
        return None
    if not os.path.isdir(directory):
        raise InputError(f"keep_in {escaped(directory)}: no such directory")
    inside = ranking.below(os.path.realpath(directory))
    return lambda path: inside(os.path.realpath(path))


def check_read_twice(paths: Iterable[str]) -> None:
    """UsageError for input that can be read only once."""
    for path in expanded(paths):
        is_pipe = os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))
        if path == STDIN or is_pipe:
            raise UsageError(
                "this order or rule reads the input twice, and standard input or a pipe can be "
                "read only once: save it to a file"
            )


def references_checked(options: RuleOptions, database: FileName | None = None) -> list[Reference]:
    """The references that options name, before anything is read.

    Args:
        options: which rows are dropped.
        database: gets the kept ones; None without one.

    Raises:
        UsageError: options that do not go together.
        InputError: a reference does not exist.
    """
    stores = database is not None
    if stores and (options.drop_all or options.drop.rule == "contained"):
        raise UsageError(
            "drop_all and rule contained decide on all rows at once: give no database that "
            "keeps those of earlier runs; against compares with one"
        )
    if stores and options.drop.only_against:
        raise UsageError(
            "only_against stores nothing: give the database as a reference, with against"
        )
    references = references_of(options.drop.against)
    for reference in references:
        reference.check()
        if database is not None and reference.is_path and is_same_file(reference.data, database):
            raise UsageError(
                f"{reference.name} gets the kept rows, and rows are compared with it without "
                "against: leave it out there"
            )
    if options.all_references and not references:
        raise UsageError("all_references lists what references have: give one with against")
    if not options.drop.only_against:
        return references
    if not references:
        raise UsageError("only_against compares with references only: give one with against")
    if options.order.ordered or options.drop_all:
        raise UsageError(
            "only_against compares no row with another, so that none of them comes first: give no "
            "order and no drop_all"
        )
    return references
