"""A report to hand on: one file of HTML that shows the near duplicates of a database.

It contains all that it shows, and needs no server, no script and no network. Its size is bounded by
the numbers of clusters, pairs and decisions, and the bytes of texts side by side.
"""

import base64
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count, islice, pairwise
from pathlib import Path
from typing import Any

from markupsafe import Markup

from lshdb.database import Database
from lshdb.errors import limits_noted
from lshdb.groups import regrouped
from lshdb.ingest.folders import Folders
from lshdb.model import Cluster, Pair, Passage
from lshdb.options import (
    ClustersOptions,
    GroupingOptions,
    JoinOptions,
    PairsOptions,
    ReportOptions,
)
from lshdb.progress import Progress
from lshdb.search.decisions import Verdicts
from lshdb.search.differences import Line, Piece, Row, Span, differs, shown_rows
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
    folders: Folders,
    asked: ReportOptions,
    *,
    pairs: int,
    title: str,
    lowest: float | None = None,
    progress: Progress,
) -> str:
    """The report as HTML, of up to 10 MB in UTF-8.

    Args:
        folders: the database, which is only read, or its folders.
        asked: as for Database.clusters.
        pairs: how many pairs are shown side by side, at most MAX_PAIRS.
        title: the heading.
        lowest: the minimum similarity of pairs, if it is not that of clusters.
        progress: called now and then.
    """
    store, database = folders.store, Database(folders.store)
    with limits_noted() as notes:
        settings, info = database.settings, database.info()
        minimum = asked.threshold or settings.threshold
        of_folders: dict[str, Any] = {"where": None, "parameters": ()} if folders.files else {}
        request = regrouped(asked, ClustersOptions, threshold=minimum, group_by=None, **of_folders)
        kind = PairsOptions if settings.passages else JoinOptions
        ranked = regrouped(request, kind, threshold=lowest or minimum)
        found = surveys.survey_pairs(store, ranked, progress)
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
                "report_pair", number=number, pair=pair, **_beside(folders, database, pair)
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
            title=title,
            submissions=bool(folders.files),
            where=None if folders.names else asked.where,
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
    return sorted(first[:pairs], key=lambda pair: (-(pair.weighted or 0), -pair.similarity))


def _beside(folders: Folders, database: Database, pair: Pair) -> dict[str, Any]:
    """The values for two documents side by side.

    Of long texts, they have the rows that differ, or those with copied passages where passages are
    indexed, and some around them.
    """
    a, b = database.get(pair.a).content, database.get(pair.b).content
    copied: list[Passage] = []
    if run := database.settings.passages:
        shortest = run - database.settings.shingling.size + 1
        shared = database.compare(pair.a, pair.b).passages or ()
        copied = [one for one in shared if one.shingles >= shortest]
    texts, sets = beside.contents_beside(
        database, a, b, elements=_ROWS, limit=_TEXT, passages=copied
    )
    if texts is None:
        return {"texts": None, "sets": sets}
    own = [(one.a_start, one.a_end) for one in copied]
    its = [(one.b_start, one.b_end) for one in copied]
    left = _in_files(folders, pair.a, (_marked(row.a, own) for row in texts.rows))
    right = _in_files(folders, pair.b, (_marked(row.b, its) for row in texts.rows))
    sides = zip(texts.rows, left, right, strict=True)
    texts = replace(texts, rows=[replace(row, a=line, b=other) for row, line, other in sides])
    # Of long texts a part.
    around = _BESIDE if len(texts.rows) > _WHOLE else None
    shown = shown_rows(texts.rows, around, _has_copied if copied else differs)
    lines = list(islice(beside.lines_of(texts, shown, 0, len(texts.rows)), _ROWS + 1))
    cut = len(lines) > _ROWS or texts.cut
    return {
        "texts": texts,
        "lines": lines[:_ROWS],
        "cut": cut,
        "copied": copied,
        "submissions": folders.files,
    }


def _marked(line: Line | None, copied: Sequence[Span]) -> Line | None:
    """A line whose copied parts are runs, if the other text has them in the same row."""
    if line is None or not copied:
        return line
    pieces: list[Piece] = []
    at = line.start
    for piece in line.pieces:
        end = at + len(piece.text)
        edges = {min(max(edge, at), end) for span in copied for edge in span}
        for low, high in pairwise(sorted({at, *edges, end})):
            is_run = piece.kind == "same" and any(start <= low < stop for start, stop in copied)
            pieces.append(Piece(piece.text[low - at : high - at], "run" if is_run else piece.kind))
        at = end
    return replace(line, pieces=pieces)


def _in_files(folders: Folders, key: str, lines: Iterable[Line | None]) -> Iterator[Line | None]:
    """The lines of a document with their numbers in its files, and the files' names before them."""
    files = [one for one in folders.files.get(key, ()) if one.key != key]
    before = 0
    for line in lines:
        if line is not None and files and line.start >= files[0].start:
            while files and line.start >= files[0].start:
                name = files.pop(0).key.removeprefix(f"{key}/")
            before = line.number - 1
            line = replace(line, pieces=[Piece(name, "file"), *line.pieces])
        yield line and replace(line, number=max(line.number - before, 0))


def _has_copied(row: Row) -> bool:
    """Whether a row has a part of a copied passage, or begins a file."""
    lines = [line for line in (row.a, row.b) if line]
    return any(piece.kind in ("run", "moved", "file") for line in lines for piece in line.pieces)
