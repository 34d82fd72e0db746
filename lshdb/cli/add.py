"""`lshdb add`: add files, folders and tables, or replace what has changed."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Annotated

import typer

from lshdb import formatting, groups, offers
from lshdb.cli import documents, files, messages, results, running
from lshdb.cli.options import AsJson, DatabaseFile, ListSkipped, Null
from lshdb.database import Database
from lshdb.errors import InputError, UsageError
from lshdb.model import AddReport
from lshdb.options import INPUT, AddFilesOptions, FileName
from lshdb.read.files import File, resolved
from lshdb.read.paths import STDIN, escaped, expanded, listed, printable_path


def add(
    *,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH...", help="Files, directories, or - for standard input."),
    ] = None,
    file: DatabaseFile,
    options: AddFilesOptions,
    key: Annotated[
        str | None, groups.Option("Key of the text on standard input.", metavar="KEY")
    ] = None,
    files_from: Annotated[
        str | None,
        groups.Option("Add the paths that FILE (or -) lists.", metavar="FILE", section=INPUT),
    ] = None,
    null: Null = False,
    list_skipped: ListSkipped = False,
    as_json: AsJson = False,
) -> bool:
    """Add files, folders and tables, or replace what has changed.

    A text file is a document, and its path is its key. So is a JSON line, or a row of CSV, Parquet
    or Arrow; its other fields become metadata. The format is detected from the suffix, also before
    .gz, .bz2, .xz or .zst. What cannot be read is reported and left out. Naming another database
    adds all of its documents; a new database then takes its settings.

    Example: lshdb add -d code.db src/

    Example: lshdb add 'crawl/*.jsonl.zst' mails.csv --key-field url

    Example: lshdb add -d all.db monday.db tuesday.db --on-conflict keep
    """
    inputs = _inputs_of(paths or [], options, key, files_from, null=null)
    with _opened_like(file, paths or [], options.root) as database:
        counts = documents.counts_printed(print_all=list_skipped)
        session = documents.session_for(
            database.settings.shingling,
            options.read,
            files=options.files,
            sets=options.sets,
            counts=counts,
            stdin_key=key,
        )
        batches: list[AddReport] = []
        on_skip = None
        if options.add.on_similar == "skip":
            on_skip = offers.offered(offers.OF_OPTIONS, "on_similar")(as_json=as_json)
        options = groups.replaced(options, reader=session, on_batch=batches.append, on_skip=on_skip)
        interrupted = False
        try:
            database.add_files(inputs, options)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            # Also where the disk is full: the batches before are in the file.
            total = sum(batches, AddReport())
            _report(total, counts.skipped.counts(), as_json)
            if total.repeated and not as_json:
                messages.message(
                    f"repeated {total.repeated:,}: the last text of each key stays; --key-field "
                    "names another field, --auto-key without it numbers rows"
                )
    if interrupted:
        raise running.failed(
            "interrupted; what is counted above is in the file", running.INTERRUPTED
        )
    return total.failed > 0


def _inputs_of(
    paths: list[str],
    options: AddFilesOptions,
    key: str | None,
    files_from: str | None,
    *,
    null: bool,
) -> Iterable[str]:
    """What `add` reads: the paths, and those that a file lists; UsageError for its options."""
    if not paths and files_from is None:
        raise UsageError("give PATH..., or --files-from FILE")
    if null and files_from is None:
        raise UsageError("--null is for the list of --files-from")
    if files_from == STDIN and STDIN in paths:
        raise UsageError("standard input is the list of paths, so it cannot be added")
    if options.read.metadata_fields and not options.read.metadata:
        raise UsageError("give one of --metadata-fields and --no-metadata")
    is_text = options.read.table.format in ("auto", "text")
    if key is not None and (paths != [STDIN] or files_from or not is_text):
        raise UsageError("--key is for one text on standard input: lshdb add --key KEY -")
    if key == "":
        raise UsageError("--key is empty")
    if files_from is None:
        return paths
    return chain(paths, listed(files.entries_of(files_from, null=null)))


def _opened_like(file: DatabaseFile, paths: Sequence[str], root: FileName | None) -> Database:
    """The database; a new one has the settings of the first database that is added to it.

    Raises:
        InputError: no input exists: then no empty database is made, either.
    """
    if os.path.exists(file.db) and file.is_filled:  # a name may be too long for a file
        return file.open(root=root)
    inputs = [*map(resolved, expanded(paths))]
    if inputs and all(file_given.fault for file_given in inputs):
        raise InputError(
            f"{printable_path(inputs[0].path)}: no such file or directory"
            + f", nor are {len(inputs) - 1:,} more" * (len(inputs) > 1)
        )
    databases = [*filter(File.is_database, inputs)]
    source = databases and offers.offered(offers.DATABASES, "settings of a database")(
        databases, running.timeout
    )
    if not source:
        return file.open(root=root)
    path, settings = source
    database = file.open(root=root, made=settings)
    messages.message(f"{file.db} made with the settings of {escaped(path)}")
    return database


def _report(total: AddReport, skipped_files: Mapping[str, int], as_json: bool) -> None:
    if as_json:
        counts = asdict(total)
        del counts["failures"], counts["damaged"], counts["guessed"]  # printed, or below
        results.json_line({**counts, "skipped_files": skipped_files})
        return
    skipped = f"skipped {total.skipped:,}, " if total.skipped else ""
    messages.message(
        f"added {total.added:,}, updated {total.updated:,}, unchanged {total.unchanged:,}, "
        f"{skipped}failed {total.failed:,}"
    )
    if count := total.conflicts:
        action = "kept" if total.kept else "replaced"
        conflicts = formatting.counted(count, "document that has", "documents that have")
        named_keys = ", ".join(map(escaped, total.conflict_keys))
        dots = ", ..." if count > len(total.conflict_keys) else ""
        messages.message(
            f"{action} {conflicts} another content or metadata in an input: {named_keys}{dots}"
        )
    if total.decisions:
        decisions = formatting.counted(total.decisions, "decision")
        messages.message(f"added {decisions} of added databases")
    documents.report_reading(skipped_files, total.replaced, total.empty)
