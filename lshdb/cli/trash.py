"""`lshdb trash`: move files that you decided to drop to a folder, or back."""

import shlex
from typing import Annotated

from lshdb import formatting
from lshdb.cli import messages, results
from lshdb.cli.options import DatabaseFile, Form
from lshdb.database import store_of
from lshdb.errors import UsageError
from lshdb.groups import Option, Options
from lshdb.ingest import trash as aside
from lshdb.search.decisions import dropped_contents


class TrashOptions(Options):
    """Which files move, and where to."""

    move_to: Annotated[
        str | None, Option("The directory of such files. [default: FILE-trash]", metavar="DIR")
    ] = None
    restore: Annotated[bool, Option("Move the files back.")] = False
    undo: Annotated[
        bool,
        Option("With --restore: undo the decisions about files that are back, too."),
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
    root: Annotated[
        str | None,
        Option(
            "Keys are paths from DIR, and nothing outside of it moves. [default: .]",
            metavar="DIR",
        ),
    ] = None

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
) -> None:
    """Move the files of documents that you decided to drop to a folder, or back.

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
    form.check(file.db)
    directory = options.move_to or f"{file.db}-trash"
    root, dry_run = options.root, options.dry_run
    undone = still = 0
    with file.open("write" if options.undoes else "read") as database:
        if options.restore:
            files = [*aside.put_back(directory, root, dry_run=dry_run)]
            if options.undoes:
                undone = len(aside.undo_decisions(store_of(database), directory, root))
            with (store := store_of(database)).reading():
                to_drop = {key for key, _ in dropped_contents(store)}
            still = sum(moved.action == "restored" and moved.key in to_drop for moved in files)
        else:
            files = [
                *aside.move_aside(
                    store_of(database),
                    directory,
                    root,
                    without_copy=options.yes,
                    link=options.link,
                    dry_run=dry_run,
                )
            ]
    shown = ("action", "path", "aside", "reason")
    none = None
    if not options.restore:
        none = "no file of a dropped document is here: lshdb decide drop says what may go"
    results.write_results(aside.MovedFile, files, form, shown=shown, noun=("file",), none=none)
    sizes = [moved.size for moved in files if moved.action != "left"]
    would = "would have " * dry_run
    action = "restored" if options.restore else "linked" if options.link else "moved"
    left = len(files) - len(sizes)
    messages.message(f"{would}{action} {formatting.counted(len(sizes), 'file')}, left {left:,}")
    if options.undoes:
        messages.message(f"undone: {formatting.counted(undone, 'decision')}")
    if still and not dry_run:
        _report_still_dropped(still, file, options)
    if sizes and not options.restore:
        frees = "would then free" if dry_run else "frees"
        total = formatting.size(sum(sizes))
        messages.message(f"deleting {directory} {frees} {total}; --restore moves them back")


def _report_still_dropped(count: int, file: DatabaseFile, options: TrashOptions) -> None:
    """Say that documents whose files are back are still to be dropped, and what undoes that."""
    command = f"lshdb trash -d {shlex.quote(str(file.db))}"
    command += f" --move-to {shlex.quote(options.move_to)}" if options.move_to else ""
    command += f" --root {shlex.quote(options.root)}" if options.root else ""
    messages.message(
        f"{formatting.counted(count, 'document')} of these files "
        f"{'is' if count == 1 else 'are'} still to be dropped, so "
        "sync leaves out the files whose documents were removed: "
        f"{command} --restore --undo undoes these decisions"
    )
