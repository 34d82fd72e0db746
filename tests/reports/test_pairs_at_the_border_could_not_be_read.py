"""Who chose a threshold could not read some pairs near it: only the best, or all."""

from __future__ import annotations

from pathlib import Path

import pytest
from direct_command import DirectCommand
from helpers import Command, database_of, text_families

SAMPLE = ("pairs", "--threshold", "0.5", "--max-similarity", "0.8", "--sample", "5")


@pytest.fixture
def command(path: Path) -> Command:
    texts = text_families(5, families=20, copies=3, words=60, most_edits=8)
    with database_of(path, texts, threshold=0.5, passages=8) as database:
        # Ids that do not follow from the order of keys.
        assert database.remove(where="doc_id % 3 = 0")
        database.add_many(list(texts.items())[::-1], workers=0)
    return DirectCommand(path.parent)


@pytest.mark.extra("web")
def test_the_same_sample_by_command_and_page(command: Command) -> None:
    from lshdb.apps.web import page_file, views

    drawn = command.done(*SAMPLE, "--json")
    every = command.done("pairs", "--max-similarity", "0.8", "--json", says="").records
    assert len(every) > 20
    said = f"5 of the {len(every)} pairs that match, drawn at random (--seed 1)\n"
    assert drawn.err == said
    assert all(pair in every for pair in drawn.records)
    scores = [pair["similarity"] for pair in drawn.records]
    assert 0.8 > scores[0] > scores[-1]
    other = command.done(*SAMPLE, "--json", "--seed", "2", "--quiet", says="").records
    assert {pair["a"] for pair in other} != {pair["a"] for pair in drawn.records}
    with page_file.opened(command.path("lsh.db")) as reader:
        address = {"max_similarity": "0.8", "sample": "5", "seed": "2"}
        page = views.Visit(reader, "lsh", address).page("pairs").data
    assert [pair["a"] for pair in page["pairs"]] == [pair["a"] for pair in other]
    assert page["drawn_from"] == len(every)


def test_a_range_without_pairs(command: Command) -> None:
    narrow = ("--threshold", "0.50001", "--max-similarity", "0.50002", "--sample", "3")
    note = "no pair with similarity 0.50001 to 0.50002\n"
    assert command.done("pairs", *narrow, says=note).out == ""
    reason = command.fails("pairs", "--max-similarity", "0.4", status=2)
    assert reason.endswith("below the threshold 0.5 of the database: give a lower threshold")
    assert "all pairs" in command.fails("pairs", "--sample", "2", "--into-table", status=2)
