"""Folders as documents: submissions of several files, compared as wholes."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pytest
from helpers import Command, database_of

import lshdb
from lshdb.text.shingles import distinct_shingles
from lshdb.text.shingling import Shingling

SORT = """// sorts numbers, isn't slow
static void sort(int[] a) {
    for (int i = 0; i < a.length; i++)
        for (int j = i; j > 0 && a[j] < a[j - 1]; j--) {
            int t = a[j]; a[j] = a[j - 1]; a[j - 1] = t;
        }
}
"""
SUM = """# adds numbers, isn't fast
def total(values):
    result = 0
    for value in values:
        result = result + value * value - 1
    return result if values else None
"""
OTHER = 'int main(void) { return printf("%d", 40 + getchar() / 2 * strlen(argv[0])); }\n'
FILES = {
    "class/ann/Sort.java": SORT,
    "class/ann/util/total.py": SUM,
    "class/ben/a.py": SUM.replace("total", "plus").replace("values", "xs"),
    "class/ben/b.java": "\n\n" + SORT.replace("sort", "order"),
    "class/cleo.c": OTHER,
    "class/dora/1.java": SORT,
    "class/dora/2.java": SORT,
}


@pytest.fixture
def filled(command: Command) -> Command:
    for name, text in FILES.items():
        command.path(name).parent.mkdir(parents=True, exist_ok=True)
        command.write(name, text)
    command.done("init", "--for", "programs", "--passages", "12", "--threshold", "0.1")
    command.done("add", "class")
    return command


def test_similarity_is_that_of_all_files_together(filled: Command) -> None:
    code = Shingling.parse("code:6")
    own = {
        who: {*distinct_shingles([FILES[name] for name in FILES if who in name], code, 1).hashes}
        for who in ("ann", "ben", "cleo", "dora")
    }
    with lshdb.open(filled.path("lsh.db")) as db:
        found = {(p.a[6:], p.b[6:]): p.similarity for p in db.pairs(group_by="folder")}
        clusters = [one.members for one in db.clusters(group_by="class")]
    for a, b in combinations(own, 2):
        exact = len(own[a] & own[b]) / len(own[a] | own[b])
        # Few shingles have tokens of two files.
        assert found.get((a, b), 0) == pytest.approx(exact, abs=0.1), (a, b)
    assert clusters == [("class/ann", "class/ben", "class/dora")]


def test_a_passage_is_in_one_file_of_each(filled: Command) -> None:
    printed = filled.done("passages", "--all", "--passages", "--group-by", "folder", "--json")
    found = [json.loads(line) for line in printed.lines]
    assert {(one["a"], one["b"]) for one in found} == {
        ("class/ann", "class/ben"),
        ("class/ann", "class/dora"),
        ("class/ben", "class/dora"),
    }
    for one in found:
        assert one["text"] == FILES[one["file"]][one["start"] : one["end"]]
        for of in ("", "stored_"):
            text = FILES[one[f"{of}file"]]
            assert one[f"{of}line"] == text.count("\n", 0, one[f"{of}start"]) + 1
    whole = [one for one in found if one["a_coverage"] == 1.0 and one["b"] == "class/ben"]
    assert [(one["file"], one["stored_file"]) for one in whole] == [
        ("class/ann/Sort.java", "class/ben/b.java"),
        ("class/ann/util/total.py", "class/ben/a.py"),
    ], "names and comments do not matter, whatever the language"


def test_what_cannot_be_grouped(filled: Command) -> None:
    says = filled.fails("pairs", "--group-by", "elsewhere", status=2)
    assert "no document is in elsewhere" in says
    filled.fails("passages", "class/cleo.c", "--group-by", "folder", status=2)
    filled.done("init", "-d", "bare.db", "--no-content")
    says = filled.fails("clusters", "-d", "bare.db", "--group-by", "folder", status=2)
    assert "keeps none" in says


TEXT = "the ferry to the islands runs every hour from the pier in the old harbour of the town"


YEARS = {f"course/2024/{name}/a.txt": TEXT for name in ("ann", "bob")}


@pytest.mark.parametrize(
    "line",
    [
        "pairs --group-by . --json",
        "clusters --group-by .",
        "passages --all --group-by .",
        "pairs --group-by course",
        "report --group-by course -o report.html",
    ],
)
def test_one_unit_is_said(command: Command, path: Path, line: str) -> None:
    database_of(path, YEARS, passages=5).close()
    said = command.fails(*line.split(), status=2)
    assert "leaves one unit alone, course" in said
    assert not command.path("report.html").exists()


@pytest.mark.parametrize("group_by", ["2", "y*/*"])
def test_units_are_several_folders_deep(path: Path, group_by: str) -> None:
    texts = {"y1/ann/a/x.txt": TEXT, "y1/ben/x.txt": "other words", "y2/ann/x.txt": TEXT}
    with database_of(path, texts) as database:
        assert [(pair.a, pair.b) for pair in database.pairs(group_by=group_by)] == [
            ("y1/ann", "y2/ann")
        ]
        with pytest.raises(lshdb.UsageError, match=r"no document is in a folder like z\*/\*"):
            next(database.pairs(group_by="z*/*"))
