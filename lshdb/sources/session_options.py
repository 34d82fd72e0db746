"""How a session reads: the formats of files, which files of directories, and how rows and texts
become documents.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, BinaryIO

from lshdb.errors import UsageError
from lshdb.groups import Options, regrouped
from lshdb.options import DocumentOptions, Format, LongTableOptions, WalkingOptions
from lshdb.shingling.shingling import Shingling
from lshdb.sources import long_tables
from lshdb.sources.paths import format_of
from lshdb.sources.records import RecordOptions


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


def session_options(options: Options, shingling: Shingling, **others: Any) -> SessionOptions:
    """How to read what is shingled so, by the options of a group, and others."""
    names = {one.name for one in fields(SessionOptions)}
    given = {name: value for name, value in vars(options).items() if name in names}
    given["rules"] = regrouped(options, WalkingOptions)
    given |= {"taken": regrouped(options, DocumentOptions), "source": shingling.kind == "code"}
    if isinstance(options, LongTableOptions):
        given |= long_tables.reading(options, shingling)
    return SessionOptions(shingling.of_sets, **(given | others))
