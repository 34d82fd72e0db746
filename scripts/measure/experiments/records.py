"""Which measure and threshold tell equal records apart, on labelled records.

    python scripts/measure experiments.records FOLDER...

FOLDER has docs.jsonl, with `id` and `text`, and truth.tsv: two ids a line and perhaps a label, 1
for the same; without labels, all other pairs are different. For shingles of several lengths, and
weights that are the rarity or its square, it prints the best F1 and its threshold by the share of
the smaller record, by the mean of both shares, and by the weighted Jaccard similarity; then the F1
at the threshold of `--for records`, and what `records` and `short-text` find.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import lshdb
from lshdb.apps.passages.weights import compared, rarity
from lshdb.apps.records.records import LEAST, Records
from lshdb.text.arrays import Mask, Shares

_THRESHOLD, _LOWEST = 0.55, 0.2
Pair = tuple[str, str]


def truth_of(path: Path) -> tuple[set[Pair], set[Pair]]:
    """The pairs that are the same, and all with a label; none if there are no labels."""
    lines = [line.split("\t") for line in path.read_text("utf-8").splitlines()[1:]]
    same = {_pair(*line[:2]) for line in lines if line[2:] != ["0"]}
    return same, {_pair(*line[:2]) for line in lines if line[2:]}


def _pair(a: str, b: str) -> Pair:
    return (a, b) if a < b else (b, a)


def best(scores: Shares, same: Mask, count: int) -> str:
    """The best F1 of pairs with these scores, its threshold, and the F1 at the usual one."""
    order = np.argsort(-scores)
    f1 = 2 * np.cumsum(same[order]) / (np.arange(1, len(order) + 1) + count)
    usual = 2 * same[scores >= _THRESHOLD].sum() / ((scores >= _THRESHOLD).sum() + count)
    return f"{f1.max():.3f} at {scores[order][f1.argmax()]:.2f}, {usual:.3f} at {_THRESHOLD}"


def compare(texts: dict[str, str], same: set[Pair], labelled: set[Pair]) -> None:
    """Print a line for each kind of shingle, weight and measure."""
    for shingle in ("char:3", "char:4", "char:5", "word:1"):
        folder = tempfile.TemporaryDirectory()
        with (
            folder,
            lshdb.open(Path(folder.name, "lsh.db"), purpose="records", shingle=shingle) as db,
        ):
            db.add_many([*texts.items()])
            found = {_pair(pair.a, pair.b) for pair in db.pairs(threshold=_LOWEST)}
            with db._store.reading():
                values, documents = Records(db._store).values_of([*texts.values()])
        _, number, counts = np.unique(values, return_inverse=True, return_counts=True)
        pairs = sorted(labelled or found | same)
        index = {key: place for place, key in enumerate(texts)}
        left, right = np.array([[index[a], index[b]] for a, b in pairs]).T
        is_same = np.array([pair in same for pair in pairs])
        for power in (1, 2):
            weights = rarity(counts, len(texts)) ** power
            single = float(rarity(np.ones(1), len(texts))[0]) ** power
            columns = documents, number, weights, left, right
            jaccard, smaller = compared(*columns, LEAST * single)
            totals = np.bincount(documents, weights[number], minlength=len(texts))
            common = jaccard / (1 + jaccard) * (totals[left] + totals[right])
            larger = common / np.maximum(np.maximum(totals[left], totals[right]), 1e-9)
            measures = {"smaller": smaller, "both": (smaller + larger) / 2, "jaccard": jaccard}
            for name, scores in measures.items():
                print(f"  {shingle} rarity^{power} {name}: {best(scores, is_same, len(same))}")


def found_by(purpose: Any, texts: dict[str, str], same: set[Pair], labelled: set[Pair]) -> float:
    """The F1 of the pairs that a file made for a purpose finds, among labelled ones."""
    folder = tempfile.TemporaryDirectory()
    with folder, lshdb.open(Path(folder.name, "lsh.db"), purpose=purpose) as db:
        db.add_many([*texts.items()])
        found = {_pair(pair.a, pair.b) for pair in db.pairs()}
    found = found & labelled if labelled else found
    return 2 * len(found & same) / (len(found) + len(same))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    for folder in parser.parse_args().folders:
        lines = (folder / "docs.jsonl").read_text("utf-8").splitlines()
        texts = {row["id"]: row["text"] for row in map(json.loads, lines)}
        truth = truth_of(folder / "truth.tsv")
        print(f"{folder.name}: {len(texts):,} records, {len(truth[0]):,} pairs are the same")
        compare(texts, *truth)
        for purpose in ("short-text", "records"):
            print(f"  --for {purpose}: {found_by(purpose, texts, *truth):.3f}")
