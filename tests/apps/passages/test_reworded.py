"""Reworded copies, beside windows that are compared by sets of words."""

from __future__ import annotations

import math
import random
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import oracles
import pytest
from helpers import Command, database_of
from hypothesis import example, given, settings
from hypothesis import strategies as st

import lshdb
from lshdb.apps.passages import rare_words
from lshdb.apps.passages.model import CopiedPassage

WORDS = [f"{name}{n}" for n in range(600) for name in ("river", "stone", "cloud", "maple", "ember")]


def prose(seed: int, count: int, words: list[str] = WORDS) -> str:
    return " ".join(random.Random(seed).choices(words, k=count))


def shuffled(text: str, seed: int = 1) -> str:
    """The words in another order, each near where it was."""
    words = text.split()
    draw = random.Random(seed)
    return " ".join(sorted(words, key=lambda word: words.index(word) + draw.randrange(12)))


def windows_of(text: str) -> list[set[str]]:
    """The words of four letters or more in each window, for texts in ASCII."""
    words = re.findall(r"[a-z0-9_]+", text.lower())
    last = max(0, math.ceil((len(words) - 50) / 15))
    return [
        {word for word in words[15 * i : 15 * i + 50] if len(word) > 3} for i in range(last + 1)
    ]


def weights_of(texts: Mapping[str, str]) -> Mapping[str, float]:
    """The weight of each word, by the formulas of the manual; all other words weigh as much as one
    that a single document has."""
    documents = Counter(word for text in texts.values() for word in set().union(*windows_of(text)))
    mean = round(sum(max(len(text.split()) - 2, 0) for text in texts.values()) / len(texts))
    each = 1 + max(0.0, (mean - 50) / 15)
    share = min(50 / 15, each) / max(1000, len(texts) * each)
    found = {word: count * share for word, count in documents.items()}
    found[""] = share
    return {word: -math.log(one) if one <= 0.02 else 0.0 for word, one in found.items()}


def score_of(one: str, other: str, weights: Mapping[str, float]) -> float:
    """The highest weighted similarity of two windows that share four words."""

    def weight(words: set[str]) -> float:
        return sum(weights.get(word, weights[""]) for word in words)

    return max(
        (
            weight(a & b) / weight(a | b)
            for a in windows_of(one)
            for b in windows_of(other)
            if sum(weights.get(word, weights[""]) > 0 for word in a & b) >= 4
        ),
        default=0.0,
    )


def highest(passages: Iterable[CopiedPassage]) -> float:
    return max(passage.score or 0 for passage in passages)


@given(st.text(st.sampled_from("abcdé漢字かß_19 \n-,İﬁ"), max_size=300))
@example("漢字かな交じり文 abc漢字 ﬁne")
@example("word " * 90)
@settings(max_examples=60)
def test_terms_are_words_of_four_bytes_and_pairs_of_ideographs(text: str) -> None:
    (terms,) = rare_words.terms_of([text])
    names = terms.names(np.arange(len(terms.units)))
    joined = "".join(f"{name} " for name in names)
    assert rare_words.indexed([text, "", text]) == [joined, "", joined]
    assert names == oracles.terms(text)
    words = len(terms.starts)
    expected = {
        (index, window)
        for index, unit in enumerate(terms.units.tolist())
        for window in range(terms.windows)
        if 15 * window <= unit < 15 * window + 50
    }
    found = rare_words.in_windows(terms.units, np.full(len(names), terms.windows))
    assert {*zip(*(column.tolist() for column in found), strict=True)} == expected
    assert terms.windows == max(1, math.ceil((words - 50) / 15) + 1)


@pytest.mark.parametrize("seed", range(4))
def test_scores_are_those_of_all_windows_compared(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    few = WORDS[:400]  # so that windows share some by chance
    texts = {str(n): prose(100 * seed + n, draw.randrange(5, 220), few) for n in range(4)}
    texts["mixed"] = shuffled(texts["0"], seed) + " " + prose(seed, 70, few)
    query = prose(seed + 50, 40, few) + " " + shuffled(texts["1"], seed)[:400]
    weights = weights_of(texts)
    with database_of(tmp_path / "a.db", texts, reworded=True) as database:
        found = database.passages(query, reworded=True, min_score=0.02)
        pairs = list(database.passage_pairs(reworded=True, min_score=0.02))
    of_query = {source.key: highest(source.passages) for source in found}
    assert [*of_query.values()] == sorted(of_query.values(), reverse=True)
    of_pairs = {(pair.a, pair.b): highest(pair.passages) for pair in pairs}
    expected: dict[Any, float] = {key: score_of(query, texts[key], weights) for key in texts}
    expected |= {(a, b): score_of(texts[a], texts[b], weights) for a, b in combinations(texts, 2)}
    scores: dict[Any, float] = of_query | of_pairs
    assert scores == pytest.approx({key: expected[key] for key in scores})
    # Of two that share few of their rarest words either may be no candidate.
    assert {key for key, score in expected.items() if score > 0.2} <= scores.keys()
    assert expected["0", "mixed"] > 0.2


def test_a_passage_says_where_it_is_and_whether_it_is_copied(tmp_path: Path) -> None:
    source, around = prose(1, 120), [prose(2, 100), prose(3, 100)]
    with database_of(tmp_path / "a.db", {"a": source, "b": prose(4, 200)}, reworded=True) as db:
        copied = db.passages("\n".join([around[0], source, around[1]]), reworded=True)
        query = "\n".join([around[0], shuffled(source), around[1]])
        (reworded,) = db.passages(query, reworded=True)
    (one,) = copied.sources
    assert (one.key, [each.kind for each in one.passages]) == ("a", ["copied"])
    assert one.passages[0].text == source
    assert one.stored_coverage == 1
    (passage,) = reworded.passages
    assert (reworded.key, passage.kind) == ("a", "reworded")
    assert passage.score == passage.similarity > 0.5
    assert passage.text == query[passage.start : passage.end]
    # The borders are shared words: those of a window around it may be shared by chance.
    inside = set(passage.text.split())
    assert len(inside & set(source.split())) >= len(set(source.split())) - 3
    assert abs(passage.words - 120) < 12
    assert source[passage.stored_start : passage.stored_end].split()[0] in inside


def test_words_of_a_base_text_and_frequent_words_do_not_count(tmp_path: Path) -> None:
    task, answer = prose(1, 100, WORDS[:100]), prose(2, 100, WORDS[100:])
    header = prose(3, 100, WORDS[200:])
    texts = {str(n): f"{header} {prose(n + 10, 60)}" for n in range(99)}
    texts["answer"] = f"{task} {answer}"
    with database_of(tmp_path / "a.db", texts, reworded=True) as database:
        query = shuffled(f"{task}") + " " + shuffled(header)
        found = database.passages(query, reworded=True)
        assert "answer" in {source.key for source in found}
        assert not list(database.passages(query, reworded=True, base=[task]))


def test_the_index_follows_each_change(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with database_of(path, {str(n): prose(n, 80) for n in range(30)}, reworded=True) as database:
        database.add("3", prose(103, 80))
        database.remove(["4", "5"])
        database.add_many([("1", prose(1, 80)), ("40", "漢字かな交じり文"), ("41", "")], workers=2)
        assert lshdb.check(path, deep=True).ok
        assert [one.key for one in database.passages(prose(103, 80), reworded=True)] == ["3"]
        assert not list(database.passages(prose(4, 80), reworded=True))
        assert database.reindex(reworded="off").after.reworded is False
        with pytest.raises(lshdb.UsageError, match="lshdb reindex --reworded on"):
            database.passages("x", reworded=True)
        database.reindex(reworded="on", threshold=0.5)
    assert lshdb.check(path, deep=True).ok


@pytest.mark.parametrize(
    "damage",
    [
        "INSERT INTO rare_words (rowid, word) VALUES (3, 'forged')",
        "INSERT INTO rare_words (rare_words, rowid, word) VALUES ('delete', 3, 'river1')",
        "UPDATE rare_words_data SET block = substr(block, 1, length(block) / 2) || zeroblob(40) "
        "WHERE id > 10",
    ],
)
def test_a_wrong_index_is_found_and_built_again(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "a.db"
    database_of(path, {"1": WORDS[0], "2": " ".join(WORDS), "3": "river1"}, reworded=True).close()
    connection = sqlite3.connect(path)
    connection.execute(damage)
    connection.commit()
    connection.close()
    report = lshdb.check(path, repair=True)
    assert [*report.repairs] == ["rare_words"]
    assert lshdb.check(path, deep=True).ok


def test_code_on_the_tables_of_the_index_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    database_of(path, {"1": WORDS[0]}, reworded=True).close()
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TRIGGER evil AFTER INSERT ON rare_words_data BEGIN DELETE FROM documents; END"
    )
    connection.close()
    with pytest.raises(lshdb.UnsafeFile, match="'evil' is a trigger on rare_words_data"):
        lshdb.open(path)


def test_what_cannot_have_the_index_is_refused(tmp_path: Path) -> None:
    for wrong in ({"shingle": "set"}, {"shingle": "code:6"}, {"content": False}):
        with pytest.raises(lshdb.SettingsError, match="among texts with their contents"):
            lshdb.open(tmp_path / "a.db", reworded=True, **wrong)
    with database_of(tmp_path / "b.db", {"a": "text"}) as database:
        with pytest.raises(lshdb.UsageError, match="no index of rare words"):
            list(database.passage_pairs(reworded=True))
        with pytest.raises(lshdb.UsageError, match="give reworded, too"):
            database.passages("text", min_score=0.5)


def test_the_command_prints_scores_and_kinds(command: Command, tmp_path: Path) -> None:
    source = prose(1, 120)
    texts = {"source": source, "other": prose(2, 120), "copy": shuffled(source)}
    (tmp_path / "essay.txt").write_text(shuffled(source, 3))
    command.write("texts.jsonl", [{"id": key, "text": text} for key, text in texts.items()])
    command.done("init", "--reworded", "--shingle", "char:5")
    command.done("add", "texts.jsonl")
    passages = command.done("passages", "essay.txt", "--reworded", "--json").records
    assert {passage["key"] for passage in passages} == {"source", "copy"}
    assert {passage["kind"] for passage in passages} == {"reworded"}
    assert all(passage["score"] == passage["similarity"] > 0.5 for passage in passages)
    (line,) = command.done("passages", "--all", "--reworded", "--min-score", "0.5").lines
    assert {"reworded", "source", "copy"} <= {*line.split("\t")}


RUN = "sleeps in towers, as long as no one comes to see it."
LEFT = f"A barn owl locates voles by asymmetric ears.\nIt {RUN}"
RIGHT = f"By its asymmetric ears a barn owl can find voles.\nThen it {RUN}"


def test_rare_words_and_runs_are_marked_on_a_terminal(command: Command) -> None:
    command.done("init", "--reworded")
    for name, text in (("a.txt", LEFT), ("b.txt", RIGHT)):
        command.write(name, text)
    command.done("add", "a.txt", "b.txt")
    shown, _ = command.on_terminal("compare", "a.txt", "b.txt")
    assert "\x1b[1;4;33m*asymmetric" in shown
    assert "\x1b[7m" in shown
