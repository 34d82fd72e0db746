"""What reading counts and names: bytes, skipped files, and failures, which all go to one place."""

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lshdb import errors
from lshdb.model import Failure
from lshdb.read.paths import printable_path

MAX_KEPT = 10_000
"""Failures that a report has: each takes 300 bytes, and every line of an input may be one."""
_REASONS = (
    "hidden",  # names that begin with a dot
    "archives",  # ZIP and tar files, where they are not read as directories
    "binary",  # files that are no text (see `inputs`), and those of SQLite
    "links",  # symbolic links: following them could repeat files, or never end
    "special",  # sockets, pipes, devices
    "ignored",  # files and directories that patterns exclude
    "large",  # files above the maximum size
    "tables",  # files of rows, by their suffixes, where only text files are read; JSON without rows
    "texts",  # other files, where only tables are read
    "pointers",  # files in the place of which Git LFS has left where to find them
    "documents",  # PDF, Word and the like, where they are not wanted, or a library is missing
    "repeated",  # files that another path led to before: another input, or a link to one
    "scanned",  # PDFs of pictures; these have documents, without text
    "damaged",  # documents with a page or part that cannot be read; the rest of them is
    "guessed",  # texts whose encoding is guessed; these are read
    "empty",  # files of no rows or messages, and archives of no files
    "dropped",  # files whose documents were decided to be dropped, in `sync`
)


class SkippedFiles(Counter[str]):
    """Counts of skipped entries of directories, by the reason, and of inputs that are repeated.

    With the documents and failures these, but for `scanned`, `damaged` and `guessed`, are all
    entries, without what is in skipped directories, and without an open database.

    Attributes:
        on_skip: called with the path of each, and the reason.
        notes: how it was decided what is skipped, where not by the rules as they are.
    """

    on_skip: Callable[[str, str], None] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.notes: set[str] = set()

    def add(self, kind: str, path: str, why: str) -> None:
        """Count an entry, for one of the reasons."""
        self[kind] += 1
        if self.on_skip is not None:
            self.on_skip(path, why)

    def add_repeated(self, path: str, earlier: str) -> None:
        """Count a file that was read before, by another path or the same."""
        self.add("repeated", path, f"read already, as {printable_path(earlier)}")

    def note(self, text: str) -> None:
        """Issue an IgnoreWarning, once in a job for each text."""
        if text not in self.notes:
            self.notes.add(text)
            errors.warn_of_limit(errors.Cut("ignore", 1, text), errors.IgnoreWarning)

    def counts(self) -> dict[str, int]:
        """The count for each reason."""
        return {kind: self[kind] for kind in _REASONS}


def failure_of(path: str, error: errors.InputError | OSError) -> Failure:
    """The failure of a file, a directory or a member of an archive, with its path as printed."""
    return Failure(printable_path(path), reason(error))


def reason(error: errors.InputError | OSError) -> str:
    """Why something could not be read, in words."""
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    return str(error)


@dataclass(eq=False)
class Failures:
    """The failures of one job: passed on, counted, kept for its report, and warned of.

    Attributes:
        on_failure: the caller's function, which gets each; without one, `warn` warns.
        count: how many there are.
        kept: the first ones.
    """

    on_failure: Callable[[Failure], object] | None = None
    count: int = 0
    kept: list[Failure] = field(default_factory=list)

    def __call__(self, failure: Failure) -> None:
        """Count a failure, and pass it on."""
        self.count += 1
        if len(self.kept) < MAX_KEPT:
            self.kept.append(failure)
        if self.on_failure is not None:
            self.on_failure(failure)

    def warn(self, where: str = "the report's `failures` name them") -> None:
        """Issue a FailureWarning if there is a failure, and no function of the caller got it."""
        if self.count and self.on_failure is None:
            first = self.kept[0]
            items = "1 row or file" if self.count == 1 else f"{self.count:,} rows or files"
            errors.warn(
                errors.FailureWarning(
                    f"{items} gave no document and {'is' if self.count == 1 else 'are'} left out; "
                    f"{where}, the first: {first.where}: {first.reason}"
                )
            )


@dataclass(eq=False)
class ReadCounts:
    """What one job has read so far.

    Attributes:
        failures: every file, line, row and member of an archive that gave no document.
        skipped: counts of skipped files.
        bytes_read: of all input.
        replaced: documents with bytes or code units that are not Unicode, replaced by U+FFFD.
        digests: those of the bytes of files, by the keys of their documents; None if not wanted.
        statuses: those of files of rows before they were read, by path; None if not wanted.
    """

    failures: Failures = field(default_factory=Failures)
    skipped: SkippedFiles = field(default_factory=SkippedFiles)
    bytes_read: int = 0
    replaced: int = 0
    digests: dict[str, bytes | None] | None = None
    statuses: dict[str, os.stat_result] | None = None
