"""Checking a file, and repairing what can be derived (lshdb.maintenance.findings lists it all).

A check reads one moment of the file and blocks no writer. A repair is one transaction: examine,
write, examine again.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
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
from lshdb.maintenance.findings import CheckReport, Problem, Repair
from lshdb.maintenance.reindex import rebuild_bands, rebuild_fingerprints
from lshdb.model import Settings
from lshdb.progress import Progress, shown
from lshdb.settings import check_needed
from lshdb.shingling.content import encoded
from lshdb.sketching.signing import sign
from lshdb.store.auditing import Auditor, audited
from lshdb.store.connection import TIMEOUT

_DERIVED: Final = ("content", "shingles", "signature", "signature-missing")
"""Kinds of values that are derived from a content. A digest is not: it shows that the content is
still the one that was added."""


def check(
    path: str | os.PathLike[str] = "lsh.db",
    *,
    deep: bool = False,
    repair: bool = False,
    progress: bool | Progress = False,
    timeout: float = TIMEOUT,
) -> CheckReport:
    """Check whether a file is whole, also one that `open` refuses.

    Runs SQLite's own check, then checks tables and settings, and that each document with shingles
    has a signature and exactly the band rows that follow from it; with an index of passages, that
    each text has exactly the fingerprints that follow from it.

    Args:
        path: the file.
        deep: also shingle and sign all contents again, and compare digests, counts of shingles
            and signatures.
        repair: repair what can be derived, in one transaction: counts of shingles and signatures
            from contents whose digests are right; all bands from signatures, if any differs, and
            all fingerprints from contents; missing tables, indexes and views. Signatures without a
            document are removed. Other problems stay, and are in `CheckReport.remaining`. A file
            that SQLite finds damaged, or whose triggers and the like would run, is not changed.
        progress: show a bar; or a function, called with the amount done, the total (or None), and
            the unit: `pages`, `documents`, `band rows`, then what is repaired.
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
    check_needed(path=path, timeout=timeout, progress=progress)
    with ExitStack() as stack:
        report = stack.enter_context(shown(progress, "checking"))
        try:
            audit = stack.enter_context(audited(Path(path), timeout, write=repair))
        except DamagedFile as error:
            damage = (Problem("damaged", 1, (str(error),)),)
            return CheckReport(0, 0, deep, damage, (), damage)
        first = Examination(audit, deep, report)
        problems = remaining = first.findings.problems()
        repairs: tuple[Repair, ...] = ()
        if repair and problems and first.repairable and first.settings is not None:
            repairs = _repair_derived(audit, first.settings, deep, report)
            if repairs:
                remaining = Examination(audit, deep, report).findings.problems()
                audit.commit()
    return CheckReport(*first.counts, deep, problems, repairs, remaining)


def _repair_derived(
    audit: Auditor, settings: Settings, deep: bool, progress: Progress
) -> tuple[Repair, ...]:
    """Repair what can be derived, within the auditor's transaction; no user data is removed.

    The file must be repairable (see Examination).

    Args:
        audit: of the file, for writing.
        settings: the file's.
        deep: whether to shingle and sign all contents again, and compare.
        progress: called now and then.

    Returns:
        The repairs.
    """
    done: dict[str, int] = {}
    done["schema-made"] = audit.make_missing()
    orphans = list(audit.orphan_signatures())
    audit.delete_signatures(orphans)
    done["signatures-removed"] = len(orphans)
    done["documents-derived"] = _derive_documents(audit, settings, deep, progress)
    # Examine again: signatures may have changed, and the table of bands may be new.
    found = Examination(audit, False, progress).findings
    if "band-wrong" in found:
        batches = audit.documents(contents=False)
        rebuild_bands(
            audit.index,
            settings,
            (whole_signatures(batch, settings.permutations) for batch in batches),
            audit.counts()[0],
            progress,
        )
        done["bands-rebuilt"] = settings.construction.bands
    if "fingerprint-wrong" in found:
        batches = audit.documents(contents=bool(settings.passages))
        rows = (fingerprints_of(batch, settings) for batch in batches)
        done["fingerprints-rebuilt"] = (
            rebuild_fingerprints(audit.index, settings, rows, progress) or 1
        )
    return tuple(Repair(kind, count) for kind, count in done.items() if count)


def _derive_documents(audit: Auditor, settings: Settings, deep: bool, progress: Progress) -> int:
    """Derive wrong values of documents again from contents that have the digests of documents.

    Where they differ one of the two was changed, and both stay. Returns how many were derived.
    """
    derived = seen = 0
    total, _ = audit.counts()
    for batch in audit.documents(contents=True) if settings.content else ():
        faults = faults_of(batch, settings, deep)
        wrong = np.logical_or.reduce([faults[kind] for kind in _DERIVED]) & ~faults["digest"]
        contents = {
            place: content
            for place, content in readable_contents(batch, settings).items()
            if content is not None and wrong[place]
        }
        if contents:
            stored = [encoded(content) for content in contents.values()]
            signed = sign(list(contents.values()), settings)
            audit.derive(batch.doc_ids[list(contents)], stored, signed)
        derived += len(contents)
        seen += len(batch.keys)
        progress(seen, total, "documents repaired")
    return derived
