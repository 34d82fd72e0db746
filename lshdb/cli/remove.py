"""`lshdb remove`: remove documents."""

import shlex
import sys
from typing import Annotated

import typer

from lshdb import groups
from lshdb.cli import files, messages, results, running
from lshdb.cli.documents import stored_keys
from lshdb.cli.options import AsKeys, DatabaseFile, Form, Null
from lshdb.database import store_of
from lshdb.errors import LshdbError, UsageError
from lshdb.formatting import counted
from lshdb.options import RemovalOptions, RemoveOptions
from lshdb.write.add import removed

_MAX_UNCONFIRMED = 1_000
"""Documents that a person may remove by other options than --where without confirmation."""


def remove(
    *,
    keys: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY...", help="Keys, or paths from here.", show_default=False),
    ] = None,
    as_keys: AsKeys = False,
    file: DatabaseFile,
    options: RemovalOptions,
    listed: Annotated[
        str | None,
        groups.Option(
            "Take the keys from FILE (or -), one a line.", metavar="FILE", flags=("--from",)
        ),
    ] = None,
    null: Null = False,
    yes: Annotated[
        bool, groups.Option("Never ask, whatever is removed.", flags=("--yes", "-y"))
    ] = False,
    form: Form,
) -> None:
    """Remove documents: all of them, or none if a key is missing (see --missing-ok).

    --where prints how many it removes before it does. At a terminal it asks you to type their
    number, and so does removing more than 1,000 by any option. --decided removes those that
    `lshdb decide drop` marked, if they have not changed since.

    Example: lshdb remove -d code.db src/old.py

    Example: lshdb remove --where "metadata ->> '$.year' < ?" -p 2020 --dry-run
    """
    ways = bool(keys), options.condition.where is not None, listed is not None, options.decided
    if sum(ways) != 1:
        raise UsageError("give one of KEY..., --where SQL, --from FILE and --decided")
    if null and listed is None:
        raise UsageError("--null is for the keys of --from")
    if not (options.dry_run or form.is_text):
        raise UsageError("formats are for the keys that --dry-run prints")
    if listed is not None:
        keys, as_keys = list(files.entries_of(listed, null=null)), True
    if options.dry_run:
        form.check(file.db, *filter(None, [listed]))
    by_condition = options.condition.where is not None
    confirmed_keys: list[str] | None = None

    def check(keys: list[str]) -> None:
        if confirmed_keys is None and by_condition:
            messages.message(f"removing {counted(len(keys), 'document')}")
        if confirmed_keys not in (None, keys):
            raise LshdbError("the documents changed meanwhile: nothing is removed; run it again")

    with file.open("read" if options.dry_run else "write") as database:
        if keys is not None:
            keys = stored_keys(database, keys, as_keys=as_keys)
        request = RemoveOptions(keys, removal=options)
        can_answer = bool(sys.stdin and sys.stdin.isatty() and sys.stderr.isatty())
        if can_answer and not (options.dry_run or yes):
            confirmed_keys = removed(store_of(database), groups.replaced(request, dry_run=True))
            if len(confirmed_keys) > (0 if by_condition else _MAX_UNCONFIRMED):
                _ask(len(confirmed_keys), len(database))
        removed_keys = removed(store_of(database), request, check)
        if options.dry_run:
            rows = ((key,) for key in removed_keys)
            results.write_results({"key": str}, rows, form, noun=("key",))
    missing = len(set(keys or ())) - len(removed_keys) if options.missing_ok else 0
    _report(len(removed_keys), missing, options, str(file.db))


def _report(count: int, missing: int, options: RemovalOptions, path: str) -> None:
    """Print how many documents were removed, and how many keys had none."""
    skipped = f"; {counted(missing, 'key')} without a document" if missing else ""
    action = "would remove" if options.dry_run else "removed"
    messages.message(f"{action} {count:,}{skipped}")
    if options.decided and count and not options.dry_run:
        messages.message(
            "files stay on the disk, and sync leaves them out; to move them aside: lshdb trash "
            f"-d {shlex.quote(path)}"
        )


def _ask(documents: int, stored: int) -> None:
    """Ask a person to type how many documents are removed."""
    messages.warn(
        f"{documents:,} of {stored:,} documents would be removed. Type their number to remove them:"
    )
    if sys.stdin.readline().strip().replace(",", "") != str(documents):
        raise running.failed("nothing is removed")
