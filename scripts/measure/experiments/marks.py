"""How many words are marked between two texts, beside the fewest that can be.

    python scripts/measure experiments.marks DOCS.jsonl PAIRS.tsv [--pairs N] [--programs]

DOCS.jsonl has documents with `id` and `text`, PAIRS.tsv two ids a line between tabs. Of a random
sample of the pairs (seed 1) it prints how many words differences mark in both texts, and how many
are in no longest common subsequence of their words, the oracle; their ratio, the largest of one
pair, and the CPU time of a pair. The names of programs that are renamed count as marked, and are
printed beside.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from collections.abc import Sequence
from pathlib import Path

from lshdb.apps.compare.differences import differences

_WORD = re.compile(r"\w+")


def marked(a: str, b: str, *, programs: bool) -> tuple[int, int]:
    """The number of words that are marked, and how many of them are renamed."""
    rows = differences(a, b, programs=programs)
    pieces = [piece for row in rows for line in (row.a, row.b) if line for piece in line.pieces]
    counts = [
        sum(len(_WORD.findall(piece.text)) for piece in pieces if piece.kind in kinds)
        for kinds in (("changed", "moved", "renamed"), ("renamed",))
    ]
    return counts[0], counts[1]


def common(a: Sequence[str], b: Sequence[str]) -> int:
    """The length of a longest common subsequence.

    A row of the table of lengths is one integer, with a bit for each word of B that is 0 where the
    length grows. See H. Hyyrö, "Bit-parallel LCS-length computation revisited", 2004.
    """
    columns: dict[str, int] = {}
    for j, word in enumerate(b):
        columns[word] = columns.get(word, 0) | 1 << j
    every = row = (1 << len(b)) - 1
    for word in a:
        equal = row & columns.get(word, 0)
        row = (row + equal | row - equal) & every
    return len(b) - row.bit_count()


def fewest(a: str, b: str) -> int:
    """The number of words that no longest common subsequence has."""
    words, others = _WORD.findall(a), _WORD.findall(b)
    return len(words) + len(others) - 2 * common(words, others)


def main() -> None:
    """Print the figures of some pairs."""
    parser = argparse.ArgumentParser(prog="experiments.marks", description=__doc__)
    parser.add_argument("documents", type=Path)
    parser.add_argument("pairs_file", type=Path)
    parser.add_argument("--pairs", type=int, default=150)
    parser.add_argument("--programs", action="store_true")
    options = parser.parse_args()
    rows = map(json.loads, options.documents.read_text("utf-8").rstrip("\n").split("\n"))
    texts = {row["id"]: row["text"] for row in rows}
    lines = options.pairs_file.read_text("utf-8").splitlines()
    pairs = [line.split("\t")[:2] for line in lines if not line.startswith("#")]
    random.Random(1).shuffle(pairs)
    counts = []
    seconds = 0.0
    for a, b in pairs[: options.pairs]:
        started = time.process_time()
        words, renamed = marked(texts[a], texts[b], programs=options.programs)
        seconds += time.process_time() - started
        counts.append((words, renamed, fewest(texts[a], texts[b])))
    total, names, minimum = map(sum, zip(*counts, strict=True))
    worst = max(words / max(least, 1) for words, _, least in counts)
    print(
        f"{len(counts)} pairs: {total} words marked ({names} renamed), {minimum} by the oracle, "
        f"ratio {total / max(minimum, 1):.3f}, of one pair at most {worst:.2f}; "
        f"{1000 * seconds / len(counts):.2f} ms of CPU a pair"
    )


if __name__ == "__main__":
    main()
