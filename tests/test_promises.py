"""Each sentence of docs/promises.md has a test, and the test exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "promises.md").read_text("utf-8")


def test_every_promise_names_a_test_that_exists() -> None:
    promises = [line for line in PAGE.splitlines() if line.startswith("- ")]
    assert promises
    for promise in promises:
        named = re.findall(r"`(tests/\w+\.py)::(\w+)`$", promise)
        assert named, f"no test behind: {promise}"
        ((file, name),) = named
        tree = ast.parse((ROOT / file).read_text("utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
