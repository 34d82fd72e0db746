"""The commands that fill a database: init, add, sync."""

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
from lshdb.columns import DROPPED
from lshdb.errors import UsageError
from lshdb.formatting import counted, number
from lshdb.groups import Option
from lshdb.ingest.failures import MAX_KEPT
from lshdb.ingest.sync import check_directories
from lshdb.model import AddReport, DroppedRow, SyncChange
from lshdb.options import AddFilesOptions, Mode, SettingsOptions, SyncOptions
from lshdb.sources.paths import STDIN, escaped, listed
from lshdb.sources.readers import Reader
from lshdb.tuning.resolve import resolve

_KEYS_SHOWN = 5


def init(*, at: DatabaseFile, settings: SettingsOptions, base: BasePaths = None) -> None:
    """Make a database with settings of your own.

    Not needed before add, which makes one with the defaults. A file that exists stays as it is:
    of the settings given, those of its index (threshold, recall, bands and rows) may differ, and a
    note says so; others are refused.

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
        messages.message(f"{at.db} {done}: shingle {made.shingling}, {messages.shape(made)}")
        messages.warn_of_low_recall(made, settings)


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
        Option("Add the paths that FILE (or -) lists.", metavar="FILE"),
    ] = None,
    null: Null = False,
    list_skipped: ListSkipped = False,
    as_json: AsJson = False,
) -> bool:
    """Add files, folders and tables, or replace what has changed.

    A text file is a document, and its path is its key. So is a JSON line, or a row of CSV, Parquet
    or Arrow; its other fields become metadata. The format is detected from the suffix, also before
    .gz, .bz2, .xz or .zst. What cannot be read is reported and left out. Of another database, if it
    is named itself, all documents are added.

    Example: lshdb add -d code.db src/

    Example: lshdb add 'crawl/*.jsonl.zst' mails.csv --key-field url

    Example: lshdb add -d all.db monday.db tuesday.db --on-conflict keep
    """
    paths = paths or []
    if not paths and files_from is None:
        raise UsageError("give PATH..., or --files-from FILE")
    if null and files_from is None:
        raise UsageError("--null is for the list of --files-from")
    if files_from == STDIN and STDIN in paths:
        raise UsageError("standard input is the list of paths, so it cannot be added")
    if asked.metadata_fields and not asked.metadata:
        raise UsageError("give one of --metadata-fields and --no-metadata")
    if key is not None and (paths != [STDIN] or files_from or asked.format not in ("auto", "text")):
        raise UsageError("--key is for one text on standard input: lshdb add --key KEY -")
    if key == "":
        raise UsageError("--key is empty")
    also = () if files_from is None else listed(files.entries_of(files_from, null=null))
    with at.open() as database:
        reader = documents.reader_for(database, asked, stdin_key=key)
        batches: list[AddReport] = []
        failures = documents.Failures(print_all=list_skipped)
        if list_skipped:
            reader.skipped_files.on_skip = documents.report_skip
        interrupted = False
        try:
            options = replace(
                asked,
                reader=reader,
                on_batch=batches.append,
                on_failure=failures.report,
                on_skip=partial(_print_dropped, as_json=as_json),
                progress=messages.shows_progress(),
            )
            database.add_files(chain(paths, also) if files_from else paths, options)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            # Also where the disk is full: the batches before are in the file.
            total = sum(batches, AddReport())
            _report(total, reader, as_json)
    if interrupted:
        raise running.failed(
            "interrupted; what is counted above is in the file", running.INTERRUPTED
        )
    return total.failed > 0


def _print_dropped(one: DroppedRow, *, as_json: bool) -> None:
    if as_json:
        results.json_line({name: getattr(one, name) for name in DROPPED})
    else:
        kind = results.exactness(one.exact, one.identical)
        print("\t".join(map(escaped, (str(number(one.similarity)), kind, one.key, one.kept))))


def _report(total: AddReport, reader: Reader, as_json: bool) -> None:
    skipped_files = reader.skipped_files.counts()
    if as_json:
        counts = asdict(total)
        del counts["failures"]  # each was printed
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
    """Bring the database in line with directories: add, update and remove documents.

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
    failures = documents.Failures(print_all=list_skipped)
    is_new = asked.dry_run and not at.db.exists()
    mode: Mode = "read" if asked.dry_run else "create"
    with documents.temporary_database() if is_new else at.open(mode) as database:
        reader = documents.reader_for(database, asked)
        if list_skipped:
            reader.skipped_files.on_skip = documents.report_skip
        try:
            options = replace(
                asked, reader=reader, on_failure=failures.report, progress=messages.shows_progress()
            )
            report = database.sync(directories, options)
        except KeyboardInterrupt:
            raise running.failed(
                "interrupted; run it again to go on", running.INTERRUPTED
            ) from None
    if asked.dry_run:
        changes = report.changes
        results.write_results(SyncChange, changes, form, noun=("change",), none="nothing to do")
    elif not form.is_text:
        record = asdict(report)
        del record["changes"], record["refused"], record["failures"]
        results.write_record(record | {"skipped_files": reader.skipped_files.counts()}, form)
    would = "would have " if asked.dry_run else ""
    messages.message(
        f"{would}added {report.added:,}, updated {report.updated:,}, "
        f"moved {report.moved:,}, removed {report.removed:,}, unchanged {report.unchanged:,}, "
        f"failed {report.failed:,}"
    )
    documents.report_reading(reader.skipped_files.counts(), report.replaced)
    if report.left:
        messages.message(
            f"kept {report.left:,} whose keys are in the directories but were not read from files"
        )
    if report.refused:
        messages.warn(f"the run itself will be refused: {report.refused}")
    return bool(report.failed or report.refused)
