"""`lshdb remove`: remove documents."""

import shlex
import sys
from typing import Annotated

from lshdb.cli import results, running
from lshdb.cli.files import entries_of
from lshdb.cli.messages import message, warn
from lshdb.cli.options import (
    DatabaseFile,
    Form,
    Null,
    key_argument,
)
from lshdb.database import store_of
from lshdb.errors import UsageError
from lshdb.formatting import counted
from lshdb.groups import Option, replaced
from lshdb.ingest.add import removed
from lshdb.options import RemovalOptions, RemoveOptions
from lshdb.sources.paths import printable_path

_ASKED_ABOVE = 1_000
"""Documents that a person may remove without confirmation."""


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
    ways = bool(keys), asked.condition.where is not None, listed is not None, asked.decided
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
    request = RemoveOptions(keys, removal=asked)
    with at.open("read" if asked.dry_run else "write") as database:
        if not (asked.dry_run or yes) and sys.stdin and sys.stdin.isatty() and sys.stderr.isatty():
            _ask(len(removed(store_of(database), replaced(request, dry_run=True))), len(database))
        found = removed(store_of(database), request)
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
