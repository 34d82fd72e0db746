"""Writes docs/completions: for each shell the file that completes the commands of lshdb.

usage: python scripts/site/completions.py [DIRECTORY]

The text is that of `lshdb --show-completion`. Bash looks for a file with the name of the command,
zsh for one with an underscore before it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from typer._completion_shared import get_completion_script

_OUT: Final = Path(__file__).resolve().parents[2] / "docs" / "completions"
_FILES: Final = {"bash": "lshdb", "zsh": "_lshdb", "fish": "lshdb.fish"}


def script(shell: str) -> str:
    """The file of a shell."""
    made = get_completion_script(prog_name="lshdb", complete_var="_LSHDB_COMPLETE", shell=shell)
    lines = made.strip().splitlines()
    if shell == "zsh" and lines[-1].startswith("compdef "):
        # A file that zsh loads at the first completion has to complete that one, too.
        lines[-1] = '_lshdb_completion "$@"'
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else _OUT
    out.mkdir(exist_ok=True)
    for shell, name in _FILES.items():
        (out / name).write_text(script(shell), "utf-8")
