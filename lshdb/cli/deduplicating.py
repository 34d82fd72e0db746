"""The command dedup: like uniq, for near duplicates among the rows of files, or files."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from itertools import product, starmap
from pathlib import Path
from typing import Annotated

import typer

import lshdb
from lshdb.cli import documents, messages, results, running
from lshdb.cli.files import (
    STDOUT,
    check_distinct,
    directory_beside,
    is_stdout,
    output_to,
    stdin,
    warn_of_rest,
)
from lshdb.cli.options import (
    NAMING,
    REFERENCE_NAMING,
    AsJson,
    DatabaseFile,
    Form,
    ListSkipped,
    ReferenceFields,
    database_path,
)
from lshdb.cli.parameters import DATABASE
from lshdb.errors import UsageError
from lshdb.exchange import kept_rows
from lshdb.exchange.cuts import CutList
from lshdb.exchange.results import dropped_columns, dropped_row
from lshdb.groups import Option, regrouped
from lshdb.ingest.dedup import Rule
from lshdb.ingest.ordering import check_read_twice, deduplicated_files
from lshdb.ingest.reference import check_there, outermost, reference, temporary_store
from lshdb.json_text import dumps
from lshdb.limits import DEFAULTS
from lshdb.model import AddReport, DroppedRow
from lshdb.options import (
    TIMEOUT,
    DedupOptions,
    RowsOptions,
    SettingsOptions,
    WalkingOptions,
)
from lshdb.sources import formats, sinks
from lshdb.sources.compression import compression_of
from lshdb.sources.identity import FilesRead, is_same_file
from lshdb.sources.outputs import Output
from lshdb.sources.paths import (
    expanded,
    format_of,
    is_database,
    is_named_as_text,
    paths_of_key,
    pattern_top,
)
from lshdb.sources.readers import reader_of
from lshdb.sources.sinks import Columns
from lshdb.sources.walking import SkippedFiles
from lshdb.tuning.resolve import OF_INDEX, as_in, resolve


def dedup(
    *,
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="Tables, directories, or -.",
        ),
    ],
    output: Annotated[
        str | None,
        Option(
            "For kept rows. [default: standard output]", metavar="OUTPUT", flags=("--output", "-o")
        ),
    ] = None,
    dropped: Annotated[
        str | None,
        Option("List dropped rows, each with its kept row.", metavar="FILE"),
    ] = None,
    cuts: Annotated[
        str | None,
        Option("List what --cut cuts, for lshdb restore.", metavar="FILE"),
    ] = None,
    null: Annotated[
        bool,
        Option("Print only paths of duplicates, with NUL bytes.", flags=("--null", "-0")),
    ] = False,
    db: Annotated[
        Path | None,
        Option(
            "Compare with it, add kept rows (not LSHDB_PATH).",
            metavar="FILE",
            flags=("--db", "-d"),
            parse=database_path,
        ),
    ] = None,
    timeout: Annotated[
        float, Option("Wait while another process writes.", metavar="SECONDS")
    ] = TIMEOUT,
    settings: SettingsOptions,
    asked: RowsOptions,
    reference_fields: ReferenceFields,
    list_skipped: ListSkipped = False,
    as_json: AsJson = False,
) -> None:
    """Drop rows that are similar to an earlier row.

    Rows keep their order, columns and types. The output's suffix says its format, else the
    input's. Without -o, a directory is a collection of text files: dedup prints the duplicates,
    with the kept file, and deletes nothing.

    Example: lshdb dedup crawl.parquet -o unique.parquet --dropped dropped.csv

    Example: lshdb dedup shards/ -o clean/ --key-field url --text-field body

    Example: lshdb dedup test.csv --against train.parquet -o clean.csv
    """
    against = None if asked.against is None else str(asked.against)
    reference_fields.check(against)
    # The first is the name that this command knows standard output by.
    output, dropped, cuts = (STDOUT if is_stdout(it) else it for it in (output, dropped, cuts))
    paths = list(expanded(inputs))
    check_read_twice(asked, paths)
    rule = Rule(asked, settings.threshold)
    if cuts is not None and asked.cut is None:
        raise UsageError("--cuts lists what is cut: give --cut WORDS")
    if against is not None:
        if against == STDOUT:
            raise UsageError("--against reads no standard input: save it to a file")
        check_there(against)
    are_texts = (
        asked.format == "auto"
        and paths
        and all(map(is_named_as_text, paths))
        and not any(map(kept_rows.begins_with_row, paths))
    )
    of_files = asked.format == "text" or (
        output is None and (are_texts or any(map(os.path.isdir, paths)))
    )
    if null and not of_files:
        raise UsageError("--null is for files: give a directory and no -o, or --format text")
    shown = list(asked.fields)
    if shown and not of_files and dropped is None:
        raise UsageError("--fields is for the list of dropped rows: give --dropped FILE")
    rules = regrouped(asked, WalkingOptions)
    skipped_files = SkippedFiles()
    skipped_files.on_skip = documents.report_skip if list_skipped else None
    directory: str | None = None
    if of_files:
        if output is not None or STDOUT in paths:
            raise UsageError("texts are compared as files and not written: no -o, no input -")
        for path in paths:
            kept_rows.check_readable(path)
    else:
        rules = replace(rules, ignore=False)  # data is often kept out of git
        tables = kept_rows.find_tables(inputs, rules, skipped_files)
        if cuts is not None and len(tables) > 1:
            raise UsageError("--cuts lists the cuts of one table: give one at a time")
        if output is not None and _is_directory(output, inputs):
            directory = output
        paths = [table.path for table in tables]
    outputs = {output or STDOUT: paths}
    if directory is not None:
        outputs = kept_rows.targets(tables, directory)
    if dropped == STDOUT and (of_files or STDOUT in outputs):
        raise UsageError("--dropped cannot be standard output, too: name a file")
    if cuts == STDOUT or (asked.cut is not None and of_files):
        raise UsageError("--cut is for tables, and --cuts names a file")
    check_distinct(
        [*paths, *filter(None, [against])],
        [*outputs, *map(str, filter(None, [dropped, cuts, db]))],
    )
    threshold, known = settings.threshold, None
    if against is not None and is_database(against):
        with lshdb.open(against, mode="read", timeout=timeout) as other:
            known = other.settings
    at = DatabaseFile(db=db or DATABASE, timeout=timeout)
    if db is not None and at.is_filled:
        settings = replace(settings, threshold=None)
        with at.open(settings=settings) as database:
            made = database.settings
        # What the file has of its own is noted once, though it is opened again.
        settings = replace(settings, **dict.fromkeys(OF_INDEX))
    else:
        settings = settings if known is None else as_in(settings, known)
        # Otherwise contents are kept while the command runs: exact similarities need them.
        if asked.estimate and db is None:
            settings = replace(settings, content=False)
        if db is not None and rule.copied:
            settings = replace(settings, passages=settings.passages or rule.copied)
        made = resolve(settings)
        settings = replace(settings, seed=made.seed)  # a random one is chosen once
    failures = documents.Failures(print_all=list_skipped)
    counts = dict.fromkeys(("kept", "dropped", "stored", "failed", "empty", "replaced"), 0)
    read = [*shown, *asked.ranked_by]
    with ExitStack() as stack:
        reader = reader_of(
            asked,
            made.shingling,
            format="text" if of_files else asked.format,
            fallback="jsonl",
            stdin=stdin(),
            auto_key=asked.auto_key or db is None,
            metadata=bool(read) if db is None else asked.metadata,  # else nobody would see it
            metadata_fields=asked.metadata_fields if db is not None else outermost(read),
            rules=rules,
            skip_tables=of_files and asked.format != "text",
            whole=True,
            naming=NAMING,
        )
        if not of_files and asked.format == "auto":
            kept_rows.check_rows(
                paths,
                "--format text compares texts, and writes none; --format jsonl reads the rows",
            )
        for name in {reader.key_field, *reader.content_field.split(",")}.intersection(shown):
            raise UsageError(
                f"--fields {name}: it is the key or the document, and --fields takes the others; "
                "the list has the file and line of each row"
            )
        reader.skipped_files = skipped_files
        if against is not None and known is None:
            reader.reference_files = FilesRead()
        # Temporary files may take as much room as the input: beside the output there is enough.
        beside = None if os.environ.get("TMPDIR") else directory_beside(next(iter(outputs)))
        kept = removed = listed = None
        if not of_files:
            kept = kept_rows.KeptRows(
                outputs, reader, beside, keep=db is not None, warn=warn_of_rest
            )
        its = replace(reader, naming=REFERENCE_NAMING, **reference_fields.given(asked))
        its.skipped_files.on_skip = skipped_files.on_skip
        if against is not None and known is None:
            messages.message(f"{against} is not a database: lshdb indexes it in a temporary one")

        def written(report: AddReport) -> None:
            counts["empty"] += report.empty
            for file in (kept, removed):
                if file is not None:
                    file.flush()

        options = regrouped(
            asked,
            DedupOptions,
            reader=reader,
            threshold=threshold,
            numbered=db is None,
            on_batch=written,
            on_failure=failures.report,
            progress=messages.shows_progress(),
        )
        screen = None
        columns = dropped_columns(shown, copied=bool(rule.copied))
        if against is not None:
            screen = stack.enter_context(reference(options, its, made, timeout, DEFAULTS, beside))
        if dropped is not None:
            removed = stack.enter_context(_dropped_sink(dropped, columns))
        if kept is not None:
            if directory is not None:
                for path in outputs:
                    os.makedirs(os.path.dirname(path), exist_ok=True)
            stack.enter_context(kept)
        if cuts is not None and kept is not None:
            # What a database has already is needed to restore the rows that stay.
            file = Output(cuts, keep=db is not None, warn=warn_of_rest)
            listed = CutList(stack.enter_context(file), kept.same_format)
        if db is None:
            store = stack.enter_context(temporary_store(rule.temporary(made), DEFAULTS, beside))
        else:
            store = stack.enter_context(at.open(settings=settings)).store
        messages.warn_of_low_recall(made, settings)
        for own in filter(None, (known, made)):
            messages.note_recall(own, made.threshold if threshold is None else threshold)
        outcomes = deduplicated_files(store, paths, options, screen)
        stack.enter_context(closing(outcomes))  # type: ignore[type-var]

        def dropped_rows() -> Iterator[Sequence[object]]:
            for outcome in outcomes:
                found = [one for one in outcome.dropped if one is not None]
                counts["kept"] += len(outcome.keys) - len(found)
                counts["dropped"] += len(found)
                if of_files and (db is not None or against is not None):
                    others = [one for one in found if not _is_itself(one, asked.root)]
                    counts["stored"] += len(found) - len(others)
                    found = others
                else:
                    counts["stored"] += sum(db is not None and one.key == one.kept for one in found)
                gone = [dropped_row(one, copied=bool(rule.copied)) for one in found]
                if listed is not None:
                    listed.write(outcome)
                if kept is not None and outcome.origin is not None:
                    kept.write(outcome.origin, outcome.kept)
                if removed is not None:
                    removed.put(gone)
                yield from gone

        rows = dropped_rows()
        if null:
            _print_paths(rows)
        elif of_files:
            results.write_results(
                columns,
                rows,
                Form(as_json=as_json),
                shown=("similarity", "exact", "key", "kept"),
                fields=shown,
                none="no file is similar to an earlier one",
            )
        else:
            for _ in results.noting_absent(columns, rows, shown):
                pass
        if listed is not None:
            listed.finish()
    documents.report_skipped_files(its.skipped_files.counts(), of=f"{against}: ")
    counts |= {"failed": failures.count, "replaced": reader.replaced}
    skipped = skipped_files.counts()
    if as_json:
        to_stderr = of_files or STDOUT in (*outputs, dropped)
        (messages.warn if to_stderr else print)(dumps({**counts, "skipped_files": skipped}))
    else:
        before = f" ({counts['stored']:,} stored before)" if counts["stored"] else ""
        messages.message(
            f"kept {counts['kept']:,}, dropped {counts['dropped']:,}{before}, "
            f"failed {failures.count:,}"
        )
        documents.report_reading(skipped, reader.replaced, counts["empty"])
    if failures.count:
        raise typer.Exit(running.FAILED)


def _is_itself(dropped: DroppedRow, root: str | None) -> bool:
    """Whether a file is similar to a stored document of its own, as its only copy is."""
    paths, others = (paths_of_key(key, root) for key in (dropped.key, dropped.kept))
    return dropped.key == dropped.kept or any(starmap(is_same_file, product(paths, others)))


def _print_paths(rows: Iterator[Sequence[object]]) -> None:
    """Print the keys of files as paths, each followed by a NUL byte."""
    for path in results.paths_of_keys(str(key) for key, *_ in rows):
        sys.stdout.buffer.write(path.encode("utf-8", "surrogateescape") + b"\0")
    sys.stdout.buffer.flush()


@contextmanager
def _dropped_sink(path: str, columns: Columns) -> Iterator[sinks.Sink]:
    """A list of dropped rows; UsageError for its format."""
    format = kept_rows.checked_format(path, "jsonl")
    head = formats.table_schema_of(columns, format)
    with (
        output_to(path) as output,
        formats.sink(sinks.Target(output, format, path == STDOUT), head) as rows,
    ):
        yield rows


# files


def _is_directory(output: str, inputs: Sequence[str]) -> bool:
    """Whether the output is a directory, or will be one."""
    if output == STDOUT or (os.path.exists(output) and not os.path.isdir(output)):
        return False
    if os.path.isdir(output) or output.endswith(os.sep):
        return True
    named = format_of(output) != "text" or compression_of(output) is not None
    return not named and any(os.path.isdir(one) or pattern_top(one) for one in inputs)
