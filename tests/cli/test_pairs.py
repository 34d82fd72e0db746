"""The commands pairs and clusters as scripts and people use them."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import Command, database_of

SETS = {
    "a": [*range(10)],
    "b": [*range(1, 11)],
    "c [red]\x1b[31m": [*range(2, 12)],
    "d": [*range(3, 13)],
    "alone": [100, 101],
    "e": [*range(50, 60)],
    "f": [*range(50, 60)],
}
"""A chain a b c d of similarity 9/11 from one to the next, and twins."""


@pytest.fixture
def command(tmp_path: Path) -> Command:
    database_of(tmp_path / "lsh.db", SETS, threshold=0.8, shingle="set", recall=0.9999).close()
    return Command(tmp_path)


@pytest.mark.app("keeping", "review")
def test_keys_to_drop(command: Command) -> None:
    c = "c [red]\x1b[31m"
    note = '"below", so not listed: 2; with --star there are none\n'
    assert command.done("clusters", "--drop-list", says=note).lines == ["b", "f"]
    asked = ("clusters", "--star", "--keep", "last", "--drop-list")
    done = command(*asked)
    assert (done.status, done.lines) == (1, ["a", "e"])
    assert done.err == (
        "lshdb: keys with control characters, such as newlines, are not listed: 1; give -0\n"
    )
    assert command.done(*asked, "-0", says="").out == f"a\0{c}\0e\0"
    assert [one["key"] for one in command.done(*asked, "--json").records] == ["a", c, "e"]
    shown, _ = command.on_terminal(*asked, "-0")
    assert "\x1b[31m" not in shown
    command.done("remove", "b", "f", "d", c)
    assert command.done("clusters", "--drop-list", says="none to drop\n").out == ""


def test_below_the_index_it_works_and_warns(command: Command) -> None:
    done = command.done("pairs", "--threshold", "0.5")
    assert len(done.lines) >= 6
    warning = "the index is made for similarity 0.8: of the documents at 0.5 it finds about "
    assert done.err.startswith(warning)
    assert command.done("pairs", "--threshold", "0.9").err == ""
