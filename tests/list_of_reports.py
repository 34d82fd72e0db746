"""Write the list of what people met: python tests/list_of_reports.py > tests/reports/README.md.

A line for each file of tests/reports: the first sentence of its docstring, and the public reports
that the docstring names, as `owner/project#1`, `project issue 1` or an address.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

REPORTS = Path(__file__).with_name("reports")
_NAME = re.compile(
    r"[\w-]+ #\d+ \(https?://[^\s)]+\)"
    r"|[\w.-]+(?:/[\w.-]+)?(?: ?#| (?:issue|request|bug|pull request) #?)\d+"
)


def lines() -> Iterator[str]:
    """The page."""
    yield "# What people met"
    yield ""
    yield "Each file tests one thing that users of lshdb or of another tool met."
    yield "`python tests/list_of_reports.py > tests/reports/README.md` writes this list."
    yield ""
    yield "| what happened | reported |"
    yield "|---|---|"
    for path in sorted(REPORTS.glob("test_*.py")):
        first, _, rest = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").partition(
            "\n\n"
        )
        sentence = " ".join(first.split()).replace("|", "\\|")
        named = dict.fromkeys(_NAME.findall(" ".join(rest.split())))
        yield f"| [{sentence}]({path.name}) | {', '.join(named) or 'lshdb itself'} |"


if __name__ == "__main__":
    print("\n".join(lines()))
