"""How commands start and end: without standard streams, and with one line of an error."""

from __future__ import annotations

import os
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path

import pytest
import typer
from helpers import Command, database_of, forked, status_of

from lshdb.__main__ import main

NAME = os.fsdecode(b"q\xff.db")


@pytest.fixture
def command(tmp_path: Path) -> Command:
    database_of(
        tmp_path / NAME, {"a": "the fox and the grapes", "b": "the fox and the grapes!"}
    ).close()
    return Command(tmp_path)


def test_documents_are_removed_without_standard_input(command: Command) -> None:
    """httpie/cli pull request 791: a traceback when standard input is closed."""
    command.done("remove", "a", "-d", NAME, stdin=None, says="removed 1\n")


@pytest.mark.app("mcp")
def test_what_reads_standard_input_says_that_it_is_closed(command: Command) -> None:
    reason = command.fails("mcp", "-d", NAME, stdin=None)
    assert reason == "standard input is closed: a client of MCP speaks over it"


def test_no_file_takes_the_number_of_closed_standard_input(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs that are started would read it."""
    taken: list[int] = []
    monkeypatch.setattr(typer, "echo", lambda _: taken.append(os.open("/", os.O_RDONLY)))
    command.done("--version", stdin=None)
    assert taken[0] > 0
    os.close(taken[0])


class Interrupting(MetaPathFinder):
    def find_spec(self, name: str, *_: object) -> None:
        if name == "lshdb.cli.app":
            raise KeyboardInterrupt


def test_ctrl_c_while_modules_are_loaded_ends_the_command() -> None:
    def run() -> None:
        del sys.modules["lshdb.cli.app"]
        sys.meta_path.insert(0, Interrupting())
        main()

    assert status_of(forked(run)) == 130
