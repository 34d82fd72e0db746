"""Copied programs are found whatever was renamed, reprinted or moved."""

from __future__ import annotations

import ast
import random
import sysconfig
from pathlib import Path

import pytest
from helpers import parsed

import lshdb
from lshdb.search.differences import agreement, differences

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


def test_programs_side_by_side_are_aligned_by_tokens() -> None:
    rows = differences(GCD, COPY, programs=True)
    assert [row.kind for row in rows] == ["same", "same", "same", "same", "changed"]
    assert rows[-1].b is not None
    pieces = [(piece.text, piece.kind) for piece in rows[-1].b.pieces if piece.kind != "same"]
    assert pieces == [("m", "renamed"), (", 1", "changed")]
    assert agreement("a = b; // c", "x=yes;", programs=True).startswith("The same tokens")
    assert not agreement("a = b;", "a = 1;", programs=True)
