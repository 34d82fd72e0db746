"""What a working tree has and adds: files that git tracks, and the lines of changes."""

import dataclasses
import os
import re
import sys
from collections.abc import Iterator, Sequence

from lshdb.apps.ignoring.git import names_in, run
from lshdb.errors import InputError, UsageError
from lshdb.read.paths import printable_path

_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
ALL_LINES = (1, sys.maxsize)
"""The range of all lines of a file."""


@dataclasses.dataclass
class Changed:
    """A changed file.

    Attributes:
        is_new: whether there was none before; a renamed file is not new.
        lines: the ranges of lines that were added or changed, first and last, from 1.
    """

    is_new: bool
    lines: list[tuple[int, int]] = dataclasses.field(default_factory=list)


def repository(directory: str) -> tuple[str, str]:
    """The top of the working tree that a directory is in, and a place for an index below .git."""
    printed = run(directory, "rev-parse", "--show-toplevel", "--git-path", "lshdb")
    top, index_path = map(os.fsdecode, printed.splitlines())
    return top, os.path.abspath(os.path.join(directory, index_path))


def tracked(directory: str) -> set[str]:
    """The paths of the files below a directory that git tracks."""
    return names_in(run(directory, "ls-files", "-z"))


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
        if run(top, "rev-parse", "--is-shallow-repository").strip() == b"true":
            why += (
                "; this clone has only a part of the history: git fetch --unshallow, or in a "
                "workflow of GitHub fetch-depth: 0 for actions/checkout"
            )
        raise UsageError(f"since {since}: {why}") from None


def _path(line: bytes) -> str:
    """The path of a heading such as `+++ b/src/a.py`, as a key; empty for a deleted file."""
    name = line[4:].removesuffix(b"\t")
    if name.startswith(b'"'):  # as in C
        name = name[1:-1].decode("unicode_escape").encode("latin-1")
    return printable_path(os.fsdecode(name[2:])) if name.startswith(b"b/") else ""
