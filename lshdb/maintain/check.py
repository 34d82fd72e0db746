"""Checking a file, and repairing what can be derived (lshdb.maintain.examining finds it).

A check reads a snapshot of the file and blocks no writer. A repair is one transaction of several
steps; after each step the file is examined again. The steps repair tables, then documents, then
the index, and each needs the repairs before it. A table of the index with wrong rows is rebuilt.
"""

from collections import Counter
from contextlib import closing
from itertools import chain
from pathlib import Path

from lshdb import errors
from lshdb.maintain import examining, reindex
from lshdb.maintain.examining import Examination, batches, is_derivable
from lshdb.maintain.findings import CheckReport
from lshdb.options import CheckOptions, RepairOptions
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
from lshdb.taking import takes
from lshdb.text.arrays import int_array
from lshdb.text.content import encoded


@takes(CheckOptions)
def check(options: CheckOptions) -> CheckReport:
    """Check whether a file is whole, also one that `open` refuses.

    Runs SQLite's own check, then checks tables and settings, and that each document with shingles
    has a signature and exactly the band rows that follow from it; with an index of passages, that
    each text has exactly the fingerprints that follow from it.

    `repair` writes, in one transaction, missing tables, indexes and views; counts of shingles and
    signatures from contents whose digests are right; band rows from signatures and fingerprints
    from contents, the whole table if any of its rows is wrong.
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
        with shown(options.repairs.progress, "checking") as progress, opened as file:
            report = _report(file, options, progress)
    except errors.DamagedFile as error:
        damage, counts = (examining.damaged(str(error)),), {examining.DAMAGED: 1}
        return CheckReport(0, 0, options.repairs.deep, damage, counts, {}, counts)
    if options.repairs.repair and report.ok:
        store = Store.open(file.real_path, "write", options.timeout)  # links may have changed
        with closing(store), shown(options.repairs.progress, "indexing") as progress:
            late.complete(store, progress)
    return report


def check_stored(store: Store, options: RepairOptions) -> CheckReport:
    """The same for an open file; see Database.check."""
    if options.repair and store.read_only:
        raise errors.ReadOnly(f"{store.path} was opened only to read: open it with mode='write'")
    return check(CheckOptions(path=store.path, timeout=store.timeout, repairs=options))


def _report(file: Connection, options: CheckOptions, progress: Progress) -> CheckReport:
    first = last = Examination(file, options.repairs.deep, progress)
    repairs: Counter[str] = Counter()
    for step in _STEPS if options.repairs.repair else ():
        if last.repairable and (written := +step(last)):
            repairs += written
            last = Examination(file, options.repairs.deep, progress)
    if repairs:
        file.rows("COMMIT")
    return CheckReport(
        first.documents,
        first.tables[BANDS.name].stored,
        options.repairs.deep,
        tuple(first.problems),
        dict(first.counts),
        dict(repairs),
        dict(last.counts),
    )


def _repair_schema(examination: Examination) -> Counter[str]:
    """Create missing tables, indexes and views."""
    file = examination.connection
    with file.errors():
        faults = list(schema.faults(file))
        for statement in chain.from_iterable(fault.makes for fault in faults):
            file.execute(statement)
        for part in examination.missing_parts:
            schema.make_part(file, part)
    return Counter({"sqlite_schema": len(faults) + len(examination.missing_parts)})


def _repair_documents(examination: Examination) -> Counter[str]:
    """Derive counts of shingles and signatures from contents that have the documents' digests.

    Where a content and its digest differ, one of the two was changed, and neither is repaired.
    """
    file = examination.connection
    index = Index(file)
    index.delete_signatures(examination.orphans)
    repairs = Counter({"signatures": len(examination.orphans)})
    settings = examination.settings
    if settings is None or not settings.content or not examination.is_derivable:
        return repairs
    for batch in batches(file, settings, contents=True):
        problems = [*batch.problems(deep=True)]
        right = [number for number in batch.contents if is_derivable(problems[number])]
        contents = [batch.contents[number] for number in right]
        doc_ids = [batch.documents[number].doc_id for number in right]
        file.run_many(sql.UPDATE_CONTENT, zip(doc_ids, map(encoded, contents), strict=True))
        index.sign_again(int_array(doc_ids), sign(contents, settings))
        repairs["documents"] += len(right)
        examination.progress(repairs["documents"], None, "documents")
    return repairs


def _repair_index(examination: Examination) -> Counter[str]:
    """Write the rows of the tables that follow from signatures and contents."""
    repairs: Counter[str] = Counter()
    file, progress = examination.connection, examination.progress
    settings, index = examination.settings, Index(file)
    if settings is None:
        return repairs
    for name in examination.differing:
        is_bands = name == BANDS.name
        checked_batches = batches(file, settings, contents=not is_bands)
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


_STEPS = _repair_schema, _repair_documents, _repair_index
