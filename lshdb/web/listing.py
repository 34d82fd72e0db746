"""Which clusters or pairs a page lists, in which order: filters from the address, on a survey."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from heapq import nsmallest
from os.path import commonprefix
from typing import Any, Final, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from lshdb.errors import UsageError
from lshdb.model import Cluster, Keep, Verdict
from lshdb.search.decisions import Verdicts
from lshdb.web.surveys import ClusterSurvey, Facet, PairSurvey

Mask: TypeAlias = npt.NDArray[np.bool_]

SORTS_OF_CLUSTERS: Final = {
    "size": "most documents",
    "lowest": "lowest similarity",
    "highest": "highest similarity",
    "first": "first added",
    "key": "key",
}
SORTS_OF_PAIRS: Final = {
    "highest": "highest similarity",
    "lowest": "lowest similarity",
    "key": "key",
}


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
            if (text := getattr(own, name)) and not (text.isascii() and text.isdigit()):
                raise UsageError(f"{name} {text!r:.50} is not a number of documents")
        if own.decided not in ("", "yes", "no"):
            raise UsageError(f"decided {own.decided!r:.50} is not yes or no")
        if own.keep not in ("", *get_args(Keep)):
            raise UsageError(f"keep {own.keep!r:.50} is not {', '.join(get_args(Keep))}")
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


def chosen_clusters(survey: ClusterSurvey, asked: Filters, verdicts: Verdicts) -> list[int]:
    """The places of the clusters that match the filters, in the requested order."""
    sizes = survey.sizes
    chosen = _between(survey.lowest, asked)
    chosen &= sizes >= int(asked.smallest or 0)
    chosen &= sizes <= int(asked.largest or len(survey.keys))
    if asked.field:
        chosen &= survey.any_of(_with_value(survey.facets, asked, len(survey.keys)))
    if part := asked.part.casefold():
        chosen &= survey.any_of(np.array([part in key.casefold() for key in survey.keys]))
    if asked.decided:
        done = np.zeros(len(survey), dtype=np.bool_)
        done[list(decided_clusters(survey, verdicts))] = True
        chosen &= done == (asked.decided == "yes")
    places = np.flatnonzero(chosen)
    sort = _sort(asked, SORTS_OF_CLUSTERS)
    if sort == "key":
        return sorted(places.tolist(), key=survey.keep)
    keys = {"size": -sizes, "lowest": survey.lowest, "highest": -survey.lowest}
    if sort in keys:
        places = places[np.argsort(keys[sort][places], kind="stable")]
    found: list[int] = places.tolist()
    return found


def chosen_pairs(survey: PairSurvey, asked: Filters, verdicts: Verdicts) -> list[int]:
    """The places of the pairs that match the filters, in the requested order."""
    count = len(survey.a)
    chosen = _between(survey.similarities, asked)
    if asked.field:
        both = _with_value(survey.facets, asked, 2 * count)
        chosen = chosen & (both[:count] | both[count:])
    places = np.flatnonzero(chosen).tolist()
    a, b = survey.a, survey.b
    if part := asked.part.casefold():
        places = [i for i in places if part in a[i].casefold() or part in b[i].casefold()]
    if asked.decided:
        done = decided_pairs(survey, verdicts)
        places = [i for i in places if (i in done) == (asked.decided == "yes")]
    sort = _sort(asked, SORTS_OF_PAIRS)
    if sort == "lowest":
        places.reverse()
    elif sort == "key":
        places.sort(key=lambda i: (a[i], b[i]))
    return places


def decided_clusters(survey: ClusterSurvey, verdicts: Verdicts) -> set[int]:
    """The places of the clusters with nothing left to decide."""
    places = set(survey.places_of(verdicts.decided()).values())
    return {place for place in places if verdicts.of_cluster(survey.cluster(place))}


def decided_pairs(survey: PairSurvey, verdicts: Verdicts) -> set[int]:
    """The places of the pairs with nothing left to decide."""
    done = verdicts.decided()
    a, b = survey.a, survey.b
    some = (i for i in range(len(a)) if a[i] in done or b[i] in done) if done else ()
    return {i for i in some if verdicts.of_pair(a[i], b[i])}


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
        at: the place of this one, None if it is not among them.
        done: the places of those that are decided.
        decided: as in Filters, which of them the list has.
        name: what names an item in an address.
    """
    count = sum(place in done for place in places)
    if at is None:
        return Neighbours(None, len(places), count, 0, None, None)
    own = places.index(at)
    before, after = list(places[:own]), list(places[own + 1 :])
    skipped = sum(place not in done for place in before)
    if decided == "no":
        before, after = [*after, *before], [*after, *before]
    if decided:
        before, after = (
            [place for place in some if (place in done) == (decided == "yes")]
            for some in (before, after)
        )
    return Neighbours(
        own + 1,
        len(places),
        count,
        skipped,
        name(before[-1]) if before else None,
        name(after[0]) if after else None,
    )


def described(
    survey: ClusterSurvey, place: int, verdicts: Verdicts, most: int | None = None
) -> dict[str, Any]:
    """A cluster as pages show it: its numbers, and the members nearest to the kept one."""
    one = survey.cluster(place)
    lengths = survey.lengths[survey.members(place)].tolist()
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
                "bytes": lengths[at],
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


def facets(found: Mapping[str, Facet]) -> dict[str, list[tuple[str, int]]]:
    """The fields of metadata with more than one value: these, and how many documents have each."""
    return {name: facet.counts() for name, facet in found.items() if len(facet.values) > 1}


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


def _sort(asked: Filters, sorts: Mapping[str, str]) -> str:
    if asked.sort and asked.sort not in sorts:
        raise UsageError(f"sort {asked.sort!r:.50} is not {', '.join(sorts)}")
    return asked.sort or next(iter(sorts))


def _between(similarities: npt.NDArray[np.float64], asked: Filters) -> Mask:
    least, most = asked.number("least"), asked.number("most")
    return (similarities >= (least or 0)) & (similarities <= (1 if most is None else most))


def _with_value(facets: dict[str, Facet], asked: Filters, count: int) -> Mask:
    facet = facets.get(asked.field)
    if facet is None or asked.value not in facet.values:
        return np.zeros(count, dtype=np.bool_)
    found: Mask = facet.codes == facet.values[asked.value]
    return found
