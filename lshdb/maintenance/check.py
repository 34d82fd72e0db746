"""Checking a file, and repairing what can be derived (lshdb.maintenance.findings lists it all).

A check reads one moment of the file and blocks no writer. A repair is one transaction of some
steps, after each of which the file is examined again.
"""

from collections import Counter
from pathlib import Path

from lshdb.errors import DamagedFile
from lshdb.groups import takes_only
from lshdb.maintenance.examining import Examination
from lshdb.maintenance.findings import REPAIRS, CheckReport, Problem, Repair
from lshdb.maintenance.repairing import repair_documents, repair_index, repair_schema
from lshdb.options import CheckOptions
from lshdb.progress import Progress, shown
from lshdb.store.auditing import Auditor, audited
from lshdb.store.index import BANDS


@takes_only(CheckOptions)
def check(options: CheckOptions) -> CheckReport:
    """Check whether a file is whole, also one that `open` refuses.

    Runs SQLite's own check, then checks tables and settings, and that each document with shingles
    has a signature and exactly the band rows that follow from it; with an index of passages, that
    each text has exactly the fingerprints that follow from it.

    `repair` writes, in one transaction, missing tables, indexes and views; counts of shingles and
    signatures from contents whose digests are right; band rows from signatures and fingerprints
    from contents: single rows where those of few documents differ, otherwise the whole table.
    Signatures without a document are removed. Other problems stay, and are in
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
        with shown(options.progress, "checking") as progress, opened as audit:
            return _report(audit, options, progress)
    except DamagedFile as error:
        damage = (Problem("damaged", 1, (str(error),)),)
        return CheckReport(0, 0, options.deep, damage, (), damage)


def _report(audit: Auditor, options: CheckOptions, progress: Progress) -> CheckReport:
    first = last = Examination(audit, options.deep, progress)
    done: Counter[str] = Counter()
    for step in (repair_schema, repair_documents, repair_index) if options.repair else ():
        if last.repairable and (written := +step(audit, last, progress)):
            done += written
            last = Examination(audit, options.deep, progress)
    if done:
        audit.commit()
    return CheckReport(
        first.documents,
        first.tables[BANDS].found,
        options.deep,
        first.problems(),
        tuple(Repair(kind, done[kind]) for kind in REPAIRS if done[kind]),
        last.problems(),
    )
