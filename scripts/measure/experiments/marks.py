"""How many words are marked between two texts, beside the fewest that can be.

    python scripts/measure experiments.marks DOCS.jsonl PAIRS.tsv [--pairs N]

DOCS.jsonl has documents with `id` and `text`, PAIRS.tsv two ids a line between tabs. Of a random
sample of the pairs (seed 1) it prints how many words differences mark in both texts, and how many
are in no longest common subsequence of their words, the oracle; their ratio, the largest of one
pair, and the CPU time of a pair. tests/reports/test_two_formats_of_one_text.py has other formats.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from pathlib import Path

from lshdb.search.alignment import longest_common
from lshdb.search.differences import differences

_WORD = re.compile(r"\w+")


def marked(a: str, b: str) -> int:
    """The number of words that are marked."""
    lines = [line for row in differences(a, b) for line in (row.a, row.b) if line]
    return sum(
        len(_WORD.findall(piece.text))
        for line in lines
        for piece in line.pieces
        if piece.kind != "same"
    )


def fewest(a: str, b: str) -> int:
    """The number of words that no longest common subsequence has."""
    words, others = _WORD.findall(a), _WORD.findall(b)
    return len(words) + len(others) - 2 * len(longest_common(words, others))


def main() -> None:
    """Print the figures of some pairs."""
    parser = argparse.ArgumentParser(prog="experiments.marks", description=__doc__)
    parser.add_argument("documents", type=Path)
    parser.add_argument("pairs_file", type=Path)
    parser.add_argument("--pairs", type=int, default=150)
    chosen = parser.parse_args()
    rows = map(json.loads, chosen.documents.read_text("utf-8").rstrip("\n").split("\n"))
    texts = {row["id"]: row["text"] for row in rows}
    lines = chosen.pairs_file.read_text("utf-8").splitlines()
    pairs = [line.split("\t")[:2] for line in lines if not line.startswith("#")]
    random.Random(1).shuffle(pairs)
    counts = []
    seconds = 0.0
    for a, b in pairs[: chosen.pairs]:
        started = time.process_time()
        count = marked(texts[a], texts[b])
        seconds += time.process_time() - started
        counts.append((count, fewest(texts[a], texts[b])))
    total, least = map(sum, zip(*counts, strict=True))
    worst = max(count / max(minimum, 1) for count, minimum in counts)
    print(
        f"{len(counts)} pairs: {total} words marked, {least} by the oracle, "
        f"ratio {total / max(least, 1):.3f}, of one pair at most {worst:.2f}; "
        f"{1000 * seconds / len(counts):.2f} ms of CPU a pair"
    )


if __name__ == "__main__":
    main()
