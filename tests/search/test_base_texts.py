"""What base texts have counts nowhere: the sets of shingles are those without theirs."""

from __future__ import annotations

import itertools
import math
import random
from pathlib import Path
from typing import Any

import inspection
import oracles
import pytest
from direct_command import command as command
from helpers import Command, database_of, shingle

import lshdb
from lshdb.errors import SettingsError, SettingsMismatch
from lshdb.shingling.positions import shingle_texts
from lshdb.shingling.shingling import Shingling

RUN, LOW = 6, 0.3
ALL: dict[str, Any] = {"bands": 128, "rows": 1, "threshold": LOW}
"""A pair of this similarity is a candidate but once in 10^19."""


def a_class(seed: int) -> tuple[str, dict[str, str]]:
    """A template, and texts that begin with it; some change it, one is nothing else."""
    draw = random.Random(seed)
    words = [f"word{number}" for number in range(80)]
    template = draw.choices(words, k=60)
    texts = {"nothing": " ".join(template), "shuffled": " ".join(template[30:] + template[:30])}
    passages = [draw.choices(words, k=12) for _ in range(6)]
    for at in range(14):
        own = [*template[: draw.choice((20, 60))], *draw.choices(words, k=draw.randrange(20))]
        own[draw.randrange(20)] = draw.choice(words)
        texts[f"d{at}"] = " ".join([*own, *draw.choice(passages), *draw.choice(passages)])
    return " ".join(template), texts


@pytest.mark.parametrize(("seed", "kind", "size"), [(7, "word", 3), (8, "char", 5)])
def test_answers_are_those_of_sets_without_the_base(
    path: Path, seed: int, kind: str, size: int
) -> None:
    template, texts = a_class(seed)
    name = f"{kind}:{size}"
    sets = {key: oracles.counting(text, template, kind, size) for key, text in texts.items()}
    expected = oracles.similar_pairs(sets, LOW)
    with database_of(path, texts, shingle=name, base={"task": template}, **ALL) as db:
        pairs = {frozenset((pair.a, pair.b)): pair.similarity for pair in db.pairs()}
        assert pairs == pytest.approx(expected)
        for a, b in itertools.islice(itertools.combinations(texts, 2), 20):
            compared = db.compare(a, b)
            assert compared.shared == len(sets[a] & sets[b])
            assert compared.union == len(sets[a] | sets[b])
        text = f"{template} and {texts['d3'][-80:]}"
        query = oracles.counting(text, template, kind, size)
        scores = {key: oracles.jaccard(query, stored) for key, stored in sets.items()}
        similar = {key: score for key, score in scores.items() if score >= LOW}
        matches = db.query(text, exhaustive=True, threshold=LOW)
        assert {match.key: match.similarity for match in matches} == pytest.approx(similar)
    rows = [{"id": key, "text": text} for key, text in texts.items()]
    dropped = lshdb.dedup(rows, shingle=name, base={"task": template}, **ALL).dropped
    decided = oracles.deduplicated(sets, texts, LOW)
    assert {row.key for row in dropped} == {key for key, why in decided.items() if why}


def in_base(words: list[str], base: list[str]) -> set[int]:
    """The words that are in runs that the base text has."""
    windows = {tuple(base[i : i + RUN]) for i in range(len(base) - RUN + 1)}
    runs = (i for i in range(len(words) - RUN + 1) if tuple(words[i : i + RUN]) in windows)
    return {at for i in runs for at in range(i, i + RUN)}


def test_passages_and_weights_are_those_without_the_base(tmp_path: Path) -> None:
    template, texts = a_class(41)
    base = {"task": template}
    size = math.ceil(5 * RUN / 8)
    gone = {value >> 16 for value in oracles.shingle_hashes(template, "word", size, 1)}
    prints = {key: {*oracles.fingerprints(text, "word", RUN, 1)} for key, text in texts.items()}
    stored = [values - gone for values in prints.values()]
    with (
        database_of(tmp_path / "base.db", texts, base=base, passages=RUN, **ALL) as db,
        database_of(tmp_path / "none.db", texts, passages=RUN, **ALL) as plain,
    ):
        pairs, asked = [*db.passage_pairs()], [*plain.passage_pairs(base=[template])]
        assert [(p.a, p.b, p.passages) for p in pairs] == [(p.a, p.b, p.passages) for p in asked]
        assert 10 < len(pairs) < len([*plain.passage_pairs()])
        for pair in pairs:
            weighted = oracles.weighted(prints[pair.a] - gone, prints[pair.b] - gone, stored)
            assert (pair.weighted, pair.weighted_share) == pytest.approx(weighted)
            left = in_base(texts[pair.a].split(), template.split())
            for passage in pair.passages:
                first = len(texts[pair.a][: passage.start].split())
                assert not left & {*range(first, first + passage.words)}
            found = {source.key: source.passages for source in db.passages(key=pair.a)}
            assert found[pair.b] == pair.passages
        assert not db.passages(template).sources
        rows = [{"id": key, "text": text} for key, text in texts.items()]
        dropped = lshdb.dedup(rows, rule=f"copied:{RUN}", base=base).dropped
        assert "shuffled" not in {row.key for row in dropped}


def test_programs_and_large_texts() -> None:
    """By their readable shingles, and cut into pieces."""
    task = "def solve(a, b):\n    while a < b:\n        a += len(b[a])\n    return a\n"
    text = f"import sys\n{task}\nprint([solve(x, 1) for x in sys.argv if x], 'none')\n{task}"
    for name in ("code:6", "word:3", "char:9"):
        plain = Shingling.parse(name)
        base = plain.without([task])
        names = shingle_texts(text, plain)
        left = [one for one in names if one not in shingle_texts(task, plain)]
        assert shingle_texts(text, base) == left
        assert 0 < len(left) < len(names)
        for block in (0, 16):
            assert len({*shingle([text], base, 1, block).hashes.tolist()}) == len(left)


def test_a_reindexed_file_is_as_if_made_with_the_base(tmp_path: Path) -> None:
    template, texts = a_class(2)
    others = {"reworded": True, "passages": RUN}
    made = tmp_path / "made.db"
    database_of(made, texts, base={"task": template}, **others).close()
    path = tmp_path / "lsh.db"
    with database_of(path, texts, **others) as db:
        before = inspection.contents(path)
        done = db.reindex(base={"task": template})
        assert (done.after.shingling.base, done.documents) == ((("task", template),), 15)
        assert inspection.contents(path) == inspection.contents(made)
        inspection.check(path)
        assert db.reindex(base={"task": template}).rows == 0
        db.reindex(base={})
        assert inspection.contents(path) == before
        inspection.check(path)


def test_other_base_texts_are_other_settings(tmp_path: Path) -> None:
    template, texts = a_class(3)
    path = tmp_path / "lsh.db"
    database_of(path, texts, base={"task": template}).close()
    lshdb.open(path, base={"task": template}).close()
    with pytest.raises(SettingsMismatch, match="other base texts"):
        lshdb.open(path, base={})
    rows = [{"id": key, "text": text} for key, text in texts.items()]
    with pytest.raises(SettingsMismatch, match="other base texts"):
        lshdb.dedup(rows, against=path)
    for base, shingle_ in (({"task": " "}, "word:3"), ({"task": "a"}, "set")):
        with pytest.raises(SettingsError, match="base"):
            lshdb.open(tmp_path / "new.db", base=base, shingle=shingle_)
    assert not (tmp_path / "new.db").exists()
    with lshdb.open(path) as db, lshdb.open(tmp_path / "lanes.db", content=False) as lanes:
        some = db.signatures()
        with pytest.raises(SettingsMismatch, match="base texts"):
            lanes.add_signatures(some.keys, some.signatures, some.made_with)


def test_the_commands(command: Command) -> None:
    template, texts = a_class(4)
    command.write("task/a.txt", template)
    command.write("task/.hidden", texts["d1"])
    for key in ("nothing", "d1", "d2"):
        command.write(f"class/{key}.txt", texts[key])
    command.done("init", "--base", "task")
    command.done("add", "class")
    info = command.done("info", "--json").record
    assert (info["base"], info["base_shingles"], info["empty"]) == (["task/a.txt"], 58, 1)
    assert "task/a.txt\n" in command.done("compare", "class/d1.txt", "class/d2.txt").out
    command.done("reindex", "--base", "none")
    assert command.done("info", "--json").record["base"] == []
    command.done("reindex", "--base", "task", "--base", "class/d1.txt")
    assert command.done("info", "--json").record["empty"] == 2
    command.path("empty").mkdir()
    for name, reason in (("gone", "no such file"), ("empty", "no text is there")):
        assert reason in command.fails("init", "-d", "new.db", "--base", name)
    assert not command.path("new.db").exists()
    # Rows of one key are all base texts.
    rows = [{"id": "t", "text": text} for text in ("the first task of all", "the other of two")]
    command.write("base.jsonl", rows)
    command.done("init", "-d", "b.db", "--base", "base.jsonl")
    found = command.rows("SELECT content FROM base_texts", "b.db")
    assert found == [(row["text"],) for row in rows]
