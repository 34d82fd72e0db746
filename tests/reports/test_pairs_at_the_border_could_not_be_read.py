"""Who chose a threshold could not read some pairs near it: only the best, or all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import Command, database_of, served, text_families

import lshdb

SAMPLE = ("pairs", "--threshold", "0.5", "--max-similarity", "0.8", "--sample", "5")


@pytest.fixture
def command(path: Path) -> Command:
    texts = text_families(5, families=20, copies=3, words=60, most_edits=8)
    with database_of(path, texts, threshold=0.5, passages=8) as database:
        # Ids that do not follow from the order of keys.
        assert database.remove(where="doc_id % 3 = 0")
        database.add_many(list(texts.items())[::-1], workers=0)
    return Command(path.parent)


@pytest.mark.extra("web")
def test_the_same_sample_by_command_and_page(command: Command) -> None:
    drawn = command.done(*SAMPLE, "--json")
    every = command.done("pairs", "--max-similarity", "0.8", "--json", says="").records
    assert len(every) > 20
    said = f"5 of the {len(every)} pairs that match, drawn at random (--seed 1)\n"
    assert drawn.err == said
    assert all(pair in every for pair in drawn.records)
    scores = [pair["similarity"] for pair in drawn.records]
    assert scores == sorted(scores, reverse=True)
    assert 0.8 > scores[0] > scores[-1]
    assert command.done(*SAMPLE, "--json").out == drawn.out
    other = command.done(*SAMPLE, "--json", "--seed", "2", "--quiet", says="").records
    assert {pair["a"] for pair in other} != {pair["a"] for pair in drawn.records}
    with served(command.directory) as site:
        asked = {"max_similarity": "0.8", "sample": "5"}
        for seed, records in ((1, drawn.records), (2, other)):
            page = json.loads(site.get("pairs.json", **asked, seed=str(seed)).text)
            shown = [(pair["a"], pair["b"], pair["similarity"]) for pair in page["pairs"]]
            assert shown == [(pair["a"], pair["b"], pair["similarity"]) for pair in records]
            assert page["drawn_from"] == len(every)
        text = site.get("pairs", **asked).text
        assert f"A random sample of the {len(every)} pairs that match: 5." in text
        lines = site.get("pairs", **asked, format="jsonl").text.splitlines()
        assert [json.loads(line)["a"] for line in lines] == [pair["a"] for pair in drawn.records]
        assert site.get("clusters.json", sample="5").status == 400
        wrong = site.get("pairs.json", min_similarity="0.9", max_similarity="0.8")
        assert (wrong.status, "max_similarity 0.8 is below" in wrong.text) == (400, True)


def test_a_sample_of_rare_pairs_and_of_folders(command: Command) -> None:
    rare = ("pairs", "--min-weighted", "0.6", "--json")
    every = command.done(*rare).records
    drawn = command.done(*rare, "--sample", "4", "--sort", "weighted")
    assert f"4 of the {len(every)} pairs that match" in drawn.err
    assert all(pair in every for pair in drawn.records)
    weighted = [pair["weighted"] for pair in drawn.records]
    assert weighted == sorted(weighted, reverse=True)
    for name in ("x", "y", "z"):
        command.write(f"class/{name}/essay.txt", "the ferry leaves the island at noon on Sundays")
    command.done("add", "-d", "class.db", "class")
    of_folders = ("pairs", "-d", "class.db", "--group-by", "folder", "--json")
    folders = command.done(*of_folders).records
    drawn = command.done(*of_folders, "--sample", "1")
    assert (len(folders), drawn.record in folders) == (3, True)
    assert "1 of the 3 pairs that match" in drawn.err


def test_a_range_without_pairs(command: Command) -> None:
    narrow = ("--threshold", "0.50001", "--max-similarity", "0.50002", "--sample", "3")
    note = "no pair with similarity 0.50001 to 0.50002\n"
    assert command.done("pairs", *narrow, says=note).out == ""
    reason = command.fails("pairs", "--max-similarity", "0.4", status=2)
    assert reason.endswith("below the threshold 0.5 of the database: give a lower threshold")
    with lshdb.open(command.path("lsh.db"), mode="read") as database:
        for results in (
            database.pairs(max_similarity=0.4),
            database.pairs(max_similarity=0.4, sample=1),
        ):
            with pytest.raises(lshdb.UsageError, match="give a lower threshold"):
                next(results)
    done = command.done("pairs", "--max-similarity", "0.6", "--into-table")
    count = len(command.done("pairs", "--max-similarity", "0.6").lines)
    assert done.err == f"lsh.db: table similar_pairs: {count} pairs\n"
    assert "all pairs" in command.fails("pairs", "--sample", "2", "--into-table", status=2)
