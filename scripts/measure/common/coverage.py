"""Print the share of lines that ran, by room, and the lines that never ran, by file.

Reads the JSON report of coverage.py from standard input: scripts/test --coverage.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import PurePath
from typing import Any


def ranges(lines: Sequence[int]) -> str:
    """Sorted numbers, runs of them as first-last.

    >>> ranges([3, 5, 6, 7])
    '3, 5-7'
    """
    runs = []
    for _, members in groupby(enumerate(lines), lambda member: member[1] - member[0]):
        run = [line for _, line in members]
        runs.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return ", ".join(runs)


def table(files: dict[str, Any]) -> str:
    """The lines that never ran, by file, and then the shares by room and of all."""
    out = ["lines that never ran"]
    lines: Counter[str] = Counter()
    ran: Counter[str] = Counter()
    for name, file in sorted(files.items()):
        parts = PurePath(name).parts
        for room in (parts[1] if len(parts) > 2 else "(root)", "all"):
            lines[room] += file["summary"]["num_statements"]
            ran[room] += file["summary"]["covered_lines"]
        if file["missing_lines"]:
            out.append(f"  {name}: {ranges(file['missing_lines'])}")
    out += ["", f"{'room':12} {'lines':>7} {'never':>7} {'ran':>7}"]
    for room in sorted(lines, key=lambda room: (room == "all", room)):
        share = ran[room] / max(lines[room], 1)
        out.append(f"{room:12} {lines[room]:7,} {lines[room] - ran[room]:7,} {share:7.1%}")
    return "\n".join(out)


def main() -> None:
    """Print the table."""
    print(table(json.load(sys.stdin)["files"]))
