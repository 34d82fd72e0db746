"""A repository of a stranger: its configuration names programs, and no command of lshdb runs one.

starship/starship#3974: asking git for the state of a directory ran what its .git/config names.
QwenLM/qwen-code#10561: switching such settings off one by one, at each call, is never whole.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from helpers import Command

if shutil.which("git") is None:
    pytest.skip("git is not installed", allow_module_level=True)


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
NOBODY = 65534
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


@ANY
def test_git_itself_runs_them(stranger: Stranger) -> None:
    """Else the other test would show nothing."""
    with suppress(subprocess.CalledProcessError):
        stranger.git("diff", "--ext-diff", "HEAD")
    assert {"fsmonitor", "clean"} <= set(stranger.ran())


def test_no_command_runs_a_program_that_a_repository_names(stranger: Stranger) -> None:
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


@ANY
def test_a_filter_that_cannot_be_switched_off_is_refused(stranger: Stranger) -> None:
    with open(stranger.path(".git", "config"), "a") as file:
        file.write(f'[filter "a=b"]\n\tclean = {stranger.path("run")} odd\n')
    assert "rename it, as lshdb runs no program" in stranger.fails("gate", "--since", "HEAD")
    assert stranger.ran() == []


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
