"""Documents made from a seed: Zipf words, with near duplicates of known similarity.

    python scripts/measure common.generate COUNT > documents.jsonl

Prints JSON lines, about 15 MB a second. The same arguments give the same documents.
"""

import functools
import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

import numpy as np

VOCABULARY = 50_000
_CHUNK = 1000


def texts(
    count: int,
    size: int,
    *,
    seed: int = 1,
    duplicates: float = 0.1,
    similarity: float = 0.9,
) -> Iterator[tuple[str, str]]:
    """Keys and texts of about `size` characters.

    A share `duplicates` of the documents copy one of the last thousand and have words replaced,
    so that the Jaccard similarity of their word 3-shingles is about `similarity`.
    """
    rng = np.random.default_rng(seed)
    words, rng.bit_generator.state = _vocabulary(seed)
    cumulative = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
    cumulative /= cumulative[-1]
    mean = float((np.array(list(map(len, words))) * np.diff(cumulative, prepend=0)).sum()) + 1
    length = max(1, round(size / mean))
    # A replaced word changes 3 shingles: J = (1 - 3f) / (1 + 3f) for a share f of the words.
    replaced = (1 - similarity) / (3 * (1 + similarity))
    for start in range(0, count, _CHUNK):
        chunk = np.searchsorted(cumulative, rng.random((_CHUNK, length)))
        copies = np.flatnonzero(rng.random(_CHUNK) < duplicates)
        for row in copies[copies > 0].tolist():
            changed = rng.random(length) < replaced
            chunk[row, ~changed] = chunk[rng.integers(row), ~changed]
        for row in range(min(_CHUNK, count - start)):
            yield str(start + row), " ".join([words[word] for word in chunk[row].tolist()])


@functools.lru_cache(maxsize=4)
def _vocabulary(seed: int) -> tuple[list[str], dict[str, Any]]:
    """Distinct words of 2 to 12 letters, the frequent ones short; and the generator's state."""
    rng = np.random.default_rng(seed)
    found: dict[str, None] = {}
    while len(found) < VOCABULARY:
        length = 2 + min(10, int(len(found) ** 0.2) + int(rng.integers(0, 3)))
        found["".join(chr(97 + c) for c in rng.integers(0, 26, length).tolist())] = None
    return list(found), dict(rng.bit_generator.state)


def main() -> None:
    parser = ArgumentParser(description="Write generated documents as JSON lines.")
    parser.add_argument("count", type=int)
    parser.add_argument("--size", type=int, default=3000, help="characters of a document")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--duplicates", type=float, default=0.1)
    parser.add_argument("--similarity", type=float, default=0.9)
    options = vars(parser.parse_args())
    for key, text in texts(**options):
        sys.stdout.write(json.dumps({"id": key, "text": text}) + "\n")
