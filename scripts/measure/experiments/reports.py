"""How many of n true pairs are among the first 2n of a report, beside one kind of evidence alone.

    python scripts/measure experiments.reports FOLDER... [--for programs] [--threshold T ...]

A FOLDER has `docs.jsonl`, a line `{"id": ..., "text": ...}`, and `labels.tsv`, a line a pair,
`COPY ORIGINAL LEVEL` with the level `non` for independent work, or `truth.tsv`, a line `ID ID`, or
`clusters.tsv`, a line `ID CLUSTER`, whose pairs in one cluster are true. Each is reported as a
table, as `lshdb report FOLDER/docs.jsonl` does; its pairs are then ranked by other columns, too.
Of equal pairs, of which only some can be among the first, the mean counts: fourteen equal programs
are 91 pairs of similarity 1, and which of these come first is the order of the files.

For each threshold it prints the F1 of the pairs of this similarity, from 0.2 on, and last the mean
of all folders. Where `labels.tsv` has independent work, its pairs alone count.
"""

import argparse
import json
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from statistics import mean
from typing import Any

COLUMNS = {
    "report": ("score", "similarity"),
    "weighted": ("weighted",),
    "similarity": ("similarity",),
}
"""What orders pairs, the highest first: the report's own order, and single columns."""
_DIGITS = 9
Row = dict[str, Any]


def independent(folder: Path) -> set[frozenset[str]]:
    """The pairs of a folder that are labelled as independent."""
    if not (folder / "labels.tsv").exists():
        return set()
    return {frozenset(row[:2]) for row in _rows(folder / "labels.tsv") if row[2] == "non"}


def labelled(folder: Path) -> set[frozenset[str]]:
    """The true pairs of a folder."""
    if (folder / "labels.tsv").exists():
        labels = {frozenset(row[:2]) for row in _rows(folder / "labels.tsv")}
        return labels - independent(folder)
    if (folder / "truth.tsv").exists():
        return {frozenset(row[:2]) for row in _rows(folder / "truth.tsv")}
    cluster_of = {row[0]: row[1] for row in _rows(folder / "clusters.tsv")}
    pairs = combinations(cluster_of, 2)
    return {frozenset(pair) for pair in pairs if cluster_of[pair[0]] == cluster_of[pair[1]]}


def _rows(path: Path) -> list[list[str]]:
    lines = path.read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


def reported(folder: Path, purpose: str | None) -> list[Row]:
    """The pairs of the report of a folder's table."""
    command = [sys.executable, "-m", "lshdb", "report", str(folder / "docs.jsonl"), "--json"]
    command += ["--for", purpose] if purpose else []
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in lines.splitlines()]


def hits(rows: list[Row], columns: tuple[str, ...], true_pairs: set[frozenset[str]]) -> float:
    """How many true pairs are among the first rows, twice as many as there are true pairs."""
    groups: dict[tuple[float, ...], list[bool]] = {}
    for row in rows:
        rank = tuple(-round(row[column] or 0, _DIGITS) for column in columns)
        groups.setdefault(rank, []).append(frozenset((row["a"], row["b"])) in true_pairs)
    left, total = 2 * len(true_pairs), 0.0
    for rank in sorted(groups):
        total += mean(groups[rank]) * min(left, len(groups[rank]))
        left -= min(left, len(groups[rank]))
    return total


def f1(folder: Path, rows: list[Row], true_pairs: set[frozenset[str]], threshold: float) -> float:
    """The harmonic mean of precision and recall of the pairs from a similarity on."""
    pairs = {frozenset((row["a"], row["b"])) for row in rows if row["similarity"] >= threshold}
    if others := independent(folder):
        pairs &= others | true_pairs
    return 2 * len(pairs & true_pairs) / (len(pairs) + len(true_pairs))


def main() -> None:
    """Print a line for each folder."""
    parser = argparse.ArgumentParser(prog="experiments.reports", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--for", dest="purpose")
    parser.add_argument("--threshold", nargs="*", type=float, default=[])
    arguments = parser.parse_args()
    measured = []
    for folder in arguments.folders:
        true_pairs = labelled(folder)
        rows = reported(folder, arguments.purpose)
        counts = [
            f"{name} {hits(rows, columns, true_pairs):,.1f}" for name, columns in COLUMNS.items()
        ]
        apart = sum(row["stands_apart"] for row in rows)
        print(f"{folder.name}: of {len(true_pairs):,} pairs {', '.join(counts)}; {apart:,} apart")
        measured.append([f1(folder, rows, true_pairs, each) for each in arguments.threshold])
        print("  F1", *(f"{value:.3f}" for value in measured[-1]))
    print("mean F1", *(f"{mean(column):.3f}" for column in zip(*measured, strict=True)))
