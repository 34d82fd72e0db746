"""Walking directories: git itself says what .gitignore excludes, and keys are one for a file."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest
from helpers import new_session

from lshdb.errors import UsageError
from lshdb.model import Document, Failure
from lshdb.options import WalkingOptions
from lshdb.sources.counts import SkippedFiles
from lshdb.sources.paths import key_of

pytestmark = pytest.mark.usefixtures("root")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: str, text: str = "text") -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)


def keys(*paths: str, root: str | None = None, **rules: object) -> list[str]:
    reader = new_session(False, format="text", rules=WalkingOptions(**rules, root=root))  # type: ignore[arg-type]
    found = list(reader.read(paths))
    assert all(isinstance(one, Document) for one in found), found
    return [one.key for one in found if isinstance(one, Document)]


def git(*arguments: str, given: str = "") -> list[str]:
    done = subprocess.run(
        ["git", "-c", "core.excludesFile=", "-c", "init.defaultBranch=main", *arguments],
        input=given.encode("utf-8", "surrogateescape"),
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return [os.fsdecode(one) for one in done.stdout.split(b"\0") if one]


def not_ignored(files: list[str]) -> list[str]:
    """The files that git would take, by `git check-ignore`."""
    ignored = set(git("check-ignore", "--no-index", "-z", "--stdin", given="\0".join(files) + "\0"))
    return sorted(set(files) - ignored)


NAMES = ("a", "b", "ab", "c.txt", "d.o", "e f", "[x]", "\xe9")
PATTERNS = (
    *("a", "/a", "a/", "/a/", "b/*", "*", "!*/", "!a", "!/a/b", "a/b", "**/b", "a/**", "a/**/b"),
    *("*.o", "!d.o", "!*.txt", "*.t?t", "[abc]", "[!a]", "[a-c].txt", "e\\ f", "e f ", "\\[x]"),
    *("# a", "", "!", "/", "\\!a", "??", "!b/", "a*", "/*", "!/b", "\xe9", "*b/", "a/*/c.txt"),
)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_ignored_is_what_git_says(seed: int) -> None:
    """Random trees with random .gitignore files at all depths."""
    rng = random.Random(seed)
    git("init", "-q")
    for number in range(6):
        top = f"t{number}"
        files = set()
        for _ in range(25):
            depth = rng.randint(1, 4)
            path = "/".join([top, *(rng.choice(NAMES) for _ in range(depth))])
            if not any(os.path.isfile(str(one)) for one in Path(path).parents) and not (
                os.path.isdir(path)
            ):
                write(path)
                files.add(path)
        for directory in {top, *rng.sample([os.path.dirname(one) for one in sorted(files)], 3)}:
            end = rng.choice(["\n", "\r\n"])
            lines = rng.choices(PATTERNS, k=rng.randint(1, 6))
            Path(directory, ".gitignore").write_bytes(end.join([*lines, ""]).encode())
        expected = not_ignored(sorted(files))
        assert sorted(keys(top)) == expected, [
            (str(one), one.read_bytes()) for one in Path(top).rglob(".gitignore")
        ]
    assert sorted(keys(".")) == not_ignored(
        sorted(
            str(one) for one in Path().rglob("[!.]*") if one.is_file() and ".git/" not in str(one)
        )
    )


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
    for name in ("a.py", "b.txt", "v/c.py", "v/w/d.py", ".e.py", ".f/g.py", ".git/h.py"):
        write(f"d/{name}", name * 10)
    assert keys("d", exclude=["v/"]) == ["d/a.py", "d/b.txt"]
    assert keys("d", exclude=["*.py", "!a.py"]) == ["d/a.py", "d/b.txt"]
    assert keys("d", include=["*.py"]) == ["d/a.py", "d/v/c.py", "d/v/w/d.py"]
    assert keys("d", include=["/v/**"], exclude=["w"]) == ["d/v/c.py"]
    assert keys("d", hidden=True, include=["*.py"])[:2] == ["d/.e.py", "d/.f/g.py"]
    assert keys("d", max_filesize=50) == ["d/a.py", "d/b.txt"]
    reader = new_session(False, rules=WalkingOptions(exclude=["v/"], max_filesize=40))
    assert [one.key for one in reader.read(["d"]) if isinstance(one, Document)] == ["d/a.py"]
    assert reader.counts.skipped == SkippedFiles(hidden=3, ignored=1, large=1)
    with pytest.raises(UsageError, match=r"exclude '!' is not a pattern"):
        keys("d", exclude=["!"])


def test_an_ignore_file_that_cannot_be_read_costs_its_directory() -> None:
    write("d/a/file")
    write("d/b/file")
    os.mkdir("d/a/.gitignore")
    found = list(new_session(False).read(["d"]))
    assert found == [Failure("d/a", "is a directory"), Document("d/b/file", "text")]


def test_keys_of_files_are_paths_from_the_root_or_absolute(root: Path) -> None:
    for name in ("here/src/a", "other/b"):
        write(name)
    os.symlink("here", "link")
    os.chdir("here")
    same = ("src/a", "./src/a", "src//a", "src/./a", "../here/src/a", f"{root}/here/src/a")
    assert {key_of(path) for path in (*same, f"{root}/link/src/a")} == {"src/a"}
    directories = ("src", "./src/", "src/.", "../here/src", f"{root}/here/src", f"{root}/link/src")
    for directory in directories:
        assert keys(directory) == ["src/a"], directory
    assert keys(".") == keys(str(root / "here")) == keys(f"{root}/link") == ["src/a"]
    assert keys("../other") == keys("../other/b") == [f"{root}/other/b"]
    assert keys("src", "../other", root="..") == ["here/src/a", "other/b"]
    assert keys("src", root=f"{root}/other") == [f"{root}/here/src/a"]
    os.symlink("src/a", "alias")
    assert key_of("alias") == "alias"
    assert key_of(os.fsdecode(b"caf\xe9")) == "caf\\xe9"
