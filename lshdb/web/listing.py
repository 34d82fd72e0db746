"""Which clusters or pairs a page lists, in which order: filters from the address, on a survey."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from os.path import commonprefix
from typing import Any

import numpy as np

from lshdb.errors import UsageError
from lshdb.model import Cluster, Pair
from lshdb.search.decisions import Verdicts
from lshdb.web.address import Filters
from lshdb.web.surveys import Survey, keys_of

ORDERS: Mapping[str, tuple[str, Callable[[Any, float], Any]]] = {
    "size": ("most documents", lambda one, _: -len(one.members)),
    "highest": ("highest similarity", lambda one, _: -_lowest(one)),
    "lowest": ("lowest similarity", lambda one, _: _lowest(one)),
    # Their answers say most about where duplicates begin.
    "informative": ("nearest the threshold", lambda one, threshold: abs(_lowest(one) - threshold)),
    "first": ("first added", lambda one, _: one.cluster),
    "key": ("key", lambda one, _: one.keep if isinstance(one, Cluster) else (one.a, one.b)),
}
"""The orders of lists: how pages call them, and what sorts an item, given the threshold."""
LEARNED = 30
"""Answers from which they say something about the threshold."""
_WORTH = 8
"""Characters of a path that helps."""


def sorts(survey: Survey[Any]) -> dict[str, str]:
    """The orders of a list and how pages call them; the first is the usual one."""
    of_clusters = () if not survey.histogram else ("size", "first")
    return {name: label for name, (label, _) in ORDERS.items() if name not in of_clusters}


def chosen(survey: Survey[Any], asked: Filters) -> list[int]:
    """The indices of the items that match the filters, in the requested order, decided or not."""
    names = sorts(survey)
    sort = asked.sort or next(iter(names))
    if sort not in names:
        raise UsageError(f"sort {sort!r:.50} is not {', '.join(names)}")
    low, high = (
        asked.min_similarity or 0.0,
        1.0 if asked.max_similarity is None else asked.max_similarity,
    )
    smallest, largest = asked.smallest or 0, asked.largest or sys.maxsize
    part = asked.part.strip().casefold()
    valued = set(survey.facets.get(asked.field, {}).get(asked.value, ()))

    def fits(at: int, one: Cluster | Pair) -> bool:
        keys = keys_of(one)
        return (
            low <= _lowest(one) <= high
            and smallest <= len(keys) <= largest
            and (not asked.field or at in valued)
            and (not part or any(part in key.casefold() for key in keys))
        )

    found = [at for at, one in enumerate(survey.items) if fits(at, one)]
    _, order = ORDERS[sort]
    return sorted(found, key=lambda at: order(survey.items[at], survey.threshold))


def _lowest(one: Cluster | Pair) -> float:
    return one.lowest if isinstance(one, Cluster) else one.similarity


def decided(survey: Survey[Any], verdicts: Verdicts) -> set[int]:
    """The indices of the items with nothing left to decide."""
    some = verdicts.decided()
    return {
        at
        for at, keys in enumerate(map(keys_of, survey.items) if some else ())
        if not some.isdisjoint(keys) and verdicts.settled(keys)
    }


def learned(items: Sequence[Cluster | Pair], verdicts: Verdicts) -> dict[str, Any] | None:
    """Where a reviewer's duplicates begin, from LEARNED answers on; None before.

    An answer is a pair, or a member of a cluster with the kept one, that is decided: a document of
    it is dropped, or both stay. `similarity` is the lowest t that maximizes the number of answers
    that it explains, duplicates from t on and others below it.

    Returns:
        None also if no answer says duplicate; otherwise similarity, and of all `answers` at it or
        above, how many were `duplicates`.
    """
    known = verdicts.decided()
    answers = [
        (score, "drop" in (verdicts.of_key.get(a), verdicts.of_key.get(b)))
        for one in items
        if not known.isdisjoint(keys_of(one))
        for a, b, score in (
            [(one.a, one.b, one.similarity)]
            if isinstance(one, Pair)
            else zip(repeat(one.keep), one.members, one.similarities)
        )
        if a != b and verdicts.settled((a, b))
    ]
    if len(answers) < LEARNED:
        return None
    scores, gone = np.array(sorted(answers, reverse=True)).T
    ends = np.flatnonzero(np.diff(scores, append=-1))[::-1]  # the lowest similarity first
    explained = np.cumsum(2 * gone - 1)[ends]
    count = int(ends[explained.argmax()]) + 1
    if explained.max() < 0:
        return None
    at = float(scores[count - 1])
    return {"similarity": at, "duplicates": int(gone[:count].sum()), "answers": count}


def decided_or_not(order: Sequence[int], done: set[int], asked: Filters) -> list[int]:
    """Those of some items that are decided, or are not, as the filters ask."""
    wanted = asked.decided and asked.decided == "yes"
    return [at for at in order if wanted is None or (at in done) == wanted]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Where an item is in its list.

    Attributes:
        count: how many there are, decided or not.
        decided: how many of them are decided.
        number: its number, from 1; None if it is not in the list.
        skipped: how many undecided ones are before it.
        previous, following: what names the items before and after it; None for none.
        learned: where the reviewer's duplicates begin, as `learned` says.
    """

    count: int
    decided: int
    number: int | None = None
    skipped: int = 0
    previous: dict[str, str] | None = None
    following: dict[str, str] | None = None
    learned: dict[str, Any] | None = None


def neighbours(
    survey: Survey[Any], asked: Filters, done: set[int], keys: tuple[str, ...]
) -> tuple[Cluster | Pair | None, Neighbours]:
    """The item that has these documents, or None, and its neighbours in the list.

    A list of undecided items comes round: those that were passed over follow the last one.

    Args:
        survey: all items.
        asked: which of them the list has.
        done: the indices of those that are decided.
        keys: of the documents.
    """
    items, order = survey.items, chosen(survey, asked)
    found = (at for at, one in enumerate(items) if all(key in keys_of(one) for key in keys))
    at = next(found, None)
    count, made = len(order), len(done.intersection(order))
    if at is None or at not in order:
        return None if at is None else items[at], Neighbours(count, made)
    own = order.index(at)
    before = decided_or_not(order[:own], done, asked)
    after = decided_or_not(order[own + 1 :], done, asked)
    around = [*after, *before] if asked.decided == "no" else None
    return items[at], Neighbours(
        count,
        made,
        own + 1,
        len(set(order[:own]) - done),
        _name((around or before)[-1:], items),
        _name((around or after)[:1], items),
    )


def _name(some: Sequence[int], items: Sequence[Cluster | Pair]) -> dict[str, str] | None:
    """What names an item in an address."""
    for at in some:
        one = items[at]
        if isinstance(one, Cluster):
            return {"key": one.keep}
        return {"a": one.a, "b": one.b, "listed": "yes"}
    return None


def described(
    one: Cluster, verdicts: Verdicts, threshold: float, count: int | None = None
) -> dict[str, Any]:
    """A cluster as pages show it: its numbers, and the members nearest to the kept one.

    A member is `left` if it goes when the kept one stays: it is undecided and similar to that one.
    """
    is_gone = verdicts.of_key.get(one.keep) == "drop"
    members: list[dict[str, Any]] = [
        {
            "key": (key := one.members[at]),
            "similarity": (score := one.similarities[at]),
            "identical": one.identical[at],
            "decided": (decided := verdicts.of_member(key, one.keep)),
            # Unless it was decided otherwise, the one that others are compared with.
            "kept": decided == "keep" or (key == one.keep and decided != "drop"),
            "left": not (is_gone or decided or key == one.keep) and score >= threshold,
        }
        for at in sorted(
            range(len(one.members)),
            key=lambda at: (one.members[at] != one.keep, -one.similarities[at]),
        )[:count]
    ]
    return {
        "keep": one.keep,
        "documents": len(one.members),
        "lowest": one.lowest,
        "mean": one.mean,
        "below": one.below,
        "exact": one.exact,
        "threshold": threshold,
        "prefix": common_path(one.members),
        "decided": verdicts.settled(one.members),
        "members": members,
    }


def facets(survey: Survey[Any]) -> dict[str, list[tuple[str, int]]]:
    """The fields of metadata with more than one value: these, and how many documents have each."""
    return {
        name: sorted(((text, len(found[text])) for text in found), key=lambda each: -each[1])
        for name, found in survey.facets.items()
        if len(found) > 1
    }


def common_path(keys: list[str] | tuple[str, ...]) -> str:
    """The directories that all keys begin with, if it helps to show them once.

    >>> common_path(["src/lib/util/a.py", "src/lib/util/b.py"])
    'src/lib/util/'
    >>> common_path(["src/a", "src/b"])
    ''
    """
    if len(keys) < 2:
        return ""
    same = commonprefix(keys)  # noqa: RUF071  # whole directories are cut from it
    prefix = same[: same.rfind("/") + 1]
    return prefix if len(prefix) >= _WORTH else ""
