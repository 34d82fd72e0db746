"""Documents given to a command: how to read them, and what could not be read."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lshdb.cli.files import STDOUT, stdin
from lshdb.cli.messages import message, warn
from lshdb.cli.options import NAMING
from lshdb.database import Database
from lshdb.errors import InputError
from lshdb.formatting import counted
from lshdb.limits import DEFAULTS
from lshdb.model import Failure
from lshdb.options import QueriesOptions, ReadingOptions, SettingsOptions
from lshdb.shingling.shingling import Content, Shingling
from lshdb.sources.extracting import is_mailbox
from lshdb.sources.paths import format_of, printable_path

if TYPE_CHECKING:
    from lshdb.sketching.settings import Settings
    from lshdb.sources.readers import HowRead, Reader

_FAILURES_SHOWN = 20
_DEFAULT = ReadingOptions()


def reader_for(database: Database, read: HowRead = _DEFAULT, **others: Any) -> Reader:
    """The reader of files for a database; see lshdb.sources.readers.Reader."""
    from lshdb.sources.readers import reader_of  # a query for a key reads none

    shingling = database.settings.shingling
    return reader_of(read, shingling, stdin=stdin(), naming=NAMING, **others)


def queries_reader(database: Database, options: QueriesOptions) -> Reader:
    """The reader of queries: each row of a table is one, and so is a whole text file.

    A text on standard input has the key `-`; a row without a key is named by its place.
    """
    stdin_key = STDOUT if options.table.format in ("auto", "text") else None
    others: Any = {"auto_key": True, "metadata": False}
    return reader_for(database, options, stdin_key=stdin_key, **others)


def is_table(file: str, format: str = "auto") -> bool:
    """Whether a file, or standard input, has several documents: rows, or messages."""
    if format == "auto":
        return file != STDOUT and (format_of(file) != "text" or is_mailbox(file))
    return format != "text"


def content_of_file(database: Database, name: str, read: HowRead = _DEFAULT) -> Content:
    """The one document that a file or `-` holds; InputError if it does not."""
    return read_content(reader_for(database, read), name)


def read_content(reader: Reader, name: str) -> Content:
    """The same, of a reader of its own for this file."""
    content = reader.read_one(name)
    if reader.replaced:
        warn(f"{printable_path(name)} is not {reader.encoding or 'UTF-8'}; bad bytes are replaced")
    if reader.skipped_files["guessed"]:
        warn(f"{printable_path(name)} is not UTF-8; its encoding is guessed")
    return content


def base_texts(paths: Sequence[str], shingling: Shingling) -> dict[str, str]:
    """The texts of files and directories by their keys, as `add` reads them.

    Raises:
        InputError: there is none, or one cannot be read.
    """
    from lshdb.sources.readers import reader_of

    reader = reader_of(_DEFAULT, shingling, stdin=stdin(), naming=NAMING, archives=True)
    found: dict[str, str] = {}
    for one in reader.read(paths):
        if isinstance(one, Failure):
            raise InputError(f"--base {one.where}: {one.reason}")
        found[one.key] = str(one.content)
    report_skipped_files(reader.skipped_files.counts(), "base: ")
    if not found:
        raise InputError(f"--base {', '.join(map(printable_path, paths))}: no text is there")
    return found


@contextmanager
def temporary_database(settings: Settings | None = None) -> Iterator[Database]:
    """An empty database that is deleted at the end, with the default settings if none are given."""
    from lshdb.ingest.temporary import temporary_store
    from lshdb.tuning.resolve import resolve

    with temporary_store(settings or resolve(SettingsOptions()), DEFAULTS) as store:
        yield Database(store)


_READ = {
    "damaged": "read without a page or part that is damaged",
    "guessed": "read in an encoding that is guessed",
}
"""What is counted with the files that are skipped, but is read; and what is said of it."""


def report_skip(path: str, why: str) -> None:
    """Name a file of a directory that is not read."""
    is_read = why.startswith("read ") and not why.startswith("read already")
    warn(f"{'' if is_read else 'skipped '}{printable_path(path)}: {why}")


def report_skipped_files(counts: Mapping[str, int], of: str = "") -> None:
    """Note which files of directories, such as `of` a reference, were not read, by the reason."""
    over = [f"{amount:,} {kind}" for kind, amount in counts.items() if amount and kind not in _READ]
    if over:
        message(f"{of}skipped: {', '.join(over)}")
    for kind, why in _READ.items():
        if amount := counts.get(kind):
            message(f"{of}{why}: {amount:,} (--list-skipped names them)")
    if left_out := counts.get("documents"):
        from lshdb.sources.extracting import INSTALL, lacks_library  # a query for a key reads none

        if lacks_library():
            message(f"{of}to read the {counted(left_out, 'document')} left out: {INSTALL}")


def report_reading(counts: Mapping[str, int], replaced: int, empty: int = 0) -> None:
    """Note what was special about the files that were read, and which were not read."""
    if empty:
        message(f"empty: {empty:,} without a shingle, similar to nothing")
    if replaced:
        warn(f"not UTF-8: {replaced:,}, bad bytes replaced (--strict refuses them)")
        from lshdb.sources.extracting import INSTALL, can_guess  # a query for a key reads none

        if not can_guess():
            message(f"to have the encodings of texts guessed: {INSTALL}")
    report_skipped_files(counts)
    if left_out := counts.get("archives"):
        message(f"to read {counted(left_out, 'archive')}: lshdb add --archives, or sync")


@dataclass(eq=False)
class Failures:
    """Prints the first failures, or all, each on a line, and counts all."""

    print_all: bool = False

    def __post_init__(self) -> None:
        self.count = 0
        self._shown = sys.maxsize if self.print_all else _FAILURES_SHOWN

    @property
    def left(self) -> int:
        """How many more are printed."""
        return max(self._shown - self.count, 0)

    def report(self, failure: Failure) -> None:
        """Print or count one."""
        self.count += 1
        if self.count <= self._shown:
            warn(f"lshdb: {failure.where or repr('')}: {failure.reason}")
        elif self.count == self._shown + 1:
            warn("lshdb: further failures are counted only")
