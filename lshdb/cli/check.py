"""`lshdb check`: check whether the file is whole."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lshdb
from lshdb.cli import messages, results, running
from lshdb.cli.options import DatabaseFile, Form
from lshdb.columns import Columns
from lshdb.maintenance import findings
from lshdb.options import CheckOptions, RepairOptions
from lshdb.store.sqlite_errors import RESTORE

_FINDING: Columns = {
    "finding": str,
    "kind": str,
    "count": int,
    "what": str,
    "examples": list,
    "remaining": int,
}


def check(*, file: DatabaseFile, options: RepairOptions, form: Form) -> bool:
    """Check whether the file is whole: for SQLite, and for lshdb.

    Prints a line per kind of problem: its name, how many there are, what it is, some examples
    (keys, for documents); then a line per kind of repair. The exit status is 1 if there are
    problems, unless --repair removed all of them.

    --repair rebuilds bands from signatures, and signatures and counts of shingles from
    contents; it removes what belongs to no document. It never removes a document, and never
    believes a content that contradicts its digest.

    Example: lshdb check -d code.db --deep
    """
    form.check(file.db)
    running.end_on_interrupt()  # SQLite takes back what is half done
    report = lshdb.check(CheckOptions(file.db, repairs=options, timeout=file.timeout))
    if report.problems or not form.is_text:
        shown = ("kind", "count", "what", "examples")
        results.write_results(_FINDING, _findings(report), form, shown=shown)
    (messages.message if report.ok else messages.warn)(_conclusion(file.db, report, options.repair))
    return not report.ok


def _findings(report: findings.CheckReport) -> Iterator[tuple[Any, ...]]:
    """The problems and the repairs as rows of _FINDING."""
    remaining = {problem.kind: problem.count for problem in report.remaining}
    for problem in report.problems:
        left = remaining.get(problem.kind, 0)
        what = findings.PROBLEMS[problem.kind]
        yield "problem", problem.kind, problem.count, what, problem.examples, left
    for repair in report.repairs:
        yield "repair", repair.kind, repair.count, findings.REPAIRS[repair.kind], (), None


def _conclusion(db: Path, report: findings.CheckReport, repair: bool) -> str:
    checked = f"{report.documents:,} documents and {report.bands:,} band rows"
    if not report.problems:
        return f"{db} is whole: {checked}"
    kinds = {problem.kind for problem in report.remaining}
    if not kinds:
        return f"{db} was repaired, and is whole"
    if "damaged" in kinds:
        what = (
            f"{RESTORE}, or save what can be read with the sqlite3 shell's "
            ".recover into a new file, and lshdb check --deep --repair that"
        )
    elif not repair:
        what = f"{checked} were looked at; --repair repairs what it can"
    elif kinds & {"schema", "settings"}:
        what = f"nothing is repaired; {RESTORE}, or drop what others have added"
    elif "digest" in kinds:  # as long as they are there, their digests are believed
        what = f"{RESTORE}, or remove those documents and add them again"
    else:
        what = "add those documents again"
    return f"lshdb: {db} still has {', '.join(sorted(kinds))}: {what}"
