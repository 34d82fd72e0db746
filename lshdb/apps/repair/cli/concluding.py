"""The last line of `lshdb check --repair`."""

from pathlib import Path

from lshdb.cli import check
from lshdb.maintain import examining
from lshdb.maintain.findings import CheckReport
from lshdb.store.sqlite_errors import RESTORE


def conclusion(db: Path, report: CheckReport) -> str:
    """What was repaired, and what to do about problems that remain."""
    counts = [f"{table} {count:,}" for table, count in report.repairs.items()]
    written = f" (rows written: {', '.join(counts)})" if counts else ""
    if report.problems and report.ok:
        return f"{db} was repaired, and is whole{written}"
    advice = "add those documents again"
    if report.remaining.keys() & {examining.SCHEMA, examining.SETTINGS}:
        advice = f"nothing is repaired; {RESTORE}, or drop what others have added"
    elif examining.DIGEST in report.remaining:  # while they are there, their digests are believed
        advice = f"{RESTORE}, or remove those documents and add them again"
    return check.conclusion(db, report, advice, written)
