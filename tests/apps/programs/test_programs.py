"""Copied programs are found whatever was renamed, reprinted or moved."""

from __future__ import annotations

import ast
import keyword
import random
import sysconfig
from pathlib import Path

import pytest
from helpers import parsed

import lshdb
from lshdb.apps.compare.differences import Row, agreement, differences

NAMES = ["argparse", "bisect", "calendar", "cmd", "configparser", "copy", "dis", "fractions"]
NAMES += ["gzip", "heapq", "netrc", "pprint", "queue", "shlex", "textwrap", "zipapp"]
MODULES = {name: (Path(sysconfig.get_path("stdlib")) / f"{name}.py").read_text() for name in NAMES}
GCD = "def gcd(a, b):\n    while a:\n        a, b = b % a, a\n    return b\n"
COPY = "def f(n, m):  # mine\n    while n:\n\n        n, m = m % n, n\n    return m, 1\n"


class _Renaming(ast.NodeTransformer):
    def visit(self, node: ast.AST) -> ast.AST:
        for field in ("id", "name", "attr", "arg"):
            if isinstance(getattr(node, field, None), str):
                setattr(node, field, f"name_{hash(getattr(node, field)) % 10**9}")
        return self.generic_visit(node)


def disguised(text: str) -> str:
    """The same program without comments, with other names and another layout."""
    return ast.unparse(_Renaming().visit(parsed(text)))


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> lshdb.Database:
    path = tmp_path_factory.mktemp("programs") / "lsh.db"
    with lshdb.open(path, purpose="programs", passages=16) as made:
        made.add_many(MODULES.items())
        return lshdb.open(path)


def test_disguised_modules_name_their_source_first(db: lshdb.Database) -> None:
    found = [db.query(disguised(text), top=1) for text in MODULES.values()]
    assert [match.key for matches in found for match in matches] == NAMES


@pytest.mark.parametrize("name", ["calendar", "configparser", "dis"])
def test_passages_find_programs_whose_parts_were_moved(db: lshdb.Database, name: str) -> None:
    tree = parsed(MODULES[name])
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef):
            random.Random(1).shuffle(node.body)
    text = ast.unparse(tree)
    found = db.passages(text)
    assert found.unit == "token"
    assert found[0].key == name
    assert found[0].coverage >= 0.7
    passage = max(found[0].passages, key=lambda one: one.words)
    lines = text.splitlines(keepends=True)[passage.line - 1 : passage.end_line]
    assert passage.text in "".join(lines)
    assert not db.passages(text, base=[text]).sources


def marked(row: Row, side: str) -> list[tuple[str, str]]:
    """The pieces of one side of a row that are not the same in both programs."""
    line = getattr(row, side)
    pieces = () if line is None else line.pieces
    return [(piece.text, piece.kind) for piece in pieces if piece.kind != "same"]


def names(a: str, b: str) -> list[tuple[str, str]]:
    """The names of B that are renamed, with those of A, in order."""
    sides = [
        [text for row in differences(a, b, programs=True) for text, kind in marked(row, side)
         if kind == "renamed"] for side in "ab"
    ]  # fmt: skip
    return list(zip(*sides, strict=True))


def test_programs_side_by_side_have_their_renamed_names_and_comments_marked() -> None:
    rows = differences(GCD, COPY, programs=True)
    assert [row.kind for row in rows] == ["changed", "same", "same", "same", "changed"]
    renamed = [("f", "renamed"), ("n", "renamed"), ("m", "renamed")]
    assert marked(rows[0], "b") == [*renamed, ("# mine", "changed")]
    assert marked(rows[-1], "b") == [("m", "renamed"), (", 1", "changed")]
    assert agreement("a = b; // c", "x=yes;", programs=True).startswith("The same tokens")
    assert not agreement("a = b;", "a = 1;", programs=True)


LOOP = """
total = 0
for item in items:
    if item > limit and item not in seen:
        total = total + item
print("sum", total)
"""


def test_names_are_renamed_where_each_stands_for_the_same_other_name() -> None:
    copy = LOOP.replace("item ", "thing ").replace("item\n", "thing\n").replace("sum", "Summe")
    assert names(LOOP, copy) == [("item", "thing")] * 4
    assert names(LOOP, copy.replace("total", "sum_")).count(("total", "sum_")) == 4
    # A third name in one place: neither name is renamed; the others are.
    assert ("total", "sum_") not in names(
        LOOP, copy.replace("total", "sum_").replace("sum_ +", "other +")
    )
    swapped = LOOP.replace("limit", "seen", 1)
    assert names(LOOP, swapped) == [], "two names became one"
    assert names(LOOP, LOOP.replace("if ", "thing ")) == [], "a keyword has no other name"
    assert names(LOOP, LOOP.replace("> limit", "< limit")) == []
    short = "f(a, b, c, d, e)"
    assert names(short, short.replace("c", "x")) == [("c", "x")], "of 12 words and signs"
    assert names(short[:-4], short[:-4].replace("c", "x")) == [], "shorter code is alike by chance"


def test_comments_and_docstrings_of_programs_are_compared() -> None:
    a = 'def f(n):\n    """Add one."""\n    return n + 1  # as said\n'
    b = 'def f(n):\n    """Add two."""\n    return n + 1  # as written\n'
    rows = differences(a, b, programs=True)
    assert [marked(row, "b") for row in rows] == [
        [], [("two", "changed")], [("written", "changed")]
    ]  # fmt: skip
    assert names(a, b) == []


@pytest.mark.parametrize("seed", range(4))
def test_programs_that_have_nothing_in_common_have_no_renamed_names(seed: int) -> None:
    a, b = random.Random(seed).sample(NAMES, 2)
    of_words = differences(MODULES[a], MODULES[b])
    of_code = differences(MODULES[a], MODULES[b], programs=True)
    assert {kind for row in of_code for _, kind in marked(row, "a")} <= {"changed", "renamed"}
    found = names(MODULES[a], MODULES[b])
    assert len(found) <= 0.01 * len(MODULES[a].split())
    assert not {name for pair in found for name in pair} & {*keyword.kwlist}
    assert len(of_code) == len(of_words)


def test_a_renamed_module_has_the_map_of_its_names() -> None:
    """Nearly all that was renamed is in the map, by the syntax tree; and nothing else."""
    tree = parsed(MODULES["heapq"])
    all_names = {
        name for node in ast.walk(tree) if isinstance(name := getattr(node, "id", None), str)
    }
    found = set(names(ast.unparse(tree), disguised(MODULES["heapq"])))
    assert all(b == f"name_{hash(a) % 10**9}" for a, b in found)
    assert len({a for a, _ in found} & all_names) > 0.8 * len(all_names)
