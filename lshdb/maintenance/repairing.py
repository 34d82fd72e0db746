"""Repairing what an examination found, where it can be derived.

Each step needs what those before it repaired: tables, then documents, then the index. Where few
documents have wrong rows, only these rows are written; otherwise the table is rebuilt.
"""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from lshdb.maintenance import examining, reindex
from lshdb.progress import Progress
from lshdb.shingling.content import encoded
from lshdb.sketching.signing import sign
from lshdb.store import schema
from lshdb.store import statements as sql
from lshdb.store.guard import Connection
from lshdb.store.index import BANDS, RARE_WORDS, Index, IndexRows
from lshdb.store.sqlite_errors import translated_errors

_FEW = 256
"""Slots with wrong rows, up to which only these rows are written: 40,000 documents of 10 million,
some 100 MB for their rows."""


def repair_schema(
    file: Connection, _found: examining.Examination, _progress: Progress
) -> Counter[str]:
    """Create missing tables, indexes and views."""
    with translated_errors(file.path):
        return Counter({"schema-made": schema.make_missing(file)})


def repair_documents(
    file: Connection, found: examining.Examination, progress: Progress
) -> Counter[str]:
    """Derive counts of shingles and signatures from contents that have the documents' digests.

    Where a content and its digest differ, one of the two was changed, and both stay.
    """
    index = Index(file)
    index.delete_signatures(found.orphans)
    done = Counter({"signatures-removed": len(found.orphans)})
    settings, slots = found.settings, found.derivable
    if settings is None or not settings.content or not slots:
        return done
    for batch in examining.batches(file, settings, contents=True, slots=slots):
        right = batch.derivable()
        contents = [batch.contents[at] for at in right]
        doc_ids = [batch.documents[at].doc_id for at in right]
        file.run_many(sql.UPDATE_CONTENT, zip(doc_ids, map(encoded, contents), strict=True))
        index.sign_again(np.array(doc_ids, dtype=np.int64), sign(contents, settings))
        done["documents-derived"] += len(right)
        progress(done["documents-derived"], None, "documents")
    return done


def repair_index(
    file: Connection, found: examining.Examination, progress: Progress
) -> Counter[str]:
    """Write the rows of the tables that follow from signatures and contents."""
    done: Counter[str] = Counter()
    settings, index = found.settings, Index(file)
    if settings is None:
        return done
    for table, slots in found.differing.items():
        few = len(slots) <= _FEW and table is not RARE_WORDS
        batches = examining.batches(
            file, settings, contents=table is not BANDS, slots=slots if few else None
        )
        expected = (batch.rows(table) for batch in batches)
        if few:
            stored, wanted = _tuples(index.rows(table, slots)), _tuples(expected)
            index.delete(table, stored - wanted)
            missing = np.array(sorted(wanted - stored), dtype=np.int64)
            index.insert(table, missing.reshape(-1, 3).T)
            done[f"{table.name}-repaired"] = len(wanted ^ stored)
        elif table is BANDS:
            file.rows(sql.SET_INDEXED, None, None)
            file.rows(sql.DELETE_INDEXED)
            signatures = (batch.signatures() for batch in batches)
            done["bands-rebuilt"] = reindex.rebuild_bands(
                index, settings, signatures, found.documents, progress
            )
        elif table is RARE_WORDS:
            texts = (batch.texts() for batch in batches)
            done["rare-words-rebuilt"] = reindex.rebuild_terms(index, texts, progress)
        else:
            made = reindex.rebuild_fingerprints(index, expected, progress)
            done["fingerprints-rebuilt"] = made or found.tables[table].found
    return done


STEPS = repair_schema, repair_documents, repair_index


def _tuples(parts: Iterable[IndexRows]) -> set[tuple[int, ...]]:
    return {row for rows in parts for row in zip(*rows.tolist(), strict=True)}
