"""What git, ignore files and the options `exclude`, `include` and `tracked` leave out of a walk.

In a working tree git says what it ignores, and each repository in another one is asked when the
walk comes to it. Elsewhere, and where git is missing or refuses, the library pathspec decides about
each file by the deepest .gitignore with a pattern for it. A .lshdbignore is the same for lshdb
only, and its patterns override git. pathspec is imported if there are patterns.
"""

import copy
import os
import re
import stat
import warnings
from collections.abc import Callable, Iterable, Sequence, Set
from typing import TYPE_CHECKING, Any, Self

from lshdb import errors
from lshdb.apps.ignoring import git
from lshdb.options import WalkingOptions
from lshdb.read import walking
from lshdb.read.paths import printable_path

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_BOM = b"\xef\xbb\xbf"
IGNORE_FILE = ".lshdbignore"
"""The name of lshdb's own ignore files."""
_Placed = tuple["GitIgnoreSpec", int]
"""Patterns, and how many characters of an absolute path they do not see."""


class Rules(walking.Rules):
    """What git, ignore files and options leave out of a directory."""

    _patterns: tuple[_Placed, ...] = ()
    """Of ignore files, the outermost first."""
    _left_out: Set[str] | None = None
    """Paths that git leaves out; None if it does not say."""

    def __init__(
        self, directory: str, options: WalkingOptions, note: Callable[[str], None], start: int
    ) -> None:
        super().__init__(directory, options, note, start)
        self._top, self._option_start = os.path.realpath(directory), start
        self._start = self._git_start = len(os.path.join(directory, ""))
        self._exclude, self._include = map(self._spec_of_option, ("exclude", "include"))
        repository = git.repository_of(directory) if options.ignore else None
        if options.tracked:
            self._left_out = git.untracked(directory)
        elif repository:
            self._left_out = self._ignored(directory)
        if repository:
            self._patterns = self._outer(repository)

    def at(self, directory: str) -> Self:
        """The rules in a directory in this one, which may be a repository."""
        if not self._options.ignore or not git.is_repository(directory):
            return self
        start = len(os.path.join(directory, ""))
        return self._with(_left_out=self._ignored(directory), _git_start=start)

    def within(self, directory: str, names: Set[str]) -> Self:
        """The rules for the entries of a directory with these names, with its ignore files."""
        names = names & {*self._ignore_files()} if self._options.ignore else set()
        if not names:
            return self
        start = len(os.path.join(self._top, directory[self._start :], ""))
        return self._with(_patterns=(*self._patterns, *self._specs(directory, names, start)))

    def why_left_out(self, entry: walking.Entry, *, is_directory: bool) -> str:
        """Why git or a pattern leaves an entry out; empty if none does."""
        by_git = False
        if self._left_out:
            # To git, a link is a file.
            is_real = entry.is_dir() and not entry.is_symlink()
            git_name = entry.path[self._git_start :].replace(os.sep, "/") + "/" * is_real
            by_git = git_name in self._left_out or git.ITSELF in self._left_out
        if self._options.tracked and (by_git or (entry.is_dir() and git.is_repository(entry.path))):
            return "not tracked by git"
        end = os.sep * is_directory
        path = os.path.join(self._top, entry.path[self._start :] + end)
        decision = _decided(path, self._patterns)
        is_excluded = by_git if decision is None else decision
        if self._exclude and not is_excluded:
            placed = [(self._exclude, self._option_start)]
            is_excluded = bool(_decided(entry.path + end, placed))
        if is_excluded:
            return walking.EXCLUDED
        include = None if is_directory else self._include
        is_included = not include or include.match_file(entry.path[self._option_start :])
        return "" if is_included else walking.NOT_INCLUDED

    def _with(self, **changes: object) -> Self:
        """The same rules but for some attributes."""
        rules = copy.copy(self)
        vars(rules).update(changes)
        return rules

    def _ignore_files(self) -> tuple[str, ...]:
        """The names of the ignore files that are read here: not git's own where git answers."""
        return (IGNORE_FILE,) if self._left_out is not None else (".gitignore", IGNORE_FILE)

    def _ignored(self, directory: str) -> Set[str] | None:
        """What git ignores of a directory; None, with a note, if it refuses."""
        try:
            return git.ignored(directory)
        except git.Refused as error:
            self._note(f"{error}; .gitignore files are read without git")
            return None

    def _spec_of_option(self, option: str) -> "GitIgnoreSpec | None":
        """The patterns of an option; UsageError for one that is none."""
        spec, wrong = _spec_of(getattr(self._options, option))
        for line in wrong:
            raise errors.UsageError(f"{option} {line!r} is not a pattern")
        return spec

    def _specs(self, directory: str, names: Iterable[str], start: int) -> list[_Placed]:
        """The patterns of ignore files; one that cannot be read is named and skipped."""
        placed = []
        for path in (os.path.join(directory, name) for name in sorted(names)):
            spec, wrong = _spec_of(_lines(path))
            for line in wrong:
                text = os.fsencode(line).decode(errors="backslashreplace")
                self._note(f"{printable_path(path)}: skipped {text!r:.50}, not a pattern")
            if spec:
                placed.append((spec, start))
        return placed

    def _outer(self, repository: str) -> tuple[_Placed, ...]:
        """The patterns above the directory, up to the top of its repository, the highest first.

        A directory that they ignore has none: the user named it, so it is wanted.
        """
        inner, placed = self._top, list[_Placed]()
        while inner != repository:
            inner = os.path.dirname(inner)
            names = [
                name for name in self._ignore_files() if os.path.isfile(os.path.join(inner, name))
            ]
            placed[:0] = self._specs(inner, names, len(os.path.join(inner, "")))
        is_ignored = _decided(os.path.join(self._top, ""), placed, is_named=True)
        return () if is_ignored else tuple(placed)


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
