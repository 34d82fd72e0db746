"""Checking a file, and repairing what can be derived (lshdb.maintenance.findings lists it all).

A check reads one moment of the file and keeps nobody from writing. A repair is one transaction,
from looking to writing to looking again.
"""

from __future__ import annotations

import os
from pathlib import Path

from lshdb.errors import DamagedFile
from lshdb.maintenance.examining import Examination
from lshdb.maintenance.findings import CheckReport, OnProgress, Problem, Repair
from lshdb.maintenance.repair import repair_derived
from lshdb.store.auditing import Auditor
from lshdb.store.connection import TIMEOUT


def check(
    path: str | os.PathLike[str] = "lsh.db",
    *,
    deep: bool = False,
    repair: bool = False,
    on_progress: OnProgress | None = None,
    timeout: float = TIMEOUT,
) -> CheckReport:
    """See whether a file is whole, also one that `open` refuses.

    Looks at what SQLite can tell, at tables and settings, and that each document with shingles
    has a signature, and just the band rows that this makes.

    Args:
        path: the file.
        deep: also shingle and sign all contents again, and compare digests, numbers of shingles
            and signatures.
        repair: repair what can be derived, in one transaction: digests, numbers of shingles and
            signatures from contents; all bands from signatures, if any differs; what is missing
            of tables, indexes and views; signatures without a document are removed. What cannot
            be derived stays as it is, and in `CheckReport.remaining`. Nothing is done to a file
            that SQLite finds damaged, or whose triggers and the like would run.
        on_progress: called with what is being done, how much of it is done, and of how much (0
            where it is not known).
        timeout: seconds to wait while another process writes.

    Raises:
        StoreError: the file cannot be opened, or is not lshdb's; with `repair`, it cannot be
            written.

    >>> import lshdb
    >>> with lshdb.open("fables.db") as db:
    ...     report = db.add("fox", "The fox and the grapes")
    >>> lshdb.check("fables.db", deep=True).ok
    True
    """
    tell = on_progress or _ignore
    try:
        auditor = Auditor(Path(path), timeout, write=repair)
    except DamagedFile as error:
        damage = (Problem("damaged", 1, (str(error),)),)
        return CheckReport(0, 0, deep, damage, (), damage)
    with auditor as audit:
        first = Examination(audit, deep, tell)
        problems = remaining = first.findings.problems()
        repairs: tuple[Repair, ...] = ()
        if repair and problems and first.mendable and first.settings is not None:
            repairs = repair_derived(audit, first.settings, deep, tell)
            if repairs:
                remaining = Examination(audit, deep, tell).findings.problems()
                audit.commit()
    return CheckReport(*first.counts, deep, problems, repairs, remaining)


def _ignore(_what: str, _done: int, _total: int) -> None:
    pass
