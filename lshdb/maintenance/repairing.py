"""Repairing what an examination found, where it can be derived.

Each step needs what those before it repaired: tables, then documents, then the index. Where few
documents have wrong rows, only these rows are written; otherwise the table is rebuilt.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

import numpy as np

from lshdb.maintenance import examining, reindex
from lshdb.progress import Progress
from lshdb.shingling.arrays import IntArray
from lshdb.shingling.content import encoded
from lshdb.sketching.settings import Settings
from lshdb.sketching.signing import sign
from lshdb.store import auditing, schema
from lshdb.store import statements as sql
from lshdb.store.guard import Connection
from lshdb.store.index import BANDS, FINGERPRINTS, RARE_WORDS, Index, IndexRows, IndexTable
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
    Index(file).delete_signatures(found.orphans)
    done = Counter({"signatures-removed": len(found.orphans)})
    settings = found.settings
    if settings is None or not settings.content or not found.derivable:
        return done
    for batch in auditing.documents(file, contents=True, slots=found.derivable):
        checked = examining.CheckedBatch(batch, settings, deep=True)
        right = [at for at in checked.derivable() if at in checked.contents]
        contents = [checked.contents[at] for at in right]
        doc_ids = [batch[at].doc_id for at in right]
        auditing.derive(file, doc_ids, list(map(encoded, contents)), sign(contents, settings))
        done["documents-derived"] += len(right)
        progress(done["documents-derived"], None, "documents")
    return done


def repair_index(
    file: Connection, found: examining.Examination, progress: Progress
) -> Counter[str]:
    """Write the rows of bands and fingerprints that follow from signatures and contents."""
    done: Counter[str] = Counter()
    settings, index = found.settings, Index(file)
    if settings is None:
        return done
    for table, slots in found.differing.items():
        if table is RARE_WORDS:
            index.clear(table)
            done["rare-words-rebuilt"] = reindex.rebuild_terms(index, _texts(file), progress)
        elif len(slots) <= _FEW:
            expected = _expected(file, table, settings, slots)
            done[f"{table.name}-repaired"] = _write_differing(index, table, slots, expected)
        elif table is BANDS:
            file.rows(sql.SET_INDEXED, None, None)
            file.rows(sql.DELETE_INDEXED)
            batches = auditing.documents(file, contents=False)
            signatures = (examining.whole_signatures(batch, settings) for batch in batches)
            done["bands-rebuilt"] = reindex.rebuild_bands(
                index, settings, signatures, found.documents, progress
            )
        else:
            rows = _expected(file, table, settings, None)
            made = reindex.rebuild_fingerprints(index, settings, rows, progress)
            done["fingerprints-rebuilt"] = made or found.tables[table].found
    return done


def _texts(file: Connection) -> Iterator[tuple[IntArray, list[str]]]:
    """The ids and contents of the documents with shingles, some at a time."""
    for batch in auditing.documents(file, contents=True):
        some = {one.doc_id: one.content for one in batch if one.content and one.shingles > 0}
        yield np.array([*some], dtype=np.int64), [*some.values()]


STEPS = repair_schema, repair_documents, repair_index


def _expected(
    file: Connection, table: IndexTable, settings: Settings, slots: Collection[int] | None
) -> Iterator[IndexRows]:
    """The rows that a table should have, of all documents or of those in some slots."""
    if table is FINGERPRINTS and not settings.passages:
        return
    for batch in auditing.documents(file, contents=table is FINGERPRINTS, slots=slots):
        if table is BANDS:
            yield auditing.written(file, examining.bands_of(batch, settings))
        else:
            yield examining.CheckedBatch(batch, settings, deep=False).fingerprints


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
