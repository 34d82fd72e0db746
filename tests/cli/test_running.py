"""How commands start and end: without standard streams, and with one line of an error."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers import Command, database_of

NAME = os.fsdecode(b"q\xff.db")


@pytest.fixture
def command(tmp_path: Path) -> Command:
    database_of(
        tmp_path / NAME, {"a": "the fox and the grapes", "b": "the fox and the grapes!"}
    ).close()
    return Command(tmp_path)


def close(*descriptors: int) -> Callable[[], None]:
    def before() -> None:
        for descriptor in descriptors:
            os.close(descriptor)

    return before


def test_documents_are_removed_without_standard_input(command: Command) -> None:
    """httpie/cli pull request 791: a traceback when standard input is closed."""
    result = command("remove", "a", "-d", NAME, before=close(0))
    assert (result.status, result.err) == (0, "removed 1\n")


@pytest.mark.app("mcp")
def test_what_reads_standard_input_says_that_it_is_closed(command: Command) -> None:
    reason = command.fails("mcp", "-d", NAME, before=close(0))
    assert reason == "standard input is closed: a client of MCP speaks over it"


def test_no_file_takes_the_number_of_closed_standard_input() -> None:
    """Programs that are started would read it."""
    code = (
        "import os; os.close(0)\n"
        "import sys; sys.stdin = None\n"
        "from lshdb.cli import running; running.open_streams()\n"
        "print(os.open('/dev/zero', os.O_RDONLY) > 0, sys.stdin)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True None\n"


def test_ctrl_c_while_modules_are_loaded_ends_the_command() -> None:
    code = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(name, path, target=None):\n"
        "        if name == 'lshdb.cli.messages': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting)\n"
        "from lshdb.__main__ import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("init --for fables", "--for 'fables' is not short-text, records, "),
        ("init --ignore case", "--ignore 'case' is not numbers or marks"),
        ("add . --extract-timeout 0", "--extract-timeout 0 is not above 0 and at most 1,000,000"),
        ("clusters --max-size 1", "--max-size 1 is below 2, "),
        ("query --text a --threshold 80", "--threshold 80 is not above 0 and at most 1; did you"),
    ],
)
def test_an_error_names_an_option_by_its_flag(command: Command, line: str, says: str) -> None:
    assert command.fails(*line.split(), status=2).startswith(says)
