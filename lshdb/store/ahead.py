"""Making something in a thread while what was made before it is used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

_T = TypeVar("_T")


def one_ahead(items: Iterator[_T]) -> Iterator[_T]:
    """The items of an iterator, each begun to be made when the one before it is given out.

    It gains where making an item leaves the interpreter's lock free, and so does its use.
    """
    # A query, which needs no threads, would wait longer for this import than for its answer.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1, "lshdb-ahead") as pool:
        coming = pool.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = pool.submit(next, items, None)
            yield item
