"""Walking directories: which of the files in them are read.

The rules are git's for .gitignore: the patterns of a directory apply to everything below it, deeper
ones override those above, and a file in an ignored directory cannot be included again. A
.lshdbignore is the same for lshdb only; its patterns come after those of the .gitignore beside it.
The library pathspec matches patterns; it is imported when there are some.
"""

import os
import re
import stat
from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate

from lshdb import errors
from lshdb.model import Failure
from lshdb.options import WalkingOptions
from lshdb.sources import counts, git
from lshdb.sources.archives import Archives, Member, archive_of
from lshdb.sources.paths import is_database
from lshdb.store import guard

_IGNORE_FILES = (".gitignore", ".lshdbignore")
_REPOSITORY = ".git"
_SQLITE_SUFFIXES = ("-wal", "-shm", "-journal")
_BOM = b"\xef\xbb\xbf"
EXCLUDED = "excluded by a pattern"

_SUFFIX = re.compile(r"\*\.(\w+)")
"""A pattern that is only a suffix."""

Entry = os.DirEntry[str] | Member
"""A file, or a member of an archive."""
_Patterns = list[tuple[re.Pattern[str], bool]]
"""Patterns, the last one first, and whether each excludes or includes what it matches."""
_Placed = tuple[_Patterns, int]
"""Patterns, and how many characters of an absolute path they do not see."""


class Walk:
    """The files in a directory and everything below it, in the order of their names.

    An iterable of the entry of each file, and the failure of each directory or archive that cannot
    be listed.

    Args:
        directory: may be a symbolic link itself.
        rules: which files.
        skipped_files: counts the others.
        archives: reads archives as directories; None if they are files like others.

    Raises:
        UsageError: a pattern of the rules is invalid.
        InputError: only tracked files are wanted, and git does not answer.
    """

    def __init__(
        self,
        directory: str,
        rules: WalkingOptions,
        skipped_files: counts.SkippedFiles,
        archives: Archives | None = None,
    ) -> None:
        self._rules, self._skipped, self._archives = rules, skipped_files, archives
        self._directory, self._top = directory, os.path.abspath(directory)
        self._start = len(os.path.join(directory, ""))
        self._exclude = _compiled([*map(_as_bytes, rules.exclude)], "exclude")
        self._include = _compiled([*map(_as_bytes, rules.include)], "include")
        # Files are tracked although .gitignore excludes them.
        self._ignore_files = _IGNORE_FILES[rules.tracked :]
        self._directories: set[str] | None = None  # with files that are included
        self._above = tuple(_outer(self._top, self._ignore_files)) if rules.ignore else ()
        self._tracked = git.tracked(directory) if rules.tracked else None
        if self._tracked is not None and self._include:
            wanted = (path for path in self._tracked if self._is_included(path))
            self._directories = git.with_directories(wanted)

    def __iter__(self) -> Iterator[Entry | Failure]:
        # An explicit stack: a tree may be deeper than Python's recursion limit.
        waiting: list[tuple[str, Entry | None, tuple[_Placed, ...]]]
        waiting = [(self._directory, None, self._above)]
        while waiting:
            path, entry, patterns = waiting.pop()
            packed = self._is_packed(path)
            if entry is not None and not entry.is_dir() and not packed:
                yield entry
                continue
            try:
                entries, patterns = self._listed(path, patterns, packed)
            except (errors.InputError, OSError) as error:
                yield counts.failure_of(path, error)
                continue
            inodes = guard.open_inodes()
            to_walk = [
                (inner.path, inner, patterns)
                for inner in entries
                if self._is_taken(inner, patterns, inodes)
            ]
            waiting += reversed(to_walk)

    def _is_packed(self, path: str) -> bool:
        """Whether a path is an archive that is read as a directory."""
        return self._archives is not None and archive_of(path) == path

    def _listed(
        self, path: str, patterns: tuple[_Placed, ...], packed: bool
    ) -> tuple[list[Entry], tuple[_Placed, ...]]:
        """The entries of a directory or archive, by name, and the patterns for them."""
        entries: list[Entry]
        if packed and self._archives is not None:
            entries = [*self._archives.members(path).values()]
        else:
            with os.scandir(path) as scanned:
                entries = [*scanned]
        entries.sort(key=lambda entry: entry.name)
        if self._rules.ignore and not packed:
            names = {entry.name for entry in entries}.intersection(self._ignore_files)
            files = [os.path.join(path, name) for name in self._ignore_files if name in names]
            if compiled := _compiled([line for file in files for line in _lines(file)]):
                directory = os.path.join(self._top, path[self._start :], "")
                patterns = (*patterns, (compiled, len(directory)))
        return entries, patterns

    def _is_taken(self, entry: Entry, patterns: Sequence[_Placed], inodes: Container[int]) -> bool:
        """Whether an entry is walked or read; counts a skipped one, except an open database."""
        kind, why = self._why_skipped(entry, patterns, inodes)
        if why:
            self._skipped.add(kind, entry.path, why)
        return not kind

    def _why_skipped(
        self, entry: Entry, patterns: Sequence[_Placed], inodes: Container[int]
    ) -> tuple[str, str]:
        """What kind of entry is skipped, and why; both are empty for others."""
        rules = self._rules
        names = entry.name.split("/") if isinstance(entry, Member) else [entry.name]
        hidden = [name for name in names if name.startswith(".")]
        if hidden and (not (rules.hidden or rules.tracked) or _REPOSITORY in hidden):
            return "hidden", "its name begins with a dot"
        if entry.is_symlink():
            return "links", "a symbolic link"
        if not entry.is_dir() and not entry.is_file():
            return "special", "not a regular file"
        is_dir = entry.is_dir() or self._is_packed(entry.path)
        if why := self._why_ignored(entry, is_dir, patterns):
            return "ignored", why
        if is_dir:
            return "", ""
        database = _database_of(entry.path)
        if (entry.inode() in inodes and guard.is_open(entry.path)) or (
            database and guard.is_open(database)
        ):
            return "open", ""
        if database and _is_database(database):
            return "binary", "a part of an SQLite database"
        if rules.max_filesize is not None and _size(entry) > rules.max_filesize:
            return "large", f"larger than {rules.max_filesize:,} bytes"
        return "", ""

    def _why_ignored(self, entry: Entry, is_dir: bool, patterns: Sequence[_Placed]) -> str:
        """Why git or a pattern leaves an entry out; empty if none does."""
        path, packed = entry.path[self._start :], isinstance(entry, Member)
        inner = _as_bytes(path)
        tracked_path = inner + "/" * entry.is_dir()
        if not (packed or patterns or self._exclude) and tracked_path in (self._directories or ()):
            return ""  # as most files of a repository
        if self._tracked is not None and not packed and tracked_path not in self._tracked:
            return "not tracked by git"
        if is_dir and self._directories is not None and tracked_path not in self._directories:
            return EXCLUDED
        inner += "/" * is_dir
        # A member's directories are not walked before it.
        paths = accumulate(re.findall("[^/]*/|.+", inner)) if packed else (inner,)
        is_excluded = (
            (patterns and _is_ignored(os.path.join(self._top, path), is_dir, patterns))
            or any(_decision(self._exclude, above) for above in paths)
            or (self._include and not is_dir and not self._is_included(inner))
        )
        return EXCLUDED if is_excluded else ""

    def _is_included(self, path: str) -> bool:
        """Whether the patterns that include files match a path or a directory above."""
        return bool(_decision(self._include, path, below=True))


def _size(entry: Entry) -> int:
    """The size of a file; 0 if it is unknown: reading the file then gives the reason."""
    with suppress(OSError):
        return entry.stat().st_size
    return 0


def _is_ignored(path: str, is_dir: bool, patterns: Sequence[_Placed]) -> bool:
    """Whether the last matching pattern, of the deepest directory that has one, excludes it."""
    for placed_patterns, start in reversed(patterns):
        relative = _as_bytes(path[start:]) + "/" * is_dir
        is_excluded = _decision(placed_patterns, relative)
        if is_excluded is not None:
            return is_excluded
    return False


def _decision(patterns: _Patterns, path: str, *, below: bool = False) -> bool | None:
    """The decision of the last matching pattern; None if none matches.

    Args:
        patterns: of one directory.
        path: from there; a directory's ends with a slash.
        below: whether a pattern that matches a directory also matches everything in it. For git
            it does not: files in an ignored directory are never checked.
    """
    for pattern, excludes in patterns:
        if pattern.search(path) if below else pattern.fullmatch(path):
            return excludes
    return None


def _outer(top: str, ignore_files: Sequence[str]) -> list[_Placed]:
    """The patterns above a directory, up to the top of its git repository, the highest first.

    A directory that they ignore has none: the user named it, so it is wanted.
    """
    inner, patterns = top, list[_Placed]()
    while not os.path.lexists(os.path.join(inner, _REPOSITORY)):
        parent = os.path.dirname(inner)
        if parent == inner:
            return []  # in no repository
        inner = parent
        paths = [os.path.join(parent, name) for name in ignore_files]
        lines = [line for path in paths if os.path.isfile(path) for line in _lines(path)]
        patterns.insert(0, (_compiled(lines), len(os.path.join(parent, ""))))
    return [] if _is_ignored(top, True, patterns) else patterns


def _lines(path: str) -> list[str]:
    """The lines of a file of patterns; InputError or OSError if it cannot be read."""
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # a named pipe might never end
        raise errors.InputError(f"its {os.path.basename(path)} is not a file")
    with open(path, "rb") as file:
        data = file.read().removeprefix(_BOM)
    return [line.removesuffix(b"\r").decode("latin-1") for line in data.split(b"\n")]


def _as_bytes(path: str) -> str:
    """A path with slashes and a character per byte, so that `?` matches one byte, as in git."""
    if os.sep != "/":
        path = path.replace(os.sep, "/")
    return path if path.isascii() else os.fsencode(path).decode("latin-1")


def _compiled(lines: Sequence[str], option: str | None = None) -> _Patterns:
    """The patterns of some lines; an invalid one is skipped, as by git.

    Raises:
        UsageError: an invalid one in an option.
    """
    if not any(lines):
        return []
    suffixes = [_SUFFIX.fullmatch(line) for line in lines]
    if all(suffixes):  # one pattern for all of them: a walk matches it with each file
        either = "|".join(re.escape(match[1]) for match in suffixes if match)
        return [(re.compile(rf"^(?:.+/)?[^/]*\.(?:{either})(?:/|$)"), True)]
    from pathspec import GitIgnoreSpec

    patterns: _Patterns = []
    for line in lines:
        try:
            (pattern,) = GitIgnoreSpec.from_lines([line]).patterns
        except ValueError as error:
            if option is not None:
                raise errors.UsageError(f"{option} {line!r} is not a pattern") from error
            continue
        if pattern.include is not None and pattern.regex is not None:
            patterns.insert(0, (_as_by_git(pattern.regex), pattern.include))
    return patterns


def _as_by_git(pattern: re.Pattern[str]) -> re.Pattern[str]:
    """A pattern of pathspec that matches the same paths as for git, and nothing below them.

    pathspec checks only files, so a pattern that matches a directory matches everything in it. Here
    each directory is checked by itself, as by git: `*` and `!*/` leave out the files at all depths.
    """
    text = pattern.pattern
    if text == ".":  # *
        return re.compile(".+", re.DOTALL)
    if text == "(?P<ps_d>/)":  # */
        return re.compile(".*/", re.DOTALL)
    if text.endswith("/"):  # a/**, which is not a/ itself
        return re.compile(text + ".+", re.DOTALL)
    return pattern


def _database_of(path: str) -> str:
    """The database that a file beside it belongs to by its name; empty for other files."""
    database, dash, suffix = path.rpartition("-")
    return database if dash + suffix in _SQLITE_SUFFIXES else ""


def _is_database(path: str) -> bool:
    with suppress(OSError):
        return is_database(path)
    return False
