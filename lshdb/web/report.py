"""A report to hand on: one file of HTML that shows the near duplicates of a database.

The file contains all that it shows, and needs no server, no script and no network. Limits on the
numbers of clusters, pairs and decisions, and on the bytes of texts side by side, bound its size.
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

from lshdb import Cluster, Database, Pair
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
from lshdb.search.differences import Line, Piece, Row, differs, shown_rows
from lshdb.web import rendering

_PAIRS_BYTES = 6_000_000
"""Maximum bytes of the texts side by side; the other parts have bounded numbers and lengths."""
_EACH = 3
"""Pairs shown of each cluster, if there are enough clusters."""
_SHARE = 0.5
"""Weighted share from which a pair of submissions is shown although its similarity is low."""
_COPIES = 50
"""Maximum number of identical pairs that are listed."""
_CLUSTERS = 50
_MEMBERS = 8
_TEXT = 100_000
"""Maximum number of characters compared of a text."""
_ROWS = 200
"""Maximum number of rows shown of two texts, and of elements of a set."""
_WHOLE = 40
"""Maximum number of rows of two texts that are shown whole; of longer texts, only differences."""
_AROUND = 2
"""Equal rows shown before and after a difference."""

_CSS = Path(__file__).parent / "static"


def report(
    folders: Folders,
    options: ReportOptions,
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
        options: which documents are in the report, and how clusters are made.
        pairs: maximum number of pairs shown side by side, up to 1,000.
        title: the heading.
        lowest: the minimum similarity of pairs, if it differs from that of clusters.
        failed: number of files that could not be read, and so are not in the report.
        missing: the names of submissions that are not compared, each with the reason.
        failures: the names of files that could not be read, each with the reason; none to hide the
            names.
        progress: called now and then.
    """
    database = Database(folders.store)
    with limits_noted() as notes:
        figures = _figures(folders, options.picture, lowest, progress)
        all_pairs, survey = figures["pair_survey"].items, figures["cluster_survey"]
        identical = [pair for pair in all_pairs if pair.identical]
        # Of each document on the right only the first pair.
        copies = list({pair.b: pair for pair in reversed(identical)}.values())[: -_COPIES - 1 : -1]
        partial = [] if lowest is None else _partial_copies(database, all_pairs)[: pairs // 2]
        others = [*partial, *(pair for pair in all_pairs if not pair.identical)]
        shown = _chosen(others, survey.items, pairs)
        comparisons = _side_by_side(folders, database, shown, figures["scale"], progress)
        return rendering.rendered(
            "report",
            links=None,
            review=None,
            title=title,
            submissions=bool(folders.files),
            where=None if folders.names else options.picture.grouping.condition.where,
            made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
            keep=listing.rule_words(options.picture.grouping.clusters.order),
            identical=len(identical),
            copies=copies,
            pairs=[*((0, pair) for pair in copies), *enumerate(shown[: len(comparisons)], 1)],
            left_out=len(shown) - len(comparisons),
            comparisons=comparisons,
            notes=tuple(notes),
            failed=failed,
            missing=missing,
            failures=[failure for failure in failures if failure[0] not in dict(missing)],
            **_style(),
            **_clusters_and_decisions(database, survey),
            **figures,
        )


def _side_by_side(
    folders: Folders,
    database: Database,
    pairs: Sequence[Pair],
    scale: dict[str, Any],
    progress: Progress,
) -> list[Markup]:
    """The HTML of pairs side by side, up to the first that exceeds the bytes of a report."""
    comparisons: list[Markup] = []
    size = 0
    for number, pair in enumerate(pairs, 1):
        progress(number, len(pairs), "pairs shown side by side")
        comparison = rendering.rendered(
            "report_pair",
            number=number,
            pair=pair,
            scale=scale,
            **_comparison_values(folders, database, pair),
        )
        size += len(comparison.encode())
        if size > _PAIRS_BYTES:
            break
        comparisons.append(Markup(comparison))  # rendered with escapes
    return comparisons


def _style() -> dict[str, object]:
    """The style sheet of a report, and the hash by which its policy allows it."""
    style = "".join((_CSS / name).read_text("utf-8") for name in ("lshdb.css", "report.css"))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return {"style": Markup(style), "style_hash": digest}  # our own files


def _clusters_and_decisions(
    database: Database, survey: listing.Survey[Cluster]
) -> dict[str, object]:
    """The first clusters, all decisions, and how many decisions of each verdict hold."""
    decisions = database.decisions()
    listed = listing.Listing(survey, Verdicts(decisions), listing.Filters())
    return {
        "clusters": [listed.described(cluster, _MEMBERS) for cluster in listed.items[:_CLUSTERS]],
        "decisions": decisions,
        "verdicts": Counter(
            decision.verdict for decision in decisions if decision.state == "holds"
        ),
    }


def plot(folders: Folders, options: PictureOptions, name: str, progress: Progress) -> str:
    """A picture of the similarities of a database, as SVG.

    It shows how many pairs have which similarity (below the threshold an estimate from a sample),
    how probably the index finds a pair, and how large the clusters are. `name` is the heading; the
    other arguments are those of `report`.
    """
    figures = _figures(folders, options, None, progress)
    return rendering.rendered("plot", name=name, **figures)


def _figures(
    folders: Folders, options: PictureOptions, lowest: float | None, progress: Progress
) -> dict[str, Any]:
    """All clusters and pairs, and the values of their pictures; arguments as of `report`."""
    database = Database(folders.store)
    settings = database.settings
    grouping = options.grouping
    condition = ConditionOptions() if folders.files else grouping.condition
    join = JoinOptions(similar=SimilarOptions(condition=condition, threshold=grouping.threshold))
    request = ClustersOptions(join=join, clusters=grouping.clusters)
    survey = listing.survey_clusters(database, request, progress)
    join = replaced(join, threshold=lowest or survey.threshold)
    pair_request = PairsOptions(join=join) if settings.passages else join
    return {
        "info": database.info(),
        "pair_survey": listing.survey_pairs(database, pair_request, progress),
        "cluster_survey": survey,
        "threshold": survey.threshold,
        "scale": rendering.similarity_scale(lowest or survey.threshold, settings.shingling),
        "curve": drawing.s_curve(settings.construction, survey.threshold),
    }


def _partial_copies(database: Database, similar_pairs: Iterable[Pair]) -> list[Pair]:
    """The other pairs of which a document has much of what is rare in the other one."""
    known = {(pair.a, pair.b) for pair in similar_pairs}
    partial = []
    for pair in database.passage_pairs(sort="weighted"):
        if (pair.a, pair.b) not in known and (pair.weighted_share or 0) >= _SHARE:
            comparison = database.compare(pair.a, pair.b)
            similarity = comparison.similarity or 0
            shares = pair.weighted, pair.weighted_share
            partial.append(
                Pair(pair.a, pair.b, similarity, True, comparison.estimate, False, *shares)
            )
    return partial


def _chosen(candidates: list[Pair], clusters: list[Cluster], pairs: int) -> list[Pair]:
    """The pairs to show: a few of each cluster, or more of each if there are few clusters."""
    cluster_of = {key: number for number, cluster in enumerate(clusters) for key in cluster.members}
    seen: defaultdict[int | None, Iterator[int]] = defaultdict(count)
    first = sorted(candidates, key=lambda pair: next(seen[cluster_of.get(pair.a)]) >= _EACH)
    return sorted(first[:pairs], key=lambda pair: (-(pair.weighted or 0), -pair.similarity))


def _comparison_values(folders: Folders, database: Database, pair: Pair) -> dict[str, Any]:
    """The values that show two documents side by side.

    Of long texts they have the rows that differ and some rows around these; where passages are
    indexed, the rows with copied passages in place of those that differ.
    """
    a, b = database.get(pair.a).content, database.get(pair.b).content
    passages = database.compare(pair.a, pair.b).passages or ()
    texts, sets = beside.contents_beside(
        database, a, b, elements=_ROWS, limit=_TEXT, passages=passages
    )
    if texts is None:
        return {"texts": None, "sets": sets}
    left = _in_files(folders, pair.a, (row.a for row in texts.rows))
    right = _in_files(folders, pair.b, (row.b for row in texts.rows))
    sides = zip(texts.rows, left, right, strict=True)
    texts = replace(texts, rows=[replace(row, a=line, b=other) for row, line, other in sides])
    around = _AROUND if len(texts.rows) > _WHOLE else None
    copied = bool(database.settings.passages and texts.copied)
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


def _in_files(folders: Folders, key: str, lines: Iterable[Line | None]) -> Iterator[Line | None]:
    """The lines of a document, numbered from the start of its files, which begin with names."""
    files = [file for file in folders.files.get(key, ()) if file.key != key]
    first_line = 1
    for line in lines:
        if line is not None and files and line.start >= files[0].start:
            while files and line.start >= files[0].start:
                name = files.pop(0).key.removeprefix(f"{key}/")
            first_line = line.number
            line = replace(line, pieces=[Piece(name, "file"), *line.pieces])
        yield line and replace(line, number=max(line.number - first_line + 1, 0))


def _has_copied(row: Row) -> bool:
    """Whether a row has a part of a copied passage, or begins a file."""
    lines = [line for line in (row.a, row.b) if line]
    return any(piece.number or piece.kind == "file" for line in lines for piece in line.pieces)
