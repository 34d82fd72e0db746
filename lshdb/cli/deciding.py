"""The commands about which documents stay: review, decide, decisions, remove, trash."""

import shlex
import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, get_args

from lshdb.cli import results, running
from lshdb.cli.files import entries_of, stdin
from lshdb.cli.messages import message, warn
from lshdb.cli.options import (
    DatabaseFile,
    Form,
    Null,
    Own,
    Who,
    key_argument,
)
from lshdb.errors import KeyNotFound, UsageError
from lshdb.formatting import counted, listed, size
from lshdb.groups import Option, regrouped
from lshdb.ingest import deciding, sync
from lshdb.ingest import trash as aside
from lshdb.ingest.add import removed
from lshdb.model import Decision, Verdict
from lshdb.options import ClusteringOptions, ClustersOptions, RemovalOptions, RemoveOptions
from lshdb.progress import silent
from lshdb.search.decisions import Disagreement, agreements, dropped_contents
from lshdb.sources.paths import escaped, printable_path

_SHOWN = ("decision", "verdict", "keys", "state", "who", "decided", "note")
_ORDERS = ("size", "highest", "lowest", "informative")
_SHOWN_UNDONE = 20
_ASKED_ABOVE = 1_000
"""Documents that a person may remove without confirmation."""


def decide(
    *,
    words: Annotated[
        list[str] | None,
        key_argument(
            metavar="keep|drop|different KEY...",
            help="The verdict, and the keys of the documents.",
            show_default=False,
        ),
    ] = None,
    at: DatabaseFile,
    note: Annotated[str | None, Option("Why.", metavar="TEXT")] = None,
    who: Who = None,
    undo: Annotated[
        bool,
        Option("Undo what was decided last at once, or the decisions with these numbers."),
    ] = False,
    from_: Annotated[
        str | None,
        Option(
            "Store the decisions of a file (or -), as written by `lshdb decisions`.",
            metavar="FILE",
            flags=("--from",),
        ),
    ] = None,
) -> None:
    """Store what you decided about documents: keep, drop, or different.

    keep: this document stays, as the kept one of its cluster. drop: the next `lshdb remove
    --decided` removes it. different: these documents are not duplicates of each other, so pairs
    and clusters offer none of them in place of another.

    The file keeps decisions, with the note, who decided and when. A decision is about the present
    content: a document that changes is undecided again. A later decision overrules an earlier one.

    --undo undoes all that one command, or one key or button of a review, decided; with numbers
    only the decisions that have them.

    A file for --from has the columns verdict and key (or keys, a JSON array), as JSON lines, CSV or
    Parquet; digests, note, who and decided may be missing.

    Example: lshdb decide drop drafts/old.txt --note "the final version is in books/"

    Example: lshdb decide different licences/mit.txt licences/isc.txt
    """
    words = words or []
    if (from_ is not None) + undo > 1 or (from_ is not None and words):
        raise UsageError("give either keep, drop or different with KEY..., or --undo, or --from")
    if (undo or from_ is not None) and note is not None:
        raise UsageError("--note goes with a decision")
    if undo:
        _undo(at, words)
    elif from_ is not None:
        _take(at, from_, who)
    else:
        if len(words) < 2 or words[0] not in get_args(Verdict):
            raise UsageError("give keep, drop or different, and then KEY...")
        verdict, *keys = words
        with at.open("write") as database:
            made = database.decide(verdict, keys, note=note, who=who)  # type: ignore[arg-type]
        numbers = f"{made[0].decision}" + (f" to {made[-1].decision}" if len(made) > 1 else "")
        message(f"{verdict}: {counted(len(set(keys)), 'document')}, decision {numbers}")


def _undo(at: DatabaseFile, numbers: list[str]) -> None:
    for text in numbers:
        if not (text.isascii() and text.isdigit()):
            raise UsageError(f"{text!r} is not the number of a decision: lshdb decisions has them")

    def chosen(made: list[Decision]) -> list[Decision]:
        known = {one.decision: one for one in made}
        wanted = dict.fromkeys(map(int, numbers))
        if missing := [number for number in wanted if number not in known]:
            raise KeyNotFound(f"there is no decision {listed(missing, 10)}; nothing is undone")
        return [known[number] for number in wanted]

    with at.open("write") as database:
        if numbers:
            undone = deciding.undo_chosen(database, chosen)
        else:
            undone = deciding.undo_last_decisions(database)
        for one in undone[:_SHOWN_UNDONE]:
            message(f"undone: {one.decision}, {one.verdict} {', '.join(one.keys)}")
        if len(undone) > _SHOWN_UNDONE:
            message(f"undone: {len(undone) - _SHOWN_UNDONE:,} more")


def _take(at: DatabaseFile, path: str, who: str | None) -> None:
    """Take the decisions of a file, all or none."""
    given = list(deciding.decisions_of_file(path, stdin(), who))
    with at.open("write") as database:
        new = deciding.add_decisions(database, given)
    message(f"decisions: {new:,} new, {len(given) - new:,} known")


def decisions(
    *,
    at: DatabaseFile,
    drop: Annotated[bool, Option("Only those to drop documents.")] = False,
    files: Annotated[
        bool,
        Option("With --drop: print the files of the documents, if they are unchanged."),
    ] = False,
    disagreements: Annotated[
        bool, Option("Documents that one reviewer drops, and another one does not.")
    ] = False,
    null: Null = False,
    root: Annotated[
        str | None,
        Option("With --files: keys are paths from DIR. [default: .]", metavar="DIR"),
    ] = None,
    form: Form,
) -> None:
    """List the decisions about documents, and whether they still hold.

    A line has the number of a decision, the verdict, the keys, whether it holds, who decided,
    when, and the note. It no longer holds if a document has changed since, is missing, or a later
    decision overruled it.

    --files lists files whether or not another file holds a kept copy, and a warning names those
    without one: lshdb trash leaves them.

    `lshdb decide --from` reads what this writes with --json, --csv or -o, also for a copy of the
    database.

    Example: lshdb decisions -d code.db -o decisions.csv

    Example: lshdb decisions -d code.db --drop --files
    """
    if disagreements and (drop or files):
        raise UsageError("--disagreements goes without --drop and --files")
    if files and not (drop and form.is_text):
        raise UsageError("--files goes with --drop, and prints paths only")
    if (null or root is not None) and not files:
        raise UsageError("--null and --root are for the paths of --files")
    with at.reading(form) as database:
        if files:
            to_drop = list(sync.files_of_dropped(database.store, root))
            alone = aside.files_without_copy(database.store, to_drop, root)
            if alone:
                names = listed([escaped(printable_path(one.path)) for one in alone], 3)
                warn(
                    f"lshdb: {counted(len(alone), 'file')} listed without a kept copy in another "
                    f"file: {names}; lshdb trash leaves them"
                )
            _print_files(to_drop, null=null)
            return
        made = database.decisions()
        if disagreements:
            agreed, apart = agreements(made)
            results.write_results(Disagreement, apart, form)
            for one in agreed:
                kappa = "" if one.kappa is None else f"; Cohen's kappa is {one.kappa:.2f}"
                message(
                    f"{one.a} and {one.b} agree about {one.agreed:,} of "
                    f"{counted(one.documents, 'document')}{kappa}"
                )
            return
        results.write_results(
            Decision,
            (one for one in made if one.verdict == "drop" or not drop),
            form,
            shown=_SHOWN,
            noun=("decision",),
            none="nothing is decided yet: see lshdb decide --help",
        )


def _print_files(files: Iterable[sync.DroppedFile], *, null: bool) -> None:
    """Print the paths of files, and say why others are no files to drop."""
    unprintable = 0
    for one in files:
        if one.status is None:
            if one.reason != sync.NO_FILE:
                warn(f"lshdb: {escaped(printable_path(one.path))}: left out: {one.reason}")
        else:
            unprintable += escaped(printable_path(one.path)) != one.path
            results.print_names([one.path], null=null)
    if unprintable and not null:
        warn(
            "lshdb: names that are not UTF-8 or have control characters, such as newlines, are "
            f"written with backslashes: {unprintable:,}; -0 prints them as they are"
        )


def remove(
    *,
    keys: Annotated[
        list[str] | None,
        key_argument(metavar="KEY...", help="Keys of documents.", show_default=False),
    ] = None,
    at: DatabaseFile,
    asked: RemovalOptions,
    listed: Annotated[
        str | None,
        Option("Take the keys from FILE (or -), one a line.", metavar="FILE", flags=("--from",)),
    ] = None,
    null: Null = False,
    yes: Annotated[
        bool, Option("Never ask, even for many documents.", flags=("--yes", "-y"))
    ] = False,
    form: Form,
) -> None:
    """Remove documents: all of them, or none if a key is missing (see --missing-ok).

    At a terminal, removing more than 1,000 asks you to type their number. --decided removes those
    that `lshdb decide drop` marked, if they have not changed since.

    Example: lshdb remove -d code.db src/old.py

    Example: lshdb remove --where "metadata ->> '$.year' < ?" -p 2020 --dry-run
    """
    ways = bool(keys), asked.where is not None, listed is not None, asked.decided
    if sum(ways) != 1:
        raise UsageError("give one of KEY..., --where SQL, --from FILE and --decided")
    if null and listed is None:
        raise UsageError("--null is for the keys of --from")
    if asked.missing_ok and not (keys or listed is not None):
        raise UsageError("--missing-ok is for KEY... and --from FILE")
    if not (asked.dry_run or form.is_text):
        raise UsageError("formats are for the keys that --dry-run prints")
    if listed is not None:
        keys = [*map(printable_path, entries_of(listed, null=null))]
    if asked.dry_run:
        form.check(at.db)
    request = regrouped(asked, RemoveOptions, keys=keys)
    with at.open("read" if asked.dry_run else "write") as database:
        if not (asked.dry_run or yes) and sys.stdin and sys.stdin.isatty() and sys.stderr.isatty():
            _ask(len(removed(database.store, replace(request, dry_run=True))), len(database))
        found = removed(database.store, request)
        if asked.dry_run:
            results.write_results({"key": str}, ((key,) for key in found), form, noun=("key",))
    missing = len(set(keys or ())) - len(found) if asked.missing_ok else 0
    passed_over = f"; {counted(missing, 'key')} without a document" if missing else ""
    message(f"{'would remove' if asked.dry_run else 'removed'} {len(found):,}{passed_over}")
    if asked.decided and found and not asked.dry_run:
        message(
            "files stay on the disk, and sync leaves them out; to move them aside: lshdb trash "
            f"-d {shlex.quote(str(at.db))}"
        )


def _ask(documents: int, stored: int) -> None:
    """Ask a person to type how many documents are removed, if they are many."""
    if documents <= _ASKED_ABOVE:
        return
    warn(
        f"{documents:,} of {stored:,} documents would be removed. Type their number to remove them:"
    )
    if sys.stdin.readline().strip().replace(",", "") != str(documents):
        raise running.failed("nothing is removed")


def trash(
    *,
    at: DatabaseFile,
    move_to: Annotated[
        str | None, Option("The directory of such files. [default: FILE-trash]", metavar="DIR")
    ] = None,
    restore: Annotated[bool, Option("Move the files back.")] = False,
    undo: Annotated[
        bool,
        Option("With --restore: undo the decisions about files that are back, too."),
    ] = False,
    link: Annotated[
        bool, Option("Put a hard link to the identical kept file in place of each file.")
    ] = False,
    yes: Annotated[
        bool,
        Option("Also move files of which no other file holds a kept copy.", flags=("--yes", "-y")),
    ] = False,
    dry_run: Annotated[
        bool, Option("Print what would move, but move nothing.", flags=("--dry-run", "-n"))
    ] = False,
    root: Annotated[
        str | None,
        Option(
            "Keys are paths from DIR, and nothing outside of it moves. [default: .]",
            metavar="DIR",
        ),
    ] = None,
    form: Form,
) -> None:
    """Move the files of documents that were decided to drop aside, or back.

    A file is moved if it is as it was when you decided, and if another file holds a copy that you
    keep: a document that is not to be dropped, with the same content or as similar as the
    database's threshold. --yes moves it without a copy, too. Others, and documents that are a row
    or a message in a file, are named and left, and so is what a symbolic link leads to.

    Nothing is deleted: when you are sure, delete the directory yourself. A log in it, written
    before the first file moves, says where each file was; --restore reads it, and never replaces a
    file. Documents and decisions stay as they are, so sync leaves out the files that are back:
    --restore --undo undoes the decisions.

    --link puts a hard link to the kept file in the place of a file with the same bytes, permissions
    and owner. It has the time of the kept file, and a change of one then changes both.

    A line has what was done, the file, where it is in the directory, and why a file was left.

    Example: lshdb trash -d notes.db --dry-run

    Example: lshdb trash -d notes.db --restore
    """
    if restore and (link or yes):
        raise UsageError("--restore goes without --link and --yes")
    if link and yes:
        raise UsageError("--link needs a kept copy: give it without --yes")
    if undo and not restore:
        raise UsageError("--undo goes with --restore; lshdb decide --undo undoes decisions")
    form.check(at.db)
    directory = move_to or f"{at.db}-trash"
    undone, still = list[Decision](), 0
    with at.open("write" if undo and not dry_run else "read") as database:
        if restore:
            rows = [*aside.put_back(directory, root, dry_run=dry_run)]
            if undo and not dry_run:
                undone = aside.undo_decisions(database, directory, root)
            with database.store.reading():
                dropped = {key for key, _ in dropped_contents(database.store)}
            still = sum(one.action == "restored" and one.key in dropped for one in rows)
        else:
            rows = [
                *aside.move_aside(
                    database.store, directory, root, dry_run=dry_run, without_copy=yes, link=link
                )
            ]
    shown = ("action", "path", "aside", "reason")
    results.write_results(aside.MovedFile, rows, form, shown=shown, noun=("file",))
    done = [one.size for one in rows if one.action != "left"]
    would = "would have " * dry_run
    what = "restored" if restore else "linked" if link else "moved"
    message(f"{would}{what} {counted(len(done), 'file')}, left {len(rows) - len(done):,}")
    command = f"lshdb trash -d {shlex.quote(str(at.db))}"
    command += f" --move-to {shlex.quote(move_to)}" if move_to else ""
    command += f" --root {shlex.quote(root)}" if root else ""
    if undo and not dry_run:
        message(f"undone: {counted(len(undone), 'decision')}")
    if still and not dry_run:
        message(
            f"{counted(still, 'document')} of these files {'is' if still == 1 else 'are'} still to "
            "be dropped, so sync leaves out the files whose documents were removed: "
            f"{command} --restore --undo undoes these decisions"
        )
    if done and not restore:
        frees = "would then free" if dry_run else "frees"
        message(f"deleting {directory} {frees} {size(sum(done))}; --restore moves them back")


def review(
    *,
    at: DatabaseFile,
    asked: ClusteringOptions,
    order: Annotated[
        str,
        Option(
            "Largest first, by similarity, or first what is nearest the threshold.",
            metavar="|".join(_ORDERS),
        ),
    ] = "size",
    who: Who = None,
    own: Own = False,
) -> None:
    """Review the clusters at a terminal, and decide which documents stay.

    Shows the kept document of each cluster beside each of the others, with what differs, and
    takes a key: k (both stay), d (the shown one goes), n (they are not duplicates), s (later), u
    (undo), q (quit); ? lists the others. Decided pairs are not shown again, so that the next run
    goes on where this one ended.

    Each decision is stored at once, as by lshdb decide. Nothing is removed before lshdb remove
    --decided. Keys may also come from a pipe, one a line.

    Example: lshdb review -d code.db --threshold 0.9
    """
    if order not in _ORDERS:
        raise UsageError(f"--order {order} is not {', '.join(_ORDERS)}")
    from lshdb.cli.screen import Session
    from lshdb.review.listing import Filters, survey_clusters
    from lshdb.review.reviewing import Review

    with at.open("write") as database:
        # Without decisions, so that clusters keep their places from one run to the next.
        request = regrouped(asked, ClustersOptions, ignore_decisions=True)
        found = survey_clusters(database.store, request, silent)
        if not found.items:
            message("no two documents are similar: nothing to review")
            return
        work = Session(database, found, Filters(sort=order), Review(database.path, who, own))
        try:
            work.run()
        finally:
            message(work.progress())
            if dropped := len(deciding.remove_decided(database, dry_run=True)):
                message(
                    f"to be dropped: {dropped:,}; lshdb remove --decided "
                    f"-d {shlex.quote(str(at.db))} removes them, and lists them with --dry-run"
                )
