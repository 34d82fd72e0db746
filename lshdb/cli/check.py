"""`lshdb check`: check whether the file is whole."""

from dataclasses import astuple
from pathlib import Path

import lshdb
from lshdb import offers
from lshdb.cli import messages, results, running
from lshdb.cli.options import DatabaseFile, Form
from lshdb.columns import Columns, columns_of
from lshdb.maintain import examining, findings
from lshdb.options import CheckOptions, RepairOptions
from lshdb.store.sqlite_errors import RESTORE

_PROBLEM: Columns = {**columns_of(findings.Problem), "count": int, "remaining": int}


def check(*, file: DatabaseFile, options: RepairOptions, form: Form) -> bool:
    """Check whether the file is whole: for SQLite, and for lshdb.

    Prints a line for each problem: the table with its column, the document's key, what is stored,
    and what it should be. Five of a column are listed, and all are counted. The exit status is 1 if
    there are problems, unless --repair removed all of them.

    --repair rebuilds bands from signatures, and signatures and counts of shingles from
    contents; it removes what belongs to no document. It never removes a document, and never
    believes a content that contradicts its digest.

    Example: lshdb check -d code.db --deep
    """
    form.check(file.db)
    running.end_on_interrupt()  # SQLite takes back what is half done
    report = lshdb.check(CheckOptions(file.db, repairs=options, timeout=running.timeout))
    if report.problems or not form.is_text:
        shown, places = ("table", "key", "stored", "expected"), report.remaining
        problems = (  # with their number in the column, also after repair
            (*astuple(problem), report.counts[problem.table], places.get(problem.table, 0))
            for problem in report.problems
        )
        results.write_results(_PROBLEM, problems, form, shown=shown)
    concluded = offers.offered(offers.OF_OPTIONS, "conclusion") if options.repair else conclusion
    (messages.message if report.ok else messages.warn)(concluded(file.db, report))
    return not report.ok


def conclusion(db: Path, report: findings.CheckReport, advice: str = "", written: str = "") -> str:
    """The last line of a check, with what to do about problems that remain.

    `written` says how many rows a repair has written.
    """
    checked = f"{report.documents:,} documents and {report.bands:,} band rows"
    if not report.problems:
        return f"{db} is whole: {checked}"
    if examining.DAMAGED in report.remaining:
        advice = (
            f"{RESTORE}, or save what can be read with the sqlite3 shell's "
            ".recover into a new file, and lshdb check --deep --repair that"
        )
    advice = advice or f"{checked} were looked at; --repair repairs what it can"
    remaining = ", ".join(f"{place} {count:,}" for place, count in sorted(report.remaining.items()))
    return f"lshdb: {db} has problems{written}: {remaining}: {advice}"
