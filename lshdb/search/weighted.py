"""Similarity weighted by rarity, where an app gives it: which results pass, and in which order."""

import sys
from collections.abc import Callable, Iterable
from itertools import islice
from operator import attrgetter
from typing import Any, TypeVar

from lshdb import offers
from lshdb.errors import UsageError
from lshdb.options import WeightedOptions
from lshdb.sketch.settings import Settings
from lshdb.store.lookups import StoreReader
from lshdb.text.arrays import IntArray

T = TypeVar("T")


def weigh(
    reader: StoreReader,
    contents: Callable[[IntArray], Iterable[str]],
    sizes: IntArray,
    left: IntArray,
    right: IntArray,
) -> list[list[Any]]:
    """`weighted` and `weighted_share` of pairs of documents; None where nothing weighs them.

    Args:
        reader: the file.
        contents: gives the texts of documents, by ascending numbers int64[n].
        sizes: int64[m], about how long each document is, by its number.
        left: int64[p], the number of the first document of each pair.
        right: int64[p], that of the second.
    """
    if not reader.settings.passages or not offers.is_there(offers.TABLES["fingerprints"]):
        return [[None] * len(left)] * 2
    weighted: list[list[Any]] = offers.offered(offers.SEARCHES, "weighted")(
        reader, contents, sizes, left, right
    )
    return weighted


def check_weighted(request: WeightedOptions, settings: Settings) -> None:
    """UsageError if weighted similarities are requested, and nothing weighs them in this file."""
    if not request.sort and request.min_weighted is None:
        return
    offers.offered(offers.SEARCHES, "weighted")
    if not settings.passages:
        raise UsageError(
            "similarity weighted by rarity needs the index of passages: make it with "
            "`lshdb reindex --passages 8`, or a new file with `lshdb init --passages 8`"
        )


def ranked(
    results: Iterable[T],
    request: WeightedOptions,
    top: int | None,
    usual: str = "",
    value: Callable[[str], Callable[[T], Any]] = attrgetter,
) -> Iterable[T]:
    """The results whose weighted similarity is high enough, in the order of `request.sort`.

    Args:
        results: any number.
        request: the minimum and the order.
        top: how many are returned, if not all.
        usual: the field that orders equal ones, and all without `request.sort`; empty if they are
            in order.
        value: gives what reads a field of a result.
    """
    if (minimum := request.min_weighted) is not None:
        weighted = value("weighted")
        results = (result for result in results if weighted(result) >= minimum)
    order = [name for name in (request.sort, usual) if name]
    if request.sort is not None or (order and top is not None):
        keys = [*map(value, order)]
        results = sorted(results, key=lambda result: [key(result) for key in keys], reverse=True)
    return islice(results, None if top is None else min(top, sys.maxsize))
