"""`lshdb sync`: update the database from folders."""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Annotated

import typer

from lshdb.apps.compare.temporary import temporary_database
from lshdb.apps.folders.options import SyncOptions
from lshdb.apps.folders.sync import SyncChange, SyncReport, check_directories
from lshdb.cli import documents, messages, results, running
from lshdb.cli.options import DatabaseFile, Form, ListSkipped
from lshdb.database import Database
from lshdb.groups import replaced


def sync(
    *,
    directories: Annotated[list[str], typer.Argument(metavar="DIR...", help="Directories.")],
    file: DatabaseFile,
    options: SyncOptions,
    list_skipped: ListSkipped = False,
    form: Form,
) -> bool:
    """Update the database from folders: add, update and remove documents.

    Text files that are new are added, changed ones are updated, and documents whose files are gone
    are removed. A moved file keeps its document and decisions, with the new key; so does one of a
    folder that was moved, with --moved-from if that was to another disk. A file that looks as it
    did is not read again without --read-all. Files that patterns exclude count as gone. Only
    documents that were read from text files below the directories are touched. If most of a
    directory's files are gone, as if it was not mounted, nothing is removed without --remove-most;
    --dry-run says so, and exits with status 1 as the run itself.

    Keys are paths from the root, the database's folder unless it was made with another one. A
    folder that moves together with its database keeps all keys; where only one of them moved,
    --root says where the files are.

    Example: lshdb sync -d notes.db notes/ --dry-run

    Example: lshdb sync -d /var/lib/notes.db --root /home/ann /home/ann/notes
    """
    form.check(file.db)
    check_directories(directories)
    counts = documents.counts_printed(print_all=list_skipped)
    if options.dry_run and not file.db.exists():
        opened: AbstractContextManager[Database] = temporary_database(
            root=os.path.realpath(options.root or file.db.parent)
        )
    else:
        root = None if file.is_filled else options.root
        opened = file.open("read" if options.dry_run else "create", root=root)
    with opened as database:
        session = documents.session_for(
            database.settings.shingling,
            options.texts,
            files=options.files,
            counts=counts,
            on_failure=options.on_failure,
        )
        try:
            options = replaced(options, reader=session)
            report = database.sync(directories, options)
        except KeyboardInterrupt:
            raise running.failed(
                "interrupted; run it again to go on", running.INTERRUPTED
            ) from None
    _report_sync(report, options, counts.skipped.counts(), form)
    return bool(report.failed or report.refused)


def _report_sync(
    report: SyncReport, options: SyncOptions, skipped_files: Mapping[str, int], form: Form
) -> None:
    if options.dry_run:
        results.write_results(
            SyncChange, report.changes, form, noun=("change",), none="nothing to do"
        )
    elif not form.is_text:
        record = asdict(report)
        for name in ("changes", "refused", "failures", "damaged", "guessed"):
            del record[name]
        results.write_record(record | {"skipped_files": skipped_files}, form)
    would = "would have " if options.dry_run else ""
    messages.message(
        f"{would}added {report.added:,}, updated {report.updated:,}, "
        f"moved {report.moved:,}, removed {report.removed:,}, unchanged {report.unchanged:,}, "
        f"failed {report.failed:,}"
    )
    documents.report_reading(skipped_files, report.replaced, report.empty)
    if report.left:
        messages.message(
            f"kept {report.left:,} whose keys are in the directories but were not read from files"
        )
    if report.refused:
        messages.warn(f"the run itself will be refused: {report.refused}")
