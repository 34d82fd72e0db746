"""Which clusters or pairs a page lists, in which order: filters from the address, on a survey."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, fields
from heapq import nsmallest
from os.path import commonprefix
from typing import Any, Final, get_args

from lshdb.errors import UsageError
from lshdb.model import Cluster, Pair, Verdict
from lshdb.options import Keep
from lshdb.search.decisions import Verdicts
from lshdb.web.surveys import Survey, keys_of

SORTS: Final[Mapping[str, Mapping[str, str]]] = {
    "clusters": {
        "size": "most documents",
        "lowest": "lowest similarity",
        "highest": "highest similarity",
        "first": "first added",
        "key": "key",
    },
    "pairs": {
        "highest": "highest similarity",
        "lowest": "lowest similarity",
        "key": "key",
    },
}
"""The orders of each list and how pages call them; the first is the usual one."""
_WORTH: Final = 8
"""Characters of a path that helps."""


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters in an address; empty texts filter nothing.

    Attributes:
        sort: one of SORTS.
        least, most: similarities.
        smallest, largest: numbers of documents in a cluster.
        part: of a key.
        field, value: of metadata.
        decided: `yes`, `no` or nothing.
        threshold, keep, star: as for `clusters`.
    """

    sort: str = ""
    least: str = ""
    most: str = ""
    smallest: str = ""
    largest: str = ""
    part: str = ""
    field: str = ""
    value: str = ""
    decided: str = ""
    threshold: str = ""
    keep: str = ""
    star: str = ""

    @classmethod
    def names(cls) -> list[str]:
        """The fields, as addresses have them."""
        return [field.name for field in fields(cls)]

    @classmethod
    def of(cls, arguments: Mapping[str, str]) -> Filters:
        """The filters of an address; UsageError for invalid ones."""
        given = {name: arguments[name].strip() for name in cls.names() if name in arguments}
        own = cls(**given)
        for name in ("least", "most", "threshold"):
            own.number(name)
        for name in ("smallest", "largest"):
            if text := getattr(own, name):
                natural(text, name)
        for name, known in (("decided", ("yes", "no")), ("keep", get_args(Keep))):
            if (text := getattr(own, name)) and text not in known:
                raise UsageError(f"{name} {text!r:.50} is not {', '.join(known)}")
        return own

    def number(self, name: str) -> float | None:
        """A similarity, None if not given."""
        return similarity(getattr(self, name), name)

    def given(self) -> dict[str, str]:
        """The filters that are not empty, for addresses."""
        return {f.name: text for f in fields(self) if (text := getattr(self, f.name))}


def similarity(text: str, name: str) -> float | None:
    """A number of this name in an address, None if it is empty."""
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 1:
        raise UsageError(f"{name} {text!r:.50} is not a similarity from 0 to 1")
    return number


def natural(text: str, name: str) -> int:
    """A number of this name in an address, from 1 on."""
    if not (text.isascii() and text.isdigit() and len(text) < 19 and int(text)):
        raise UsageError(f"{name} {text!r:.50} is not a number of at least 1")
    return int(text)


def chosen(survey: Survey[Any], asked: Filters, done: Container[int]) -> list[int]:
    """The places of the items that match the filters, in the requested order.

    `done` has the places of those that are decided.
    """
    sorts = SORTS["pairs" if survey.redundant is None else "clusters"]
    if asked.sort and asked.sort not in sorts:
        raise UsageError(f"sort {asked.sort!r:.50} is not {', '.join(sorts)}")
    low, high = asked.number("least") or 0.0, asked.number("most")
    smallest, largest = int(asked.smallest or 0), int(asked.largest or sys.maxsize)
    part = asked.part.casefold()
    valued = set(survey.facets.get(asked.field, {}).get(asked.value, ()))

    def fits(place: int, one: Cluster | Pair) -> bool:
        keys = keys_of(one)
        return (
            low <= _lowest(one) <= (1.0 if high is None else high)
            and smallest <= len(keys) <= largest
            and (not asked.field or place in valued)
            and (not asked.decided or (place in done) == (asked.decided == "yes"))
            and (not part or any(part in key.casefold() for key in keys))
        )

    places = [place for place, one in enumerate(survey.items) if fits(place, one)]
    order = _ORDERS.get(asked.sort or next(iter(sorts)))
    return places if order is None else sorted(places, key=lambda at: order(survey.items[at]))


def _lowest(one: Cluster | Pair) -> float:
    return one.lowest if isinstance(one, Cluster) else one.similarity


_ORDERS: Final[dict[str, Callable[[Any], Any]]] = {
    "size": lambda one: -len(one.members),
    "lowest": _lowest,
    "highest": lambda one: -_lowest(one),
    "key": lambda one: one.keep if isinstance(one, Cluster) else (one.a, one.b),
}


def decided(survey: Survey[Any], verdicts: Verdicts) -> set[int]:
    """The places of the items with nothing left to decide."""
    some = verdicts.decided()
    if not some:
        return set()

    def is_decided(one: Cluster | Pair) -> bool:
        if some.isdisjoint(keys_of(one)):
            return False
        if isinstance(one, Cluster):
            return verdicts.of_cluster(one)
        return verdicts.of_pair(one.a, one.b)

    return {place for place, one in enumerate(survey.items) if is_decided(one)}


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Where an item is in its list.

    Attributes:
        number: its number, from 1; None if it is not in the list.
        count: how many there are, decided or not.
        decided: how many of them are decided.
        skipped: how many undecided ones are before it.
        previous, following: what names the items before and after it; None for none.
    """

    number: int | None
    count: int
    decided: int
    skipped: int
    previous: dict[str, str] | None
    following: dict[str, str] | None


def neighbours(
    places: Sequence[int],
    at: int | None,
    done: set[int],
    decided: str,
    name: Callable[[int], dict[str, str]],
) -> Neighbours:
    """The neighbours of an item.

    A list of undecided items comes round: those that were passed over follow the last one.

    Args:
        places: of all items, decided or not, in their order.
        at: the place of this one; it may be None, or not among them.
        done: the places of those that are decided.
        decided: as in Filters, which of them the list has.
        name: what names an item in an address.
    """
    count = sum(place in done for place in places)
    if at is None or at not in places:
        return Neighbours(None, len(places), count, 0, None, None)
    own = places.index(at)
    listed = [
        place
        for place in places
        if place == at or not decided or (place in done) == (decided == "yes")
    ]
    number, comes_round = listed.index(at), decided == "no" and len(listed) > 1
    is_last = number == len(listed) - 1
    return Neighbours(
        own + 1,
        len(places),
        count,
        sum(place not in done for place in places[:own]),
        name(listed[number - 1]) if number or comes_round else None,
        name(listed[0 if is_last else number + 1]) if not is_last or comes_round else None,
    )


def described(one: Cluster, verdicts: Verdicts, most: int | None = None) -> dict[str, Any]:
    """A cluster as pages show it: its numbers, and the members nearest to the kept one."""
    return {
        "keep": one.keep,
        "documents": len(one.members),
        "lowest": one.lowest,
        "mean": one.mean,
        "below": one.below,
        "exact": one.exact,
        "prefix": common_path(one.members),
        "decided": verdicts.of_cluster(one),
        "members": [
            {
                "key": (key := one.members[at]),
                "similarity": one.similarities[at],
                "identical": one.identical[at],
                "decided": (decided := verdict_on(key, one.keep, verdicts)),
                # Unless it was decided otherwise, the one that others are compared with.
                "kept": decided == "keep" or (key == one.keep and decided != "drop"),
            }
            for at in nearest(one, len(one.members) if most is None else most)
        ],
    }


def verdict_on(key: str, keep: str, verdicts: Verdicts) -> Verdict | None:
    """The decision about a member of a cluster."""
    return verdicts.of_key.get(key) or ("different" if verdicts.apart(key, keep) else None)


def is_left(member: Mapping[str, Any], one: Mapping[str, Any], verdicts: Verdicts) -> bool:
    """Whether a member goes if the first is kept: it is undecided and similar to that one."""
    if member["key"] == one["keep"] or verdicts.of_key.get(one["keep"]) == "drop":
        return False
    return member["decided"] is None and bool(member["similarity"] >= one["threshold"])


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


def nearest(one: Cluster, most: int) -> list[int]:
    """The places of some members of a cluster: the kept one, and those that are nearest to it."""
    return nsmallest(
        most,
        range(len(one.members)),
        key=lambda at: (one.members[at] != one.keep, -one.similarities[at]),
    )
