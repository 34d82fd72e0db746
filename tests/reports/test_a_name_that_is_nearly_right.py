"""`lshdb querry` said "No such command", `lshdb info x.db` "unexpected extra argument"."""

from __future__ import annotations

import pytest
from direct_command import command as command
from helpers import Command


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["querry"], "No such command 'querry'; did you mean 'query'?"),
        (["spark_dedup"], "did you mean 'spark-dedup'?"),
        (["xyzzy"], "No such command 'xyzzy'."),
        (["help"], "No such command 'help'; try lshdb --help, or lshdb COMMAND --help"),
        (["list"], "No such command 'list'; try lshdb sql"),
        (["find", "a"], "No such command 'find'; try lshdb query FILE"),
        (["delete", "a"], "No such command 'delete'; try lshdb remove KEY"),
        (["merge", "x.db"], "No such command 'merge'; try lshdb add -d ALL.db ONE.db TWO.db"),
        (["stats"], "No such command 'stats'; try lshdb info"),
        (["info", "x.db"], "x.db is a database: give it as -d x.db"),
        (["pairs", "-d", "x.db", "x.db"], "x.db is a database: give it as -d x.db"),
    ],
)
def test_the_right_one_is_named(command: Command, arguments: list[str], says: str) -> None:
    command.done("init", "-d", "x.db")
    done = command(*arguments)
    assert done.status == 2
    assert says in " ".join(done.err.split())


def test_nothing_is_said_of_what_is_no_database(command: Command) -> None:
    assert "is a database" not in command("pairs", "none.db").err
