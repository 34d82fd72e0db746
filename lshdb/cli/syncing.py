"""The command sync: the database in line with directories."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, replace
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from lshdb.cli.documents import Failures, reader_for, report_passed_over
from lshdb.cli.messages import message, progress_bar, warn
from lshdb.cli.options import DATABASE, TEXT, WALKING, DatabaseFile, Encoding, Form, Strict, Walking
from lshdb.cli.results import columns_of, write_record, write_results
from lshdb.cli.running import FAILED, INTERRUPTED, failed


def sync(
    directories: Annotated[list[str], typer.Argument(metavar="DIR...", help="Directories.")],
    at: DatabaseFile = DATABASE,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", "-n", help="Print what would happen, but change nothing."),
    ] = False,
    walking: Walking = WALKING,
    strict: Strict = False,
    encoding: Encoding = None,
    form: Form = TEXT,
) -> None:
    """Bring the database in line with directories: add, update and remove documents.

    Text files that are new are added, changed ones are updated, and documents whose files are gone
    are removed. A moved file keeps its document, with the new key. A file with the same size and
    time as before is not read again. Files that patterns exclude count as gone. Only documents
    that were read from text files below the directories are touched.

    Keys are those of add: run it in the same directory, or with the same --root.

    Example: lshdb sync -d notes.db notes/ --dry-run

    Example: lshdb sync -d /var/lib/notes.db --root /home /home/ann/notes
    """
    from lshdb.ingest.sync import check_directories
    from lshdb.model import AddReport, SyncChange

    form.check(at.db)
    check_directories(directories)
    failures = Failures()
    with ExitStack() as stack:
        if dry_run and not at.db.exists():
            directory = Path(stack.enter_context(TemporaryDirectory(prefix="lshdb-")))
            database = stack.enter_context(replace(at, db=directory / "none.db").open())
        else:
            database = stack.enter_context(at.open("read" if dry_run else "create"))
        reader = reader_for(
            database,
            strict=strict,
            encoding=encoding,
            rules=walking.rules(),
            root=walking.root,
        )
        total = AddReport()
        try:
            with progress_bar("reading files") as progress:

                def written(report: AddReport) -> None:
                    nonlocal total
                    total += report
                    progress(total.documents)

                report = database.sync(
                    directories,
                    reader,
                    dry_run=dry_run,
                    on_batch=written,
                    on_failure=failures.report,
                )
        except KeyboardInterrupt:
            raise failed("interrupted; run it again to go on", INTERRUPTED) from None
    if dry_run:
        columns = columns_of(SyncChange)
        rows = map(attrgetter(*columns), report.changes)
        write_results(columns, rows, form, counted=("change", "changes"), none="nothing to do")
    elif not form.is_text:
        record = asdict(report)
        del record["changes"]
        write_record(record, form)
    message(
        f"{'would have ' if dry_run else ''}added {report.added:,}, updated {report.updated:,}, "
        f"moved {report.moved:,}, removed {report.removed:,}, unchanged {report.unchanged:,}, "
        f"failed {report.failed:,}"
    )
    if report.replaced:
        warn(f"not UTF-8: {report.replaced:,}, bad bytes replaced (--strict refuses them)")
    report_passed_over(asdict(reader.passed_over))
    if report.left:
        message(
            f"kept {report.left:,} whose keys are in the directories but were not read from files"
        )
    if report.failed:
        raise typer.Exit(FAILED)
