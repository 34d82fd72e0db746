"""Commands that look after the file: check, backup."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lshdb.cli.messages import message, tell
from lshdb.cli.options import DEFAULT_PATH, DEFAULT_TIMEOUT, AsJson, DatabasePath, Timeout
from lshdb.cli.results import json_line, table
from lshdb.cli.running import FAILED, end_on_interrupt

if TYPE_CHECKING:
    from lshdb.maintenance.findings import CheckReport


def check(
    db: DatabasePath = DEFAULT_PATH,
    timeout: Timeout = DEFAULT_TIMEOUT,
    deep: Annotated[
        bool,
        typer.Option("--deep", help="Also shingle and sign all contents again, and compare."),
    ] = False,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Put right what can be derived, in one transaction."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """See whether the file is whole: for SQLite, and for lshdb.

    Each kind of problem is a line: its name, how many there are, what it is, some examples (keys,
    where it is about documents). The exit status is 1 if there are any, unless --repair put all
    of them right.

    --repair rebuilds bands from signatures, and signatures, digests and numbers of shingles from
    contents; what belongs to no document is removed. Documents never are.

    Example: lshdb check -d code.db --deep
    """
    import lshdb
    from lshdb.cli.progress import progress_bar

    end_on_interrupt()  # SQLite takes back what is half done
    with progress_bar() as progress:
        report = lshdb.check(
            db,
            timeout=timeout,
            deep=deep,
            repair=repair,
            on_progress=lambda what, done, total: progress(done, total, label=what),
        )
    (_print_json if as_json else _print_lines)(report)
    conclusion = _conclusion(db, report, repair)
    if report.ok:
        message(conclusion)
    else:
        tell(conclusion)
        raise typer.Exit(FAILED)


def _print_json(report: CheckReport) -> None:
    remaining = {problem.kind: problem.count for problem in report.remaining}
    for problem in report.problems:
        json_line(
            {
                "problem": problem.kind,
                "count": problem.count,
                "examples": problem.examples,
                "remaining": remaining.get(problem.kind, 0),
            }
        )
    for repair in report.repairs:
        json_line({"repair": repair.kind, "count": repair.count})


def _print_lines(report: CheckReport) -> None:
    from lshdb.maintenance.findings import PROBLEMS, REPAIRS

    if report.problems:
        table(
            ("problem", "count", "what", "examples"),
            [
                (one.kind, one.count, PROBLEMS[one.kind], ", ".join(one.examples))
                for one in report.problems
            ],
        )
    if report.repairs:
        repaired = [("repaired", one.count, REPAIRS[one.kind], "") for one in report.repairs]
        table(("", "count", "what", ""), repaired)


def _conclusion(db: Path, report: CheckReport, repair: bool) -> str:
    looked_at = f"{report.documents:,} documents and {report.bands:,} band rows"
    if not report.problems:
        return f"{db} is whole: {looked_at}"
    kinds = {problem.kind for problem in report.remaining}
    if not kinds:
        return f"{db} was repaired, and is whole"
    if "damaged" in kinds:
        return (
            f"lshdb: {db} is damaged: restore it from a backup, or save what can be read with "
            "the sqlite3 shell's .recover into a new file, and lshdb check --deep --repair that"
        )
    if kinds & {"schema", "settings"} and repair:
        return (
            f"lshdb: {db} was not repaired, for its tables or settings are not lshdb's: restore "
            "it from a backup, or drop what others have added"
        )
    if repair:
        return f"lshdb: {db} still has {', '.join(sorted(kinds))}: add those documents again"
    return f"lshdb: {db} has problems: {looked_at} were looked at; --repair repairs what it can"


def backup(
    target: Annotated[
        Path, typer.Argument(metavar="FILE", help="The file to be made.", readable=False)
    ],
    db: DatabasePath = DEFAULT_PATH,
    timeout: Timeout = DEFAULT_TIMEOUT,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the file if it is there.")
    ] = False,
) -> None:
    """Copy the database, also while others write to it.

    The copy is the database as it was when the command began. It gets its name when it is
    complete and on the disk. What a run that was killed left beside it is told.

    Example: lshdb backup -d code.db monday.db
    """
    import lshdb
    from lshdb.cli.progress import progress_bar
    from lshdb.store.partial_files import left_over

    for left in left_over(os.path.realpath(target)):
        message(f"lshdb: {left} is of a run that was killed; delete it")
    with (
        lshdb.open(db, mode="read", timeout=timeout) as database,
        progress_bar("copying") as progress,
    ):
        database.backup(target, replace=force, on_progress=progress)
    message(f"{target} made: {target.stat().st_size:,} bytes")
