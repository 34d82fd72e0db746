"""At which similarity `pairs` finds disguised copies of programs best, by the F1 of all pairs.

    python scripts/measure experiments.copies [--classes N]

A class has 60 modules of Python's standard library, of 40 to 250 lines without docstrings and
comments. Twenty of them have a copy: with definitions in another order, eight names changed, and,
in copies of each of four levels, statements inserted and values assigned in two steps, at 5%, 15%,
30% and half of all places (seed: the number of the class). All pairs of a class are ranked by the
similarity of `lshdb init --for programs`; the table has the mean of the classes.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sysconfig
import tempfile
from pathlib import Path
from statistics import mean

import lshdb

THRESHOLDS = (0.3, 0.34, 0.38, 0.4, 0.42, 0.46, 0.5, 0.55, 0.6, 0.7)
_MODULES, _COPIES = 60, 20
_LEVELS = (0.05, 0.15, 0.3, 0.5)
_INSERTED = (
    "tmp = 0",
    "print('step', 1)",
    "count = count + 1",
    "flag = not flag",
    "if debug: print(tmp)",
)
_NAME = re.compile(r"\b[a-z][a-z]{3,}\b")
_KEPT = {"import", "from", "return", "class", "else", "elif", "while", "with", "yield", "self"}
_KEPT |= {"none", "pass", "break", "continue", "raise", "except", "finally", "assert", "lambda"}


def modules() -> list[str]:
    """The definitions of modules of the standard library."""
    texts = []
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if {"test", "tests", "site-packages", "encodings", "idlelib"}.intersection(path.parts):
            continue
        try:
            tree = ast.parse(path.read_text("utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        kinds = (ast.FunctionDef, ast.ClassDef)
        text = "\n".join(ast.unparse(node) for node in tree.body if isinstance(node, kinds))
        if 40 <= text.count("\n") <= 250:
            texts.append(text)
    return texts


def copied(text: str, share: float, rng: random.Random) -> str:
    """A copy of a module, with statements inserted at a share of the places."""
    tree = ast.parse(text)
    rng.shuffle(tree.body)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list) or isinstance(node, ast.Module | ast.ClassDef):
            continue
        statements: list[ast.stmt] = []
        for statement in body:
            if rng.random() < share:
                statements += ast.parse(rng.choice(_INSERTED)).body
            if isinstance(statement, ast.Assign) and rng.random() < share:
                first = ast.Assign([ast.Name("value", ast.Store())], statement.value, lineno=0)
                statements.append(first)
                statement.value = ast.Name("value", ast.Load())
            statements.append(statement)
        node.body = statements  # type: ignore[attr-defined]
    text = ast.unparse(ast.fix_missing_locations(tree))
    names = sorted({*_NAME.findall(text)} - _KEPT)
    for name in rng.sample(names, 8):
        text = re.sub(rf"\b{name}\b", f"{name}_{rng.randrange(99)}", text)
    return text


def scored(number: int, texts: list[str]) -> tuple[list[tuple[float, bool]], int]:
    """The similar pairs of a class, each with whether it is true, and the number of copies."""
    rng = random.Random(number)
    chosen = rng.sample(texts, _MODULES)
    documents = {f"{index}": text for index, text in enumerate(chosen)}
    for index in range(_COPIES):
        documents[f"{index} copy"] = copied(chosen[index], _LEVELS[index % len(_LEVELS)], rng)
    with (
        tempfile.TemporaryDirectory() as directory,
        lshdb.open(Path(directory) / "x.db", purpose="programs", threshold=0.2) as database,
    ):
        database.add_many(documents.items())
        rows = [
            (pair.similarity, f"{pair.a} copy" == pair.b or f"{pair.b} copy" == pair.a)
            for pair in database.pairs()
        ]
    return rows, _COPIES


def f1(rows: list[tuple[float, bool]], copies: int, threshold: float) -> float:
    """The harmonic mean of precision and recall of the pairs from a similarity on."""
    found = [true for similarity, true in rows if similarity >= threshold]
    return 2 * sum(found) / (len(found) + copies)


def main() -> None:
    """Print a line for each threshold."""
    parser = argparse.ArgumentParser(prog="experiments.copies", description=__doc__)
    parser.add_argument("--classes", type=int, default=5)
    texts = modules()
    classes = [scored(number, texts) for number in range(parser.parse_args().classes)]
    for threshold in THRESHOLDS:
        print(f"{threshold}: {mean(f1(*rows, threshold) for rows in classes):.3f}")


if __name__ == "__main__":
    main()
