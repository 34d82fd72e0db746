"""How a session reads: the formats of files, which files of directories, and how rows and texts
become documents.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, BinaryIO

from lshdb.errors import UsageError
from lshdb.groups import values_of
from lshdb.options import (
    DocumentOptions,
    EncodingOption,
    FilesOptions,
    Format,
    LongTableOptions,
    QueriesOptions,
    ReadingOptions,
    TextOptions,
    WalkingOptions,
)
from lshdb.shingling.shingling import Shingling
from lshdb.sources import long_tables
from lshdb.sources.paths import format_of
from lshdb.sources.records import RecordOptions

HowRead = ReadingOptions | QueriesOptions | TextOptions | EncodingOption
"""The groups of options that say how files become documents."""


def no_guess(_key: str) -> str | None:
    """No guess is stored for any key."""
    return None


@dataclass(frozen=True, slots=True)
class SessionOptions(RecordOptions):
    """How paths and streams become documents.

    Attributes:
        format: `auto` goes by suffix (and, for standard input, by the first character).
        fallback: for `auto`, the format of standard input and of files with any other suffix.
        stdin: the file for `-`; None if it is closed.
        stdin_key: the key of a text on standard input.
        rules: which files in directories are read, and what their keys are relative to.
        archives: whether archives are read as directories.
        skip_tables: whether files of rows in directories are skipped, although `format` is text.
        taken: which documents such as PDF are taken, and how.
        source: whether HTML is a program, and not a page.
        stored_guess: what is stored of a text whose encoding was guessed, by its key.

    Raises:
        UsageError: an encoding, a delimiter or an escape that cannot be.
    """

    format: Format = "auto"
    stdin: BinaryIO | None = None
    stdin_key: str | None = None
    fallback: Format = "text"
    rules: WalkingOptions = field(default_factory=WalkingOptions)
    archives: bool = False
    skip_tables: bool = False
    taken: DocumentOptions = field(default_factory=DocumentOptions)
    source: bool = False
    stored_guess: Callable[[str], str | None] = no_guess

    def __post_init__(self) -> None:
        if self.encoding is not None:
            try:
                "".encode(self.encoding)
            except (LookupError, ValueError) as error:
                raise UsageError(f"encoding {self.encoding!r} is not known to Python") from error
        for name, mark in (("delimiter", self.delimiter), ("escape", self.escape)):
            if mark is not None and (len(mark) != 1 or mark in '"\r\n\0'):
                raise UsageError(f"{name} {mark!r:.50} is not one character, such as ; or |")
        if self.escape is not None and self.escape == self.delimiter:
            raise UsageError(f"delimiter and escape are both {self.escape!r}")

    def format_of(self, path: str) -> Format:
        """The format in which a file is read."""
        if self.format != "auto":
            return self.format
        format = format_of(path)
        return self.fallback if format == "text" else format


def session_options(
    read: HowRead,
    shingling: Shingling,
    files: FilesOptions | None = None,
    sets: LongTableOptions | None = None,
    **others: Any,
) -> SessionOptions:
    """How to read documents for these shingles; see lshdb.sources.session.session_of."""
    files = files or FilesOptions()
    names = {field.name for field in fields(SessionOptions)}
    values: dict[str, Any] = {n: value for n, value in values_of(read).items() if n in names}
    texts = read.texts if isinstance(read, ReadingOptions | QueriesOptions) else read
    values["taken"] = texts.extraction
    values |= {"rules": files.walk, "archives": files.archives, "source": shingling.kind == "code"}
    if sets is not None:
        values |= long_tables.reading(sets, shingling, values)
    return SessionOptions(shingling.of_sets, **(values | others))
