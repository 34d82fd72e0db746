"""The commands that fill a database: init, add, sync."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from typing import Annotated

import typer

from lshdb.cli import documents, files, messages, results, running
from lshdb.cli.options import (
    AsJson,
    BasePaths,
    DatabaseFile,
    Form,
    ListSkipped,
    Null,
)
from lshdb.database import Database
from lshdb.errors import UsageError
from lshdb.exchange.results import DROPPED
from lshdb.formatting import counted, number
from lshdb.groups import Option, replaced
from lshdb.ingest.add import first_database
from lshdb.ingest.sync import check_directories
from lshdb.model import AddReport, DroppedRow, SyncChange, SyncReport
from lshdb.opening import made_with
from lshdb.options import INPUT, AddFilesOptions, Mode, OpenOptions, SettingsOptions, SyncOptions
from lshdb.sketching.settings import purpose_in_words
from lshdb.sources.counts import MAX_KEPT
from lshdb.sources.paths import STDIN, escaped, listed
from lshdb.tuning.resolve import resolve

_KEYS_SHOWN = 5
_INTERRUPTED = "interrupted; what is counted above is in the file"


def init(*, at: DatabaseFile, settings: SettingsOptions, base: BasePaths = None) -> None:
    """Make a database with settings of your own.

    Prints what the database finds. Not needed before add, which makes one with the defaults. A file
    that exists stays as it is: settings of its index (threshold, recall, bands and rows) may differ
    from those given, and a note says so; other settings that differ are refused.

    Example: lshdb init -d code.db --threshold 0.7 --shingle char:5

    Example: lshdb init -d class.db --for programs --base template/
    """
    if base:
        texts = documents.base_texts(base, resolve(settings).shingling)
        settings = replace(settings, base=texts)
    existed = at.is_filled
    with at.open(settings=settings) as database:
        made = database.settings
        done = "exists already" if existed else "made"
        messages.message(f"{at.db} {done}: {purpose_in_words(made)}")
        messages.warn_of_low_recall(made, settings.shape)


def add(
    *,
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH...",
            help="Files, directories, or - for standard input.",
        ),
    ] = None,
    at: DatabaseFile,
    asked: AddFilesOptions,
    key: Annotated[
        str | None,
        Option("Key of the text on standard input.", metavar="KEY"),
    ] = None,
    files_from: Annotated[
        str | None,
        Option("Add the paths that FILE (or -) lists.", metavar="FILE", section=INPUT),
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
    inputs = _inputs_of(paths or [], asked, key, files_from, null=null)
    with _opened_like(at, paths or []) as database:
        counts = documents.counts_printed(print_all=list_skipped)
        session = documents.session_for(
            database, asked.read, files=asked.files, sets=asked.sets, counts=counts, stdin_key=key
        )
        batches: list[AddReport] = []
        interrupted = False
        try:
            options = replaced(
                asked,
                reader=session,
                on_batch=batches.append,
                on_skip=partial(_print_dropped, as_json=as_json),
                progress=messages.shows_progress(),
            )
            database.add_files(inputs, options)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            # Also where the disk is full: the batches before are in the file.
            total = sum(batches, AddReport())
            _report(total, counts.skipped.counts(), as_json)
    if interrupted:
        raise running.failed(_INTERRUPTED, running.INTERRUPTED)
    return total.failed > 0


def _inputs_of(
    paths: list[str], asked: AddFilesOptions, key: str | None, files_from: str | None, *, null: bool
) -> Iterable[str]:
    """What `add` reads: the paths, and those that a file lists; UsageError for its options."""
    if not paths and files_from is None:
        raise UsageError("give PATH..., or --files-from FILE")
    if null and files_from is None:
        raise UsageError("--null is for the list of --files-from")
    if files_from == STDIN and STDIN in paths:
        raise UsageError("standard input is the list of paths, so it cannot be added")
    if asked.read.metadata_fields and not asked.read.metadata:
        raise UsageError("give one of --metadata-fields and --no-metadata")
    is_text = asked.read.table.format in ("auto", "text")
    if key is not None and (paths != [STDIN] or files_from or not is_text):
        raise UsageError("--key is for one text on standard input: lshdb add --key KEY -")
    if key == "":
        raise UsageError("--key is empty")
    if files_from is None:
        return paths
    return chain(paths, listed(files.entries_of(files_from, null=null)))


def _opened_like(at: DatabaseFile, paths: Sequence[str]) -> Database:
    """The database; a new one has the settings of the first database that is added to it."""
    is_filled = os.path.exists(at.db) and at.is_filled  # a name may be too long for a file
    first = None if is_filled else first_database(paths, at.timeout)
    if first is None:
        return at.open()
    path, settings = first
    database = made_with(settings, OpenOptions(path=at.db, timeout=at.timeout))
    messages.message(f"{at.db} made with the settings of {escaped(path)}")
    return database


def _print_dropped(one: DroppedRow, *, as_json: bool) -> None:
    if as_json:
        results.json_line({name: getattr(one, name) for name in DROPPED})
    else:
        kind = results.exactness(one.exact, one.identical)
        print("\t".join(map(escaped, (str(number(one.similarity)), kind, one.key, one.kept))))


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
    if total.conflicts:
        did, count = ("kept", total.kept) if total.kept else ("replaced", len(total.conflicts))
        amount = f"{count:,} or more" if count == MAX_KEPT else f"{count:,}"
        have = "document that has" if count == 1 else "documents that have"
        first = ", ".join(map(escaped, total.conflicts[:_KEYS_SHOWN]))
        more = ", ..." if count > _KEYS_SHOWN else ""
        messages.message(
            f"{did} {amount} {have} another content or metadata in an added database: {first}{more}"
        )
    if total.decisions:
        messages.message(
            f"left out {counted(total.decisions, 'decision')} of added databases: they stay there"
        )
    documents.report_reading(skipped_files, total.replaced, total.empty)


def sync(
    *,
    directories: Annotated[list[str], typer.Argument(metavar="DIR...", help="Directories.")],
    at: DatabaseFile,
    asked: SyncOptions,
    list_skipped: ListSkipped = False,
    form: Form,
) -> bool:
    """Update the database from folders: add, update and remove documents.

    Text files that are new are added, changed ones are updated, and documents whose files are gone
    are removed. A moved file keeps its document, with the new key. A file with the same size and
    time as before is not read again. Files that patterns exclude count as gone. Only documents
    that were read from text files below the directories are touched. If most of a directory's
    files are gone, as if it was not mounted, nothing is removed without --yes; --dry-run says so,
    and exits with status 1 as the run itself.

    Keys are those of add: run it in the same directory, or with the same --root.

    Example: lshdb sync -d notes.db notes/ --dry-run

    Example: lshdb sync -d /var/lib/notes.db --root /home /home/ann/notes
    """
    form.check(at.db)
    check_directories(directories)
    counts = documents.counts_printed(print_all=list_skipped)
    is_new = asked.dry_run and not at.db.exists()
    mode: Mode = "read" if asked.dry_run else "create"
    with documents.temporary_database() if is_new else at.open(mode) as database:
        session = documents.session_for(
            database, asked.texts, files=asked.files, counts=counts, on_failure=asked.on_failure
        )
        try:
            options = replaced(asked, reader=session, progress=messages.shows_progress())
            report = database.sync(directories, options)
        except KeyboardInterrupt:
            raise running.failed(
                "interrupted; run it again to go on", running.INTERRUPTED
            ) from None
    _report_sync(report, asked, counts.skipped.counts(), form)
    return bool(report.failed or report.refused)


def _report_sync(
    report: SyncReport, asked: SyncOptions, skipped_files: Mapping[str, int], form: Form
) -> None:
    if asked.dry_run:
        changes = report.changes
        results.write_results(SyncChange, changes, form, noun=("change",), none="nothing to do")
    elif not form.is_text:
        record = asdict(report)
        for name in ("changes", "refused", "failures", "damaged", "guessed"):
            del record[name]
        results.write_record(record | {"skipped_files": skipped_files}, form)
    would = "would have " if asked.dry_run else ""
    messages.message(
        f"{would}added {report.added:,}, updated {report.updated:,}, "
        f"moved {report.moved:,}, removed {report.removed:,}, unchanged {report.unchanged:,}, "
        f"failed {report.failed:,}"
    )
    documents.report_reading(skipped_files, report.replaced)
    if report.left:
        messages.message(
            f"kept {report.left:,} whose keys are in the directories but were not read from files"
        )
    if report.refused:
        messages.warn(f"the run itself will be refused: {report.refused}")
