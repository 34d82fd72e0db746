"""A report to hand on: one file of HTML that shows the near duplicates of a database.

It contains all that it shows, and needs no server, no script and no network. Its size is bounded by
the numbers of clusters, pairs and decisions, and the bytes of texts side by side.
"""

from __future__ import annotations

import base64
import hashlib
import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
from markupsafe import Markup

from lshdb.database import Database
from lshdb.errors import limits_noted
from lshdb.model import Cluster, Keep, Pair
from lshdb.search.differences import near_differences
from lshdb.store.store import Store
from lshdb.web.beside import lines_of, sets_beside, texts_beside
from lshdb.web.drawing import columns, s_curve
from lshdb.web.listing import nearest
from lshdb.web.rendering import rendered

MAX_BYTES: Final = 10_000_000
"""Of a report."""
MAX_PAIRS: Final = 1_000
"""Pairs side by side."""
_PAIRS_BYTES: Final = 6_000_000
"""Bytes of texts side by side; the other parts have bounded numbers and lengths."""
_LOOKED_AT: Final = 1_000_000
"""Pairs that are counted, in the order of addition."""
_BEST: Final = 20_000
"""Pairs kept of these, the most similar: some 10 MB."""
_EACH: Final = 3
"""Pairs shown of a cluster, if there are enough clusters."""
_BINS: Final = 50
_COPIES: Final = 50
"""Identical pairs that are listed."""
_CLUSTERS: Final = 50
_MEMBERS: Final = 8
_DECISIONS: Final = 200
_KEYS: Final = 5
"""Keys shown of a decision."""
_TEXT: Final = 100_000
"""Characters compared of a text."""
_ROWS: Final = 200
"""Rows shown of two texts, and elements of a set."""
_WHOLE: Final = 40
"""Maximum rows to show two texts whole; of longer ones, only the differences."""
_BESIDE: Final = 2
_AT_ONCE: Final = 10_000

_CSS: Final = Path(__file__).parent / "static"


def report(
    path: Path,
    *,
    pairs: int,
    title: str | None,
    threshold: float | None,
    keep: Keep,
    star: bool,
    condition: Mapping[str, Any],
    timeout: float,
    on_step: Callable[[int, int, str], None],
) -> str:
    """The report as HTML, of up to MAX_BYTES in UTF-8.

    Args:
        path: the database, which is only read.
        pairs: how many pairs are shown side by side, at most MAX_PAIRS.
        title: the heading; None for one with the name of the file.
        threshold: as for Database.clusters.
        keep: the same.
        star: the same.
        condition: `where` and `parameters` of it, or nothing.
        timeout: seconds to wait for a file that is locked.
        on_step: called with the steps done, all steps, and the name of the next one.
    """
    store = Store.open(path, "read", timeout)
    with Database(store) as database, limits_noted() as notes:
        settings, info = database.settings, database.info()
        least = settings.threshold if threshold is None else threshold
        on_step(0, pairs + 2, "finding pairs")
        found = _pairs(database.pairs(threshold=threshold, **condition))
        on_step(1, pairs + 2, "finding clusters")
        grouped = _grouped(
            store,
            database.clusters(threshold=threshold, keep=keep, star=star, **condition),
            least,
            {key for pair in found.best for key in (pair.a, pair.b)},
        )
        shown = _chosen(found.best, grouped.cluster_of, pairs)
        parts: list[Markup] = []
        size = 0
        for number, pair in enumerate(shown, 1):
            on_step(number + 1, pairs + 2, "comparing")
            part = rendered("report_pair", number=number, pair=pair, **_beside(database, pair))
            size += len(part.encode())
            if size > _PAIRS_BYTES:
                break
            parts.append(Markup(part))  # rendered with escapes
        decisions = database.decisions()
        style = "".join((_CSS / name).read_text("utf-8") for name in ("lshdb.css", "report.css"))
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        return rendered(
            "report",
            title=f"Near duplicates in {path.name}" if title is None else title,
            made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
            style=Markup(style),  # our own files
            style_hash=digest,
            info=info,
            settings=settings,
            threshold=least,
            where=condition.get("where"),
            curve=s_curve(settings.construction, least),
            found=found,
            histogram=columns(found.histogram),
            clusters=[(one, nearest(one, _MEMBERS)) for one in grouped.largest],
            grouped=grouped,
            keep=keep,
            listed=[*((0, pair) for pair in found.copies), *enumerate(shown[: len(parts)], 1)],
            left_out=len(shown) - len(parts),
            parts_of_pairs=parts,
            decisions=decisions[: -_DECISIONS - 1 : -1],
            decision_count=len(decisions),
            verdicts=Counter(one.verdict for one in decisions if one.state == "holds"),
            most_keys=_KEYS,
            notes=tuple(notes),
        )


def redundant(one: Cluster, threshold: float) -> Iterator[str]:
    """The members of a cluster that can go, as in `lshdb clusters --drop-list`."""
    for key, score, decided in zip(one.members, one.similarities, one.decided, strict=True):
        if decided == "drop" or (decided is None and key != one.keep and score >= threshold):
            yield key


@dataclass(frozen=True, slots=True)
class Grouped:
    """The totals of all clusters of a database.

    Attributes:
        largest: the largest, in this order.
        cluster_of: the numbers of the clusters that some documents are in.
        count: how many clusters there are.
        members: how many documents they have.
        gone: how many of these can go.
        gone_bytes: how many bytes their contents have; 0 without contents.
    """

    largest: list[Cluster]
    cluster_of: dict[str, int]
    count: int
    members: int
    gone: int
    gone_bytes: int


def _grouped(
    store: Store, clusters: Iterable[Cluster], threshold: float, wanted: set[str]
) -> Grouped:
    """Go through the clusters, and keep the largest; all of them may be many."""
    largest: list[tuple[int, int, Cluster]] = []
    cluster_of: dict[str, int] = {}
    gone: list[str] = []
    count = members = dropped = size = 0
    for count, one in enumerate(clusters, 1):
        members += len(one.members)
        cluster_of |= {key: count for key in one.members if key in wanted}
        heapq.heappush(largest, (len(one.members), -count, one))
        if len(largest) > _CLUSTERS:
            heapq.heappop(largest)
        for key in redundant(one, threshold):
            dropped += 1
            gone.append(key)
            if len(gone) == _AT_ONCE:
                size += _bytes(store, gone)
                gone.clear()
    ordered = [one for _, _, one in sorted(largest, reverse=True)]
    return Grouped(ordered, cluster_of, count, members, dropped, size + _bytes(store, gone))


def _bytes(store: Store, keys: list[str]) -> int:
    """How many bytes the contents of some documents have."""
    doc_ids = sorted(one.doc_id for one in store.known(keys).values())
    return int(store.byte_lengths(np.array(doc_ids, dtype=np.int64)).sum())


@dataclass(frozen=True, slots=True)
class Found:
    """The totals of all pairs of a database.

    Attributes:
        best: the most similar that are not identical, best first.
        copies: some that are identical, each with a new document.
        histogram: how many pairs have which similarity, from 0 to 1.
        count: how many there are, or were examined.
        identical: how many of them are identical.
        cut: whether there are more.
    """

    best: list[Pair]
    copies: list[Pair]
    histogram: tuple[int, ...]
    count: int
    identical: int
    cut: bool


def _pairs(pairs: Iterable[Pair]) -> Found:
    """Go through the pairs, and keep the best."""
    counts = [0] * _BINS
    best: list[tuple[float, int, Pair]] = []
    copies: list[Pair] = []
    named: set[str] = set()
    identical = count = 0
    rest = iter(pairs)
    for count, pair in enumerate(islice(rest, _LOOKED_AT), 1):
        counts[min(int(pair.similarity * _BINS), _BINS - 1)] += 1
        if pair.identical:
            identical += 1
            if len(copies) < _COPIES and pair.b not in named:
                named.add(pair.b)
                copies.append(pair)
        elif len(best) < _BEST:
            heapq.heappush(best, (pair.similarity, -count, pair))
        elif pair.similarity > best[0][0]:
            heapq.heapreplace(best, (pair.similarity, -count, pair))
    cut = count == _LOOKED_AT and next(rest, None) is not None
    ordered = [pair for _, _, pair in sorted(best, key=lambda each: (-each[0], -each[1]))]
    return Found(ordered, copies, tuple(counts), count, identical, cut)


def _chosen(best: list[Pair], cluster_of: Mapping[str, int], most: int) -> list[Pair]:
    """The pairs to show: a few of each cluster, or more if there are not enough."""
    shown: Counter[int | None] = Counter()
    first: list[Pair] = []
    others: list[Pair] = []
    for pair in best:
        number = cluster_of.get(pair.a)
        shown[number] += 1
        (first if shown[number] <= _EACH else others).append(pair)
    chosen = [*first, *others][:most]
    return sorted(chosen, key=lambda pair: -pair.similarity)


def _beside(database: Database, pair: Pair) -> dict[str, Any]:
    """The values for two documents side by side."""
    a, b = database.get(pair.a).content, database.get(pair.b).content
    if isinstance(a, str) and isinstance(b, str):
        found = texts_beside(a, b, most=_TEXT)
        rows = found.differences.rows
        # Of long texts the rows that differ, and some around them.
        shown = near_differences(rows, _BESIDE) if len(rows) > _WHOLE else range(len(rows))
        lines = list(islice(lines_of(found, shown, 0, len(rows)), _ROWS + 1))
        cut = len(lines) > _ROWS or found.cut
        return {"texts": found, "lines": lines[:_ROWS], "cut": cut, "only": None}
    if isinstance(a, tuple) and isinstance(b, tuple):
        return {"texts": None, "only": sets_beside(a, b), "most": _ROWS}
    return {"texts": None, "only": None}
