"""The truth, by brute force, without any of lshdb's code: shingles as strings, counted in sets."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

_IDEOGRAPH = (
    "\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
)
_ONE_IDEOGRAPH = re.compile(f"[{_IDEOGRAPH}]")


def words(text: str) -> list[str]:
    """The words of a folded text: runs of letters, numbers and marks; ideographs one by one."""
    if text.isascii():
        return re.findall(r"[a-zA-Z0-9_]+", text)
    found: list[str] = []
    run = ""
    for c in text:
        if _ONE_IDEOGRAPH.match(c):
            found += [run, c]
            run = ""
        elif c == "_" or unicodedata.category(c)[0] in "LNM":
            run += c
        else:
            found.append(run)
            run = ""
    return [word for word in (*found, run) if word]


def shingle_set(content: str | list[str | int], shingle: str) -> set[object]:
    """The set of a document's shingles, as tuples of words, strings or elements."""
    if shingle == "set":
        return set(content)
    assert isinstance(content, str)
    kind, _, size = shingle.partition(":")
    folded = unicodedata.normalize("NFKC", content).casefold()
    units: Sequence[str] = words(folded) if kind == "word" else " ".join(folded.split())
    width = int(size)
    if 0 < len(units) < width:
        return {tuple(units)}
    return {tuple(units[i : i + width]) for i in range(len(units) - width + 1)}


def similar_pairs(
    sets: Sequence[set[object]], threshold: float
) -> Iterator[tuple[int, int, float]]:
    """All pairs i < j with exact Jaccard similarity at or above the threshold, and it.

    Every document is compared with every earlier one that shares a shingle, by counting in the
    lists of the documents that hold each shingle.
    """
    compare = _comparer(sets)
    for j, one in enumerate(sets):
        if one:
            scores = compare(j)[:j]
            for i in np.flatnonzero(scores >= threshold).tolist():
                yield i, j, float(scores[i])


def nearest(sets: Sequence[set[object]], indices: Iterable[int]) -> list[float]:
    """Of some documents, the exact Jaccard similarity to the most similar other one."""
    compare = _comparer(sets)
    found: list[float] = []
    for index in indices:
        scores = compare(index)
        scores[index] = 0
        found.append(float(scores.max(initial=0)))
    return found


def _comparer(sets: Sequence[set[object]]) -> Callable[[int], npt.NDArray[np.float64]]:
    """A function that compares the document at a place with all, float64[n]."""
    numbers: dict[object, int] = defaultdict(lambda: len(numbers))
    rows = [np.array([numbers[shingle] for shingle in one], dtype=np.int64) for one in sets]
    sizes = np.array([len(row) for row in rows])
    # Postings as one array: the documents of shingle s are holders[starts[s]:starts[s + 1]].
    flat = np.concatenate([np.empty(0, dtype=np.int64), *rows])
    order = np.argsort(flat, kind="stable")
    holders = np.repeat(np.arange(len(rows)), sizes)[order]
    starts = np.searchsorted(flat[order], np.arange(len(numbers) + 1))
    spans = list(pairwise(starts.tolist()))

    def compare(index: int) -> npt.NDArray[np.float64]:
        lists = [holders[slice(*spans[s])] for s in rows[index].tolist()]
        both = np.bincount(np.concatenate([holders[:0], *lists]), minlength=len(rows))
        scores: npt.NDArray[np.float64] = both / np.maximum(sizes + sizes[index] - both, 1)
        return scores

    return compare
