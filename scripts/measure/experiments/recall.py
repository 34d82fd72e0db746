"""Show how many similar pairs of your own documents an index finds, and whether any is wrong.

    scripts/recall FILE.jsonl               a minute for 10,000 documents of 3 KB

Finds all pairs at or above the threshold by brute force, and compares them with what a database
finds: by a query for every document, and by all its pairs at once. Prints recall, precision, and
the largest difference between a printed similarity and the true one. The exit status is 1 if recall
is below what was asked for, a pair is false or a similarity is wrong.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import lshdb
from measure.common.brute_force import shingle_set, similar_pairs

Scores = dict[tuple[str, str], float]


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/recall", description=__doc__)
    parser.add_argument("file", type=Path, help='JSON lines {"id", "text"} or {"id", "set"}')
    parser.add_argument("--shingle", help="word:W, char:K or set (default word:3 or set)")
    parser.add_argument("--threshold", type=float, default=0.8)
    parser.add_argument("--recall", type=float, default=0.99)
    parser.add_argument("--permutations", type=int, default=128)
    parser.add_argument("--sketch", default="fast")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, help="use only the first documents")
    options = parser.parse_args()

    documents: dict[str, str | list[str | int]] = {}
    with options.file.open(encoding="utf-8") as lines:
        for line in lines:
            if len(documents) == options.limit:
                break
            record = json.loads(line)
            documents[str(record["id"])] = record["text"] if "text" in record else record["set"]
    of_sets = bool(documents) and isinstance(next(iter(documents.values())), list)
    shingle = options.shingle or ("set" if of_sets else "word:3")

    keys = list(documents)
    sets = [shingle_set(content, shingle) for content in documents.values()]
    begun = time.perf_counter()
    truth = {(keys[i], keys[j]): s for i, j, s in similar_pairs(sets, options.threshold)}
    brute_seconds = time.perf_counter() - begun

    with tempfile.TemporaryDirectory() as directory:
        database = lshdb.open(
            Path(directory) / "recall.db",
            shingle=shingle,
            threshold=options.threshold,
            recall=options.recall,
            permutations=options.permutations,
            sketch=options.sketch,
            seed=options.seed,
        )
        with database as db:
            begun = time.perf_counter()
            db.add_many(documents.items())
            add_seconds = time.perf_counter() - begun
            begun = time.perf_counter()
            index = {key: i for i, key in enumerate(keys)}
            queried: Scores = {}
            for key in keys:
                for match in db.query(key=key):
                    one, other = sorted((key, match.key), key=index.__getitem__)
                    queried[one, other] = match.similarity
            query_seconds = time.perf_counter() - begun
            begun = time.perf_counter()
            joined = {(pair.a, pair.b): pair.similarity for pair in db.pairs()}
            join_seconds = time.perf_counter() - begun
            construction = str(db.settings.construction)

    rows = [
        ("documents", f"{len(keys):,}"),
        ("shingle", shingle),
        ("threshold", f"{options.threshold:g}"),
        ("construction", construction),
        ("pairs by brute force", f"{len(truth):,} ({brute_seconds:.1f} s)"),
        ("add", f"{add_seconds:.2f} s"),
    ]
    good = True
    for what, found, seconds in (
        ("query for each", queried, query_seconds),
        ("pairs", joined, join_seconds),
    ):
        recall, precision, error = _compare(found, truth)
        rows += [
            (what, f"{len(found):,} ({seconds:.2f} s)"),
            ("  recall", f"{recall:.5f}"),
            ("  precision", f"{precision:.5f}"),
            ("  largest error", f"{error:.1e}"),
        ]
        good &= recall >= options.recall and precision == 1 and error <= 1e-9
    for name, value in rows:
        print(f"{name:<22}{value}")
    return int(not good)


def _compare(found: Scores, truth: Scores) -> tuple[float, float, float]:
    """Recall, precision, and the largest error of a similarity."""
    right = found.keys() & truth.keys()
    recall = len(right) / len(truth) if truth else 1.0
    precision = len(right) / len(found) if found else 1.0
    return recall, precision, max((abs(found[pair] - truth[pair]) for pair in right), default=0.0)
