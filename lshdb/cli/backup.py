"""`lshdb backup`: copy the database, even while others write to it."""

from pathlib import Path
from typing import Annotated

import typer

from lshdb import offers
from lshdb.cli import messages
from lshdb.cli.options import DatabaseFile
from lshdb.groups import Option
from lshdb.options import BackupOptions


def backup(
    *,
    target: Annotated[
        Path, typer.Argument(metavar="FILE", help="The file to create, or a backup.")
    ],
    file: DatabaseFile,
    options: BackupOptions,
    restore: Annotated[
        bool, Option("Put FILE, a backup, in the place of the database.", flags=("--restore",))
    ] = False,
) -> None:
    """Copy the database, even while others write to it; or --restore it from a copy.

    The copy is the database as it was when the command began. It gets its name when it is
    complete and on the disk.

    --restore checks the copy, and gives the database what it has, also while others have it open.
    Nothing of the old database stays. Do not copy a file over a database: the old log would stay
    beside it.

    Example: lshdb backup -d code.db monday.db
    """
    if restore:
        offers.offered(offers.OF_OPTIONS, "restore")(target, file.db, options)
        return
    with file.reading() as database:
        database.backup(target, options)
    messages.message(f"{target} made: {target.stat().st_size:,} bytes")
