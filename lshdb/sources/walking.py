"""Walking directories: which of the files in them are read.

The rules are git's for .gitignore: the patterns of a directory apply to everything below it, deeper
ones override those above, and a file in an ignored directory cannot be included again. A
.lshdbignore is the same for lshdb only; its patterns come after those of the .gitignore beside it.
The library pathspec matches patterns; it is imported when there are some.
"""

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate

from lshdb.errors import InputError, UsageError
from lshdb.options import WalkingOptions
from lshdb.sources import git
from lshdb.sources.archives import Archives, Member, archive_of
from lshdb.sources.paths import is_database, printable_path
from lshdb.store.guard import is_open, open_inodes

_IGNORE_FILES = (".gitignore", ".lshdbignore")
_REPOSITORY = ".git"
_SQLITE_SUFFIXES = ("-wal", "-shm", "-journal")
_BOM = b"\xef\xbb\xbf"


_REASONS = (
    "hidden",  # names that begin with a dot
    "archives",  # ZIP and tar files, where they are not read as directories
    "binary",  # files that are no text (see `readers`), and those of SQLite
    "links",  # symbolic links: following them could repeat files, or never end
    "special",  # sockets, pipes, devices
    "ignored",  # files and directories that patterns exclude
    "large",  # files above the maximum size
    "tables",  # files of rows, by their suffixes, where only text files are read; JSON without rows
    "texts",  # other files, where only tables are read
    "documents",  # PDF, Word and the like, where they are not wanted, or a library is missing
    "repeated",  # files that another path led to before: another input, or a link to one
    "scanned",  # PDFs of pictures; these have documents, without text
    "damaged",  # documents with a page or part that cannot be read; the rest of them is
    "guessed",  # texts whose encoding is guessed; these are read
    "dropped",  # files whose documents were decided to be dropped, in `sync`
)
EXCLUDED = "excluded by a pattern"


class SkippedFiles(Counter[str]):
    """Counts of skipped entries of directories, by the reason, and of inputs that are repeated.

    With the documents and failures these, but for `scanned`, `damaged` and `guessed`, are all
    entries, without what is in skipped directories, and without an open database.

    Attributes:
        on_skip: called with the path of each, and the reason.
    """

    on_skip: Callable[[str, str], None] | None = None

    def add(self, kind: str, path: str, why: str) -> None:
        """Count an entry, for one of the reasons."""
        self[kind] += 1
        if self.on_skip is not None:
            self.on_skip(path, why)

    def add_repeated(self, path: str, earlier: str) -> None:
        """Count a file that was read before, by another path or the same."""
        self.add("repeated", path, f"read already, as {printable_path(earlier)}")

    def counts(self) -> dict[str, int]:
        """The count for each reason."""
        return {kind: self[kind] for kind in _REASONS}


Entry = os.DirEntry[str] | Member
"""A file, or a member of an archive."""
_Patterns = list[tuple[re.Pattern[str], bool]]
"""Patterns, the last one first, and whether each excludes or includes what it matches."""
_Placed = tuple[_Patterns, int]
"""Patterns, and how many characters of an absolute path they do not see."""


def walk(
    directory: str,
    rules: WalkingOptions,
    skipped_files: SkippedFiles,
    archives: Archives | None = None,
) -> Iterator[Entry | tuple[str, InputError | OSError]]:
    """The files in a directory and everything below it, in the order of their names.

    Args:
        directory: may be a symbolic link itself.
        rules: which files.
        skipped_files: counts the others.
        archives: reads archives as directories; None if they are files like others.

    Yields:
        The entry of each file; or a directory that cannot be read, with the reason.

    Raises:
        UsageError: a pattern of the rules is invalid.
        InputError: only tracked files are wanted, and git does not answer.
    """
    top, start = os.path.abspath(directory), len(os.path.join(directory, ""))
    exclude = _compiled([*map(_as_bytes, rules.exclude)], "exclude")
    include = _compiled([*map(_as_bytes, rules.include)], "include")
    endings = _endings(rules.include)
    # Files are tracked although .gitignore excludes them.
    ignore_files = _IGNORE_FILES[rules.tracked :]
    outer = tuple(_outer(top, ignore_files)) if rules.ignore else ()
    tracked = git.tracked(directory) if rules.tracked else None
    # An explicit stack: a tree may be deeper than Python's recursion limit.
    waiting: list[tuple[str, Entry | None, tuple[_Placed, ...]]]
    waiting = [(directory, None, outer)]

    def is_packed(path: str) -> bool:
        return archives is not None and archive_of(path) == path

    while waiting:
        path, entry, patterns = waiting.pop()
        packed = is_packed(path)
        if entry is not None and not entry.is_dir() and not packed:
            yield entry
            continue
        entries: list[Entry]
        try:
            if packed and archives:
                entries = [*archives.members(path).values()]
            else:
                with os.scandir(path) as found:
                    entries = [*found]
            entries.sort(key=lambda one: one.name)
            if rules.ignore and not packed:
                names = {one.name for one in entries}
                lines = [
                    line
                    for name in ignore_files
                    if name in names
                    for line in _lines(os.path.join(path, name))
                ]
                if own := _compiled(lines):
                    here = os.path.join(top, path[start:], "")
                    patterns = (*patterns, (own, len(here)))
        except (InputError, OSError) as error:
            yield path, error
            continue
        taken = []
        inodes = open_inodes()
        for one in entries:
            if not _is_seen(one, rules, skipped_files):
                continue
            is_dir = one.is_dir() or is_packed(one.path)
            database = _database_of(one.path)
            inner = _as_bytes(one.path[start:]) + "/" * is_dir
            # A member's directories are not walked before it.
            paths = accumulate(re.findall("[^/]*/|.+", inner)) if packed else (inner,)
            if (
                tracked is not None
                and not packed
                and _as_bytes(one.path[start:]) + "/" * one.is_dir() not in tracked
            ):
                skipped_files.add("ignored", one.path, "not tracked by git")
            elif (
                _is_ignored(os.path.join(top, one.path[start:]), is_dir, patterns)
                or any(_decision(exclude, above) for above in paths)
                or (
                    include
                    and not is_dir
                    and one.name[one.name.rfind(".") :] not in endings
                    and not _decision(include, inner, below=True)
                )
            ):
                skipped_files.add("ignored", one.path, EXCLUDED)
            elif not is_dir and (
                (one.inode() in inodes and is_open(one.path)) or (database and is_open(database))
            ):
                pass  # the database itself does not count as skipped
            elif not is_dir and database and _is_database(database):
                skipped_files.add("binary", one.path, "a part of an SQLite database")
            elif rules.max_filesize is not None and not is_dir and _size(one) > rules.max_filesize:
                skipped_files.add("large", one.path, f"larger than {rules.max_filesize:,} bytes")
            else:
                taken.append((one.path, one, patterns))
        waiting += reversed(taken)


def _size(entry: Entry) -> int:
    """The size of a file, as far as it can be known: to read it will say why not."""
    with suppress(OSError):
        return entry.stat().st_size
    return 0


def _is_seen(entry: Entry, rules: WalkingOptions, skipped_files: SkippedFiles) -> bool:
    """Whether an entry is a file or directory to read, patterns aside; counts others."""
    hidden = rules.hidden or rules.tracked
    names = [one for one in entry.name.split("/") if one.startswith(".")]  # of a member several
    if names and (not hidden or _REPOSITORY in names):
        skipped_files.add("hidden", entry.path, "its name begins with a dot")
    elif entry.is_symlink():
        skipped_files.add("links", entry.path, "a symbolic link")
    elif not entry.is_dir() and not entry.is_file():
        skipped_files.add("special", entry.path, "not a regular file")
    else:
        return True
    return False


def _is_ignored(path: str, is_dir: bool, patterns: Sequence[_Placed]) -> bool:
    """Whether the last matching pattern, of the deepest directory that has one, excludes it."""
    for own, start in reversed(patterns):
        relative = _as_bytes(path[start:]) + "/" * is_dir
        found = _decision(own, relative)
        if found is not None:
            return found
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


def _endings(patterns: Sequence[str]) -> frozenset[str]:
    """The endings of the files that patterns such as `*.py` include, if none excludes any.

    With 60 patterns this takes a third of the time that all of them take for a file.
    """
    if any(line.startswith("!") for line in patterns):
        return frozenset()
    return frozenset(line[1:] for line in patterns if re.fullmatch(r"\*\.\w+", line))


def _outer(top: str, ignore_files: Sequence[str]) -> list[_Placed]:
    """The patterns above a directory, up to the top of its git repository, the highest first.

    There are none for a directory that they ignore: as it is named, it is wanted.
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
        raise InputError(f"its {os.path.basename(path)} is not a file")
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
    from pathspec import GitIgnoreSpec

    patterns: _Patterns = []
    for line in lines:
        try:
            (found,) = GitIgnoreSpec.from_lines([line]).patterns
        except ValueError as error:
            if option is not None:
                raise UsageError(f"{option} {line!r} is not a pattern") from error
            continue
        if found.include is not None and found.regex is not None:
            patterns.insert(0, (_of_one_name(found.regex), found.include))
    return patterns


def _of_one_name(pattern: re.Pattern[str]) -> re.Pattern[str]:
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
