"""Repairing what can be derived in a file.

A repair is one transaction of several steps; after each step the file is examined again
(lshdb.maintain.examining). The steps repair tables, then documents, then the index, and each needs
the repairs before it. A table of the index with wrong rows is rebuilt.
"""

from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from itertools import chain
from pathlib import Path

from lshdb import errors
from lshdb.maintain import examining, reindex
from lshdb.maintain.check import damage_report
from lshdb.maintain.examining import Examination, batches
from lshdb.maintain.findings import CheckReport, Problem
from lshdb.options import CheckOptions
from lshdb.progress import Progress, shown
from lshdb.sketch.settings import parts_of
from lshdb.sketch.signing import sign
from lshdb.store import late, schema
from lshdb.store import statements as sql
from lshdb.store.connection import audited
from lshdb.store.guard import Connection
from lshdb.store.index import BANDS, Index
from lshdb.store.parts import part as part_of_index
from lshdb.store.store import Store
from lshdb.text.arrays import int_array
from lshdb.text.content import encoded

_DERIVED = {"documents.content", "documents.shingles", "signatures.signature"}
"""Values that can be derived from a content with the right digest."""


def repaired(options: CheckOptions) -> CheckReport:
    """Check a file, repair what can be derived, and check what is left; see `lshdb.check`."""
    path, request = Path(options.path), options.repairs
    try:
        with (
            shown(request.progress, "checking") as progress,
            audited(path, options.timeout, write=True) as file,
        ):
            report = _repaired(file, request.deep, progress)
            real_path = file.real_path
    except errors.DamagedFile as error:
        return damage_report(error, request.deep)
    if report.ok:
        store = Store.open(real_path, "write", options.timeout)  # links may have changed
        with closing(store), shown(request.progress, "indexing") as progress:
            late.complete(store, progress)
    return report


def _repaired(file: Connection, deep: bool, progress: Progress) -> CheckReport:
    first = last = Examination(file, deep, progress)
    repairs: Counter[str] = Counter()
    for step in _repair_schema, _repair_documents, _repair_index:
        if _is_repairable(last) and (written := +step(last)):
            repairs += written
            last = Examination(file, deep, progress)
    if repairs:
        file.rows("COMMIT")
    return replace(first.report(), repairs=dict(repairs), remaining=dict(last.counts))


def _is_repairable(examination: Examination) -> bool:
    """Whether the file can be written safely.

    SQLite finds no damage, and its schema and settings are lshdb's, except parts that can be
    created.
    """
    is_readable = examination.counts.keys().isdisjoint({examining.DAMAGED, examining.SETTINGS})
    return is_readable and all(fault.makes for fault in examination.faults)


def _repair_schema(examination: Examination) -> Counter[str]:
    """Create missing tables, indexes and views, and the parts that the settings name."""
    file, stored = examination.connection, examination.stored
    parts = parts_of(stored.settings).keys() - stored.parts if stored else ()
    with file.errors():
        faults = list(schema.faults(file))
        for statement in chain.from_iterable(fault.makes for fault in faults):
            file.execute(statement)
        for part in parts:
            schema.make_part(file, part)
    return Counter({"sqlite_schema": len(faults) + len(parts)})


def _repair_documents(examination: Examination) -> Counter[str]:
    """Derive counts of shingles and signatures from contents that have the documents' digests.

    Where a content and its digest differ, one of the two was changed, and neither is repaired.
    Signatures without a document are removed.
    """
    file, stored = examination.connection, examination.stored
    repairs: Counter[str] = Counter()
    index = Index(file)
    if "signatures.doc_id" in examination.counts:
        rows = file.rows(sql.BROKEN_REFERENCES)
        orphans = [doc_id for table, doc_id in rows if table == "signatures"]
        index.delete_signatures(orphans)
        repairs["signatures"] = len(orphans)
    is_derivable = not _DERIVED.isdisjoint(examination.counts)
    if stored is None or not stored.settings.content or not is_derivable:
        return repairs
    for batch in batches(file, stored, contents=True):
        problems = [*batch.problems(deep=True)]
        right = [number for number in batch.contents if _is_derivable(problems[number])]
        contents = [batch.contents[number] for number in right]
        doc_ids = [batch.documents[number].doc_id for number in right]
        file.run_many(sql.UPDATE_CONTENT, zip(doc_ids, map(encoded, contents), strict=True))
        index.sign_again(int_array(doc_ids), sign(contents, stored.settings))
        repairs["documents"] += len(right)
        examination.progress(repairs["documents"], None, "documents")
    return repairs


def _is_derivable(problems: Iterable[Problem]) -> bool:
    """Whether values of a document with these problems can be derived from its content."""
    tables = {problem.table for problem in problems}
    return bool(tables & _DERIVED) and examining.DIGEST not in tables


def _repair_index(examination: Examination) -> Counter[str]:
    """Write the rows of the tables that follow from signatures and contents."""
    repairs: Counter[str] = Counter()
    file, progress = examination.connection, examination.progress
    stored, index = examination.stored, Index(file)
    if stored is None:
        return repairs
    settings = stored.settings
    for name in filter(examination.counts.__contains__, examination.tables):
        is_bands = name == BANDS.name
        checked_batches = batches(file, stored, contents=not is_bands)
        if is_bands:
            file.rows(sql.SET_INDEXED, None, None)
            file.rows(sql.DELETE_INDEXED)
            signatures = (batch.signatures() for batch in checked_batches)
            repairs[name] = reindex.rebuild_bands(
                index, settings, signatures, examination.documents, progress
            )
        else:
            texts = (batch.texts() for batch in checked_batches if name in parts_of(settings))
            written = part_of_index(name).rebuild(index, texts, settings, progress)
            repairs[name] = written or examination.tables[name].stored
    return repairs
