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
from itertools import count, islice
from pathlib import Path
from typing import Any

from markupsafe import Markup

from lshdb import Cluster, Database, Pair, Passage
from lshdb.errors import limits_noted
from lshdb.groups import replaced
from lshdb.ingest.folder_documents import Folders
from lshdb.options import (
    ClustersOptions,
    ConditionOptions,
    JoinOptions,
    PairsOptions,
    PictureOptions,
    ReportOptions,
    SimilarOptions,
)
from lshdb.progress import Progress
from lshdb.review import beside, drawing, listing
from lshdb.search.decisions import Verdicts
from lshdb.search.differences import Line, Piece, Row, Span, differs, joined_spans, shown_rows
from lshdb.web import rendering

_PAIRS_BYTES = 6_000_000
"""Bytes of texts side by side; the other parts have bounded numbers and lengths."""
_EACH = 3
"""Pairs shown of a cluster, if there are enough clusters."""
_SHARE = 0.5
"""Weighted share from which a pair of submissions is shown although its similarity is low."""
_COPIES = 50
"""Identical pairs that are listed."""
_CLUSTERS = 50
_MEMBERS = 8
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
    failed: int = 0,
    missing: Sequence[tuple[str, str]] = (),
    failures: Sequence[tuple[str, str]] = (),
    progress: Progress,
) -> str:
    """The report as HTML, of up to 10 MB in UTF-8.

    Args:
        folders: the database, which is only read, or its folders.
        asked: as for Database.clusters.
        pairs: how many pairs are shown side by side, up to 1,000.
        title: the heading.
        lowest: the minimum similarity of pairs, if it is not that of clusters.
        failed: how many files could not be read, and so are not in it.
        missing: the names of submissions that are not compared, each with the reason.
        failures: the names of files that could not be read, likewise; none to hide the names.
        progress: called now and then.
    """
    database = Database(folders.store)
    with limits_noted() as notes:
        figures = _figures(folders, asked.picture, lowest, progress)
        found, survey = figures["found"].items, figures["survey"]
        same = [pair for pair in found if pair.identical]
        # Each with a new document.
        copies = list({pair.b: pair for pair in reversed(same)}.values())[: -_COPIES - 1 : -1]
        partial = [] if lowest is None else _partial(database, found)[: pairs // 2]
        others = [*partial, *(pair for pair in found if not pair.identical)]
        shown = _chosen(others, survey.items, pairs)
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
        listed = listing.Listing(survey, Verdicts(decisions), listing.Filters())
        style = "".join((_CSS / name).read_text("utf-8") for name in ("lshdb.css", "report.css"))
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        return rendering.rendered(
            "report",
            links=None,
            review=None,
            title=title,
            submissions=bool(folders.files),
            where=None if folders.names else asked.picture.grouping.condition.where,
            made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
            style=Markup(style),  # our own files
            style_hash=digest,
            keep=asked.picture.grouping.clusters.keep,
            identical=len(same),
            copies=copies,
            clusters=[listed.described(one, _MEMBERS) for one in listed.items[:_CLUSTERS]],
            pairs=[*((0, pair) for pair in copies), *enumerate(shown[: len(parts)], 1)],
            left_out=len(shown) - len(parts),
            parts_of_pairs=parts,
            decisions=decisions,
            verdicts=Counter(one.verdict for one in decisions if one.state == "holds"),
            notes=tuple(notes),
            failed=failed,
            missing=missing,
            failures=[one for one in failures if one[0] not in dict(missing)],
            **figures,
        )


def plot(folders: Folders, asked: PictureOptions, name: str, progress: Progress) -> str:
    """A picture of the similarities of a database, as SVG.

    It shows how many pairs have which similarity, estimated from a sample below the threshold, how
    probably the index finds a pair, and how large clusters are. Arguments as of `report`.
    """
    figures = _figures(folders, asked, None, progress)
    return rendering.rendered("plot", name=name, **figures)


def _figures(
    folders: Folders, asked: PictureOptions, lowest: float | None, progress: Progress
) -> dict[str, Any]:
    """All clusters and pairs, and what the pictures of them show; arguments as of `report`."""
    database = Database(folders.store)
    settings = database.settings
    grouping = asked.grouping
    condition = ConditionOptions() if folders.files else grouping.condition
    join = JoinOptions(similar=SimilarOptions(condition=condition, threshold=grouping.threshold))
    request = ClustersOptions(join=join, clusters=grouping.clusters)
    survey = listing.survey_clusters(database, request, progress)
    join = replaced(join, threshold=lowest or survey.threshold)
    of_pairs = PairsOptions(join=join) if settings.passages else join
    return {
        "info": database.info(),
        "found": listing.survey_pairs(database, of_pairs, progress),
        "survey": survey,
        "threshold": survey.threshold,
        "curve": drawing.s_curve(settings.construction, survey.threshold),
    }


def _partial(database: Database, found: Iterable[Pair]) -> list[Pair]:
    """The pairs that are not among those found, of which one has much that is rare of the other."""
    known = {(pair.a, pair.b) for pair in found}
    partial = []
    for one in database.passage_pairs(sort="weighted"):
        if (one.a, one.b) not in known and (one.weighted_share or 0) >= _SHARE:
            both = database.compare(one.a, one.b)
            similarity = both.similarity or 0
            shares = one.weighted, one.weighted_share
            partial.append(Pair(one.a, one.b, similarity, True, both.estimate, False, *shares))
    return partial


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
    own = joined_spans((one.a_start, one.a_end) for one in copied)
    its = joined_spans((one.b_start, one.b_end) for one in copied)
    left = _in_files(folders, pair.a, own, (row.a for row in texts.rows))
    right = _in_files(folders, pair.b, its, (row.b for row in texts.rows))
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


def _in_files(
    folders: Folders, key: str, copied: Sequence[Span], lines: Iterable[Line | None]
) -> Iterator[Line | None]:
    """The lines of a document with their numbers in its files, and the files' names before them.

    Their copied parts are runs, if the other text has them in the same row.
    """
    files = [one for one in folders.files.get(key, ()) if one.key != key]
    before = 0
    for given in lines:
        line = given and beside.painted(given, "same", copied, "run")
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
