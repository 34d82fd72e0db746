"""Documents given to a command: how to read them, and what could not be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from lshdb import offers, options
from lshdb.cli import files, messages
from lshdb.cli.options import NAMING
from lshdb.database import Database, store_of
from lshdb.errors import UsageError, install
from lshdb.formatting import counted
from lshdb.model import Failure
from lshdb.read import kinds, paths
from lshdb.read.paths import printable_path
from lshdb.text.shingling import Shingling

if TYPE_CHECKING:
    from lshdb.read.batch import Batch
    from lshdb.read.counts import Failures, ReadCounts
    from lshdb.read.session import HowRead, Session

FAILURES_SHOWN = 20
_DEFAULT = options.ReadingOptions()


def session_for(shingling: Shingling, read: HowRead = _DEFAULT, **others: Any) -> Session:
    """The session that reads files to be shingled; see lshdb.read.session.session_of."""
    from lshdb.read.session import session_of  # a query for a key reads none

    return session_of(read, shingling, stdin=files.stdin(), naming=NAMING, **others)


def queries_session(database: Database, reading: options.QueriesOptions) -> Session:
    """The session of queries: each row of a table is one, and so is a whole text file.

    A text on standard input has the key `-`; a row without a key is named by its place.
    """
    stdin_key = paths.STDIN if reading.table.format in ("auto", "text") else None
    return session_for(
        database.settings.shingling,
        reading,
        sets=reading.sets,
        counts=counts_printed(),
        metadata=False,
        stdin_key=stdin_key,
        root=store_of(database).root,
        auto_key=reading.sets.set_item is None,
    )


def stored_keys(database: Database, names: Sequence[str], *, as_keys: bool) -> list[str]:
    """The keys of the documents that arguments name: keys, or else paths from here.

    Args:
        names: as given; one that names no stored document is returned as a key.
        as_keys: never paths.

    Raises:
        UsageError: a name is the key of a document, and the path of another one.
    """
    root = store_of(database).root
    return [
        printable_path(name)
        if as_keys or (key := paths.meant(name, root, database.__contains__, "--key")) is None
        else key
        for name in names
    ]


def check_single_stdin(files: Sequence[str]) -> None:
    """UsageError if standard input would be read twice."""
    if files.count(paths.STDIN) > 1:
        raise UsageError("- is given twice, and standard input can be read once")


def document_of_file(session: Session, name: str) -> Batch:
    """The one document that a file or `-` holds, read by a session for it alone.

    Raises:
        InputError: it holds none, or several.
    """
    document = session.read_one(name)
    if session.counts.replaced:
        encoding = session.options.encoding or "UTF-8"
        messages.warn(f"{printable_path(name)} is not {encoding}; bad bytes are replaced")
    if session.counts.skipped["guessed"]:
        messages.warn(f"{printable_path(name)} is not UTF-8; its encoding is guessed")
    return document


_READ = {
    "damaged": "read without a page or part that is damaged",
    "guessed": "read in an encoding that is guessed",
}
"""What is counted with the files that are skipped, but is read; and what is said of it."""


def report_skip(path: str, reason: str) -> None:
    """Name a file of a directory that is not read."""
    is_read = reason.startswith(("read as ", "read without "))
    messages.warn(f"{'' if is_read else 'skipped '}{printable_path(path)}: {reason}")


def report_skipped_files(counts: Mapping[str, int], of: str = "") -> None:
    """Note which files of directories, such as `of` a reference, were not read, by the reason."""
    over = [f"{amount:,} {kind}" for kind, amount in counts.items() if amount and kind not in _READ]
    if over:
        messages.message(f"{of}skipped: {', '.join(over)}")
    for kind, why in _READ.items():
        if amount := counts.get(kind):
            messages.message(f"{of}{why}: {amount:,} (--list-skipped names them)")
    if left_out := counts.get("documents"):
        from lshdb.read import formats

        advice = install("documents")
        if any(advice in formats.why_unread(kind) for kind in kinds.DOCUMENTS.values()):
            unread = counted(left_out, "document")
            messages.message(f"{of}to read the {unread} left out: {advice}")


def report_reading(counts: Mapping[str, int], replaced: int, empty: int = 0) -> None:
    """Note what was special about the files that were read, and which were not read."""
    if empty:
        messages.message(f"empty: {empty:,} without a shingle, similar to nothing")
    if replaced:
        messages.warn(f"not UTF-8: {replaced:,}, bad bytes replaced (--strict refuses them)")
        if find_spec("chardet") is None:
            messages.message(f"to have the encodings of texts guessed: {install('documents')}")
    report_skipped_files(counts)
    if counts.get("links"):
        messages.message("to read the directories that links lead to: add, sync or dedup --follow")
    if (left_out := counts.get("archives")) and offers.is_there("documents"):
        messages.message(f"to read {counted(left_out, 'archive')}: lshdb add --archives, or sync")


def counts_printed(*, print_all: bool = False) -> ReadCounts:
    """Counts of a session whose failures are printed: the first ones, or all, each on a line.

    With all of them, files that are skipped are named, too.
    """
    from lshdb.read.counts import ReadCounts  # a query for a key reads none

    counts = ReadCounts()
    counts.failures.on_failure = partial(_print_first, counts.failures, print_all)
    if print_all:
        counts.skipped.on_skip = report_skip
    return counts


def print_failure(failure: Failure) -> None:
    """Print where a failure is, and why."""
    messages.warn(f"lshdb: {failure.where or repr('')}: {failure.reason}")


def _print_first(failures: Failures, print_all: bool, failure: Failure) -> None:
    if print_all or failures.count <= FAILURES_SHOWN:
        print_failure(failure)
    elif failures.count == FAILURES_SHOWN + 1:
        messages.warn("lshdb: further failures are counted, not printed")
