"""`lshdb sync`: bring the database in line with directories."""

from dataclasses import asdict, replace
from typing import Annotated

import typer

from lshdb.cli import documents, messages, results, running
from lshdb.cli.options import (
    DatabaseFile,
    Form,
    ListSkipped,
)
from lshdb.ingest.sync import check_directories
from lshdb.model import SyncChange
from lshdb.options import Mode, SyncOptions


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
