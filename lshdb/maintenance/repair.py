"""Repairing what can be derived: signatures from contents, and bands from signatures."""

from __future__ import annotations

from typing import Final

import numpy as np

from lshdb.maintenance.examining import (
    Examination,
    faults_of,
    readable_contents,
    whole_signatures,
)
from lshdb.maintenance.findings import OnProgress, ProblemKind, Repair, RepairKind
from lshdb.maintenance.reindex import rebuild_bands
from lshdb.model import Settings
from lshdb.shingling.content import digest, encoded
from lshdb.sketching.signing import sign
from lshdb.store.auditing import AuditedDocuments, Auditor

_DERIVED: Final[tuple[ProblemKind, ...]] = (
    "content",
    "digest",
    "shingles",
    "signature",
    "signature-missing",
)
"""What is derived from a content."""


def repair_derived(
    audit: Auditor, settings: Settings, deep: bool, on_progress: OnProgress
) -> tuple[Repair, ...]:
    """Repair what can be, within the auditor's transaction; nothing that is the user's goes.

    The file must be mendable (see lshdb.maintenance.examining.Examination).

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
    if "band-wrong" in Examination(audit, False, on_progress).findings:
        batches = audit.documents(contents=False)
        rebuild_bands(
            audit,
            settings,
            (whole_signatures(batch, settings.permutations) for batch in batches),
            lambda rows: on_progress("rebuilding bands", rows, 0),
        )
        done["bands-rebuilt"] = settings.construction.bands
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
