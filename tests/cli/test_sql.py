"""The command sql: where the statement comes from, and the values of its parameters."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import Command

import lshdb

ASKED = "select key from documents where metadata ->> '$.year' = ? order by key"


@pytest.fixture
def command(tmp_path: Path) -> Command:
    with lshdb.open(tmp_path / "lsh.db") as db:
        for key, year in (("a", 2023), ("b", "2024"), ("c", 2024)):
            db.add(key, f"the text of {key}", {"year": year})
    return Command(tmp_path)


def test_a_statement_from_standard_input(command: Command) -> None:
    statement = "\ufeff-- which: 'all of them, ?\nselect key\nfrom documents\norder by key desc;\n"
    assert command.done("sql", "-", stdin=statement, says="").lines == ["c", "b", "a"]
    assert (
        command.done("sql", "-", "-o", "k.csv", stdin=statement, says="k.csv: 3 rows\n").out == ""
    )
    assert command.done("sql", "-", stdin="").out == ""
    assert command.fails("sql", "-", stdin="select 1" + " " * 3_000_000).startswith("SQL: ")


def test_each_parameter_has_a_value_in_order(command: Command) -> None:
    assert command.done("sql", ASKED, "-p", "2024").lines == ["c"]
    assert command.done("sql", ASKED, "-p", "2024:text").lines == ["b"]
    limited = ASKED.replace("?", "? /* ? :none */") + " limit ?"
    assert command.done("sql", limited, "-p", "2024", "--parameter", "1").lines == ["c"]
    both = ("-p", "x=y", "-p", "null")
    assert command.done("sql", "select ?1, ?2, ?1, '?'", *both).lines == ["x=y|null|x=y|?"]
    assert command.done("sql", "-", "-p", "-1.5", stdin="select ? + 1").lines == ["-0.5"]
    kinds = "select typeof(?), typeof(?), typeof(?), typeof(?)"
    values = ("-9223372036854775808", "9223372036854775808", "1e+20", "1e20")
    given = [option for value in values for option in ("-p", value)]
    assert command.done("sql", kinds, *given).lines == ["integer|text|real|text"]
