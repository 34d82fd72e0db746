"""Walking directories: which of the files in them are read.

In a working tree git says what it ignores, and each repository in another one is asked when the
walk comes to it. Elsewhere, and where git is missing or refuses, the library pathspec decides about
each file by the deepest .gitignore with a pattern for it. A .lshdbignore is the same for lshdb
only, and its patterns override git. pathspec is imported if there are patterns.

A link is followed when all else of a run has been read: a file that is read anyway has no second
name, and what was left out on purpose stays so.
"""

import os
import re
import stat
import warnings
from collections import deque
from collections.abc import Container, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from lshdb import errors
from lshdb.model import Failure
from lshdb.options import WalkingOptions
from lshdb.read import counts, git
from lshdb.read.files import Archives, File, FilesRead, Member
from lshdb.read.paths import (
    is_archive,
    is_bin_name,
    is_database,
    key_of_real,
    printable_path,
    why_hidden,
)
from lshdb.store import guard

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_SQLITE_SUFFIXES = ("-wal", "-shm", "-journal")
_BOM = b"\xef\xbb\xbf"
EXCLUDED = "excluded by a pattern"
NOT_INCLUDED = "no pattern of those to read matches it"

Entry = os.DirEntry[str] | Member
"""A file, or a member of an archive."""
_Placed = tuple["GitIgnoreSpec", int]
"""Patterns, and how many characters of an absolute path they do not see."""


class _Rules(NamedTuple):
    """What is left out below a directory.

    Attributes:
        patterns: of ignore files, the outermost first.
        left_out: paths that git leaves out; None if it does not say.
        start: how many characters of the path of an entry these lack.
    """

    patterns: tuple[_Placed, ...] = ()
    left_out: Set[str] | None = None
    start: int = 0


class Walk:
    """The files in a directory and everything below it, in the order of their names.

    An iterable of each file, and the failure of each directory or archive that cannot be listed;
    then `through_links` gives those that only links lead to.

    Args:
        directory: may be a symbolic link itself.
        rules: which files.
        skipped_files: counts the others.
        archives: reads archives as directories; None if they are files like others.
        files_read: the files of the run, in this directory and in others.
        start: how many characters of the paths of entries the patterns of `rules` do not see; None
            for those of the directory.
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
        archives: Archives | None = None,
        files_read: FilesRead | None = None,
        start: int | None = None,
        root: str | None = None,
    ) -> None:
        self._rules, self._skipped, self._archives = rules, skipped_files, archives
        self._root = root
        self.directory, self._top = directory, os.path.realpath(directory)
        self._start = len(os.path.join(directory, ""))
        self._pattern_start = self._start if start is None else start
        self._files_read = FilesRead() if files_read is None else files_read
        self._postponed: list[Entry] = []
        self._exclude, self._include = map(self._spec_of_option, ("exclude", "include"))
        repository = git.repository_of(directory) if rules.ignore else None
        left_out: Set[str] | None = None
        if rules.tracked:
            left_out = git.untracked(directory)
        elif repository:
            left_out = self._ignored(directory)
        patterns = self._outer(repository, left_out) if repository else ()
        self._above = _Rules(patterns, left_out, self._start)

    def __iter__(self) -> Iterator[File | Failure]:
        # An explicit stack: a tree may be deeper than Python's recursion limit.
        waiting: list[tuple[str, Entry | None, _Rules]] = [(self.directory, None, self._above)]
        while waiting:
            path, entry, rules = waiting.pop()
            packed = not os.path.isdir(path) if entry is None else self._is_packed(entry)
            if entry is not None and not entry.is_dir() and not packed:
                yield self._file(entry)
                continue
            if entry is not None and self._rules.ignore and git.is_repository(path):
                start = len(os.path.join(path, ""))
                rules = _Rules(rules.patterns, self._ignored(path), start)
            try:
                entries, rules = self._listed(path, rules, packed)
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
                if not (entry.is_dir() or self._is_packed(entry)):
                    links.append((walk, entry))
                elif walk._is_followed(entry):
                    inner = Walk(
                        entry.path,
                        self._rules,
                        self._skipped,
                        self._archives,
                        self._files_read,
                        self._pattern_start,
                        self._root,
                    )
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
        member = entry if isinstance(entry, Member) else None
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

    def _is_packed(self, entry: Entry) -> bool:
        """Whether an entry is an archive to be read as one; those in archives are files."""
        is_none = self._archives is None or isinstance(entry, Member)
        return not is_none and is_archive(entry.path) and entry.is_file()

    def _listed(self, path: str, rules: _Rules, packed: bool) -> tuple[list[Entry], _Rules]:
        """The entries of a directory or archive, by name, and the rules for them."""
        entries: list[Entry]
        if packed and self._archives is not None:
            entries = [*self._archives.members(path).values()]
        else:
            with os.scandir(path) as scanned:
                entries = [*scanned]
        entries.sort(key=lambda entry: entry.name)
        if self._rules.ignore and not packed:
            names = {entry.name for entry in entries}.intersection(_ignore_files(rules.left_out))
            placed = self._specs(path, names, self._real(path))
            rules = rules._replace(patterns=(*rules.patterns, *placed))
        return entries, rules

    def _ignored(self, directory: str) -> Set[str] | None:
        """What git ignores of a directory; None, with a note, if it refuses."""
        try:
            return git.ignored(directory)
        except git.Refused as error:
            self._skipped.note(f"{error}; .gitignore files are read without git")
            return None

    def _spec_of_option(self, option: str) -> "GitIgnoreSpec | None":
        """The patterns of an option; UsageError for one that is none."""
        spec, wrong = _spec_of(getattr(self._rules, option))
        for line in wrong:
            raise errors.UsageError(f"{option} {line!r} is not a pattern")
        return spec

    def _specs(self, directory: str, names: Iterable[str], real: str) -> list[_Placed]:
        """The patterns of ignore files; one that cannot be read is named and skipped."""
        placed = []
        for path in (os.path.join(directory, name) for name in sorted(names)):
            spec, wrong = _spec_of(_lines(path))
            for line in wrong:
                text = os.fsencode(line).decode(errors="backslashreplace")
                self._skipped.note(f"{printable_path(path)}: skipped {text!r:.50}, not a pattern")
            if spec:
                placed.append((spec, len(os.path.join(real, ""))))
        return placed

    def _outer(self, repository: str, left_out: Set[str] | None) -> tuple[_Placed, ...]:
        """The patterns above the directory, up to the top of its repository, the highest first.

        A directory that they ignore has none: the user named it, so it is wanted.
        """
        inner, placed = self._top, list[_Placed]()
        while inner != repository:
            inner = os.path.dirname(inner)
            names = [
                name
                for name in _ignore_files(left_out)
                if os.path.isfile(os.path.join(inner, name))
            ]
            placed[:0] = self._specs(inner, names, inner)
        is_ignored = _decided(os.path.join(self._top, ""), placed, is_named=True)
        return () if is_ignored else tuple(placed)

    def _is_taken(self, entry: Entry, rules: _Rules, inodes: Container[int]) -> bool:
        """Whether an entry is walked or read; counts a skipped one, except an open database."""
        kind, why = self._why_skipped(entry, rules, inodes)
        if why:
            self._skipped.add(kind, entry.path, why)
        if kind in ("hidden", "ignored") and why != NOT_INCLUDED:
            self._files_read.left_out.add(self._real(entry.path))
        return not kind

    def _why_skipped(self, entry: Entry, rules: _Rules, inodes: Container[int]) -> tuple[str, str]:
        """What kind of entry is skipped, and why; both are empty for others."""
        options = self._rules
        names = entry.name.split("/")  # of a member
        is_any = options.hidden or options.tracked
        why = "" if is_any else next(filter(None, map(why_hidden, names)), "")
        if why or git.NAME in names:
            return "hidden", why or "the directory of git"
        is_link, is_packed = entry.is_symlink(), self._is_packed(entry)
        is_dir = entry.is_dir() or is_packed
        if is_link and is_dir and not (options.follow or is_packed):
            return "links", "a link to a directory"
        if is_link and not os.path.exists(entry.path):
            return "links", "a link that leads nowhere"
        if not is_dir and not entry.is_file():
            return "special", "not a regular file"
        if why := self._why_ignored(entry, is_dir, rules):
            return "ignored", why
        if is_dir:
            return "", ""
        if self._include and not self._include.match_file(entry.path[self._pattern_start :]):
            return "ignored", NOT_INCLUDED
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

    def _why_ignored(self, entry: Entry, is_dir: bool, rules: _Rules) -> str:
        """Why git or a pattern leaves an entry out; empty if none does."""
        path, by_git = entry.path[self._start :], False
        if rules.left_out:
            # To git, a link is a file.
            is_real = entry.is_dir() and not entry.is_symlink()
            git_name = entry.path[rules.start :].replace(os.sep, "/") + "/" * is_real
            by_git = git_name in rules.left_out or git.ITSELF in rules.left_out
        if self._rules.tracked and (by_git or (entry.is_dir() and git.is_repository(entry.path))):
            return "not tracked by git"
        end = os.sep * is_dir
        decision = _decided(os.path.join(self._top, path + end), rules.patterns)
        is_excluded = by_git if decision is None else decision
        if self._exclude and not is_excluded:
            placed = [(self._exclude, self._pattern_start)]
            is_excluded = bool(_decided(entry.path + end, placed))
        return EXCLUDED if is_excluded else ""


def _is_postponed(entry: Entry) -> bool:
    """Whether an entry is read when all else of the run has been read: a link, or a bin."""
    return entry.is_symlink() or (entry.is_dir() and is_bin_name(entry.name))


def _ignore_files(left_out: Set[str] | None) -> tuple[str, ...]:
    """The names of the ignore files that are read here: not git's own where git answers."""
    return (".lshdbignore",) if left_out is not None else (".gitignore", ".lshdbignore")


def _decided(path: str, patterns: Sequence[_Placed], *, is_named: bool = False) -> bool | None:
    """The decision of the deepest directory that has one; None if none has.

    Args:
        path: absolute, with a slash at the end of a directory's.
        patterns: of the directories above it, the outermost first.
        is_named: whether the user named the directory. Another one is not left out where a pattern
            includes again: that may be a file in it.
    """
    for spec, start in reversed(patterns):
        if (is_excluded := spec.check_file(path[start:]).include) is not None:
            is_walked = path.endswith(os.sep) and not is_named
            return is_excluded and not (
                is_walked and any(pattern.include is False for pattern in spec.patterns)
            )
    return None


def _lines(path: str) -> list[str]:
    """The lines of a file of patterns; InputError or OSError if it cannot be read."""
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # a named pipe might never end
        raise errors.InputError(f"its {os.path.basename(path)} is not a file")
    with open(path, "rb") as file:
        data = file.read().removeprefix(_BOM)
    return [os.fsdecode(line.removesuffix(b"\r")) for line in data.split(b"\n")]


def _spec_of(lines: Iterable[str]) -> "tuple[GitIgnoreSpec | None, list[str]]":
    """What decides by some lines, and the lines that are no patterns."""
    lines = [*filter(str.strip, lines)]
    if not lines:
        return None, []
    from pathspec import GitIgnoreSpec

    patterns: list[Any] = []
    wrong: list[str] = []
    with warnings.catch_warnings():
        # Of an expression that another version of Python may read in another way.
        warnings.simplefilter("ignore", FutureWarning)
        for line in lines:
            try:
                patterns += GitIgnoreSpec.from_lines([line]).patterns
            except (ValueError, re.error):
                wrong.append(line)
    return GitIgnoreSpec(patterns), wrong
