"""Rows that came back without the blank lines between them."""

from __future__ import annotations

import pytest
from direct_command import command as command
from helpers import Command

COPIED = "the bridge is closed until the end of May"
FIRST, SECOND, THIRD = (
    f'{{"id": {number}, "text": "{before}{COPIED}"}}\n'
    for number, before in enumerate(("", "news: ", ""))
)
TABLES = {
    "a.jsonl": f"\n{FIRST}\n \r\n{SECOND}\n{THIRD}\n\n",
    "a.csv": f"\n\nid,text\n\n1,{COPIED}\n\n \r\n2,news: {COPIED}\n\n3,{COPIED}\n4,other\n\n\n",
    "b.jsonl": FIRST + "\n" * 300_000 + SECOND,
}


@pytest.mark.parametrize("name", TABLES)
def test_restore_gives_the_input_back(command: Command, name: str) -> None:
    command.write(name, TABLES[name])
    command.done("dedup", name, "-o", f"out-{name}", "--cut", "5", "--cuts", "cuts.jsonl")
    done = command.done("restore", f"out-{name}", "--cuts", "cuts.jsonl", "-o", "again")
    assert command.path("again").read_bytes() == TABLES[name].encode()
    assert done.err == f"restored {'1 row' if name == 'b.jsonl' else '2 rows'}\n"
