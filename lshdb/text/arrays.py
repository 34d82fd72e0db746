"""Arrays that hold the values of many items one after another: offsets of items, and chunks."""

from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
"""Numbers of documents, counts, or indices."""
Mask = npt.NDArray[np.bool_]
"""True for each selected item."""
Lanes = npt.NDArray[np.uint16 | np.uint32]
"""The lanes of one signature [k] or of several [n, k], uint16 or uint32 by the file's settings."""
Shares = npt.NDArray[np.float64]
"""Similarities, weights, or shares of documents."""
NO_NUMBERS: IntArray = np.empty(0, dtype=np.int64)
"""An empty array, for example to begin a list of arrays that are joined later."""
_T = TypeVar("_T")


def int_array(values: Iterable[int]) -> IntArray:
    """Numbers as an array int64[n]."""
    return np.fromiter(values, np.int64)


def lengths_of(items: Iterable[Sized]) -> IntArray:
    """The length of each item, int64[n]."""
    return np.fromiter(map(len, items), np.int64)


def offsets_of(sizes: IntArray | Mask) -> IntArray:
    """Where items of some sizes int64[n] begin, and where the last one ends: int64[n+1]."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    sizes.cumsum(out=offsets[1:])
    return offsets


def sizes_of(offsets: IntArray) -> IntArray:
    """The sizes int64[n] of items that begin, and end, at offsets int64[n+1].

    np.diff takes four times as long for a few items.
    """
    return offsets[1:] - offsets[:-1]


def expand_ranges(starts: IntArray, sizes: IntArray) -> IntArray:
    """All indices of n ranges that begin at starts int64[n], one range after another."""
    indices = np.repeat(starts - np.cumsum(sizes) + sizes, sizes)
    indices += np.arange(len(indices))
    return indices


def chunks_of(sizes: IntArray, maximum: int) -> Iterator[slice]:
    """Cut items of sizes int64[n] into chunks of at most `maximum`; a larger item is alone."""
    ends = sizes.cumsum()
    first = 0
    while first < len(ends):
        begun = ends[first] - sizes[first]
        last = max(first + 1, int(ends.searchsorted(begun + maximum, side="right")))
        yield slice(first, last)
        first = last


def chunks(count: int, maximum: int) -> Iterator[slice]:
    """Cut n items into slices of up to `maximum`."""
    return (slice(start, start + maximum) for start in range(0, count, maximum))


def is_new(values: npt.NDArray[np.integer]) -> Mask:
    """True for each of n values that differs from the one before, and for the first, bool[n]."""
    new = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return new


def runs(numbers: npt.NDArray[np.integer]) -> tuple[IntArray, IntArray]:
    """Where runs of equal numbers [n] begin and end: int64[r] both."""
    (begins,) = is_new(numbers).nonzero()
    return begins, np.append(begins, len(numbers))[1:]


def is_in(values: npt.NDArray[Any], ordered: npt.NDArray[Any]) -> Mask:
    """Which of the values are among sorted ones of the same type: bool[n]."""
    if not len(ordered):
        return np.zeros(len(values), dtype=np.bool_)
    is_member: Mask = ordered.take(np.searchsorted(ordered, values), mode="clip") == values
    return is_member


def first_of_each(
    groups: IntArray, limit: int | None, *keys: IntArray | npt.NDArray[np.float64]
) -> IntArray:
    """The indices of items by group, then by keys, the last one first: at most `limit` of each."""
    order = np.lexsort((*keys, groups))
    if limit is not None:
        ordered = groups[order]
        order = order[np.arange(len(order)) - ordered.searchsorted(ordered) < limit]
    return order


def sums(true: npt.NDArray[np.bool_], offsets: IntArray) -> IntArray:
    """How many of bool[any] are true from each offset to the next, int64[n+1] -> int64[n]."""
    return sizes_of(offsets_of(true)[offsets])


def bounded(items: Iterable[_T], size_of: Callable[[_T], int], maximum: int) -> Iterator[list[_T]]:
    """Cut a stream of items into lists, each ended by the item that exceeds a total size."""
    batch: list[_T] = []
    size = 0
    for item in items:
        batch.append(item)
        size += size_of(item)
        if size > maximum:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
