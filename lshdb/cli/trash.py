"""`lshdb trash`: move files that you decided to drop to a folder, or back."""

import shlex
from typing import Annotated

from lshdb.cli import results
from lshdb.cli.messages import message
from lshdb.cli.options import (
    DatabaseFile,
    Form,
)
from lshdb.errors import UsageError
from lshdb.formatting import counted, size
from lshdb.groups import Option
from lshdb.ingest import trash as aside
from lshdb.model import Decision
from lshdb.search.decisions import dropped_contents


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
                undone = aside.undo_decisions(database.store, directory, root)
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
    none = None if restore else "no document of a file is decided to drop: see lshdb decide --help"
    results.write_results(aside.MovedFile, rows, form, shown=shown, noun=("file",), none=none)
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
