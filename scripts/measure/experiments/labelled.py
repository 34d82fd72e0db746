"""How well similarities tell labelled pairs apart, for several settings of a file.

    python scripts/measure experiments.labelled DOCS.jsonl PAIRS.tsv [--all] [--containment]
        [--for PURPOSE ...] [--shingle SHINGLE ...] [--threshold T ...]

DOCS.jsonl has documents with `id` and `text`; PAIRS.tsv two ids a line and a label between tabs: 1
for the same, 0 for others. With --all every pair of documents that is not listed is labelled 0.
For each setting it prints the area under the ROC curve, the best F1 and its threshold; then F1,
precision and recall at the thresholds, that of the purpose by default. Similarities are those of
all labelled pairs, without an index: what a file shows is that share of them which its recall says.
With --containment the similarity is the share of the shingles of the document that has fewer.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lshdb.maintain.resolve import PURPOSES
from lshdb.text.shingles import distinct_shingles
from lshdb.text.shingling import Shingling

Scored = list[tuple[float, int]]
"""The similarity and the label of each pair."""


def scored(
    texts: Sequence[str],
    pairs: Sequence[tuple[int, int, int]],
    shingle: str,
    *,
    containment: bool,
) -> Scored:
    """The pairs with their similarities."""
    sets = distinct_shingles(texts, Shingling.parse(shingle), 1)
    parts = [sets.hashes[first:end] for first, end in itertools.pairwise(sets.offsets.tolist())]
    found = []
    for a, b, label in pairs:
        both = len(np.intersect1d(parts[a], parts[b], assume_unique=True))
        sizes = len(parts[a]), len(parts[b])
        total = min(sizes) if containment else sum(sizes) - both
        found.append((both / max(total, 1), label))
    return found


def area(found: Scored) -> float:
    """The share of pairs of a 1 and a 0 in which the 1 is the more similar; equal ones half."""
    ones = np.array([value for value, label in found if label])
    zeros = np.sort([value for value, label in found if not label])
    below = np.searchsorted(zeros, ones, "left") + np.searchsorted(zeros, ones, "right")
    return float(below.mean() / 2 / max(len(zeros), 1))


def rates(found: Scored, threshold: float) -> tuple[float, float, float]:
    """F1, precision and recall of the pairs from a threshold on."""
    labels = [label for value, label in found if value >= threshold]
    total = sum(label for _, label in found)
    both = len(labels) + total
    hits = sum(labels)
    return 2 * hits / max(both, 1), hits / max(len(labels), 1), hits / max(total, 1)


def main() -> None:
    """Print a line for each setting and threshold."""
    parser = argparse.ArgumentParser(description="Similarities of labelled pairs.")
    parser.add_argument("documents", type=Path)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--containment", action="store_true")
    parser.add_argument("--for", dest="purposes", nargs="*", default=[], choices=PURPOSES)
    parser.add_argument("--shingle", nargs="*", default=[])
    parser.add_argument("--threshold", nargs="*", type=float, default=[])
    args = parser.parse_args()
    records = [*map(json.loads, args.documents.read_text("utf-8").splitlines())]
    numbers = {record["id"]: number for number, record in enumerate(records)}
    labels: dict[tuple[int, int], int] = {}
    if args.all:
        labels = dict.fromkeys(itertools.combinations(range(len(records)), 2), 0)
    for line in args.pairs.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            a, b, label = line.split("\t")
            first, second = sorted((numbers[a], numbers[b]))
            labels[first, second] = int(label)
    pairs = [(*pair, label) for pair, label in labels.items()]
    settings = [(purpose, *PURPOSES[purpose]) for purpose in args.purposes]
    settings += [(shingle, shingle, 0.8) for shingle in args.shingle]
    for name, shingle, usual in settings:
        found = scored([r["text"] for r in records], pairs, shingle, containment=args.containment)
        best, where = max((rates(found, step / 100)[0], step / 100) for step in range(1, 101))
        print(f"{name}: area {area(found):.3f}, best F1 {best:.3f} at {where}")
        for threshold in args.threshold or [usual]:
            f1, precision, recall = rates(found, threshold)
            print(f"  {threshold}: F1 {f1:.3f}, precision {precision:.3f}, recall {recall:.3f}")


if __name__ == "__main__":
    main()
