"""`lshdb decide --undo` undid one decision of many that a command or a key had made at once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from helpers import Command, database_of

import lshdb
from lshdb.apps.review.reviewing import Review, as_stored

TEXTS = {name: f"the text {name} about bees and hives" for name in "abcd"}


def verdicts(command: Command) -> list[tuple[str, str]]:
    return [(row["verdict"], row["keys"][0]) for row in command.done("decisions", "--json").records]


@pytest.fixture
def decided(command: Command) -> Command:
    """A database of documents with a decision of its own."""
    database_of(command.path("lsh.db"), TEXTS).close()
    command.done("decide", "keep", "a")
    return command


@pytest.mark.parametrize("way", ["command", "key"])
def test_what_was_decided_at_once_is_undone_at_once(decided: Command, way: str) -> None:
    if way == "command":
        decided.done("decide", "drop", "b", "c")
    else:
        review = Review(decided.path("lsh.db"), None, False)
        with lshdb.open(decided.path("lsh.db")) as db:
            documents = as_stored(db, "bc")
        review.decide("drop 0 1", documents)
    assert verdicts(decided) == [("keep", "a"), ("drop", "b"), ("drop", "c")]
    decided.done("decide", "--undo", says="undone: 2, drop b\nundone: 3, drop c\n")
    assert verdicts(decided) == [("keep", "a")]


def test_others_at_the_same_time_keep_theirs(decided: Command) -> None:
    with lshdb.open(decided.path("lsh.db")) as db:
        for who in ("ann", "ben"):
            (made,) = db.decide("drop", ["b"], who=who)
            db.undo_decision()
            db.add_decisions([replace(made, decided="2030-01-01T00:00:00Z")])
        assert [one.who for one in db.undo_last_decisions()] == ["ben"]
        assert [one.who for one in db.decisions()][1:] == ["ann"]
