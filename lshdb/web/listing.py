"""Which clusters or pairs a page lists, in which order: filters from the address, on a survey."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from heapq import nsmallest
from os.path import commonprefix
from typing import Final, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from lshdb.errors import UsageError
from lshdb.model import Cluster, Keep
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
        wanted = asked.decided == "yes"
        places = [i for i in places if verdicts.of_pair(a[i], b[i]) == wanted]
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


def decided_pairs(survey: PairSurvey, verdicts: Verdicts) -> int:
    """How many pairs have nothing left to decide."""
    done = verdicts.decided()
    both = ((a, b) for a, b in zip(survey.a, survey.b, strict=True) if a in done or b in done)
    return sum(verdicts.of_pair(a, b) for a, b in both) if done else 0


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
