"""`code:K` comes from an app: without it, a file of programs opens, and the rest names the app."""

from __future__ import annotations

import sys

import pytest
from helpers import Command

from lshdb import offers

PROGRAM = "def gcd(a, b):\n    while a:\n        a, b = b % a, a\n    return b\n"
MISSING = "'code' belongs to the app 'programs', which is not installed"


@pytest.fixture
def without_app(command: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Databases of three programs, in a process that has no app that cuts them."""
    for name, shingle in (("passages", "code:6"), ("texts", "word:3-boilerplate")):
        passages = "12" if name == "passages" else "0"
        command.done("init", "-d", f"{name}.db", "--shingle", shingle, "--passages", passages)
    command.write("base.py", "print(1)\n")
    settings = ("--shingle", "code:6", "--threshold", "0.6", "--passages", "0")
    command.done("init", *settings, "--base", "base.py")
    for name in "abc":
        command.write(f"{name}.py", PROGRAM + f"x = {name}({name})\n" * (name == "c"))
    for database in ("lsh.db", "passages.db", "texts.db"):
        command.done("add", "-d", database, "a.py", "b.py", "c.py")
    monkeypatch.setitem(sys.modules, "lshdb.apps.programs", None)
    offers.is_there.cache_clear()
    monkeypatch.setattr(offers, "is_there", offers.is_there.__wrapped__)
    return command


@pytest.mark.parametrize(
    "arguments",
    [
        ["info"],
        ["show", "a.py"],
        ["sql", "SELECT key FROM documents"],
        ["query", "--key", "a.py", "--estimate"],
        ["pairs", "--estimate"],
        ["clusters", "--estimate"],
        ["remove", "c.py"],
        ["check"],
        ["reindex", "--threshold", "0.7"],
        ["backup", "copy.db"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_what_cuts_no_text_works(without_app: Command, arguments: list[str]) -> None:
    without_app.done(*arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        ["add", "new.py"],
        ["query", "a.py"],
        ["query", "--text", PROGRAM],
        ["query", "--key", "c.py"],
        ["pairs"],
        ["check", "--deep"],
    ],
    ids=" ".join,
)
def test_where_a_text_is_cut_the_app_is_named(without_app: Command, arguments: list[str]) -> None:
    without_app.write("new.py", PROGRAM * 2)
    result = without_app(*arguments)
    assert result.status in (1, 2)
    assert MISSING in result.err
    assert without_app.done("sql", "SELECT count(*) FROM documents").out == "3\n"


def test_a_document_is_shown_without_the_app(without_app: Command) -> None:
    for database in ("lsh.db", "texts.db"):
        shown = without_app.done("show", "-d", database, "a.py", "--json").record
        assert shown["shingles"] > 0


def test_of_programs_with_passages_the_rest_is_checked(without_app: Command) -> None:
    unchecked = without_app("check", "-d", "passages.db", "--json").record
    assert (unchecked["stored"], unchecked["expected"]) == (
        "fingerprints",
        "checked where the app 'programs' is installed",
    )
    for arguments in (["remove", "c.py"], ["check", "--deep"]):
        reason = without_app.fails(*arguments, "-d", "passages.db", status=2)
        assert reason.endswith("the app 'programs', which is not installed")
    without_app.done("show", "-d", "passages.db", "c.py")
