"""What patterns and git leave out of directories: git itself says what .gitignore excludes."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from helpers import new_session

from lshdb.errors import UsageError
from lshdb.model import Document, Failure
from lshdb.options import WalkingOptions
from lshdb.read.counts import SkippedFiles

pytestmark = pytest.mark.usefixtures("root")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty directory, which is the current one."""
    monkeypatch.chdir(tmp_path)


def write(path: str, content: str = "text") -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(content.encode())


def keys(*paths: str, **rules: Any) -> list[str]:
    session = new_session(False, format="text", rules=WalkingOptions(**rules), root=os.getcwd())
    found = [*session.read(paths)]
    assert all(isinstance(item, Document) for item in found), found
    return [item.key for item in found if isinstance(item, Document)]


def git(*arguments: str, given: str = "") -> list[str]:
    done = subprocess.run(
        ["git", "-c", "core.excludesFile=", "-c", "init.defaultBranch=main", *arguments],
        input=given.encode("utf-8", "surrogateescape"),
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]


def not_ignored(files: list[str]) -> list[str]:
    """The files that git would take, by `git check-ignore`."""
    ignored = git("check-ignore", "--no-index", "-z", "--stdin", given="\0".join(files) + "\0")
    return sorted({*files} - {*ignored})


NAMES = ("a", "b", "ab", "c.txt", "d.o", "e f", "[x]", "\xe9")
PATTERNS = (
    *("a", "/a", "a/", "/a/", "b/*", "*", "!*/", "!a", "!/a/b", "a/b", "**/b", "a/**", "a/**/b"),
    *("*.o", "!d.o", "!*.txt", "*.t?t", "[abc]", "[!a]", "[a-c].txt", "e\\ f", "e f ", "\\[x]"),
    *("# a", "", "!", "/", "\\!a", "??", "!b/", "a*", "/*", "!/b", "\xe9", "*b/", "a/*/c.txt"),
)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_ignored_is_what_git_says(seed: int) -> None:
    """Random trees with random .gitignore files at all depths."""
    rng, every = random.Random(seed), list[str]()
    git("init", "-q")
    for number in range(6):
        top, files = f"t{number}", set[str]()
        for _ in range(25):
            path = "/".join([top, *rng.choices(NAMES, k=rng.randint(1, 4))])
            if not os.path.isdir(path) and not any(map(Path.is_file, Path(path).parents)):
                write(path)
                files.add(path)
        for directory in {top, *rng.sample([os.path.dirname(path) for path in sorted(files)], 3)}:
            lines = [*rng.choices(PATTERNS, k=rng.randint(1, 6)), ""]
            write(f"{directory}/.gitignore", rng.choice(["\n", "\r\n"]).join(lines))
        expected = not_ignored(sorted(files))
        assert sorted(keys(top)) == expected, [
            (str(path), path.read_bytes()) for path in Path(top).rglob(".gitignore")
        ]
        every += files
    assert sorted(keys(".")) == not_ignored(every)


def test_patterns_above_a_directory_hold_up_to_the_top_of_its_repository() -> None:
    write("repo/.gitignore", "*.o\nbuild/\n/src/x\n")
    for name in ("src/a.o", "src/a.c", "src/x", "src/sub/x", "build/made", "build/b.o"):
        write(f"repo/{name}")
    assert len(keys("repo/src")) == 4, "it is no repository yet"
    git("init", "-q", "repo")
    assert keys("repo/src") == ["repo/src/a.c", "repo/src/sub/x"]
    assert keys("repo/build") == ["repo/build/b.o", "repo/build/made"], "who names it wants it"
    write("repo/src/.lshdbignore", "!*.o\nsub\n")
    assert keys("repo/src") == ["repo/src/a.c", "repo/src/a.o"]
    assert len(keys("repo/src", ignore=False)) == 4
    assert keys("repo/src/x") == ["repo/src/x"], "a file that is named is read"


def test_exclude_include_hidden_and_sizes() -> None:
    for name in ("a.py", "b.txt", "v/c.py", "v/w/d.py", ".e.py", ".f/g.py"):
        write(f"d/{name}", name * 10)
    git("init", "-q", "d")
    assert keys("d", exclude=["v/"]) == ["d/a.py", "d/b.txt"]
    assert keys("d", exclude=["*.py", "!a.py"]) == ["d/a.py", "d/b.txt"]
    assert keys("d", include=["*.py"]) == ["d/a.py", "d/v/c.py", "d/v/w/d.py"]
    assert keys("d", include=["/v/**"], exclude=["w"]) == ["d/v/c.py"]
    assert keys("d", hidden=True, include=["*.py"])[:2] == ["d/.e.py", "d/.f/g.py"]
    reader = new_session(False, rules=WalkingOptions(exclude=["v/"], max_filesize=40))
    assert [*reader.read(["d"])] == [Document("d/a.py", "a.py" * 10)]
    assert reader.counts.skipped == SkippedFiles(hidden=3, ignored=1, large=1)
    with pytest.raises(UsageError, match=r"exclude '!' is not a pattern"):
        keys("d", exclude=["!"])


def test_a_directory_whose_ignore_file_cannot_be_read_fails_alone() -> None:
    for name in ("d/a/1", "d/b/.gitignore/1", "d/b/1"):
        write(name)
    os.makedirs("d/c")
    os.mkfifo("d/c/.gitignore")  # a walk must not wait for its end
    assert [*new_session(of_sets=False).read(["d"])] == [
        Document("d/a/1", "text"),
        Failure("d/b", "is a directory"),
        Failure("d/c", "its .gitignore is not a file"),
    ]
