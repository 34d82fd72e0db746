"""In a working tree the files of a directory are those that git lists, and no pattern is read."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from helpers import Command, environment, unprivileged
from pathspec import GitIgnoreSpec

import lshdb
from lshdb.offers import is_there

if shutil.which("git") is None:
    pytest.skip("git is not installed", allow_module_level=True)

LISTED = ("ls-files", "-co", "--exclude-standard", "--deduplicate", "-z")
NO_GIT = "git is not installed: put it on the PATH; .gitignore files are read without git"
NOBODY = 65534


class Folder(Command):
    """A directory with repositories, and lshdb in it."""

    def __init__(self, directory: Path) -> None:
        (directory / "top").mkdir()
        super().__init__(directory, {"GIT_CONFIG_GLOBAL": os.devnull})
        self.path("bin").mkdir()

    def git(self, *arguments: str, at: str = "top") -> bytes:
        identity = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")
        command = ["git", *identity, "-c", "protocol.file.allow=always", *arguments]
        variables = environment(self.directory) | {"GIT_CONFIG_GLOBAL": os.devnull}
        return subprocess.run(
            command, cwd=self.path(at), env=variables, capture_output=True, check=True
        ).stdout

    def files(self, *names: str) -> None:
        for name in names:
            self.write(name, f"the text of {name}")

    def read(self, *arguments: str) -> list[str]:
        """What `add` reads, without a note, by paths from the directory."""
        self.path("lsh.db").unlink(missing_ok=True)
        done = self.done("add", *(arguments or ("top",)))
        assert "lshdb:" not in done.err, done.err
        return self.keys()

    def without_git(self) -> None:
        self.variables["PATH"] = str(self.path("bin"))

    def replace_git(self, script: str) -> None:
        """A program in place of git, in which $GIT is the real one."""
        self.write("bin/git", f"#!/bin/sh\nGIT={shutil.which('git')}\n{script}\n")
        self.path("bin/git").chmod(0o755)
        self.variables["PATH"] = f"{self.path('bin')}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    made.git("init", "-q", "-b", "main")
    made.files("top/a.txt", "top/b.log", "top/build/c.txt", "top/src/d.txt", "top/src/e.log")
    made.write("top/.gitignore", "*.log\nbuild/\n")
    return made


TAKEN = ["top/a.txt", "top/src/d.txt"]


def test_patterns_that_git_alone_reads_so(folder: Folder) -> None:
    names = ("xb", "[a", "a]", "a-", "-", "a^", "x1", "xé", "bin/a", "e/f/g.c", "foo ", "a\nb")
    folder.files(*(f"top/{name}" for name in names))
    for pattern in (
        *("x[z-a]", "[[a]", "[[:digit:]x]*", "[]-]", "a[]-]", "[!]a]*", "x[^1]", "\\", "a\\", "[a"),
        *("**/e/**", "e/**/g.c", "e/*/*.c", "**f/", "/**/g.?", "foo\\ ", "foo ", "a?b", "[a--]"),
    ):
        folder.write("top/.gitignore", f"{pattern}\n")
        listed = folder.git(*LISTED).split(b"\0")
        visible = [os.fsdecode(b"top/" + name) for name in listed if name[:1] not in (b"", b".")]
        expected = sorted(name.replace("\n", "\\n") for name in visible)
        assert sorted(key.replace("\n", "\\n") for key in folder.read()) == expected, pattern


def test_what_is_tracked_is_read_and_what_is_deleted_is_not(folder: Folder) -> None:
    folder.files("top/gone.txt")
    folder.git("add", "-f", "b.log", "build/c.txt", "gone.txt")
    folder.files("top/build/other.txt")
    folder.path("top/gone.txt").unlink()
    assert folder.read() == sorted([*TAKEN, "top/b.log", "top/build/c.txt"])


def test_all_rules_that_git_has_are_its_answer(folder: Folder) -> None:
    folder.write("ignored", "d.txt\n")
    folder.write("global.config", f"[core]\n\texcludesFile = {folder.path('ignored')}\n")
    folder.write("top/.git/info/exclude", "a.txt\n")
    folder.files("top/f.txt")
    folder.variables["GIT_CONFIG_GLOBAL"] = str(folder.path("global.config"))
    assert folder.read() == ["top/f.txt"]


def test_each_repository_in_another_is_asked(folder: Folder) -> None:
    folder.git("init", "-q", "-b", "main", "source")
    folder.write("top/source/.gitignore", "*.txt\n")
    folder.files("top/source/f.txt", "top/source/g.c", "top/source/h.log")
    folder.git("add", ".gitignore", "g.c", at="top/source")
    folder.git("commit", "-q", "-m", "A", at="top/source")
    folder.git("submodule", "--quiet", "add", "./source", "module")
    folder.files("top/module/i.log", "top/module/j.txt")
    folder.git("add", ".gitignore")
    folder.git("commit", "-q", "-m", "A")
    folder.git("worktree", "add", "-q", "../tree")
    folder.files("tree/k.log", "tree/l.txt", "tree/module/m.log")
    taken = [*TAKEN, "top/module/g.c", "top/module/i.log", "top/source/g.c", "top/source/h.log"]
    assert folder.read() == sorted(taken)
    assert folder.read("tree") == ["tree/l.txt", "tree/module/m.log"]
    assert folder.read("--tracked", "top") == ["top/.gitignore", "top/.gitmodules"]
    # From a folder in no repository, and where one is ignored in another.
    folder.write("top/.git/info/exclude", "source\n")
    assert folder.read(".") == [
        *sorted([*TAKEN, "top/module/g.c", "top/module/i.log"]),
        *("tree/l.txt", "tree/module/m.log"),
    ]


def test_folders_in_a_repository_and_links_to_them(folder: Folder) -> None:
    folder.files("top/src/sub/f.txt", "top/src/sub/g.log")
    assert folder.read("top/src", "top/src/sub", "top/build") == [
        *("top/build/c.txt", "top/src/d.txt", "top/src/sub/f.txt")
    ]
    os.symlink("top/src", folder.path("link"))
    os.symlink("../a.txt", folder.path("top/src/h.txt"))
    assert folder.read("link") == ["top/src/d.txt", "top/src/h.txt", "top/src/sub/f.txt"]
    # An ignored folder that is named is read, by the patterns in it.
    folder.write("top/build/.gitignore", "c.txt\n")
    folder.files("top/build/deep/i.txt")
    assert folder.read("top/build") == ["top/build/deep/i.txt"]
    assert folder.read("top/build/deep") == ["top/build/deep/i.txt"]
    assert len(folder.read("--no-ignore", "top")) == 8


def test_a_lshdbignore_overrides_git(folder: Folder) -> None:
    folder.files("top/logs/f.log", "top/logs/build/g.log", "top/src/h.txt", "top/.hidden")
    folder.write("top/.lshdbignore", "!*.log\nh.txt\n")
    logs = ["top/b.log", "top/logs/f.log", "top/src/e.log"]
    assert folder.read() == sorted([*TAKEN, *logs])
    assert folder.read("top/logs") == ["top/logs/f.log"]
    folder.write("top/.lshdbignore", "!/build/\n")
    assert folder.read() == sorted([*TAKEN, "top/build/c.txt", "top/src/h.txt"])


def test_names_that_are_not_utf8_or_mean_something_to_git(folder: Folder) -> None:
    for name in (b"caf\xe9", b"caf\xe9.log", b":(top)x", b":(top)d/a.log", b"[a]/b.log"):
        path = os.fsencode(folder.path("top")) + b"/" + name
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(os.fsdecode(path)).write_text("text")
    assert folder.read() == sorted([*TAKEN, "top/:(top)x", "top/caf\\xe9"])


def test_what_a_hook_sets_does_not_matter(folder: Folder) -> None:
    folder.git("init", "-q", "../other")
    other = folder.path("other")
    folder.variables |= {
        "GIT_DIR": str(other / ".git"),
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": str(other / "index"),
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_PREFIX": "x/",
    }
    assert folder.read() == TAKEN
    folder.git("add", "-f", "b.log")
    assert folder.read("--tracked", "top") == ["top/b.log"]


def test_a_bare_repository_is_a_folder(folder: Folder) -> None:
    folder.git("init", "-q", "--bare", "../bare.git")
    folder.files("bare.git/f.txt")
    folder.write("bare.git/.gitignore", "hooks/\ninfo/\n")
    assert "bare.git/f.txt" in folder.read("bare.git")
    assert "bare.git/hooks" not in " ".join(folder.keys())


@pytest.mark.app("folders")
def test_without_git_the_patterns_are_read_with_one_note(folder: Folder) -> None:
    """And nothing is removed but what they say: here a tracked file that is ignored."""
    folder.git("init", "-q", "nested")
    folder.files("top/nested/f.txt", "top/whole/g.c", "top/whole/h.o")
    folder.write("top/whole/.gitignore", "*\n!*/\n!*.c\n")
    folder.git("add", "-f", "b.log")
    all_keys = sorted([*TAKEN, "top/b.log", "top/nested/f.txt", "top/whole/g.c"])
    assert folder.read("top", "top/src") == all_keys
    folder.without_git()
    for removed in (1, 0):
        done = folder.done("sync", "top", "top/src")
        note, counts = done.err.splitlines()[:2]
        assert note == f"lshdb: {NO_GIT}"
        assert f"moved 0, removed {removed}, unchanged 4, failed 0" in counts
        assert done.err.count("lshdb:") == 1
    assert folder.keys() == [key for key in all_keys if key != "top/b.log"]
    assert NO_GIT in folder.done("add", "top", "--quiet").err


PATTERNS = (
    *(
        "*",
        "!*/",
        "!*.md",
        "*.md",
        "a/",
        "!a/",
        "/a",
        "a/*",
        "!a/b.md",
        "b/**",
        "**/c",
        "!c/",
        "c.txt",
    ),
    *("c.txt", "!/b", "[ab]*", "?.md", "!b", "# a", "", "é*", "!a.txt"),
)
NAMES = ("a", "b", "c", "é")


def _forest(folder: Folder) -> list[str]:
    """Folders of random files and patterns in one repository; the first has fixed ones."""
    draw = random.Random(8)
    names = []
    for tree in range(40):
        for _ in range(12):
            above = [draw.choice(NAMES) for _ in range(draw.randrange(3))]
            names.append("/".join([f"top/{tree}", *above, draw.choice(NAMES) + "."]))
            names[-1] += draw.choice(("md", "txt"))
        patterns = draw.choices(PATTERNS, k=draw.randrange(1, 5)) if tree else PATTERNS[:3]
        folder.write(f"top/{tree}/.gitignore", "\n".join(patterns) + "\n")
        if tree % 2:
            folder.write(f"top/{tree}/a/.gitignore", "\n".join(draw.choices(PATTERNS, k=2)) + "\n")
    folder.files(*names)
    return sorted({*names, "top/a.txt", "top/b.log", "top/build/c.txt", *TAKEN, "top/src/e.log"})


def _left_out(folder: Folder, name: str) -> bool:
    """Whether pathspec leaves out a file, or a folder that it is in and no pattern includes."""
    parts = name.split("/")
    for end in range(2, len(parts) + 1):
        path = "/".join(parts[:end]) + "/" * (end < len(parts))
        for above in range(end - 1, 0, -1):
            patterns = folder.path("/".join(parts[:above]), ".gitignore")
            lines = patterns.read_text().splitlines() if patterns.exists() else []
            spec = GitIgnoreSpec.from_lines(lines)
            decision = spec.check_file(path[len("/".join(parts[:above])) + 1 :]).include
            if decision and (end == len(parts) or not any(line[:1] == "!" for line in lines)):
                return True
            if decision is not None:
                break
    return False


@pytest.mark.app("folders")
def test_without_git_pathspec_decides_about_files_and_removes_nothing_without_a_note(
    folder: Folder,
) -> None:
    names = _forest(folder)
    by_git = folder.read()
    assert by_git == sorted(
        key.decode()
        for key in (b"top/" + name for name in folder.git(*LISTED).split(b"\0") if name)
        if not key.endswith(b".gitignore")
    )
    folder.without_git()
    done = folder.done("sync", "top")
    taken = [name for name in names if not _left_out(folder, name)]
    assert folder.keys() == taken
    removed = {*by_git} - {*taken}
    assert done.err.count(NO_GIT) == 1
    assert f"removed {len(removed)}, " in done.err
    # They differ only where a folder is left out and a pattern includes what is in it.
    assert 0 < len(removed) < len(by_git) // 20
    assert [name for name in taken if name.startswith("top/0/")] == [
        name for name in by_git if name.startswith("top/0/")
    ]


def _owned_by_another(folder: Folder) -> None:
    if os.geteuid() == 0:
        for path in ("top", "top/.git"):
            os.chown(folder.path(path), NOBODY, NOBODY)
    else:
        folder.variables["GIT_TEST_ASSUME_DIFFERENT_OWNER"] = "1"


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (_owned_by_another, "detected dubious ownership"),
        (lambda folder: folder.write("top/.git/index", "no index"), "index file"),
        (lambda folder: folder.path("top/.git/HEAD").unlink(), "fatal: not a git repository"),
        (
            lambda folder: folder.variables.update(GIT_CEILING_DIRECTORIES=str(folder.path("top"))),
            None,
        ),
    ],
    ids=["owner", "index", "head", "ceiling"],
)
def test_where_git_refuses_the_patterns_are_read_with_a_note(
    folder: Folder, spoil: Callable[[Folder], object], reason: str | None
) -> None:
    assert folder.read() == TAKEN
    spoil(folder)
    done = folder.done("add", "top", "top/src" if reason is None else "top")
    assert "updated 0, unchanged 2" in done.err
    notes = [line for line in done.err.splitlines() if line.startswith("lshdb: ")]
    assert len(notes) == 1, done.err
    assert notes[0].endswith("; .gitignore files are read without git")
    assert (reason or "top/src: fatal: not a git repository") in notes[0]
    assert folder("add", "top/src", "--tracked").status == 1


@pytest.mark.app("folders")
@pytest.mark.parametrize(
    "script",
    [
        # Its list is cut off; and it is killed before, in a repository in the other, and later.
        'case "$*" in *ls-files*) "$GIT" "$@"; exit 3;; esac; exec "$GIT" "$@"',
        'case "$*" in *ls-files*) kill -9 $$;; esac; exec "$GIT" "$@"',
        'case "$*" in *nested*ls-files*) kill -9 $$;; esac; exec "$GIT" "$@"',
        'case "$*" in *check-ignore*) echo no >&2; exit 128;; esac; exec "$GIT" "$@"',
    ],
    ids=["cut off", "killed", "nested", "later"],
)
def test_where_git_fails_midway_nothing_is_removed(folder: Folder, script: str) -> None:
    folder.git("init", "-q", "nested")
    folder.files("top/nested/f.txt")
    assert folder.read() == sorted([*TAKEN, "top/nested/f.txt"])
    folder.path("top/a.txt").unlink()
    folder.replace_git(script)
    reason = folder.fails("sync", "top")
    assert reason.startswith("top"), reason
    assert len(folder.keys()) == 3


@pytest.mark.app("folders")
def test_a_folder_that_git_cannot_read_is_named_and_its_documents_stay(folder: Folder) -> None:
    """Git leaves its files out of any list, with a warning."""
    folder.files("top/locked/f.txt")
    assert folder.read() == sorted([*TAKEN, "top/locked/f.txt"])
    folder.path("top/locked").chmod(0)
    with unprivileged():
        done = folder("sync", "top")
    folder.path("top/locked").chmod(0o755)
    assert done.status == 1
    assert done.err.splitlines()[0] == "lshdb: top/locked: permission denied"
    assert "removed 0, unchanged 2, failed 1" in done.err


def test_a_pattern_that_cannot_be_read_is_named_and_skipped(folder: Folder) -> None:
    folder.files("top/logs/f.txt")
    folder.write("top/.lshdbignore", "x[z-a]\n[[a].txt\nlogs/\n")
    for command in ("add", *["sync"] * is_there("folders"), *["dedup"] * is_there("dedup")):
        done = folder(command, "top")
        assert done.status == 0
        assert done.err.splitlines()[0] == (
            "lshdb: top/.lshdbignore: skipped 'x[z-a]', not a pattern"
        )
        assert done.err.count("pattern") == 1
    assert folder.keys() == ["top/src/d.txt"]
    refused = folder("add", "top", "--exclude", "x[z-a]")
    assert (refused.status, refused.err.splitlines()[-1]) == (
        2,
        "lshdb: exclude 'x[z-a]' is not a pattern",
    )
    folder.path("top/.lshdbignore").unlink()
    folder.write("top/.gitignore", "x[z-a]\nbuild/\n")
    assert "lshdb" not in folder.done("add", "top/src").err
    folder.without_git()
    assert "skipped 'x[z-a]', not a pattern" in folder.done("add", "top").err


def test_programs_get_the_note_as_a_warning(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(folder.path("bin")))
    warns = pytest.warns(lshdb.IgnoreWarning, match="git is not installed")
    with lshdb.open(folder.path("lsh.db")) as database, warns as noted:
        assert database.add_files([str(folder.path("top"))]).added == 2
    assert [warning.filename for warning in noted] == [__file__]


# programs that a repository names


CONFIG = """
[core]
\tfsmonitor = {run} fsmonitor
\thooksPath = {hooks}
\tpager = {run} pager
\tsshCommand = {run} ssh
\taskPass = {run} askpass
\tgitProxy = {run} proxy
\talternateRefsCommand = {run} alternates
\tattributesFile = {attributes}
[diff]
\texternal = {run} external
\tsubmodule = log
\tinterHunkContext = 5
[diff "evil"]
\ttextconv = {run} textconv
\tcommand = {run} command
[filter "evil"]
\tclean = {run} clean
\tsmudge = {run} smudge
[filter "process"]
\tprocess = {run} process
\trequired = true
[alias]
\tdiff = !{run} alias
\tls-files = !{run} alias
[uploadpack]
\tpackObjectsHook = {run} pack
[protocol]
\tallow = always
[protocol "ext"]
\tallow = always
[remote "origin"]
\turl = {url}
\tpromisor = true
\tuploadpack = {run} uploadpack
[extensions]
\tpartialClone = origin
\tworktreeConfig = true
[credential]
\thelper = !{run} credential
[include]
\tpath = {included}
"""
HOOKS = (
    "post-index-change",
    "post-checkout",
    "reference-transaction",
    "pre-auto-gc",
    "query-watchman",
)


class Stranger(Command):
    """A repository in which each way that git has to run a program leaves a marker."""

    blob: str

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-c", "user.name=ann", "-c", "user.email=ann@example.org", *arguments],
            cwd=self.directory,
            env=self.variables,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def ran(self) -> list[str]:
        """The programs that ran since it was asked last."""
        marks = sorted(path.name for path in self.path("marks").iterdir())
        for name in marks:
            self.path("marks", name).unlink()
        return marks

    def configure(self, git_dir: Path, url: str) -> None:
        """Name a program wherever a configuration can."""
        run = self.path("run")
        hooks = self.path("hooks")
        for folder in (hooks, git_dir / "hooks"):
            for name in HOOKS:
                self.write(
                    os.path.relpath(folder / name, self.directory), f"#!/bin/sh\n{run} {name}\n"
                )
                (folder / name).chmod(0o755)
        attributes = self.path("attributes")
        self.write("attributes", "*.py diff=evil\n")
        self.write("more.config", f'[filter "included"]\n\tclean = {run} included\n')
        text = CONFIG.format(
            run=run, hooks=hooks, attributes=attributes, included=self.path("more.config"), url=url
        )
        with open(git_dir / "config", "a") as file:
            file.write(text)
        (git_dir / "config.worktree").write_text(f'[filter "other"]\n\tclean = {run} other\n')
        (git_dir / "info").mkdir(exist_ok=True)
        kinds = ("evil", "process", "included", "other")
        (git_dir / "info" / "attributes").write_text(
            "".join(f"{name}.py filter={name} diff=evil\n" for name in kinds)
        )


ANY = pytest.mark.parametrize("stranger", ["ext"], indirect=True)
"""For what does not depend on where the repository says that lost objects are."""


@pytest.fixture(params=["ext", "file"])
def stranger(tmp_path: Path, request: pytest.FixtureRequest) -> Stranger:
    made = Stranger(tmp_path, {"GIT_CONFIG_GLOBAL": os.devnull})
    made.git("init", "-q", "-b", "main")
    made.path("marks").mkdir()
    made.write("run", f'#!/bin/sh\ntouch "{made.path("marks")}/$1"\n')
    made.path("run").chmod(0o755)
    names = ("evil", "process", "included", "other", "lost")
    for name in names:
        made.write(f"{name}.py", "".join(f"{name}_{n} = {name} ({n})\n" for n in range(30)))
    made.git("init", "-q", "module")
    made.write("module/a.py", "a = 1\n")
    made.git("-C", "module", "add", "a.py")
    made.git("-C", "module", "commit", "-q", "-m", "A")
    made.git("add", *(f"{name}.py" for name in names), "module")
    made.git("commit", "-q", "-m", "A")
    for name in names:
        with open(made.path(f"{name}.py"), "a") as file:
            file.write(f"last_{name} = {name}\n")
    made.write("module/a.py", "a = 2\n")
    os.utime(made.path("module", "a.py"), (1, 1))
    made.blob = made.git("rev-parse", "HEAD:lost.py")
    url = f"ext::{made.path('run')} ext" if request.param == "ext" else str(made.path("module"))
    made.configure(made.path(".git"), url)
    made.configure(made.path("module", ".git"), url)
    return made


@pytest.mark.app("gate", "folders")
@ANY
def test_git_itself_runs_them(stranger: Stranger) -> None:
    """Else the other test would show nothing."""
    with suppress(subprocess.CalledProcessError):
        stranger.git("diff", "--ext-diff", "HEAD")
    assert {"fsmonitor", "clean"} <= set(stranger.ran())


@pytest.mark.app("gate", "folders")
def test_no_command_runs_a_program_that_a_repository_names(stranger: Stranger) -> None:
    """starship/starship#3974, QwenLM/qwen-code#10561: asking git ran what .git/config names."""
    for arguments in (
        ("gate",),
        ("gate", "--since", "HEAD"),
        ("gate", "evil.py"),
        ("add", ".", "--tracked"),
        ("sync", ".", "--tracked"),
        ("add", "."),
        ("sync", "."),
    ):
        done = stranger(*arguments)
        assert done.status == bool(done.out), done.err
        assert stranger.ran() == [], arguments
    stranger.path(".git", "objects", stranger.blob[:2], stranger.blob[2:]).unlink()
    stranger.fails("gate", "--since", "HEAD")
    assert stranger.ran() == []


@pytest.mark.app("gate", "folders")
@ANY
def test_a_filter_that_cannot_be_switched_off_is_refused(stranger: Stranger) -> None:
    with open(stranger.path(".git", "config"), "a") as file:
        file.write(f'[filter "a=b"]\n\tclean = {stranger.path("run")} odd\n')
    assert "rename it, as lshdb runs no program" in stranger.fails("gate", "--since", "HEAD")
    assert stranger.ran() == []


@pytest.mark.app("gate", "folders")
@ANY
def test_a_repository_of_another_user_is_named_with_what_to_do(stranger: Stranger) -> None:
    if os.geteuid() == 0:
        os.chown(stranger.directory, NOBODY, NOBODY)
        os.chown(stranger.path(".git"), NOBODY, NOBODY)
    else:
        stranger.variables["GIT_TEST_ASSUME_DIFFERENT_OWNER"] = "1"
    assert stranger.fails("gate").endswith(
        f"git config --global --add safe.directory {stranger.directory}"
    )
