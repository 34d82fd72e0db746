"""All messages in one list, so that a new one is read beside the others and worded like them.

`python tests/project/test_messages.py` writes the list again.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("messages.txt")
SAYING = {
    "hint",
    "message",
    "warn",
    "failed",
    "Failure",
    "Cut",
    "BadParameter",
    "Problem",
    "KeyNotFound",
}
"""Functions and classes that take a message; so do all errors and warnings."""
ODD = re.compile(
    r"\b(told|tells|mended|mends|anew|foretells?|at the most|shall|put right|whereof|whence"
    r"|thereby|so many|taken back|there already)\b"
)


def messages() -> list[str]:
    """Every message of the package, with {} for what is put in, in order."""
    found: set[str] = set()
    for path in sorted((ROOT / "lshdb").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and says(name_of(node.func)):
                found.update(filter(None, map(template, node.args)))
    return sorted(one for one in found if " " in one)


def name_of(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def says(name: str) -> bool:
    return name in SAYING or name.endswith(("Error", "Warning", "File", "Mismatch"))


def template(node: ast.expr) -> str:
    """The text of an expression, with {} for what is not known here."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (template(one) if isinstance(one, ast.Constant) else "{}" for one in node.values)
        return "".join(parts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return f"{template(node.left) or '{}'}{template(node.right) or '{}'}"
    if isinstance(node, ast.IfExp):
        return " | ".join(filter(None, (template(node.body), template(node.orelse))))
    return ""


def test_the_list_has_all_messages() -> None:
    assert LIST.read_text("utf-8").splitlines() == messages(), f"read the new ones; see {__file__}"


def test_messages_are_in_plain_words() -> None:
    found = messages()
    assert len(found) > 300
    for one in found:
        assert not ODD.search(one), one
        assert not re.search(r"[^.][.!]$", one), f"ends with a full stop: {one}"
        assert not re.match(r"[A-Z][a-z]+ [a-z]", one) or one.startswith(
            ("Parquet ", "Spark ", "Datasette ", "Ctrl", "Extra data")
        ), f"begins with a capital: {one}"


def test_pages_docstrings_and_names_are_in_plain_words() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "lshdb").rglob("*.py")]
    for path in pages:
        found = ODD.search(path.read_text("utf-8").replace("_", " "))
        assert not found, (path.name, found)


if __name__ == "__main__":
    LIST.write_text("".join(f"{one}\n" for one in messages()), "utf-8")
