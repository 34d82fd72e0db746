"""How well similarity tells copies from independent work, weighted by rarity and not, with a base.

    python scripts/measure experiments.weighted FOLDER [--base FILE] [--shingle KIND]

FOLDER has `docs.jsonl`, a line `{"id": ..., "text": ...}`, and either `labels.tsv`, a line a pair,
`COPY ORIGINAL LEVEL` with the level `non` for independent work, or `clusters.tsv`, `ID PAGE`: pairs
of versions of one page are the copies, all other pairs are independent. The area is that under the
ROC curve; F1 is the best of all thresholds. Of groups (what is before the first `/`), each is a
database of its own, too, as a class of one task is.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt

import lshdb

RUNS = (8, 12)
SCORES = ("similarity", "weighted", "weighted_share")

Pair = tuple[str, str, bool]
Scores = npt.NDArray[np.float64]


def labelled(folder: Path, texts: Iterable[str]) -> list[Pair]:
    """The pairs of documents, and whether they are copies."""
    if (folder / "labels.tsv").exists():
        rows = [line.split("\t") for line in (folder / "labels.tsv").read_text().splitlines()]
        return [(a, b, level != "non") for a, b, level in rows if not a.startswith("#")]
    lines = (folder / "clusters.tsv").read_text().splitlines()
    page = dict(line.split("\t") for line in lines if not line.startswith("#"))
    return [(a, b, page[a] == page[b]) for a, b in combinations(texts, 2)]


def scores(
    texts: dict[str, str], pairs: list[Pair], shingle: str, run: int, base: dict[str, str]
) -> Scores:
    """The scores of each pair, float64[3, p], in a database of these texts."""
    found = np.zeros((len(SCORES), len(pairs)))
    partners = defaultdict(list)
    for at, (a, b, _) in enumerate(pairs):
        partners[b].append((at, a))
    with (
        tempfile.TemporaryDirectory() as folder,
        lshdb.open(Path(folder) / "lsh.db", shingle=shingle, passages=run, base=base) as db,
    ):
        db.add_many(texts.items())
        for key, others in partners.items():
            matches = {one.key: one for one in db.query(key=key, exhaustive=True, threshold=1e-9)}
            for at, other in others:
                if other in matches:
                    found[:, at] = [getattr(matches[other], name) for name in SCORES]
    return found


def area(own: Scores, copied: npt.NDArray[np.bool_]) -> float:
    """The area under the ROC curve: how often a copy has more than independent work."""
    others = np.sort(own[~copied])
    below = np.searchsorted(others, own[copied]) + np.searchsorted(others, own[copied], "right")
    return float(below.mean()) / (2 * len(others))


def best_f1(own: Scores, copied: npt.NDArray[np.bool_]) -> float:
    """The best F1 of all thresholds."""
    order = np.argsort(-own, kind="stable")
    right = np.cumsum(copied[order])
    last = np.append(np.diff(own[order]) != 0, True)
    return float((2 * right / (copied.sum() + np.arange(1, len(own) + 1)))[last].max())


def main() -> None:
    """Print a line for each database and length of passages."""
    parser = argparse.ArgumentParser(prog="experiments.weighted", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--base", type=Path)
    parser.add_argument("--shingle", default="code:6")
    asked = parser.parse_args()
    rows = map(json.loads, (asked.folder / "docs.jsonl").read_text().splitlines())
    texts = {row["id"]: row["text"] for row in rows}
    pairs = labelled(asked.folder, texts)
    copied = np.array([is_copy for *_, is_copy in pairs])
    base = {} if asked.base is None else {asked.base.name: asked.base.read_text()}
    groups = {key: key.partition("/")[0] for key in texts}
    of_pair = np.array([groups[a] for a, *_ in pairs])
    print(f"{copied.sum():,} copies, {(~copied).sum():,} others, {len(base)} base texts")
    for run in RUNS:
        found = {"all in one": scores(texts, pairs, asked.shingle, run, base)}
        if (asked.folder / "labels.tsv").exists():
            own = found["a database for each group"] = np.zeros((len(SCORES), len(pairs)))
            for group in sorted({*groups.values()}):
                some = {key: text for key, text in texts.items() if groups[key] == group}
                at = np.flatnonzero(of_pair == group)
                own[:, at] = scores(some, [pairs[i] for i in at], asked.shingle, run, base)
        for name, each in found.items():
            shown = (
                f"{score} {area(one, copied):.3f}/{best_f1(one, copied):.3f}"
                for score, one in zip(SCORES, each, strict=True)
            )
            print(f"passages {run}, {name}: area/F1 {', '.join(shown)}")
