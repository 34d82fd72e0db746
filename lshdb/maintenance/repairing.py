"""Repairing what an examination found, where it can be derived.

Each step needs what those before it repaired: tables, then documents, then the index. Where few
documents have wrong rows, only these rows are written; otherwise the table is rebuilt.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

import numpy as np

from lshdb.maintenance import examining, reindex
from lshdb.progress import Progress
from lshdb.shingling.content import encoded
from lshdb.sketching.settings import Settings
from lshdb.sketching.signing import sign
from lshdb.store.auditing import Auditor
from lshdb.store.index import BANDS, FINGERPRINTS, Index, IndexRows, IndexTable

_FEW = 256
"""Slots with wrong rows, up to which only these rows are written: 40,000 documents of 10 million,
some 100 MB for their rows."""


def repair_schema(
    audit: Auditor, _found: examining.Examination, _progress: Progress
) -> Counter[str]:
    """Create missing tables, indexes and views."""
    return Counter({"schema-made": audit.make_missing()})


def repair_documents(
    audit: Auditor, found: examining.Examination, progress: Progress
) -> Counter[str]:
    """Derive counts of shingles and signatures from contents that have the documents' digests.

    Where a content and its digest differ, one of the two was changed, and both stay.
    """
    audit.index.delete_signatures(found.orphans)
    done = Counter({"signatures-removed": len(found.orphans)})
    settings = found.settings
    if settings is None or not settings.content or not found.derivable:
        return done
    for batch in audit.documents(contents=True, slots=found.derivable):
        checked = examining.CheckedBatch(batch, settings, deep=True)
        right = sorted(checked.derivable())
        known = {at: one for at in right if (one := checked.contents[at]) is not None}
        doc_ids, stored = [batch[at].doc_id for at in known], list(map(encoded, known.values()))
        audit.derive(doc_ids, stored, sign(list(known.values()), settings))
        done["documents-derived"] += len(known)
        progress(done["documents-derived"], None, "documents")
    return done


def repair_index(audit: Auditor, found: examining.Examination, progress: Progress) -> Counter[str]:
    """Write the rows of bands and fingerprints that follow from signatures and contents."""
    done: Counter[str] = Counter()
    settings, index = found.settings, audit.index
    for table, compared in found.tables.items():
        slots = compared.differing()
        if settings is None or not found.complete or not slots:
            continue
        if len(slots) <= _FEW:
            expected = _expected(audit, table, settings, slots)
            done[f"{table.name}-repaired"] = _write_differing(index, table, slots, expected)
        elif table is BANDS:
            audit.all_indexed()
            batches = audit.documents(contents=False)
            signatures = (examining.whole_signatures(batch, settings) for batch in batches)
            documents = found.documents
            done["bands-rebuilt"] = reindex.rebuild_bands(
                index, settings, signatures, documents, progress
            )
        else:
            rows = _expected(audit, table, settings, None)
            made = reindex.rebuild_fingerprints(index, settings, rows, progress)
            done["fingerprints-rebuilt"] = made or compared.found
    return done


def _expected(
    audit: Auditor, table: IndexTable, settings: Settings, slots: Collection[int] | None
) -> Iterator[IndexRows]:
    """The rows that a table should have, of all documents or of those in some slots."""
    if table is FINGERPRINTS and not settings.passages:
        return
    for batch in audit.documents(contents=table is FINGERPRINTS, slots=slots):
        if table is BANDS:
            yield audit.written(examining.bands_of(batch, settings))
        else:
            yield examining.CheckedBatch(batch, settings, deep=False).fingerprints()


def _write_differing(
    index: Index, table: IndexTable, slots: Collection[int], expected: Iterable[IndexRows]
) -> int:
    """Write the rows that differ in some slots; return how many."""
    wanted = _tuples(expected)
    stored = _tuples(index.rows(table, slots))
    index.delete(table, stored - wanted)
    missing = np.array(sorted(wanted - stored), dtype=np.int64)
    index.insert(table, missing.reshape(-1, 3).T)
    return len(wanted ^ stored)


def _tuples(parts: Iterable[IndexRows]) -> set[tuple[int, ...]]:
    return {row for rows in parts for row in zip(*rows.tolist(), strict=True)}
