"""Commands that look after the file: check, backup, reindex."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import lshdb
from lshdb.cli import options, results, running
from lshdb.cli.documents import base_texts
from lshdb.cli.messages import message, shape, shows_progress, warn, warn_of_low_recall
from lshdb.columns import Columns
from lshdb.errors import UsageError
from lshdb.formatting import counted, size
from lshdb.groups import Option, regrouped
from lshdb.maintenance.findings import PROBLEMS, REPAIRS, CheckReport
from lshdb.options import BackupOptions, CheckOptions, ReindexOptions, RepairOptions
from lshdb.store.partial_files import left_over
from lshdb.store.sqlite_errors import RESTORE

_FINDING: Columns = {
    "finding": str,
    "kind": str,
    "count": int,
    "what": str,
    "examples": list,
    "remaining": int,
}


def check(*, at: options.DatabaseFile, asked: RepairOptions, form: options.Form) -> bool:
    """Check whether the file is whole: for SQLite, and for lshdb.

    Prints a line per kind of problem: its name, how many there are, what it is, some examples
    (keys, for documents); then a line per kind of repair. The exit status is 1 if there are
    problems, unless --repair removed all of them.

    --repair rebuilds bands from signatures, and signatures and counts of shingles from
    contents; it removes what belongs to no document. It never removes a document, and never
    believes a content that contradicts its digest.

    Example: lshdb check -d code.db --deep
    """
    form.check(at.db)
    running.end_on_interrupt()  # SQLite takes back what is half done
    path, progress = at.db, shows_progress()
    report = lshdb.check(
        regrouped(asked, CheckOptions, path=path, timeout=at.timeout, progress=progress)
    )
    if report.problems or not form.is_text:
        shown = ("kind", "count", "what", "examples")
        results.write_results(_FINDING, _findings(report), form, shown=shown)
    conclusion = _conclusion(at.db, report, asked.repair)
    (message if report.ok else warn)(conclusion)
    return not report.ok


def _findings(report: CheckReport) -> Iterator[tuple[Any, ...]]:
    """The problems and the repairs as rows of _FINDING."""
    remaining = {problem.kind: problem.count for problem in report.remaining}
    for one in report.problems:
        left = remaining.get(one.kind, 0)
        yield "problem", one.kind, one.count, PROBLEMS[one.kind], one.examples, left
    for repair in report.repairs:
        yield "repair", repair.kind, repair.count, REPAIRS[repair.kind], (), None


def _conclusion(db: Path, report: CheckReport, repair: bool) -> str:
    looked_at = f"{report.documents:,} documents and {report.bands:,} band rows"
    if not report.problems:
        return f"{db} is whole: {looked_at}"
    kinds = {problem.kind for problem in report.remaining}
    if not kinds:
        return f"{db} was repaired, and is whole"
    if "damaged" in kinds:
        what = (
            f"{RESTORE}, or save what can be read with the sqlite3 shell's "
            ".recover into a new file, and lshdb check --deep --repair that"
        )
    elif not repair:
        what = f"{looked_at} were looked at; --repair repairs what it can"
    elif kinds & {"schema", "settings"}:
        what = f"nothing is repaired; {RESTORE}, or drop what others have added"
    elif "digest" in kinds:  # as long as they are there, their digests are believed
        what = f"{RESTORE}, or remove those documents and add them again"
    else:
        what = "add those documents again"
    return f"lshdb: {db} still has {', '.join(sorted(kinds))}: {what}"


def backup(
    *,
    target: Annotated[
        Path, typer.Argument(metavar="FILE", help="The file to create, or a backup.")
    ],
    at: options.DatabaseFile,
    asked: BackupOptions,
    restore: Annotated[
        bool, Option("Put FILE, a backup, in the place of the database.", flags=("--restore",))
    ] = False,
) -> None:
    """Copy the database, even while others write to it; or --restore it from a copy.

    The copy is the database as it was when the command began. It gets its name when it is
    complete and on the disk. A note names files that a killed run left beside it.

    --restore checks the copy, and puts it in the place of the database, which nobody may have open.
    The old file stays beside it, and a note names it. Do not copy a file over a database: the old
    log would stay beside it.

    Example: lshdb backup -d code.db monday.db
    """
    if restore:
        if asked.replace:
            raise UsageError("--restore keeps what it replaces: leave out --force")
        _restore(target, at)
        return
    for left in left_over(os.path.realpath(target)):
        message(f"lshdb: {left} was left by a killed run; delete it")
    with at.reading() as database:
        database.backup(target, replace(asked, progress=shows_progress()))
    message(f"{target} made: {target.stat().st_size:,} bytes")


def _restore(backup: Path, at: options.DatabaseFile) -> None:
    for left in left_over(os.path.realpath(at.db)):
        message(f"lshdb: {left} was left by a killed run; delete it")
    done = lshdb.restore_backup(backup, at.db, timeout=at.timeout, progress=shows_progress())
    text = f"{at.db} restored from {backup}: {counted(done.documents, 'document')}"
    if done.replaced:
        text += f"; {done.replaced} is what it was before: delete it when you do not need it"
    message(text)


def reindex(
    *, at: options.DatabaseFile, asked: ReindexOptions, base: options.BasePaths = None
) -> None:
    """Rebuild the index for another threshold, recall or shape, for passages or base texts.

    It is built from the stored signatures; for passages, rare words or other base texts from
    contents. Others can query the old index meanwhile, but not add. If it fails or is interrupted,
    the file is as before. Shingles, permutations, sketch and seed cannot change.

    Example: lshdb reindex -d code.db --threshold 0.6
    """
    with at.open("write") as database:
        before = database.settings
        if base:
            texts = {} if [*base] == ["none"] else base_texts(base, before.shingling)
            asked = replace(asked, base=texts)
        try:
            done = database.reindex(replace(asked, progress=shows_progress()))
        except KeyboardInterrupt:
            is_old = database.settings == before
            now = "the index is as before" if is_old else "the new index is in place"
            raise running.failed(f"interrupted; {now}", running.INTERRUPTED) from None
    warn_of_low_recall(done.after, asked)
    if done.after == done.before:
        message(f"{at.db} has {shape(done.after)} already: nothing to do")
        return
    written = f"{done.documents:,} documents" if done.rows else "band rows as before"
    free = f", {size(done.free)} of the file are free" if done.free >= 500_000 else ""
    message(f"{at.db} reindexed: {shape(done.after)}; {written}{free}")
