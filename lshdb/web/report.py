"""A report to hand on: one file of HTML that shows the near duplicates of a database.

It contains all that it shows, and needs no server, no script and no network. Its size is bounded by
the numbers of clusters, pairs and decisions, and the bytes of texts side by side.
"""

import base64
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count, islice
from pathlib import Path
from typing import Any

from markupsafe import Markup

from lshdb.database import Database
from lshdb.errors import limits_noted
from lshdb.groups import regrouped
from lshdb.model import Cluster, Pair
from lshdb.options import ClustersOptions, GroupingOptions
from lshdb.progress import Progress
from lshdb.search.decisions import Verdicts
from lshdb.search.differences import shown_rows
from lshdb.store.store import Store
from lshdb.web import address, beside, drawing, listing, rendering, surveys

MAX_PAIRS = 1_000
"""Pairs side by side."""
_PAIRS_BYTES = 6_000_000
"""Bytes of texts side by side; the other parts have bounded numbers and lengths."""
_EACH = 3
"""Pairs shown of a cluster, if there are enough clusters."""
_COPIES = 50
"""Identical pairs that are listed."""
_CLUSTERS = 50
_MEMBERS = 8
_DECISIONS = 200
_KEYS = 5
"""Keys shown of a decision."""
_TEXT = 100_000
"""Characters compared of a text."""
_ROWS = 200
"""Rows shown of two texts, and elements of a set."""
_WHOLE = 40
"""Maximum rows to show two texts whole; of longer ones, only the differences."""
_BESIDE = 2

_CSS = Path(__file__).parent / "static"


def report(
    path: Path,
    asked: GroupingOptions,
    *,
    pairs: int,
    title: str | None,
    timeout: float,
    progress: Progress,
) -> str:
    """The report as HTML, of up to 10 MB in UTF-8.

    Args:
        path: the database, which is only read.
        asked: as for Database.clusters.
        pairs: how many pairs are shown side by side, at most MAX_PAIRS.
        title: the heading; None for one with the name of the file.
        timeout: seconds to wait for a file that is locked.
        progress: called now and then.
    """
    store = Store.open(path, "read", timeout)
    with Database(store) as database, limits_noted() as notes:
        settings, info = database.settings, database.info()
        minimum = asked.threshold or settings.threshold
        request = regrouped(asked, ClustersOptions, threshold=minimum)
        found = surveys.survey_pairs(store, request, progress)
        survey = surveys.survey_clusters(store, request, progress)
        same = [pair for pair in found.items if pair.identical]
        copies = _copies(same)
        shown = _chosen([pair for pair in found.items if not pair.identical], survey.items, pairs)
        largest = listing.chosen(survey, address.Filters())[:_CLUSTERS]
        parts: list[Markup] = []
        size = 0
        for number, pair in enumerate(shown, 1):
            progress(number, len(shown), "pairs shown side by side")
            part = rendering.rendered(
                "report_pair", number=number, pair=pair, **_beside(database, pair)
            )
            size += len(part.encode())
            if size > _PAIRS_BYTES:
                break
            parts.append(Markup(part))  # rendered with escapes
        decisions = database.decisions()
        decided = Verdicts(decisions)
        style = "".join((_CSS / name).read_text("utf-8") for name in ("lshdb.css", "report.css"))
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        return rendering.rendered(
            "report",
            review=None,
            title=f"Near duplicates in {path.name}" if title is None else title,
            made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
            style=Markup(style),  # our own files
            style_hash=digest,
            info=info,
            asked=asked,
            threshold=minimum,
            curve=drawing.s_curve(settings.construction, minimum),
            found=found,
            sizes=drawing.sizes(len(one.members) for one in survey.items),
            identical=len(same),
            copies=copies,
            clusters=[
                listing.described(survey.items[at], decided, minimum, _MEMBERS) for at in largest
            ],
            survey=survey,
            listed=[*((0, pair) for pair in copies), *enumerate(shown[: len(parts)], 1)],
            left_out=len(shown) - len(parts),
            parts_of_pairs=parts,
            decisions=decisions,
            most_decisions=_DECISIONS,
            verdicts=Counter(one.verdict for one in decisions if one.state == "holds"),
            most_keys=_KEYS,
            notes=tuple(notes),
        )


def plot(path: Path, asked: GroupingOptions, *, timeout: float, progress: Progress) -> str:
    """A picture of the similarities of a database, as SVG.

    It shows how many pairs have which similarity, estimated from a sample below the threshold, how
    probably the index finds a pair, and how large clusters are. Arguments as of `report`.
    """
    store = Store.open(path, "read", timeout)
    with Database(store) as database:
        settings = database.settings
        minimum = asked.threshold or settings.threshold
        request = regrouped(asked, ClustersOptions, threshold=minimum)
        found = surveys.survey_pairs(store, request, progress)
        clusters = surveys.survey_clusters(store, request, progress)
        return rendering.rendered(
            "plot",
            name=path.name,
            documents=database.info().documents,
            found=found,
            curve=drawing.s_curve(settings.construction, minimum),
            sizes=drawing.sizes(len(one.members) for one in clusters.items),
        )


def _copies(same: list[Pair]) -> list[Pair]:
    """Some identical pairs, each with a new document."""
    return list({pair.b: pair for pair in reversed(same)}.values())[: -_COPIES - 1 : -1]


def _chosen(best: list[Pair], clusters: list[Cluster], pairs: int) -> list[Pair]:
    """The pairs to show: a few of each cluster, or more if there are not enough."""
    cluster_of = {key: number for number, one in enumerate(clusters) for key in one.members}
    seen: defaultdict[int | None, Iterator[int]] = defaultdict(count)
    first = sorted(best, key=lambda pair: next(seen[cluster_of.get(pair.a)]) >= _EACH)
    return sorted(first[:pairs], key=lambda pair: -pair.similarity)


def _beside(database: Database, pair: Pair) -> dict[str, Any]:
    """The values for two documents side by side."""
    a, b = database.get(pair.a).content, database.get(pair.b).content
    texts, sets = beside.contents_beside(database, a, b, elements=_ROWS, limit=_TEXT)
    if texts is None:
        return {"texts": None, "sets": sets}
    # Of long texts the rows that differ, and some around them.
    shown = shown_rows(texts.rows, _BESIDE if len(texts.rows) > _WHOLE else None)
    lines = list(islice(beside.lines_of(texts, shown, 0, len(texts.rows)), _ROWS + 1))
    return {"texts": texts, "lines": lines[:_ROWS], "cut": len(lines) > _ROWS or texts.cut}
