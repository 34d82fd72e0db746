"""Options of `lshdb sync`."""

from collections.abc import Sequence
from typing import Annotated

from lshdb.groups import Option, Options, uncommon
from lshdb.options import AnyReader, FileName, FilesOptions, OnFailure, TextOptions, WritingOptions


class SyncOptions(Options):
    """Options of `Database.sync`."""

    files: FilesOptions
    texts: TextOptions
    write: WritingOptions

    reader: AnyReader = None
    dry_run: Annotated[
        bool,
        Option("Print what would happen, but change nothing.", flags=("--dry-run", "-n")),
    ] = False
    extract_again: Annotated[
        bool, uncommon("Read PDF and the like again, as after a library's update.")
    ] = False
    read_all: Annotated[bool, uncommon("Read all files, also those that look as they did.")] = False
    moved_from: Annotated[
        Sequence[str],
        Option("The folder that the files were moved from.", metavar="OLD"),
    ] = ()
    remove_most: Annotated[
        bool,
        Option(
            "Also remove all documents, or more than half of 100.",
        ),
    ] = False
    root: Annotated[
        FileName | None,
        Option("Keys are paths from DIR from now on, and stay as they are.", metavar="DIR"),
    ] = None
    on_failure: OnFailure = None
