"""Walking directories: which of the files in them are read.

Hidden files, links that lead to no file, what is no file, and open databases are skipped here; what
git, ignore files and patterns leave out belongs to the app `ignoring`.

A link is followed when all else of a run has been read: a file that is read anyway has no second
name, and what was left out on purpose stays so.
"""

import copy
import os
from collections import deque
from collections.abc import Callable, Container, Iterator, Set
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from lshdb import errors, offers
from lshdb.model import Failure
from lshdb.options import WalkingOptions
from lshdb.read import counts
from lshdb.read.files import File, FilesRead
from lshdb.read.paths import (
    is_bin_name,
    is_database,
    key_of_real,
    printable_path,
    why_hidden,
)
from lshdb.store import guard

_SQLITE_SUFFIXES = ("-wal", "-shm", "-journal")
_GIT = ".git"
_RULES = {_GIT, ".gitignore", ".lshdbignore"}
"""Names in directories that the rules of the app would read."""
EXCLUDED = "excluded by a pattern"
NOT_INCLUDED = "no pattern of those to read matches it"

Entry = os.DirEntry[str]
"""A file or directory; an app may give another object, such as a files.Member of an archive."""


class Rules:
    """What is left out of a directory, and of those in it, besides what is hidden.

    Nothing is, with a note where git or ignore files have rules: the app `ignoring` knows these,
    and those of options. `lshdb.offers.RULES` names its class.

    Args:
        directory: where the walk begins.
        options: which files.
        note: gets a text about rules that are not followed.
        start: how many characters of the paths of entries the patterns of options do not see.

    Raises:
        UsageError: a pattern of the options is invalid.
        InputError: git fails after it has begun, or only tracked files are wanted, and it refuses.
    """

    def __init__(
        self,
        directory: str,  # noqa: ARG002
        options: WalkingOptions,
        note: Callable[[str], None],
        start: int,  # noqa: ARG002
    ) -> None:
        self._options, self._note = options, note

    def at(self, directory: str) -> Self:  # noqa: ARG002
        """The rules in a directory in this one, before it is listed.

        Raises:
            InputError: git fails after it has begun.
        """
        return self

    def within(self, directory: str, names: Set[str]) -> Self:  # noqa: ARG002
        """The rules for the entries of this directory, which have these names.

        Raises:
            InputError, OSError: an ignore file cannot be read.
        """
        if self._options.ignore and not names.isdisjoint(_RULES):
            self._note(f"what git and ignore files leave out is read: {offers.missing('ignoring')}")
        return self

    def why_left_out(self, entry: Entry, *, is_directory: bool) -> str:  # noqa: ARG002
        """Why an entry is left out; empty if it is not."""
        return ""


class Walk:
    """The files in a directory and everything below it, in the order of their names.

    An iterable of each file, and the failure of each directory that cannot be listed;
    then `through_links` gives those that only links lead to.

    Args:
        directory: may be a symbolic link itself.
        rules: which files.
        skipped_files: counts the others.
        files_read: the files of the run, in this directory and in others.
        root: the real path of the directory that keys are relative to; None if it is not known.

    Attributes:
        directory: the same.

    Raises:
        UsageError: a pattern of the rules is invalid.
        InputError: git fails after it has begun, or only tracked files are wanted, and it refuses.
    """

    def __init__(
        self,
        directory: str,
        rules: WalkingOptions,
        skipped_files: counts.SkippedFiles,
        files_read: FilesRead,
        root: str | None = None,
    ) -> None:
        self._rules, self._skipped, self._root = rules, skipped_files, root
        self._pattern_start = len(os.path.join(directory, ""))
        self._files_read = files_read
        self._begin(directory)

    def _begin(self, directory: str) -> None:
        self.directory, self._top = directory, os.path.realpath(directory)
        self._start = len(os.path.join(directory, ""))
        self._postponed: list[Entry] = []
        self._above = _rules_of(directory, self._rules, self._skipped.note, self._pattern_start)

    def __iter__(self) -> Iterator[File | Failure]:
        # An explicit stack: a tree may be deeper than Python's recursion limit.
        waiting: list[tuple[str, Entry | None, Rules]] = [(self.directory, None, self._above)]
        while waiting:
            path, entry, rules = waiting.pop()
            if entry is not None and not self.is_directory(entry):
                yield self._file(entry)
                continue
            if entry is not None:
                rules = rules.at(path)
            try:
                entries, rules = self.listed(path, rules)
            except (errors.InputError, OSError) as error:
                yield counts.failure_of(path, error)
                continue
            if self._rules.follow:
                self._files_read.directories.add(self._real(path))
            inodes = guard.open_inodes()
            taken = [inner for inner in entries if self._is_taken(inner, rules, inodes)]
            self._postponed += filter(_is_postponed, taken)
            waiting += [
                (inner.path, inner, rules) for inner in reversed(taken) if not _is_postponed(inner)
            ]

    def through_links(self) -> Iterator[File | Failure]:
        """The files in bins, and those that only links lead to.

        To be called once, when all directories of the run have been walked, and their files read.
        """
        waiting, links = deque[Walk]([self]), list[tuple[Walk, Entry]]()
        while waiting:
            walk = waiting.popleft()
            for entry in walk._postponed:
                if not self.is_directory(entry):
                    links.append((walk, entry))
                elif walk._is_followed(entry):
                    inner = copy.copy(self)
                    inner._begin(entry.path)
                    yield from inner
                    waiting.append(inner)
        yield from (walk._file(entry) for walk, entry in links if self._is_followed(entry))

    def _file(self, entry: Entry) -> File:
        """The file of an entry of this walk."""
        status = fault = None
        try:
            status = entry.stat()
        except OSError as error:
            fault = error
        key = "" if self._root is None else key_of_real(self._real(entry.path), self._root)
        member: Any = entry if hasattr(entry, "archive") else None
        return File(entry.path, status, key, is_named=False, member=member, fault=fault)

    def _is_followed(self, entry: Entry) -> bool:
        """Whether an entry is no link, or one that is followed; counts one that is not."""
        if not entry.is_symlink():
            return True
        real = os.path.realpath(entry.path)
        if self._files_read.is_left_out(real):
            why = f"it leads to {printable_path(real)}, which is left out"
        elif os.path.join(self._top, "").startswith(os.path.join(real, "")):
            why = "it leads to a directory that it is in"
        elif real in self._files_read.directories:
            self._skipped.add_repeated(entry.path, real)
            return False
        else:
            return True
        self._skipped.add("links", entry.path, why)
        return False

    def _real(self, path: str) -> str:
        """The real path of an entry of this walk, which is below no further link."""
        return os.path.join(self._top, path[self._start :]) if path != self.directory else self._top

    def is_directory(self, entry: Entry) -> bool:
        """Whether an entry is read as a directory."""
        return entry.is_dir()

    def listed(self, path: str, rules: Rules) -> tuple[list[Entry], Rules]:
        """The entries of a directory, by name, and the rules for them."""
        with os.scandir(path) as scanned:
            entries = sorted(scanned, key=lambda entry: entry.name)
        return entries, rules.within(path, {entry.name for entry in entries})

    def _is_taken(self, entry: Entry, rules: Rules, inodes: Container[int]) -> bool:
        """Whether an entry is walked or read; counts a skipped one, except an open database."""
        kind, why = self._why_skipped(entry, rules, inodes)
        if why:
            self._skipped.add(kind, entry.path, why)
        if kind in ("hidden", "ignored") and why != NOT_INCLUDED:
            self._files_read.left_out.add(self._real(entry.path))
        return not kind

    def _why_skipped(self, entry: Entry, rules: Rules, inodes: Container[int]) -> tuple[str, str]:
        """What kind of entry is skipped, and why; both are empty for others."""
        options = self._rules
        names = entry.name.split("/")  # of a member
        is_any = options.hidden or options.tracked
        why = "" if is_any else next(filter(None, map(why_hidden, names)), "")
        if why or _GIT in names:
            return "hidden", why or "the directory of git"
        is_link = entry.is_symlink()
        if is_link and not os.path.exists(entry.path):  # before is_dir, which raises for a loop
            return "links", "a link that leads nowhere"
        is_dir = self.is_directory(entry)
        if is_link and entry.is_dir() and not options.follow:
            return "links", "a link to a directory"
        if not is_dir and not entry.is_file():
            return "special", "not a regular file"
        if why := rules.why_left_out(entry, is_directory=is_dir):
            return "ignored", why
        if is_dir:
            return "", ""
        path = os.path.realpath(entry.path) if is_link else entry.path
        # Of a file beside a database; empty for others.
        database = path.rpartition("-")[0] if path.endswith(_SQLITE_SUFFIXES) else ""
        if (entry.inode() in inodes and guard.is_open(path)) or (
            database and guard.is_open(database)
        ):
            return "open", ""
        with suppress(OSError):  # reading it says why it cannot be read
            if database and is_database(database):
                return "binary", "a part of an SQLite database"
            if options.max_filesize is not None and entry.stat().st_size > options.max_filesize:
                return "large", f"larger than {options.max_filesize:,} bytes"
        return "", ""


def _rules_of(
    directory: str, options: WalkingOptions, note: Callable[[str], None], start: int
) -> Rules:
    """The rules where a walk begins; UsageError if an option takes them, and they are missing."""
    for name in offers.RULES:
        if getattr(options, name) and (name != "ignore" or offers.is_there("ignoring")):
            rules: Rules = offers.offered(offers.RULES, name)(directory, options, note, start)
            return rules
    rules = Rules(directory, options, note, start)
    if any((outer / _GIT).exists() for outer in Path(os.path.realpath(directory)).parents):
        rules.within(directory, {_GIT})
    return rules


def _is_postponed(entry: Entry) -> bool:
    """Whether an entry is read when all else of the run has been read: a link, or a bin."""
    return entry.is_symlink() or (entry.is_dir() and is_bin_name(entry.name))
