"""How well the similarity of short texts separates paraphrases from texts that only look alike.

    python scripts/measure experiments.short_texts [FILE.tsv...]

A file has a pair of texts a line, `LABEL TEXT TEXT` between tabs, with the label 1 for two texts
that say the same and 0 for others; as the Microsoft Research Paraphrase Corpus without its ids.
Without a file the pairs are made (common.facts): facts with a paraphrase, and with a fact that
differs in a name, a number or a date.

All texts of a file are one database. The area is that under the ROC curve; F1 is the best of all
thresholds, which is below it. `weighted` is the similarity by rarity, of passages of three words or
five characters.
For some thresholds: the share of the paraphrases and of the other pairs at or above them, and how
many texts of other pairs are, on average, of one text.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

import lshdb
from measure.common.facts import facts
from measure.experiments.weighted import Scores, area, best_f1

SHINGLES = ("char:2", "char:3", "char:4", "char:5", "word:1", "word:2", "word:3")
THRESHOLDS = (0.4, 0.5, 0.55, 0.6, 0.7, 0.8)
FACTS = 200
_UNITS = {"char": 5, "word": 3}
"""Of the passages by which similarity is weighted."""

Pair = tuple[str, str, bool]


def read(path: Path) -> list[Pair]:
    """The labelled pairs of a file."""
    rows = [line.split("\t") for line in path.read_text("utf-8").splitlines() if line]
    return [(a, b, label == "1") for label, a, b in rows]


def made(count: int) -> list[Pair]:
    """Labelled pairs of made facts."""
    some = [*facts(count)]
    pairs = [(fact.text, fact.paraphrase, True) for fact in some]
    return pairs + [(fact.text, fact.near, False) for fact in some]


def scores(pairs: list[Pair], shingle: str) -> tuple[Scores, npt.NDArray[np.int64]]:
    """How similar the texts of each of n pairs are, and how many others are similar to the first.

    Returns:
        float64[2, n], the similarities and the weighted ones; int64[t, n], for each of the
        THRESHOLDS, how many texts of other pairs reach it.
    """
    values, others = np.zeros((2, len(pairs))), np.zeros((len(THRESHOLDS), len(pairs)), np.int64)
    keys = {text: str(n) for n, text in enumerate({text for a, b, _ in pairs for text in (a, b)})}
    partners: dict[str, set[str]] = {}
    for a, b, _ in pairs:
        partners.setdefault(a, {a}).add(b)
    with (
        tempfile.TemporaryDirectory() as folder,
        lshdb.open(Path(folder) / "lsh.db", shingle=shingle, passages=_UNITS[shingle[:4]]) as db,
    ):
        db.add_many((key, text) for text, key in keys.items())
        for index, (a, b, _) in enumerate(pairs):
            matches = {match.key: match for match in db.query(a, exhaustive=True, threshold=1e-9)}
            if match := matches.get(keys[b]):
                values[:, index] = match.similarity, match.weighted
            beside = {keys[text] for text in partners[a]}
            rest = np.array(
                [match.similarity for key, match in matches.items() if key not in beside]
            )
            others[:, index] = [(rest >= threshold).sum() for threshold in THRESHOLDS]
    return values, others


def best_threshold(plain: Scores, same: npt.NDArray[np.bool_]) -> float:
    """The threshold of the best F1."""
    best = best_f1(plain, same)
    for threshold in np.unique(plain)[::-1]:
        right = int((same & (plain >= threshold)).sum())
        if 2 * right / (int(same.sum()) + int((plain >= threshold).sum())) >= best - 1e-9:
            return float(threshold)
    return 0.0


def main() -> None:
    """Print two tables for each file."""
    parser = argparse.ArgumentParser(prog="experiments.short_texts", description=__doc__)
    parser.add_argument("files", type=Path, nargs="*")
    files = parser.parse_args().files
    named = {path.name: read(path) for path in files} or {"made facts": made(FACTS)}
    for name, pairs in named.items():
        same = np.array([is_same for *_, is_same in pairs])
        print(f"\n{name}: {same.sum():,} paraphrases, {(~same).sum():,} other pairs\n")
        print("| | area | best F1 | at | weighted: area | F1 | ", end="")
        print(" | ".join(f"{threshold:g}" for threshold in THRESHOLDS), end=" |\n")
        print("|---" * (6 + len(THRESHOLDS)) + "|")
        for shingle in SHINGLES:
            (plain, weighted), others = scores(pairs, shingle)
            cells = [f"{area(plain, same):.3f}", f"{best_f1(plain, same):.3f}"]
            cells += [f"{best_threshold(plain, same):.2f}"]
            cells += [f"{area(weighted, same):.3f}", f"{best_f1(weighted, same):.3f}"]
            for threshold, count in zip(THRESHOLDS, others, strict=True):
                reached = plain >= threshold
                shares = f"{reached[same].mean():.0%}, {reached[~same].mean():.0%}"
                cells.append(f"{shares}, {count.mean():.2g}")
            print(f"| `{shingle}` | {' | '.join(cells)} |")
