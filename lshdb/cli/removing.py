"""The remove command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from lshdb.cli.conditions import ANY, Condition
from lshdb.cli.files import STDOUT
from lshdb.cli.messages import message, warn
from lshdb.cli.options import (
    DATABASE,
    TEXT,
    DatabaseFile,
    Form,
    completed_keys,
    key_given,
)
from lshdb.cli.results import write_results
from lshdb.cli.running import failed
from lshdb.errors import UsageError

if TYPE_CHECKING:
    from lshdb.database import Database

_ASKED_ABOVE: Final = 1_000
"""Documents that a person may remove without confirmation."""


def remove(
    keys: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY...",
            parser=key_given,
            autocompletion=completed_keys,
            help="Keys of documents.",
            show_default=False,
        ),
    ] = None,
    at: DatabaseFile = DATABASE,
    condition: Condition = ANY,
    listed: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE", help="Take the keys from FILE (or -), one a line."),
    ] = None,
    null: Annotated[
        bool, typer.Option("--null", "-0", help="Keys in --from end with NUL bytes.")
    ] = False,
    decided: Annotated[
        bool, typer.Option("--decided", help="Remove documents that were decided to drop.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the keys, but remove nothing.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Never ask, even for many documents.")
    ] = False,
    form: Form = TEXT,
) -> None:
    """Remove documents: all of them, or none if a key is missing.

    At a terminal, removing more than 1,000 asks you to type their number. --decided removes those
    that `lshdb decide drop` marked, if they have not changed since.

    Example: lshdb remove -d code.db src/old.py

    Example: lshdb remove --where "metadata ->> '$.year' < ?" -p 2020 --dry-run
    """
    ways = bool(keys), condition.where is not None, listed is not None, decided
    if sum(ways) != 1:
        raise UsageError("give one of KEY..., --where SQL, --from FILE and --decided")
    if null and listed is None:
        raise UsageError("--null is for the keys of --from")
    if not (dry_run or form.is_text):
        raise UsageError("formats are for the keys that --dry-run prints")
    if listed is not None:
        keys = _listed(listed, null)
    if dry_run:
        form.check(at.db)
    with at.open("read" if dry_run else "write") as database:
        if dry_run:
            found = _found(database, keys, condition, decided)
            write_results({"key": str}, ((key,) for key in found), form, counted=("key", "keys"))
            message(f"would remove {len(found):,}")
            return
        if not yes and sys.stdin.isatty() and sys.stderr.isatty():
            _ask(len(_found(database, keys, condition, decided)), len(database))
        if decided:
            removed = len(database.remove_decided())
        elif keys is None:
            removed = database.remove_where(**condition.given())
        else:
            removed = database.remove_many(keys)
        message(f"removed {removed:,}")


def _listed(path: str, null: bool) -> list[str]:
    """The keys that a file lists, or standard input."""
    from lshdb.sources.paths import entries

    if path == STDOUT:
        return [key_given(key) for key in entries(sys.stdin.buffer, null=null)]
    with open(path, "rb") as file:
        return [key_given(key) for key in entries(file, null=null)]


def _found(
    database: Database, keys: Sequence[str] | None, condition: Condition, decided: bool
) -> list[str]:
    """The keys of the documents that would be removed."""
    if decided:
        return database.remove_decided(dry_run=True)
    if keys is None:
        return database.keys(**condition.given())
    database.remove_many(keys, dry_run=True)
    return list(dict.fromkeys(keys))


def _ask(documents: int, stored: int) -> None:
    """Ask a person to type how many documents are removed, if they are many."""
    if documents <= _ASKED_ABOVE:
        return
    warn(
        f"{documents:,} of {stored:,} documents would be removed. Type their number to remove them:"
    )
    if sys.stdin.readline().strip().replace(",", "") != str(documents):
        raise failed("nothing is removed")
