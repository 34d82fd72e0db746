"""What git knows of a directory: the files that it tracks, and the lines that changes add.

The command `git` answers. Options that could run programs of the repository are off.
"""

import os
import re
import subprocess
from dataclasses import dataclass, field

from lshdb.errors import InputError, UsageError
from lshdb.sources.paths import printable_path

_SAFE = ("-c", "core.fsmonitor=false")
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(slots=True)
class Changed:
    """What changes did to a file.

    Attributes:
        is_new: whether there was none before; a renamed file is not new.
        lines: the ranges of lines that were added or changed, first and last, from 1.
    """

    is_new: bool
    lines: list[tuple[int, int]] = field(default_factory=list)


def run(directory: str, *arguments: str) -> bytes:
    """What git prints in a directory.

    Raises:
        InputError: it fails, or is not installed; the message is its own first line.
    """
    command = ["git", *_SAFE, "-C", directory, *arguments]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except FileNotFoundError:
        raise InputError("git is not installed: put it on the PATH") from None
    if done.returncode:
        said = done.stderr.decode(errors="backslashreplace").strip() or "git failed"
        raise InputError(f"{printable_path(directory)}: {said.splitlines()[0]}")
    return done.stdout


def repository(directory: str) -> tuple[str, str]:
    """The top of the working tree that a directory is in, and a place for an index below .git."""
    found = run(directory, "rev-parse", "--show-toplevel", "--git-path", "lshdb")
    top, place = map(os.fsdecode, found.splitlines())
    return top, os.path.abspath(os.path.join(directory, place))


def tracked(directory: str) -> set[str]:
    """The files below a directory that git tracks, and the directories on the way to them.

    Returns:
        Their paths from there with a character for each byte; those of directories end with /.
    """
    found: set[str] = set()
    for path in run(directory, "ls-files", "-z").decode("latin-1").split("\0"):
        while path and path not in found:
            found.add(path)
            parent = path.rstrip("/").rpartition("/")[0]
            path = parent and f"{parent}/"
    return found


def changes(top: str, since: str) -> dict[str, Changed]:
    """What the working tree adds to the last commit that it shares with another.

    Args:
        top: of the working tree.
        since: a branch, tag or commit. HEAD may not exist yet: then everything is new.

    Returns:
        The changed files that exist, by their paths from the top as keys of documents.

    Raises:
        UsageError: there is no such commit, or none that both share.
    """
    diff = ("diff", "-U0", "--no-color", "--no-ext-diff", "--no-textconv", "--find-renames")
    names = ("--src-prefix=a/", "--dst-prefix=b/")
    lines = iter(run(top, *diff, *names, _base(top, since), "--").split(b"\n"))
    found: dict[str, Changed] = {}
    before = b""
    for line in lines:
        if line.startswith(b"--- "):
            before = line
        elif line.startswith(b"+++ ") and (path := _path(line)):
            found[path] = file = Changed(before == b"--- /dev/null")
        elif hunk := _HUNK.match(line):
            removed, first, added = (1 if n is None else int(n) for n in hunk.groups())
            for _ in range(removed + added):
                next(lines)  # which may look like a heading
            if added:
                file.lines.append((first, first + added - 1))
    return found


def _base(top: str, since: str) -> str:
    commit = f"{since}^{{commit}}"
    try:
        found = run(top, "rev-parse", "--verify", "--quiet", "--end-of-options", commit)
    except InputError:
        if since == "HEAD":
            return run(top, "hash-object", "-t", "tree", "--stdin").decode().strip()
        raise UsageError(f"since {since}: git knows no such branch, tag or commit") from None
    try:
        return run(top, "merge-base", "HEAD", found.decode().strip()).decode().strip()
    except InputError:
        raise UsageError(
            f"since {since}: it shares no commit with HEAD; in a clone without history, fetch it "
            "first (git fetch --unshallow, or fetch-depth: 0)"
        ) from None


def _path(line: bytes) -> str:
    """The path of a heading such as `+++ b/src/a.py`, as a key; empty for a deleted file."""
    name = line[4:].removesuffix(b"\t")
    if name.startswith(b'"'):  # as in C
        name = name[1:-1].decode("unicode_escape").encode("latin-1")
    return printable_path(os.fsdecode(name[2:])) if name.startswith(b"b/") else ""
