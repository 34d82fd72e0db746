"""What shingles of tokens find of copied programs, beside words; and how fast they are cut.

    python scripts/measure experiments.programs [FOLDER]     a minute

Labels: FOLDER has `docs.jsonl`, a line `{"id": ..., "text": ...}`, and `labels.tsv`, a line a pair,
`COPY ORIGINAL LEVEL` with the level `non` for independent work. Modules: each module of the
standard library with all names changed, without comments, as `ast.unparse` prints it, looks for
its source; and passages of 16 tokens look for modules whose parts were moved. Functions: 50,000
distinct ones from the installed packages, of 60 tokens and more, are deduplicated at similarity
0.8 by words and by tokens; 20 pairs that only tokens find are printed.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

import lshdb
from lshdb.shingling.positions import cut
from lshdb.shingling.shingles import distinct_shingles
from lshdb.shingling.shingling import Shingling

FUNCTIONS = 50_000
PASSAGES = 16
TOKENS = 60
"""Of a function, at least: shorter ones look alike."""
SHINGLES = ("word:3", "code:4", "code:6", "code:8", "code:10")


class _Renaming(ast.NodeTransformer):
    def visit(self, node: ast.AST) -> ast.AST:
        for field in ("id", "name", "attr", "arg"):
            if isinstance(value := getattr(node, field, None), str):
                setattr(node, field, f"name_{hash(value) % 10**9}")
        return self.generic_visit(node)


def similarities(texts: dict[str, str], pairs: list[list[str]], kind: str) -> list[float]:
    """The Jaccard similarity of each pair of texts."""
    sets = {}
    for key, text in texts.items():
        sets[key] = set(distinct_shingles([text], Shingling.parse(kind), 1).hashes.tolist())
    both = [(sets[one], sets[other]) for one, other, *_ in pairs]
    return [len(a & b) / max(len(a | b), 1) for a, b in both]


def labels(folder: Path) -> None:
    """Print how well similarity tells copies from independent work."""
    rows = map(json.loads, (folder / "docs.jsonl").read_text().splitlines())
    texts = {row["id"]: row["text"] for row in rows}
    lines = (folder / "labels.tsv").read_text().splitlines()
    pairs = [line.split("\t") for line in lines if not line.startswith("#")]
    levels = np.array([level for _, _, level in pairs])
    copied = levels != "non"
    for kind in SHINGLES:
        scores = np.array(similarities(texts, pairs, kind))
        area = np.mean([(s > scores[~copied]) + (s == scores[~copied]) / 2 for s in scores[copied]])
        found = [
            (2 * (copied & (scores >= t)).sum() / (copied.sum() + (scores >= t).sum()), t)
            for t in scores
        ]
        means = {
            str(one): round(float(scores[levels == one].mean()), 2) for one in sorted(set(levels))
        }
        shares = {
            t: [round(float((scores[some] >= t).mean()), 2) for some in (copied, ~copied)]
            for t in (0.5, 0.6, 0.7, 0.8)
        }
        best, at = max(found)
        print(f"{kind}: at thresholds, of copies and of independent work: {shares}")
        print(f"{kind}: area {area:.3f}, best F1 {best:.3f} at {at:.2f}, means {means}")


def modules() -> dict[str, str]:
    """The modules of the standard library."""
    folder = Path(sysconfig.get_path("stdlib"))
    return {path.stem: path.read_text() for path in sorted(folder.glob("*.py"))}


def moved(text: str) -> str:
    """A module with its functions, classes and statements in another order."""
    lines = text.splitlines(keepends=True)
    parts = []
    for node in ast.parse(text).body:
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
        parts.append("".join(lines[first - 1 : node.end_lineno]))
    random.Random(1).shuffle(parts)
    return "\n".join(parts)


def disguises(sources: dict[str, str]) -> None:
    """Print what is found of disguised and of reordered modules, and what is cut in a second."""
    texts = list(sources.values())
    began = time.process_time()
    distinct_shingles(texts, Shingling.parse("code:6"), 1)
    seconds = time.process_time() - began
    print(f"{sum(map(len, texts)) / seconds / 1e6:.0f} MB/s of {len(texts)} modules")
    large = {key: text for key, text in sources.items() if len(text) > 1000}
    right, own, others, covered = 0, [], [], []
    with (
        tempfile.TemporaryDirectory() as folder,
        lshdb.open(Path(folder) / "lsh.db", purpose="programs", passages=PASSAGES) as db,
    ):
        db.add_many(large.items())
        for key, text in large.items():
            disguised = ast.unparse(_Renaming().visit(ast.parse(text)))
            found = {
                one.key: one.similarity
                for one in db.query(disguised, exhaustive=True, threshold=0.01)
            }
            right += next(iter(found)) == key
            own.append(found.pop(key))
            others.append(max(found.values()))
            sources_of = {one.key: one.coverage for one in db.passages(moved(text))}
            covered.append(sources_of.get(key, 0.0))
    print(f"{right} of {len(large)} disguised modules name their source first")
    for name, shares in (
        ("to their source", own),
        ("to another", others),
        ("covered if moved", covered),
    ):
        print(
            f"{name}, at 1, 5, 10, 50, 90, 99%:",
            np.percentile(shares, [1, 5, 10, 50, 90, 99]).round(2),
        )


def functions() -> Iterator[str]:
    """Distinct functions of the installed packages, in random order of their files."""
    paths = sorted(Path(sysconfig.get_path("purelib")).rglob("*.py"))
    random.Random(1).shuffle(paths)
    seen = set()
    for path in paths:
        try:
            text = path.read_text()
            nodes = [*ast.walk(ast.parse(text))]
        except (ValueError, SyntaxError):
            continue
        lines = text.splitlines(keepends=True)
        for node in nodes:
            if isinstance(node, ast.FunctionDef):
                own = "".join(lines[node.lineno - 1 : node.end_lineno])
                if own not in seen and len(cut([own], "code").starts) >= TOKENS:
                    seen.add(own)
                    yield own


def deduplicating() -> None:
    """Print what deduplication by words and by tokens drops, and some that only tokens find."""
    rows = [{"id": at, "text": text} for at, text in enumerate(islice(functions(), FUNCTIONS))]
    dropped = {}
    for kind in ("word:3", "code:6"):
        began = time.perf_counter()
        found = lshdb.dedup(rows, shingle=kind, threshold=0.8)
        seconds = time.perf_counter() - began
        dropped[kind] = {row.key: row for row in found.dropped}
        print(f"{kind}: {len(dropped[kind]):,} of {len(rows):,} dropped in {seconds:.0f} s")
    only = sorted(dropped["code:6"].keys() - dropped["word:3"].keys(), key=int)
    print(f"only by tokens: {len(only):,}")
    for key in random.Random(1).sample(only, min(20, len(only))):
        row = dropped["code:6"][key]
        print(
            f"\n--- {row.similarity:.2f}",
            rows[int(row.kept)]["text"],
            rows[int(key)]["text"],
            sep="\n",
        )


def main() -> None:
    """Measure all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    folder = parser.parse_args().folder
    if folder:
        labels(folder)
    disguises(modules())
    deduplicating()
