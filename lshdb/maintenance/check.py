"""Checking a file, and repairing what can be derived (lshdb.maintenance.findings lists it all).

A check reads one moment of the file and keeps nobody from writing. A repair is one transaction,
from looking to writing to looking again.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import numpy as np

from lshdb.errors import DamagedFile
from lshdb.maintenance.examining import (
    Examination,
    faults_of,
    fingerprints_of,
    readable_contents,
    whole_signatures,
)
from lshdb.maintenance.findings import (
    CheckReport,
    OnProgress,
    Problem,
    ProblemKind,
    Repair,
    RepairKind,
)
from lshdb.maintenance.reindex import rebuild_bands, rebuild_fingerprints
from lshdb.model import Settings
from lshdb.settings import check_given, check_needed
from lshdb.shingling.content import digest, encoded
from lshdb.sketching.signing import sign
from lshdb.store.auditing import AuditedDocuments, Auditor
from lshdb.store.connection import TIMEOUT

_DERIVED: Final[tuple[ProblemKind, ...]] = (
    "content",
    "digest",
    "shingles",
    "signature",
    "signature-missing",
)
"""What is derived from a content."""


def check(
    path: str | os.PathLike[str] = "lsh.db",
    *,
    deep: bool = False,
    repair: bool = False,
    on_progress: OnProgress | None = None,
    timeout: float = TIMEOUT,
) -> CheckReport:
    """See whether a file is whole, also one that `open` refuses.

    Looks at what SQLite reports, at tables and settings, and that each document with shingles
    has a signature, and just the band rows that this makes; with an index of passages, that each
    text has just the fingerprints that it makes.

    Args:
        path: the file.
        deep: also shingle and sign all contents again, and compare digests, numbers of shingles
            and signatures.
        repair: repair what can be derived, in one transaction: digests, numbers of shingles and
            signatures from contents; all bands from signatures, if any differs, and all
            fingerprints from contents; what is missing of tables, indexes and views; signatures
            without a document are removed. What cannot be derived stays as it is, and in
            `CheckReport.remaining`. Nothing is done to a file that SQLite finds damaged, or whose
            triggers and the like would run.
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
    check_needed(path=path, timeout=timeout)
    check_given(on_progress=on_progress)
    report = on_progress or _ignore
    try:
        auditor = Auditor(Path(path), timeout, write=repair)
    except DamagedFile as error:
        damage = (Problem("damaged", 1, (str(error),)),)
        return CheckReport(0, 0, deep, damage, (), damage)
    with auditor as audit:
        first = Examination(audit, deep, report)
        problems = remaining = first.findings.problems()
        repairs: tuple[Repair, ...] = ()
        if repair and problems and first.repairable and first.settings is not None:
            repairs = _repair_derived(audit, first.settings, deep, report)
            if repairs:
                remaining = Examination(audit, deep, report).findings.problems()
                audit.commit()
    return CheckReport(*first.counts, deep, problems, repairs, remaining)


def _ignore(_what: str, _done: int, _total: int) -> None:
    pass


def _repair_derived(
    audit: Auditor, settings: Settings, deep: bool, on_progress: OnProgress
) -> tuple[Repair, ...]:
    """Repair what can be, within the auditor's transaction; nothing that is the user's goes.

    The file must be repairable (see Examination).

    Args:
        audit: of the file, for writing.
        settings: the file's.
        deep: whether all contents are shingled and signed again, to see whether they are right.
        on_progress: called with what is done, how much of it, and of how much.

    Returns:
        What was done.
    """
    done: dict[RepairKind, int] = {}
    done["schema-made"] = audit.make_missing()
    orphans = list(audit.orphan_signatures())
    audit.delete_signatures(orphans)
    done["signatures-removed"] = len(orphans)
    done["documents-derived"] = _derive_documents(audit, settings, deep, on_progress)
    # Another look: the signatures may be others by now, and the table of bands a new one.
    found = Examination(audit, False, on_progress).findings
    if "band-wrong" in found:
        batches = audit.documents(contents=False)
        rebuild_bands(
            audit,
            settings,
            (whole_signatures(batch, settings.permutations) for batch in batches),
            lambda rows: on_progress("rebuilding bands", rows, 0),
        )
        done["bands-rebuilt"] = settings.construction.bands
    if "fingerprint-wrong" in found:
        batches = audit.documents(contents=bool(settings.passages))
        rows = (fingerprints_of(batch, settings) for batch in batches)
        done["fingerprints-rebuilt"] = rebuild_fingerprints(audit, settings, rows) or 1
    return tuple(Repair(kind, count) for kind, count in done.items() if count)


def _derive_documents(
    audit: Auditor, settings: Settings, deep: bool, on_progress: OnProgress
) -> int:
    if not settings.content:
        return 0
    derived = seen = 0
    total, _ = audit.counts()
    for batch in audit.documents(contents=True):
        derived += _derive(audit, batch, settings, deep)
        seen += len(batch.keys)
        on_progress("repairing documents", seen, total)
    return derived


def _derive(audit: Auditor, batch: AuditedDocuments, settings: Settings, deep: bool) -> int:
    """Derive again what is wrong with documents of a batch and can be; how many."""
    faults = faults_of(batch, settings, deep)
    wrong = np.logical_or.reduce([faults[kind] for kind in _DERIVED])
    contents = {
        place: content
        for place, content in readable_contents(batch, settings).items()
        if content is not None and wrong[place]
    }
    if not contents:
        return 0
    signed = sign(list(contents.values()), settings)
    stored = [encoded(content) for content in contents.values()]
    audit.derive(
        batch.doc_ids[list(contents)],
        [digest(text.encode()) for text in stored],
        stored,
        signed.shingles,
        signed.signatures,
    )
    return len(contents)
