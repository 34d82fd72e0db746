"""Which of similar documents stays: the ranks of documents by a rule, a field or a folder.

One implementation for rows that dedup decides on one by one, and for stored documents in clusters.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any

from lshdb.options import OrderOptions
from lshdb.read.paths import is_in_bin

Rank = tuple[int, Any]
"""The group of a document and its rank in the group. Groups are in order, lowest first; ranks of a
group are comparable."""
_GROUPS = 2
"""Documents that have a rank come first, then those without one."""


def is_descending(options: OrderOptions) -> bool:
    """Whether the largest rank comes first."""
    return options.keep_max is not None or options.keep in ("last", "longest", "newest")


def rank(
    options: OrderOptions,
    *,
    path: str,
    number: int = 0,
    size: int | None = None,
    field_rank: bytes | None = None,
    modified: int | None = None,
    elsewhere: bool = False,
) -> Rank:
    """The rank of a document; equal ranks are in the order of addition.

    Args:
        options: which documents come first.
        path: its file as the user names it, or its key.
        number: the number of the document; 0 if it does not matter.
        size: its length, or its number of shingles; None if it does not matter.
        field_rank: that of its field (see lshdb.apps.keeping.field_order); None if it has none.
        modified: the time of its file in nanoseconds; None if that is unknown, or does not matter.
        elsewhere: whether it is outside of the preferred folder.
    """
    keep = options.keep
    value: int | bytes | None = None
    group = 0
    if options.field:
        value = field_rank
        group = int(value is None)
    elif keep in ("newest", "oldest"):
        value = modified
        group = int(value is None)
    elif keep == "shortest-path":
        value = len(path)
    elif keep == "last":
        value = number
    else:
        value = size
    # Files in bins come after all others, as their system may delete them at any time.
    return _GROUPS * (elsewhere + 2 * is_in_bin(path)) + group, value


def in_order(ranks: Sequence[Rank], order: Sequence[int], *, descending: bool) -> list[int]:
    """The indices of ranks, the most preferred first; equal ranks as in `order`."""
    by_group: dict[int, list[int]] = {}
    for index in order:
        by_group.setdefault(ranks[index][0], []).append(index)
    ordered: list[int] = []
    for _, indices in sorted(by_group.items()):
        if ranks[indices[0]][1] is not None:
            indices.sort(key=lambda index: ranks[index][1], reverse=descending)
        ordered += indices
    return ordered


def below(directory: str) -> Callable[[str], bool]:
    """A function that says whether a path, or a key that is one, is below a directory.

    Only names are compared: nothing is read from the disk.
    """
    prefix = os.path.join(os.path.abspath(directory), "")
    return lambda path: os.path.abspath(path).startswith(prefix)
