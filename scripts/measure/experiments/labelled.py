"""How well similarities tell labelled pairs apart, for several settings of a file.

    python scripts/measure experiments.labelled DOCS.jsonl PAIRS.tsv [--all] [--passages N]
        [--for PURPOSE ...] [--shingle SHINGLE ...] [--threshold T ...] [--min T ...]

DOCS.jsonl has documents with `id` and `text`; PAIRS.tsv two ids a line and a label between tabs: 1
for the same, 0 for others. With --all every pair of documents that is not listed is labelled 0.
For each setting it prints the area under the ROC curve, the best F1 and its threshold; then F1,
precision and recall at the thresholds, that of the purpose by default. These similarities are of
all labelled pairs, without an index. Then a file is made for each threshold, and the same is
printed of the pairs that it shows; with --passages also at each minimum of `weighted`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import lshdb
from lshdb.maintain.resolve import PURPOSES
from lshdb.text.shingles import distinct_shingles
from lshdb.text.shingling import Shingling

Scored = list[tuple[float, int]]
"""The similarity and the label of each pair."""


def scored(texts: Sequence[str], labels: Mapping[tuple[int, int], int], shingle: str) -> Scored:
    """The labelled pairs with their similarities."""
    sets = distinct_shingles(texts, Shingling.parse(shingle), 1)
    parts = [sets.hashes[first:end] for first, end in itertools.pairwise(sets.offsets.tolist())]
    found = []
    for (a, b), label in labels.items():
        both = len(np.intersect1d(parts[a], parts[b], assume_unique=True))
        found.append((both / max(len(parts[a]) + len(parts[b]) - both, 1), label))
    return found


def shown(
    texts: Sequence[str], labels: Mapping[tuple[int, int], int], settings: Mapping[str, Any]
) -> list[tuple[float, int]]:
    """`weighted` (or the similarity) and label of the labelled pairs that a file shows."""
    found = []
    with (
        tempfile.TemporaryDirectory() as directory,
        lshdb.open(Path(directory) / "lsh.db", **settings) as db,
    ):
        db.add_many(lshdb.Document(str(number), text) for number, text in enumerate(texts))
        for pair in db.pairs():
            label = labels.get((min(int(pair.a), int(pair.b)), max(int(pair.a), int(pair.b))))
            if label is not None:
                value = pair.similarity if pair.weighted is None else pair.weighted
                found.append((value, label))
    return found


def area(found: Scored) -> float:
    """The share of pairs of a 1 and a 0 in which the 1 is the more similar; equal ones half."""
    ones = np.array([value for value, label in found if label])
    zeros = np.sort([value for value, label in found if not label])
    below = np.searchsorted(zeros, ones, "left") + np.searchsorted(zeros, ones, "right")
    return float(below.mean() / 2 / max(len(zeros), 1))


def rates(found: Scored, total: int, threshold: float) -> str:
    """F1, precision and recall of the pairs from a threshold on, of `total` that are the same."""
    labels = [label for value, label in found if value >= threshold]
    hits = sum(labels)
    f1, precision = 2 * hits / max(len(labels) + total, 1), hits / max(len(labels), 1)
    return f"F1 {f1:.3f}, precision {precision:.3f}, recall {hits / max(total, 1):.3f}"


def labels_of(path: Path, keys: Sequence[str], *, every: bool) -> dict[tuple[int, int], int]:
    """The labels of pairs of documents, by their numbers."""
    numbers = {key: number for number, key in enumerate(keys)}
    labels: dict[tuple[int, int], int] = {}
    if every:
        labels = dict.fromkeys(itertools.combinations(range(len(keys)), 2), 0)
    for line in path.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            a, b, label = line.split("\t")
            first, second = sorted((numbers[a], numbers[b]))
            labels[first, second] = int(label)
    return labels


def main() -> None:
    """Print a line for each setting and threshold."""
    parser = argparse.ArgumentParser(description="Similarities of labelled pairs.")
    parser.add_argument("documents", type=Path)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--passages", type=int, default=0)
    parser.add_argument("--for", dest="purposes", nargs="*", default=[], choices=PURPOSES)
    parser.add_argument("--shingle", nargs="*", default=[])
    parser.add_argument("--threshold", nargs="*", type=float, default=[])
    parser.add_argument("--min", nargs="*", type=float, default=[])
    args = parser.parse_args()
    records = [*map(json.loads, args.documents.read_text("utf-8").splitlines())]
    texts = [record["text"] for record in records]
    labels = labels_of(args.pairs, [record["id"] for record in records], every=args.all)
    total = sum(labels.values())
    settings: list[tuple[str, dict[str, Any]]] = [
        *((PURPOSES[purpose][0], {"purpose": purpose}) for purpose in args.purposes),
        *((shingle, {"shingle": shingle}) for shingle in args.shingle),
    ]
    for shingle, given in settings:
        found = scored(texts, labels, shingle)
        best = max((rates(found, total, step / 100), step / 100) for step in range(1, 101))
        print(f"{given}: area {area(found):.3f}; the best: {best[0]} at {best[1]}")
        usual = PURPOSES[given["purpose"]][1] if "purpose" in given else 0.8
        for threshold in args.threshold or [usual]:
            print(f"  {threshold}, all pairs: {rates(found, total, threshold)}")
            made = (
                given
                | {"passages": args.passages}
                | ({} if threshold == usual else {"threshold": threshold})
            )
            pairs = shown(texts, labels, made)
            print(f"  {threshold}, the file: {rates(pairs, total, 0)}")
            for minimum in args.min:
                print(f"    weighted {minimum}: {rates(pairs, total, minimum)}")


if __name__ == "__main__":
    main()
