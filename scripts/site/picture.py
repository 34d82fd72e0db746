"""Draws docs/first-look.svg, the terminal at the top of the README: real commands on real files.

usage: python scripts/site/picture.py [OUT.svg]

The files are the character encodings of this Python, of which many were made by copying another.
"""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from encodings import __path__ as encodings
from pathlib import Path
from typing import Final

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

_OUT: Final = Path(__file__).resolve().parents[2] / "docs" / "first-look.svg"
_COMMANDS: Final = (
    "lshdb dedup encodings | head -4",
    "lshdb add encodings",
    "lshdb query --key encodings/cp858.py --top 3",
)
_WIDTH: Final = 80
# Without fonts from elsewhere: the picture must not load anything.
_FORMAT: Final = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def terminal(command: str, directory: Path) -> str:
    """What a command prints on a terminal of 80 columns, and then its messages.

    The messages go through a pipe: so there is no progress bar, which would not stay anyway.
    """
    ours, theirs = pty.openpty()
    environment = {
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        "TERM": "xterm-256color",
        "COLUMNS": str(_WIDTH),
        "LANG": "C.UTF-8",
    }
    process = subprocess.Popen(
        command, shell=True, cwd=directory, env=environment, stdout=theirs, stderr=subprocess.PIPE
    )
    os.close(theirs)
    printed = b""
    try:
        while piece := os.read(ours, 65536):
            printed += piece
    except OSError:  # how Linux reports that the other end is closed
        pass
    os.close(ours)
    assert process.stderr is not None
    messages = process.stderr.read()
    if process.wait():
        raise SystemExit(f"{command} failed:\n{messages.decode()}")
    return (printed + messages).decode().replace("\r\n", "\n").strip("\n")


def draw(commands: tuple[str, ...]) -> str:
    """The SVG of a terminal in which the commands were run."""
    console = Console(record=True, width=_WIDTH, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
    with tempfile.TemporaryDirectory() as directory:
        index = Path(directory)
        shutil.copytree(
            encodings[0], index / "encodings", ignore=shutil.ignore_patterns("__pycache__")
        )
        for command in commands:
            console.print(Text(f"$ {command}", style="bold"))
            console.print(Text.from_ansi(terminal(command, index)))
            console.print()
    return console.export_svg(title="lshdb", code_format=_FORMAT, unique_id="lshdb")


if __name__ == "__main__":
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else _OUT
    out.write_text(draw(_COMMANDS), "utf-8")
