"""Checking a file, and repairing what can be derived (lshdb.maintenance.findings lists it all).

A check reads one moment of the file and blocks no writer. A repair is one transaction of some
steps, after each of which the file is examined again; each step needs what those before it
repaired: tables, then documents, then the index. Where few documents have wrong rows, only these
rows are written; otherwise the table is rebuilt.
"""

from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from itertools import chain
from pathlib import Path

import numpy as np

from lshdb.errors import DamagedFile
from lshdb.groups import takes
from lshdb.maintenance import findings, reindex
from lshdb.maintenance.examining import Examination, batches
from lshdb.options import CheckOptions
from lshdb.progress import Progress, shown
from lshdb.shingling.arrays import int_array
from lshdb.shingling.content import encoded
from lshdb.sketching.signing import sign
from lshdb.store import late, schema
from lshdb.store import statements as sql
from lshdb.store.connection import audited
from lshdb.store.guard import Connection
from lshdb.store.index import BANDS, RARE_WORDS, Index, IndexRows
from lshdb.store.store import Store

_FEW = 256
"""Slots with wrong rows, up to which only these rows are written: 40,000 documents of 10 million,
some 100 MB for their rows."""


@takes(CheckOptions)
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
        opened = audited(Path(options.path), options.timeout, write=options.repairs.repair)
        with shown(options.progress, "checking") as progress, opened as file:
            report = _report(file, options, progress)
    except DamagedFile as error:
        damage = (findings.Problem("damaged", 1, (str(error),)),)
        return findings.CheckReport(0, 0, options.repairs.deep, damage, (), damage)
    if options.repairs.repair and report.ok:
        store = Store.open(file.real_path, "write", options.timeout)  # links may have changed
        with closing(store), shown(options.progress, "indexing") as progress:
            late.complete(store, progress)
    return report


def _report(file: Connection, options: CheckOptions, progress: Progress) -> findings.CheckReport:
    first = last = Examination(file, options.repairs.deep, progress)
    done: Counter[str] = Counter()
    for step in _STEPS if options.repairs.repair else ():
        if last.repairable and (written := +step(file, last, progress)):
            done += written
            last = Examination(file, options.repairs.deep, progress)
    if done:
        file.rows("COMMIT")
    return findings.CheckReport(
        first.documents,
        first.tables[BANDS].found,
        options.repairs.deep,
        first.problems(),
        tuple(findings.Repair(kind, done[kind]) for kind in findings.REPAIRS if done[kind]),
        last.problems(),
    )


def _repair_schema(file: Connection, _found: Examination, _progress: Progress) -> Counter[str]:
    """Create missing tables, indexes and views."""
    with file.errors():
        faults = list(schema.faults(file))
        for statement in chain.from_iterable(fault.makes for fault in faults):
            file.execute(statement)
    return Counter({"schema-made": len(faults)})


def _repair_documents(file: Connection, found: Examination, progress: Progress) -> Counter[str]:
    """Derive counts of shingles and signatures from contents that have the documents' digests.

    Where a content and its digest differ, one of the two was changed, and both stay.
    """
    index = Index(file)
    index.delete_signatures(found.orphans)
    done = Counter({"signatures-removed": len(found.orphans)})
    settings, slots = found.settings, found.derivable
    if settings is None or not settings.content or not slots:
        return done
    for batch in batches(file, settings, contents=True, slots=slots):
        right = batch.derivable()
        contents = [batch.contents[at] for at in right]
        doc_ids = [batch.documents[at].doc_id for at in right]
        file.run_many(sql.UPDATE_CONTENT, zip(doc_ids, map(encoded, contents), strict=True))
        index.sign_again(int_array(doc_ids), sign(contents, settings))
        done["documents-derived"] += len(right)
        progress(done["documents-derived"], None, "documents")
    return done


def _repair_index(file: Connection, found: Examination, progress: Progress) -> Counter[str]:
    """Write the rows of the tables that follow from signatures and contents."""
    done: Counter[str] = Counter()
    settings, index = found.settings, Index(file)
    if settings is None:
        return done
    for table, slots in found.differing.items():
        few = len(slots) <= _FEW and table is not RARE_WORDS
        found_again = batches(
            file, settings, contents=table is not BANDS, slots=slots if few else None
        )
        expected = (batch.rows(table) for batch in found_again)
        if few:
            stored, wanted = _tuples(index.rows(table, slots)), _tuples(expected)
            index.delete(table, stored - wanted)
            missing = np.array(sorted(wanted - stored), dtype=np.int64)
            index.insert(table, missing.reshape(-1, 3).T)
            done[f"{table.name}-repaired"] = len(wanted ^ stored)
        elif table is BANDS:
            file.rows(sql.SET_INDEXED, None, None)
            file.rows(sql.DELETE_INDEXED)
            signatures = (batch.signatures() for batch in found_again)
            done["bands-rebuilt"] = reindex.rebuild_bands(
                index, settings, signatures, found.documents, progress
            )
        elif table is RARE_WORDS:
            texts = (batch.texts() for batch in found_again)
            done["rare-words-rebuilt"] = reindex.rebuild_terms(index, texts, progress)
        else:
            made = reindex.rebuild_fingerprints(index, expected, progress)
            done["fingerprints-rebuilt"] = made or found.tables[table].found
    return done


_STEPS = _repair_schema, _repair_documents, _repair_index


def _tuples(parts: Iterable[IndexRows]) -> set[tuple[int, ...]]:
    return {row for rows in parts for row in zip(*rows.tolist(), strict=True)}
