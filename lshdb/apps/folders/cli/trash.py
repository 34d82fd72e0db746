"""`lshdb trash`: move files that you decided to drop to a folder, or back."""

from collections.abc import Sequence
from typing import Annotated

from lshdb import formatting
from lshdb.apps.folders import trash as aside
from lshdb.apps.review.cli import proving
from lshdb.apps.review.decisions import dropped_contents
from lshdb.cli import messages, results
from lshdb.cli.options import DatabaseFile, Form
from lshdb.database import store_of
from lshdb.errors import UsageError
from lshdb.groups import Option, Options
from lshdb.read.proof import LeftFile


class TrashOptions(Options):
    """Which files move, and where to."""

    move_to: Annotated[
        str | None, Option("The directory of such files. [default: FILE-trash]", metavar="DIR")
    ] = None
    restore: Annotated[bool, Option("Move the files back.")] = False
    undo: Annotated[
        bool,
        Option("With --restore: undo the decisions about the files that come back, too."),
    ] = False
    link: Annotated[
        bool, Option("Put a hard link to the identical kept file in place of each file.")
    ] = False
    yes: Annotated[
        bool,
        Option("Also move files of which no other file holds a kept copy.", flags=("--yes", "-y")),
    ] = False
    dry_run: Annotated[
        bool, Option("Print what would move, but move nothing.", flags=("--dry-run", "-n"))
    ] = False

    def __post_init__(self) -> None:
        if self.restore and (self.link or self.yes):
            raise UsageError("--restore goes without --link and --yes")
        if self.link and self.yes:
            raise UsageError("--link needs a kept copy: give it without --yes")
        if self.undo and not self.restore:
            raise UsageError("--undo goes with --restore; lshdb decide --undo undoes decisions")

    @property
    def undoes(self) -> bool:
        """Whether decisions are undone."""
        return self.undo and not self.dry_run


def trash(
    *,
    file: DatabaseFile,
    options: TrashOptions,
    form: Form,
) -> bool:
    """Move the files of documents that you decided to drop to a folder, or back.

    A file is moved if it has the bytes that you decided on, and if another file holds a copy that
    you keep: a document that is not to be dropped, with the same content or as similar as the
    database's threshold. Both are read now. --yes moves it without a copy, too. Others are named
    and left, with exit status 1: what has changed, is a link, or is not below the database's root.

    Nothing is deleted: when you are sure, delete the directory yourself. Each file has its old path
    in a directory there; --restore moves it back to that, and never replaces a file. Documents and
    decisions stay as they are, so sync leaves out the files that are back: --restore --undo undoes
    the decisions.

    --link moves nothing, but puts a hard link to the kept file in the place of a file with the same
    bytes, permissions and owner. It has the time of the kept file, and a change of one then changes
    both.

    A line has what was done, the document's key, where its file is in the directory, and what is
    kept.

    Example: lshdb trash -d notes.db --dry-run

    Example: lshdb trash -d notes.db --restore
    """
    form.check(file.db)
    directory = options.move_to or f"{file.db}-trash"
    with file.open("write" if options.undoes else "read") as database:
        store = store_of(database)
        dry_run = options.dry_run
        moving = (
            aside.put_back(store, directory, dry_run=dry_run)
            if options.restore
            else aside.move_aside(
                store, directory, without_copy=options.yes, link=options.link, dry_run=dry_run
            )
        )
        files = [*moving]
        moved = [line for line in files if isinstance(line, aside.MovedFile)]
        restored_keys = [line.key for line in moved if options.restore]
        if options.undoes:
            undone = formatting.counted(len(aside.undo_decisions(store, restored_keys)), "decision")
        with store.reading():
            still = {key for key, _ in dropped_contents(store)}.intersection(restored_keys)
    none = "no file of a dropped document is here: lshdb decide drop says what may go"
    results.write_results(
        aside.MovedFile,
        moved,
        form,
        shown=("action", "key", "aside", "kept"),
        noun=("file",),
        none=None if options.restore or files else none,
    )
    left = proving.report_left([line for line in files if isinstance(line, LeftFile)])
    _report(moved, left, directory, options)
    if options.undoes:
        messages.message(f"undone: {undone}")
    if still and not dry_run:
        messages.message(
            f"still to be dropped: {formatting.counted(len(still), 'document')} of these files, so "
            "that sync leaves them out if the documents were removed: lshdb decide keep undoes "
            "that, or --restore --undo the next time"
        )
    return left > 0


def _report(
    moved: Sequence[aside.MovedFile], left: int, directory: str, options: TrashOptions
) -> None:
    """Say how many files moved, and what deleting them frees."""
    would = "would have " * options.dry_run
    action = "restored" if options.restore else "linked" if options.link else "moved"
    messages.message(f"{would}{action} {formatting.counted(len(moved), 'file')}, left {left:,}")
    if moved and not options.restore:
        total = formatting.size(sum(line.size for line in moved))
        if options.link:
            messages.message(f"{'would free' if options.dry_run else 'freed'} {total}")
        else:
            frees = "would then free" if options.dry_run else "frees"
            run = (moved[0].aside or "").partition("/")[0]
            messages.message(
                f"deleting {directory}/{run} {frees} {total}; --restore moves them back"
            )
