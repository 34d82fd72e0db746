"""Checking a file, and repairing what can be derived (lshdb.maintenance.findings lists it all).

A check reads one moment of the file and blocks no writer. A repair is one transaction of some
steps, after each of which the file is examined again.
"""

from collections import Counter
from contextlib import closing
from pathlib import Path

from lshdb.errors import DamagedFile
from lshdb.groups import takes_only
from lshdb.maintenance import examining, findings, repairing
from lshdb.options import CheckOptions
from lshdb.progress import Progress, shown
from lshdb.store import index, late
from lshdb.store.connection import audited
from lshdb.store.guard import Connection
from lshdb.store.store import Store


@takes_only(CheckOptions)
def check(options: CheckOptions) -> findings.CheckReport:
    """Check whether a file is whole, also one that `open` refuses.

    Runs SQLite's own check, then checks tables and settings, and that each document with shingles
    has a signature and exactly the band rows that follow from it; with an index of passages, that
    each text has exactly the fingerprints that follow from it.

    `repair` writes, in one transaction, missing tables, indexes and views; counts of shingles and
    signatures from contents whose digests are right; band rows from signatures and fingerprints
    from contents: single rows where those of few documents differ, otherwise the whole table.
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
    try:
        opened = audited(Path(options.path), options.timeout, write=options.repair)
        with shown(options.progress, "checking") as progress, opened as file:
            report = _report(file, options, progress)
    except DamagedFile as error:
        damage = (findings.Problem("damaged", 1, (str(error),)),)
        return findings.CheckReport(0, 0, options.deep, damage, (), damage)
    if options.repair and report.ok:
        store = Store.open(Path(options.path), "write", options.timeout)
        with closing(store), shown(options.progress, "indexing") as progress:
            late.complete(store, progress)
    return report


def _report(file: Connection, options: CheckOptions, progress: Progress) -> findings.CheckReport:
    first = last = examining.Examination(file, options.deep, progress)
    done: Counter[str] = Counter()
    for step in repairing.STEPS if options.repair else ():
        if last.repairable and (written := +step(file, last, progress)):
            done += written
            last = examining.Examination(file, options.deep, progress)
    if done:
        file.rows("COMMIT")
    return findings.CheckReport(
        first.documents,
        first.tables[index.BANDS].found,
        options.deep,
        first.problems(),
        tuple(findings.Repair(kind, done[kind]) for kind in findings.REPAIRS if done[kind]),
        last.problems(),
    )
