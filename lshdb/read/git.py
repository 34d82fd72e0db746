"""Files of a directory that git ignores or does not track, and the lines that changes add.

The command `git` answers. A repository may come from a stranger, and git runs programs that its
configuration names. None of these runs: settings that git reads for the commands here are
overridden, also in submodules, filters are found and overridden by their names, nothing is fetched
and no hook runs. Programs that the user's own configuration or the system's names are trusted, such
as the filter of git-lfs.
"""

import dataclasses
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence

from lshdb.errors import InputError, UsageError
from lshdb.read.paths import printable_path

_SAFE = (
    "--no-optional-locks",  # the index is not written, after which a hook would run
    "--no-pager",
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
)
_VARIABLES = {
    # Where objects are missing, git would fetch them: by no protocol, whatever the configuration
    # allows, so by none of the programs that it names.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    # Messages are read here.
    "LC_ALL": "C",
    "LANGUAGE": "",
}
_OF_USER = ("GIT_CONFIG", "GIT_ATTR_NOSYSTEM", "GIT_EXEC_PATH", "GIT_CEILING", "GIT_DISCOVERY")
"""How variables begin that are the user's. Git sets others for a hook: they name its repository,
whatever directory is given, and how to read paths."""
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
NAME = ".git"
"""The directory or file that makes a directory a repository."""
ITSELF = "./"
"""How git writes the directory that it is asked about."""
ALL_LINES = (1, sys.maxsize)
"""The range of all lines of a file."""


class Refused(InputError):
    """Git is missing, or fails before it answers."""


@dataclasses.dataclass
class Changed:
    """A changed file.

    Attributes:
        is_new: whether there was none before; a renamed file is not new.
        lines: the ranges of lines that were added or changed, first and last, from 1.
    """

    is_new: bool
    lines: list[tuple[int, int]] = dataclasses.field(default_factory=list)


def run(
    directory: str,
    *arguments: str,
    settings: Sequence[str] = (),
    stdin: bytes = b"",
    empty_status: int = 0,
) -> bytes:
    """The output of git in a directory; no program runs that the repository names.

    Args:
        directory: where. Its repository is asked, whatever one the environment names.
        arguments: of git.
        settings: more of its settings, each as NAME=VALUE.
        stdin: the input of git.
        empty_status: its exit status, besides 0, where there is nothing to print.

    Raises:
        Refused: it is not installed, or fails without output.
        InputError: it fails later; the message is its own, with its hints.
    """
    more = [word for setting in settings for word in ("-c", setting)]
    command = ["git", *_SAFE, *more, "-C", directory, *arguments]
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(_OF_USER)
    }
    try:
        process = subprocess.run(
            command, input=stdin, capture_output=True, check=False, env=environment | _VARIABLES
        )
    except OSError:
        raise Refused("git is not installed: put it on the PATH") from None
    if process.returncode not in (0, empty_status):
        printed = process.stderr.decode(errors="backslashreplace").split("\n")
        reason = "; ".join(filter(None, map(str.strip, printed))) or "git failed"
        has_begun = process.stdout or process.returncode < 0  # a signal ended it
        error = InputError if has_begun else Refused
        raise error(f"{printable_path(directory)}: {reason}")
    return process.stdout


def _without_filters(top: str) -> list[str]:
    """Settings by which the filters that a repository's own configuration names do nothing.

    Raises:
        InputError: one has a name that cannot be overridden.
    """
    query = ("--show-scope", "--name-only", "-z", "--get-regexp", r"^filter\.")
    printed = run(top, "config", *query, empty_status=1)
    fields = printed.decode(errors="surrogateescape").split("\0")
    names = {
        name.rpartition(".")[0]
        for scope, name in zip(fields[::2], fields[1::2], strict=False)
        if scope not in ("system", "global", "command")
    }
    if strange := next((name for name in names if "=" in name), None):
        raise InputError(
            f"{printable_path(top)}: {printable_path(strange)} in its git configuration cannot be "
            "switched off: rename it, as lshdb runs no program that a repository names"
        )
    values = ("clean=", "smudge=", "process=", "required=false")
    return [f"{name}.{value}" for name in sorted(names) for value in values]


def repository(directory: str) -> tuple[str, str]:
    """The top of the working tree that a directory is in, and a place for an index below .git."""
    printed = run(directory, "rev-parse", "--show-toplevel", "--git-path", "lshdb")
    top, index_path = map(os.fsdecode, printed.splitlines())
    return top, os.path.abspath(os.path.join(directory, index_path))


def is_repository(directory: str) -> bool:
    """Whether a directory is the top of a repository, as far as names say."""
    return os.path.lexists(os.path.join(directory, NAME))


def repository_of(directory: str) -> str | None:
    """The real path of the nearest directory with a .git, from a directory upwards, if any."""
    inner = os.path.realpath(directory)
    while not is_repository(inner):
        inner, below = os.path.dirname(inner), inner
        if inner == below:
            return None
    return inner


def tracked(directory: str) -> set[str]:
    """The paths of the files below a directory that git tracks."""
    return _names(run(directory, "ls-files", "-z"))


def untracked(directory: str) -> set[str]:
    """What git does not track of a directory; see `ignored`. ITSELF if it tracks nothing in it."""
    return _names(run(directory, "ls-files", "-o", "--directory", "-z"))


def ignored(directory: str) -> set[str] | None:
    """What git ignores of a directory, by all rules that it knows.

    The rest is what `git ls-files -co --exclude-standard` lists. Git is not asked for that, as it
    lacks without an error what is in a directory that git cannot read, which is then not gone.

    Returns:
        The paths of files from there, and those of directories, with a slash at the end, in which
        no file counts, whatever its name. Nested repositories
        have to be asked themselves. None if the directory itself is one of these.

    Raises:
        Refused: git is missing, or refuses: no repository, or that of another user.
        InputError: it fails later.
    """
    # Below an ignored directory, git has an internal error at the next command.
    if not is_repository(directory) and _matched(directory, [os.path.realpath(directory)]):
        return None
    # Git before 2.31, which leaves out some names, has no --deduplicate.
    options = ("-oi", "--exclude-standard", "--directory", "--deduplicate", "-z")
    names = _names(run(directory, "ls-files", *options)) - {ITSELF}
    # A directory is also listed where only its files are ignored, each by its name. With a slash at
    # its end its own patterns would be read for an empty name in it.
    directories = {name for name in names if name.endswith("/")}
    try:
        matched = _matched(directory, [f"./{name[:-1]}" for name in directories])
    except Refused as error:
        raise InputError(str(error)) from None
    return names - directories | {f"{name[2:]}/" for name in matched}


def _matched(directory: str, paths: Sequence[str]) -> set[str]:
    """Which of the paths a pattern matches."""
    check = ("check-ignore", "--no-index", "-z", "--stdin")
    given = os.fsencode("\0".join(paths))
    return _names(run(directory, *check, stdin=given, empty_status=1)) if paths else set()


def _names(printed: bytes) -> set[str]:
    return {*os.fsdecode(printed).split("\0")} - {""}


def changes(top: str, since: str, patterns: Sequence[str] = ()) -> dict[str, Changed]:
    """The lines that the working tree adds to the last commit that it shares with another.

    Args:
        top: of the working tree.
        since: a branch, tag or commit. HEAD may not exist yet: then everything is new.
        patterns: of the files that are wanted, as git's pathspecs; none for all.

    Returns:
        The changed files that exist, by their paths from the top as keys of documents. Files that
        git calls binary are compared line by line, too: its attributes and first bytes may say so
        of sources. A changed file with NUL bytes, as in UTF-16, has ALL_LINES, because git counts
        other line ends in it.

    Raises:
        UsageError: there is no such commit, or none that both share.
    """
    diff = ("diff", "-U0", "--text", "--no-color", "--no-ext-diff", "--no-textconv")
    shape = ("--find-renames", "--inter-hunk-context=0", "--no-relative")
    modules = ("--ignore-submodules=all", "--submodule=short")
    names = ("--src-prefix=a/", "--dst-prefix=b/")
    arguments = (*diff, *shape, *modules, *names, _base(top, since), "--", *patterns)
    lines = iter(run(top, *arguments, settings=_without_filters(top)).split(b"\n"))
    changed_files: dict[str, Changed] = {}
    before, file = b"", Changed(False)
    for line in lines:
        if line.startswith(b"--- "):
            before = line
        elif line.startswith(b"+++ "):
            file = Changed(before == b"--- /dev/null")
            if path := _path(line):
                changed_files[path] = file
        elif hunk := _HUNK.match(line):
            file.lines += _added(hunk, lines)
    return changed_files


def _added(hunk: re.Match[bytes], lines: Iterator[bytes]) -> list[tuple[int, int]]:
    """The ranges of lines that a hunk adds; takes its lines, which may look like a heading."""
    removed, number, added = (1 if n is None else int(n) for n in hunk.groups())
    ranges: list[tuple[int, int]] = []
    while removed > 0 or added > 0:
        line = next(lines, None)
        if line is None:
            break  # git was cut off
        if line[:1] == b"+":
            if b"\0" in line:
                ranges.append(ALL_LINES)
            elif ranges and ranges[-1][1] == number - 1:
                ranges[-1] = (ranges[-1][0], number)
            else:
                ranges.append((number, number))
        # Settings of the user may add lines of context, and a note may follow the last line.
        added -= line[:1] in (b"+", b" ", b"")
        number += line[:1] in (b"+", b" ", b"")
        removed -= line[:1] in (b"-", b" ", b"")
    return [ALL_LINES] if ALL_LINES in ranges else ranges


def _base(top: str, since: str) -> str:
    commit, why = f"{since}^{{commit}}", "git knows no such branch, tag or commit"
    try:
        commit_id = run(top, "rev-parse", "--verify", "--quiet", "--end-of-options", commit)
        why = "it shares no commit with HEAD"
        return run(top, "merge-base", "HEAD", commit_id.decode().strip()).decode().strip()
    except InputError:
        if since == "HEAD":
            return run(top, "hash-object", "-t", "tree", "--stdin").decode().strip()
        raise UsageError(f"since {since}: {why}{_advice(top)}") from None


def _advice(top: str) -> str:
    """What to do about a missing commit in a clone without all of its history; else nothing."""
    if run(top, "rev-parse", "--is-shallow-repository").strip() != b"true":
        return ""
    return (
        "; this clone has only a part of the history: git fetch --unshallow, or in a workflow of "
        "GitHub fetch-depth: 0 for actions/checkout"
    )


def _path(line: bytes) -> str:
    """The path of a heading such as `+++ b/src/a.py`, as a key; empty for a deleted file."""
    name = line[4:].removesuffix(b"\t")
    if name.startswith(b'"'):  # as in C
        name = name[1:-1].decode("unicode_escape").encode("latin-1")
    return printable_path(os.fsdecode(name[2:])) if name.startswith(b"b/") else ""
