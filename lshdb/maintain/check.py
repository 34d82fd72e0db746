"""Checking a file (lshdb.maintain.examining finds the problems); the app `repair` repairs it.

A check reads a snapshot of the file and blocks no writer.
"""

from pathlib import Path

from lshdb import errors, offers
from lshdb.maintain import examining
from lshdb.maintain.findings import CheckReport
from lshdb.options import CheckOptions, RepairOptions
from lshdb.progress import shown
from lshdb.store.connection import audited
from lshdb.store.store import Store
from lshdb.taking import takes


@takes(CheckOptions)
def check(options: CheckOptions) -> CheckReport:
    """Check whether a file is whole, also one that `open` refuses.

    Runs SQLite's own check, then checks tables and settings, and that each document with shingles
    has a signature and exactly the band rows that follow from it; with an index of passages, that
    each text has exactly the fingerprints that follow from it.

    `repair` writes, in one transaction, missing tables, indexes and views; counts of shingles and
    signatures from contents whose digests are right; band rows from signatures and fingerprints
    from contents, the whole table if any of its rows is wrong.
    Signatures without a document are removed. Band rows that a killed addition left to be written
    are written, if the file is whole then. Other problems stay, and are in
    `CheckReport.remaining`. A file that SQLite finds damaged, or whose triggers and the like would
    run, is not changed.

    Raises:
        StoreError: the file cannot be opened, or is not lshdb's; with `repair`, it cannot be
            written.

    >>> import lshdb
    >>> with lshdb.open("fables.db") as db:
    ...     report = db.add("fox", "The fox and the grapes")
    >>> lshdb.check("fables.db", deep=True).ok
    True
    """
    repairs, path = options.repairs, Path(options.path)
    if repairs.repair:
        report: CheckReport = offers.offered(offers.OF_OPTIONS, "repair")(options)
        return report
    try:
        with (
            shown(repairs.progress, "checking") as progress,
            audited(path, options.timeout) as file,
        ):
            return examining.Examination(file, repairs.deep, progress).report()
    except errors.DamagedFile as error:
        return damage_report(error, repairs.deep)


def damage_report(error: errors.DamagedFile, deep: bool) -> CheckReport:
    """The report about a file that SQLite cannot read."""
    damage, counts = (examining.damaged(str(error)),), {examining.DAMAGED: 1}
    return CheckReport(0, 0, deep, damage, counts, {}, counts)


def check_stored(store: Store, options: RepairOptions) -> CheckReport:
    """The same for an open file; see Database.check."""
    if options.repair and store.read_only:
        raise errors.ReadOnly(f"{store.path} was opened only to read: open it with mode='write'")
    return check(CheckOptions(path=store.path, timeout=store.timeout, repairs=options))
