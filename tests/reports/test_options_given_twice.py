"""An option of one value that was given twice had the last one, and nobody was told.

Others met it in pallets/click issue 2340 and rachis-org/rachis-cli issue 143.
"""

from __future__ import annotations

import pytest
from direct_command import command as command
from helpers import Command, database_of, served

import lshdb

TEXT = "the ferry to the islands runs"
TWICE = [
    ("dedup a.jsonl -o b.jsonl --dropped x.csv --dropped y.csv", "--dropped is given twice"),
    ("dedup a.jsonl -o b.jsonl -o c.jsonl", "--output is given twice, as b.jsonl and as c.jsonl"),
    ("report . --group-by a --group-by b", "--group-by is given twice, as a and as b"),
    ("query --text a --threshold 0.5 --threshold=0.6", "--threshold is given twice"),
    ("info -d a.db --db b.db", "--db is given twice, as a.db and as b.db"),
]


@pytest.mark.parametrize(("line", "says"), TWICE)
def test_two_values_are_wrong_usage(command: Command, line: str, says: str) -> None:
    done = command(*line.split())
    assert (done.status, done.out) == (2, "")
    assert says in done.err


def test_equal_values_flags_and_lists_may_repeat(command: Command) -> None:
    rows = [{"id": key, "text": TEXT, "n": 1} for key in ("a", "b")]
    command.write("a.jsonl", rows)
    command.done("add", "a.jsonl", "-d", "x.db", "--db", "x.db", "--quiet", "-q")
    where = ["--where", "key <> ? and key <> ?", "-p", "x", "-p", "y"]
    asked = ["--threshold", "0.50", "--threshold", "0.5", "--fields", "n", "--json", "--json"]
    done = command.done("query", "--text", TEXT, "-d", "x.db", *where, *asked)
    assert len(done.records) == 2


@pytest.mark.extra("web")
def test_a_field_of_an_address(command: Command) -> None:
    lshdb.open(command.path("lsh.db")).close()
    with served(command.directory) as site:
        same = site.ask(f"{site.root}/clusters?keep=last&keep=last")
        twice = site.ask(f"{site.root}/clusters?keep=last&keep=first")
        form = site.ask(f"{site.root}/query", b"text=a&text=a&threshold=0.5&threshold=0.6")
    assert same.status == 200
    for answer in (twice, form):
        assert (answer.status, "twice, with different values" in answer.text) == (400, True)


def test_a_variable_is_for_an_alias(command: Command) -> None:
    database_of(command.path("lsh.db"), {"a": "one two three four", "b": "one two three five"})
    command.variables |= {"LSHDB_QUERY_THRESHOLD": "0.3", "LSHDB_VERSION": "1.2"}
    query = ["query", "--text", "one two three four", "--exhaustive"]
    assert len(command.done(*query).lines) == 2
    assert len(command.done(*query, "--threshold", "0.9").lines) == 1
