"""Every console example in README.md is run, and prints what the README says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
COMMAND = re.compile(r"^\$ (.*)$", re.MULTILINE)


def examples() -> Iterator[tuple[str, str]]:
    """The commands of all console blocks, in order, each with what it shall print."""
    for block in re.findall(r"```console\n(.*?)```", README.read_text("utf-8"), re.DOTALL):
        parts = COMMAND.split(block)
        yield from zip(parts[1::2], (text.lstrip("\n") for text in parts[2::2]), strict=True)


def test_console_examples(tmp_path: Path) -> None:
    commands = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {"PATH": commands, "LANG": "C.UTF-8"}
    ran = 0
    for command, expected in examples():
        if command.startswith("cat "):
            (tmp_path / command.removeprefix("cat ")).write_text(expected, "utf-8")
            continue
        done = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        assert (command, done.stdout) == (command, expected)
        ran += 1
    assert ran > 10


def test_commands_table_names_every_command() -> None:
    from lshdb.cli.app import app

    names = {command.callback.__name__ for command in app.registered_commands if command.callback}
    listed = set(re.findall(r"^\| `lshdb (\w+)", README.read_text("utf-8"), re.MULTILINE))
    assert listed == names
