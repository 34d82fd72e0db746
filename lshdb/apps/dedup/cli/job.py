"""The job of the command: files in, a file of kept rows out, or a list of duplicate files.

All that cannot be is refused before anything is read. With a database, and an output that is a
file, the run is whole or not at all: see lshdb.apps.dedup.run.
"""

import contextlib
import dataclasses
import functools
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

from lshdb.apps.dedup import (
    deciding,
    file_rows,
    input_tables,
    model,
    output_directory,
    rules,
    run_outputs,
)
from lshdb.apps.dedup.adding import is_key_of
from lshdb.apps.dedup.options import DedupOutputs, RowsOptions
from lshdb.apps.dedup.references import completed, outermost, reference_of_text, settings_known
from lshdb.apps.dedup.rows import head_with
from lshdb.apps.dedup.run import Run, reads_twice, references_checked
from lshdb.apps.merging.merging import rebased
from lshdb.cli import files, messages, options, parameters, running
from lshdb.database import store_of
from lshdb.errors import Cut, UsageError
from lshdb.groups import replaced
from lshdb.maintain.resolve import resolve
from lshdb.model import AddReport
from lshdb.options import SettingsOptions, WritingOptions
from lshdb.read import formats, proof, sinks
from lshdb.read.batch import TableSchema
from lshdb.read.counts import ReadCounts
from lshdb.read.files import FilesRead, have_one_file, resolved
from lshdb.read.outputs import STDOUT, Output, is_stdout, is_stream
from lshdb.read.paths import (
    expanded,
    file_of_key,
    path_of_key,
    printable_path,
)
from lshdb.read.proof import LeftFile
from lshdb.read.session import Session
from lshdb.sketch.settings import Settings
from lshdb.store.store import Store

_Lines = list[tuple[Any, ...]]
"""Lines of the list of dropped rows."""
_Write = Callable[[deciding.DecidedBatch, _Lines], None]
"""Writes a batch to all outputs, and its lines to the list."""


@dataclasses.dataclass(eq=False)
class DedupJob:
    """One job.

    Attributes:
        inputs: tables, directories, patterns and `-`.
        rows: which rows are dropped, and how they are read.
        settings: those that are asked for.
        outputs: what is written.
        database: the file of an earlier run; None without one.
        reading: counts what is read, and has the failures.
        of_references: counts what is read of references.
        counts: of rows, when all are decided.
        paths: the tables, or files and directories of texts.
        are_texts: whether texts are compared as files and listed, and none is written.
        root: the directory that keys of files are relative to, once the job runs: that of the
            database, or the current one.
    """

    inputs: Sequence[str]
    rows: RowsOptions
    settings: SettingsOptions
    outputs: DedupOutputs
    database: Path | None
    reading: ReadCounts
    of_references: ReadCounts = dataclasses.field(default_factory=ReadCounts)
    counts: Counter[str] = dataclasses.field(default_factory=Counter)

    def __post_init__(self) -> None:
        against = [*map(reference_of_text, self.rows.choice.drop.against or ())]
        self.rows = rows = replaced(self.rows, against=against or None)
        # By the first of its names the command knows standard output.
        named = ("output", "annotate", "dropped", "cuts")
        streams = {name: STDOUT for name in named if is_stdout(getattr(self.outputs, name) or "")}
        self.outputs = out = replaced(self.outputs, **streams)
        shape = self.settings.shape
        self.rule = rules.rule_of(rows.choice, shape.threshold, shape.recall, rows.cut)
        self.references = references_checked(rows.choice, self.database)
        if out.annotate is not None and (rows.cut is not None or rows.choice.drop_all):
            raise UsageError("--annotate names the row that stays: give no --cut and no --drop-all")
        if out.cuts is not None and rows.cut is None:
            raise UsageError("--cuts lists what is cut: give --cut WORDS")
        self._outputs: list[output_directory.Outputs] = []
        self._find_inputs()
        self._flushed: Sequence[run_outputs.KeptRows | sinks.Sink] = ()
        self._check_outputs()
        copied, references = bool(self.rule.columns), rows.choice.all_references
        self.columns = model.dropped_columns(rows.fields, copied=copied, references=references)
        self._listed = functools.partial(model.dropped_row, copied=copied, references=references)
        self.left: list[LeftFile] = []
        self.notes: list[str] = []
        files.check_distinct(
            [*self.paths, *(each.name for each in self.references if each.is_path)],
            [*self.tables_written, *map(str, filter(None, (out.dropped, out.cuts, self.database)))],
        )
        if self.are_texts:
            self.reading.digests, self.of_references.digests = {}, {}
        self.of_references.skipped.on_skip = self.reading.skipped.on_skip

    def note(self, cut: Cut) -> None:
        """Note what a limit left out, and print it once."""
        if str(cut) not in self.notes:
            self.notes.append(str(cut))
            messages.warn(f"lshdb: {cut}")

    def _find_inputs(self) -> None:
        rows, out, paths = self.rows, self.outputs, list(expanded(self.inputs))
        are_named_so = (
            rows.read.table.format == "auto"
            and bool(paths)
            and all(map(input_tables.is_named_as_text, paths))
            and not any(map(input_tables.begins_with_row, paths))
        )
        is_listed = out.output is None and out.annotate is None
        self.are_texts = rows.read.table.format == "text" or (
            is_listed and (are_named_so or any(map(os.path.isdir, paths)))
        )
        if self.are_texts:
            if not is_listed or STDOUT in paths:
                raise UsageError("texts are compared as files and not written: no -o, no input -")
            for path in paths:
                input_tables.check_readable(resolved(path))
            if are_named_so and len(paths) == 1 and not (self.database or self.references):
                raise UsageError(
                    f"{printable_path(paths[0])} is one text, and there is nothing to compare it "
                    "with: give several files or a directory, -d or --against; a table of rows is "
                    "JSON lines, CSV or Parquet"
                )
            self.paths = paths
            return
        walked = dataclasses.replace(rows.walk, ignore=False)  # data is often kept out of git
        all_json = rows.read.table.format != "auto"
        tables = input_tables.find_tables(
            self.inputs, walked, self.reading.skipped, FilesRead(), all_json=all_json
        )
        kept = out.output if out.output is not None or out.annotate is not None else STDOUT
        self.paths = [*tables.names]
        self._outputs = [
            output_directory.Outputs(
                output,
                tables,
                appends=self.database is not None,
                overwrites=out.overwrite,
                option="--overwrite",
                note=messages.message,
                annotates=annotates,
            )
            for output, annotates in ((kept, False), (out.annotate, True))
            if output is not None
        ]
        if out.overwrite and not any(outputs.is_directory for outputs in self._outputs):
            raise UsageError(
                "--overwrite is for a directory: a file is replaced when it is complete"
            )

    def _check_outputs(self) -> None:
        """UsageError for outputs that cannot be."""
        out, written = self.outputs, self.tables_written
        adds_first = self.database is not None and reads_twice(self.rule, self.rows.choice)
        if adds_first and not all(map(_is_file, written)):
            raise UsageError(
                "this order adds all kept rows to the database before the first is written, and "
                "rows that a pipe loses would count as written: name a file with -o"
            )
        if self.rows.fields and not self.are_texts and out.dropped is None:
            raise UsageError("--fields is for the list of dropped rows: give --dropped FILE")
        if out.dropped == STDOUT and (self.are_texts or STDOUT in written):
            raise UsageError("--dropped cannot be standard output, too: name a file")
        if out.cuts == STDOUT or (self.rows.cut is not None and self.are_texts):
            raise UsageError("--cut is for tables, and --cuts names a file")
        names = self.rows.read.names
        contents = names.text_field.split(",")
        for name in {names.key_field, *contents}.intersection(self.rows.fields):
            raise UsageError(
                f"--fields {name}: it is the key or the document, and --fields takes the others; "
                "the list has the file and line of each row"
            )

    @property
    def tables_written(self) -> list[str]:
        """The outputs of rows."""
        return [target for outputs in self._outputs for target in outputs.targets]

    def run(self) -> Generator[_Lines]:
        """Decide and write; the lines of the list of dropped rows, batch by batch."""
        with contextlib.ExitStack() as stack:
            settings, store = self._settings(stack)
            messages.noted_minimum(settings, self.settings.shape.threshold)
            for reference in self.references:
                if not reference.is_database:
                    messages.message(
                        f"{reference.name} is not a database: lshdb indexes it in a temporary one"
                    )
            if store is not None:
                self.root = store.root
            else:
                directory = os.curdir if self.database is None else self.database.parent
                self.root = os.path.realpath(directory)
            session = self._session(settings)
            if self.are_texts:
                self._proofs = proof.Proof(session.apart())
                # By reference, and None for the database of earlier runs, the documents by key.
                self._known: dict[str | None, dict[str, proof.Compared]] = {
                    None: {} if store is None else _documents(store, self.root)
                }
            run = stack.enter_context(self._run(settings, store, session))
            outputs = self.tables_written
            with (
                contextlib.suppress(_Left),
                self._writing(session) as write,
                contextlib.closing(run.decided()) as decided,
            ):
                for rows in decided:
                    lines = self._count(rows)
                    write(rows, lines)
                    yield lines
                if not self.counts["kept"]:
                    self._check_left(run, outputs)
            # The output is complete, and has its name.
            run.merge(outputs if self.counts["kept"] else ())
            self.counts["replaced"] = self.reading.replaced
            self.counts["unkeyed"] = run.unkeyed

    def _check_left(self, run: Run, outputs: Sequence[str]) -> None:
        """Raise _Left if earlier outputs stay, as no row is kept."""
        names, why = ", ".join(map(printable_path, filter(os.path.exists, outputs))), ""
        if run.is_repeated(outputs):
            why = "an earlier run of the same rows wrote it"
        elif outputs and not self.counts["dropped"] and self.reading.failures.count:
            why = "before, as no row could be read"
        if why and names:
            messages.message(f"{names}: left as {why}")
        if why:
            raise _Left

    def _settings(self, stack: contextlib.ExitStack) -> tuple[Settings, Store | None]:
        """The settings of the documents, and the database if it has some."""
        request, database = self.settings, self.database
        if database is not None and database.exists() and database.stat().st_size:
            self._request = replaced(request, threshold=None)
            store = stack.enter_context(contextlib.closing(self._open()))
            return store.settings, store
        if (known := settings_known(self.references, running.timeout)) is not None:
            messages.noted_minimum(known, request.shape.threshold)
            request = completed(request, known)
        # Otherwise contents are kept while the command runs: exact similarities need them.
        if self.rows.choice.drop.similarity.estimate and database is None:
            request = dataclasses.replace(request, content=False)
        if database is not None:
            request = rules.with_index(self.rule, request)
        settings = resolve(request)
        self._request = replaced(request, seed=settings.seed)  # a random one is chosen once
        messages.warn_of_low_recall(settings, request.shape)
        return settings, None

    def _open(self) -> Store:
        file = options.DatabaseFile(db=self.database or parameters.DATABASE)
        return store_of(file.open(settings=self._request))

    def _session(self, settings: Settings) -> Session:
        rows, others = self.rows, dict[str, Any]()
        if self.database is None:
            read = [*rows.fields, *filter(None, [rows.choice.order.field])]
            others = {"auto_key": True, "metadata": bool(read)}  # else nobody would see it
            others["metadata_fields"] = outermost(read)
        if self.are_texts:
            others |= {"format": "text", "rules": rows.walk}
            others["skip_tables"] = rows.read.table.format != "text"
        session = file_rows.session_of_rows(
            rows,
            settings,
            counts=self.reading,
            stdin=files.stdin(),
            root=self.root,
            naming=options.NAMING,
            **others,
        )
        if not self.are_texts and rows.read.table.format == "auto":
            input_tables.check_rows(
                self.paths,
                "--format text compares texts, and writes none; --format jsonl reads the rows",
            )
        return session

    def _run(self, settings: Settings, store: Store | None, session: Session) -> Run:
        written = self.tables_written
        of_references = session.apart(self.of_references, naming="--against PATH:{}=NAME")
        return Run(
            rows=self.rows,
            rule=self.rule,
            references=self.references,
            settings=settings,
            session=session,
            source=file_rows.FilesOfRows(self.paths, session),
            paths=self.paths,
            of_references=of_references,
            timeout=running.timeout,
            write=WritingOptions(on_batch=self._on_batch, progress=messages.shows_progress()),
            database=None if self.database is None else self._open,
            stored=store,
            staged=bool(written) and all(map(_is_file, written)),
            beside=self._beside(),
        )

    def _beside(self) -> Path | None:
        """Temporary files may take as much room as the input: beside the output there is enough."""
        written = self.tables_written
        if os.environ.get("TMPDIR") or not written or not _is_file(written[0]):
            return None
        directory = Path(os.path.realpath(written[0])).parent
        while not directory.exists():  # a new directory as output
            directory = directory.parent
        return directory

    def _on_batch(self, report: AddReport) -> None:
        self.counts["empty"] += report.empty
        for file in self._flushed:
            file.flush()

    @contextlib.contextmanager
    def _writing(self, session: Session) -> Iterator[_Write]:
        """What writes each batch to all outputs; the files get their names at the end."""
        out, beside = self.outputs, self._beside()
        with contextlib.ExitStack() as stack:
            for outputs in self._outputs:
                stack.enter_context(outputs)
            dropped, cuts = (
                None if path is None else stack.enter_context(self._list(path))
                for path in (out.dropped, out.cuts)
            )
            rows_files = [
                stack.enter_context(run_outputs.KeptRows(outputs, session, beside, self._output))
                for outputs in self._outputs
            ]
            self._flushed = [*rows_files, *filter(None, [dropped])]

            def write(rows: deciding.DecidedBatch, listed: _Lines) -> None:
                if cuts is not None:
                    cuts.put([*map(self._listed, rows.cuts)])
                for file in rows_files:
                    file.put(rows)
                if dropped is not None:
                    dropped.put(listed)

            yield write

    def _output(self, path: str) -> Output:
        """A file to be written."""
        return Output(path, sync=self.database is not None)

    @contextlib.contextmanager
    def _list(self, path: str) -> Iterator[sinks.Sink]:
        """The list of dropped rows; UsageError for its format."""
        format = input_tables.checked_format(path, "jsonl")
        schema = formats.arrow().schema([]) if formats.KIND[format] == "arrow_rows" else None
        head = head_with(TableSchema((), schema), self.columns)
        with self._output(path) as output:
            target = sinks.Target(output, format, path == STDOUT)
            with formats.completed(run_outputs.RowSink(target, head)) as rows:
                yield rows

    def _count(self, rows: deciding.DecidedBatch) -> _Lines:
        """Count what is decided; the lines of the list of dropped rows."""
        counts, dropped = self.counts, [row for row in rows.dropped if row is not None]
        counts["kept"] += len(rows.keys) - len(dropped)
        counts["dropped"] += len(dropped)
        if self.are_texts and (self.database is not None or self.references):
            # A file is similar to a stored document of its own, as its only copy is.
            others = [
                row
                for row in dropped
                if (row.reference is None and row.kept_file is not None)  # of this run
                or not (row.key == row.kept or have_one_file(row.key, row.kept, self.root))
            ]
            counts["stored"] += len(dropped) - len(others)
            dropped = others
        if self.are_texts:
            dropped = [row for row in dropped if self._is_proved(row)]
        elif self.database is not None:
            counts["stored"] += sum(
                not row.reference and is_key_of(row.kept, row.key, row.same_text) for row in dropped
            )
        return [*map(self._listed, dropped)]

    def _is_proved(self, row: model.DroppedRow) -> bool:
        """Whether a file can be deleted: it and the kept one are read again. If not, it is noted.

        A message is no file. A row of a table that stays counts as long as there is its table.
        """
        root = self.root
        goes = self._compared(row.key, self.reading)
        if file_of_key(row.key) != row.key and not os.path.lexists(path_of_key(row.key, root)):
            return True
        is_own = row.reference is None
        if row.kept_line is not None:
            is_there = os.path.isfile(path_of_key(str(row.kept_file), root))
            file = self._proofs.check(goes, None if is_there else [])
        else:
            # Of an earlier run, even if this one has stored another text since.
            if row.kept_file is None or (is_own and row.kept in self._known[None]):
                stays = self._of_database(row.reference).get(row.kept)
            else:
                stays = self._compared(row.kept, self.reading if is_own else self.of_references)
            file = self._proofs.check(goes, [] if stays is None else [stays])
        if isinstance(file, LeftFile):
            self.left.append(file)
        return not isinstance(file, LeftFile)

    def _compared(self, key: str, counts: ReadCounts) -> proof.Compared:
        """The document of a file that this run has read."""
        return proof.Compared(key, self.root, b"", (counts.digests or {}).get(key))

    def _of_database(self, name: str | None) -> dict[str, proof.Compared]:
        """The documents of a reference that is a database, or of earlier runs, by their keys."""
        if name is not None and name not in self._known:
            with contextlib.closing(Store.open(Path(name), "read", running.timeout)) as store:
                self._known[name] = _documents(store, self.root)
        return self._known[name]


def _documents(store: Store, root: str) -> dict[str, proof.Compared]:
    """All documents of a database, by their keys from the root of the run."""
    with store.reading():
        new_keys, documents = rebased(store, root), dict[str, proof.Compared]()
        for file in store.files_below(""):
            key = new_keys.key(file.key) if new_keys and file.state else file.key
            documents[key] = proof.compared(file, store.root)
        return documents


class _Left(Exception):
    """The outputs stay as they were before the run."""


def _is_file(path: str) -> bool:
    """Whether an output is a file that gets its name at the end, and no stream or device."""
    return not (is_stream(path) or os.path.isdir(path))
