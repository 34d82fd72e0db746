"""A report to hand on: one file of HTML that shows the near duplicates of a database.

The file contains all that it shows, and needs no server, no script and no network. Limits on the
numbers of clusters, pairs and decisions, and on the bytes of texts side by side, bound its size.
"""

import base64
import hashlib
import itertools
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from lshdb import Database, Document, Passage
from lshdb.apps.compare import beside, differences
from lshdb.apps.folders.folder_documents import FolderFile, Folders
from lshdb.apps.programs.tokens import FILES
from lshdb.apps.report import evidence
from lshdb.apps.report.hidden_names import Names
from lshdb.apps.report.options import ReportOptions
from lshdb.apps.review import drawing, listing
from lshdb.apps.review.options import GroupingOptions
from lshdb.apps.web import rendering
from lshdb.errors import limits_noted
from lshdb.options import ClustersOptions, JoinOptions, SimilarOptions
from lshdb.progress import Progress
from lshdb.read.paths import common_folder

_PAGES = Path(__file__).parent / "pages"
_LOADER = jinja2.FileSystemLoader([_PAGES, rendering.PAGES])
_TEMPLATES = rendering.TEMPLATES.overlay(loader=_LOADER)
_STYLE = "".join(
    sheet.read_text("utf-8") for sheet in (rendering.STATIC / "lshdb.css", _PAGES / "report.css")
)
_PAIRS_BYTES = 6_000_000
"""Maximum bytes of the texts side by side; the other parts have bounded numbers and lengths."""
_EACH = 3
"""Pairs shown of each ring, if there are enough others."""
_OPEN = 5
"""Pairs that are unfolded."""
_MORE = 50
"""Rings that are listed beyond the number of pairs that are shown, as many are of the same text."""
_CLUSTERS = 50
_MEMBERS = 8
_TEXT = 100_000
"""Maximum number of characters compared of a text."""
_ROWS = 200
"""Maximum number of rows shown of two texts, of folded ones, and of elements of a set."""
_WHOLE = 40
"""Maximum number of rows of two texts that are shown whole; of longer texts, only differences."""
_AROUND = 2
"""Equal rows shown before and after a difference."""


def report(
    folders: Folders,
    connected: evidence.Connections,
    options: ReportOptions,
    about: Mapping[str, Any],
    hidden: Names | None,
    progress: Progress,
) -> str:
    """The report as HTML, of up to 10 MB in UTF-8.

    Args:
        folders: the database, which is only read, or its folders.
        connected: the pairs that anything connects.
        options: which documents are in the report, how clusters are made, and how many pairs are
            shown side by side.
        about: `title`, the heading; `failed`, the number of files that could not be read;
            `missing`, the names of submissions that are not compared, and `failures`, those of
            other files, each with the reason; `notes`, what was not searched, in sentences.
        hidden: the names that texts are shown without.
        progress: called now and then.
    """
    database = Database(folders.store)
    with limits_noted() as limits:
        found = _found(database, folders, connected, options.grouping, progress)
        in_rings = {pair.number for ring in found["rings"] for pair in ring.pairs}
        rings = [
            *found["rings"],
            *(evidence.Ring([pair]) for pair in connected.pairs if pair.number not in in_rings),
        ]
        chosen = _chosen(rings, options.pairs)
        scale = rendering.similarity_scale(found["threshold"] or 0, database.settings.shingling)
        common = {"scale": scale, "start": common_folder(folders.files)}
        comparisons = _side_by_side(folders, database, chosen, hidden, common, progress)
        shown = {pair.number for pair in chosen[: len(comparisons)]}
        return _TEMPLATES.get_template("report.html").render(
            links=None,
            review=None,
            folders=folders,
            options=options,
            made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
            keep=listing.rule_words(options.grouping.clusters.order),
            info=database.info(),
            connected=connected,
            histogram=_histogram(connected, shown),
            min_gap=evidence.MIN_GAP,
            orders=_orders(rings[: options.pairs + _MORE], database),
            shown=shown,
            left_out=len(chosen) - len(comparisons),
            comparisons=comparisons,
            hidden=hidden,
            **{**about, "notes": [*about["notes"], *limits]},
            **found,
            **common,
            style=Markup(_STYLE),  # our own files
            style_hash=base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode(),
        )


def _found(
    database: Database,
    folders: Folders,
    connected: evidence.Connections,
    grouping: GroupingOptions,
    progress: Progress,
) -> dict[str, Any]:
    """What a report says first: pairs, and the clusters of their documents.

    Of folders they are the pairs that stand apart or have similarity 1, or those of a threshold; of
    a database what `lshdb clusters` lists, and the pairs of its threshold.
    """
    survey, threshold = None, grouping.threshold
    if not folders.files:
        similar = SimilarOptions(condition=grouping.condition, threshold=grouping.threshold)
        request = ClustersOptions(join=JoinOptions(similar=similar), clusters=grouping.clusters)
        survey = listing.survey_clusters(database, request, progress)
        threshold = survey.threshold
    pairs = [
        pair
        for pair in connected.pairs
        if (threshold is None and pair.stands_apart)
        or (pair.similarity or 0) >= (1 if threshold is None else threshold)
    ]
    decisions = database.decisions()
    found: dict[str, Any] = {
        "survey": survey,
        "threshold": threshold,
        "found": pairs,
        "rings": evidence.rings(pairs, every_two=True),
        "decisions": decisions,
        "verdicts": Counter(each.verdict for each in decisions if each.state == "holds"),
    }
    if survey is None:
        clusters = evidence.rings(pairs, every_two=grouping.clusters.star)
        clusters.sort(key=lambda cluster: -len(cluster.keys))
        picture = drawing.sizes(len(cluster.keys) for cluster in clusters)
        count, clusters = len(clusters), clusters[:_CLUSTERS]
        return {**found, "count": count, "picture": picture, "clusters": clusters}
    listed = listing.Listing(survey, listing.held_decisions(database), listing.Filters())
    described = [listed.described(cluster, _MEMBERS) for cluster in listed.items[:_CLUSTERS]]
    return {
        **found,
        "count": len(survey.items),
        "picture": survey.picture,
        "clusters": described,
    }


def _histogram(connected: evidence.Connections, shown: Container[int]) -> list[dict[str, Any]]:
    """The columns of the scores: bounds, how many pairs, the height, and the pair it leads to."""
    columns = drawing.columns(connected.counts, None, 0, 0)
    for column in reversed(columns):
        column["pair"] = next(
            (
                pair.number
                for pair, score in zip(connected.pairs, connected.of_shingles, strict=True)
                if pair.number in shown and column["low"] <= score <= column["high"]
            ),
            None,
        )
    return columns


def _orders(
    rings: Sequence[evidence.Ring], database: Database
) -> list[tuple[str, Sequence[str], list[evidence.Ring]]]:
    """The orders of the list: the heading of its column, the fields that have it, the rings."""
    settings = database.settings
    columns = {"Score": ["score"], "Similarity": ["similarity"]}
    if settings.passages:
        columns |= {"Weighted": ["weighted"], "Copied": ["a_coverage", "b_coverage"]}
    if settings.reworded:
        columns["Reworded"] = ["reworded"]
    orders: list[tuple[str, Sequence[str], list[evidence.Ring]]] = [
        (heading, names, sorted(rings, key=lambda ring: -max(ring.values(*names))))
        for heading, names in columns.items()
    ]
    return [*orders, ("Documents", (), sorted(rings, key=attrgetter("keys")))]


def _side_by_side(
    folders: Folders,
    database: Database,
    pairs: Sequence[evidence.ConnectedPair],
    hidden: Names | None,
    common: Mapping[str, Any],
    progress: Progress,
) -> list[Markup]:
    """The HTML of pairs side by side, up to the first that exceeds the bytes of a report."""
    comparisons: list[Markup] = []
    size = 0
    numbers = [None, *(pair.number for pair in pairs), None]
    for index, pair in enumerate(pairs):
        progress(index + 1, len(pairs), "pairs shown side by side")
        comparison = _TEMPLATES.get_template("report_pair.html").render(
            open=index < _OPEN,
            previous=numbers[index],
            following=numbers[index + 2],
            pair=pair,
            **common,
            **_comparison_values(folders, database, pair, hidden),
        )
        size += len(comparison.encode())
        if size > _PAIRS_BYTES:
            break
        comparisons.append(Markup(comparison))  # rendered with escapes
    return comparisons


def _chosen(rings: Sequence[evidence.Ring], pairs: int) -> list[evidence.ConnectedPair]:
    """The pairs to show, of texts that differ: a few of each ring, or more if there are few."""
    candidates = [
        (index >= _EACH, pair.number, pair)
        for ring in rings
        for index, pair in enumerate(pair for pair in ring.pairs if not pair.same_text)
    ]
    chosen = [pair for _, _, pair in sorted(candidates)[:pairs]]
    return sorted(chosen, key=attrgetter("number"))


def _comparison_values(
    folders: Folders, database: Database, pair: evidence.ConnectedPair, hidden: Names | None
) -> dict[str, Any]:
    """The values that show two documents side by side.

    Of long texts they have the rows that differ and some rows around these; where passages are
    indexed and no more than half of a text, the rows with copied passages in place of those that
    differ.
    """
    a, b = database.get(pair.a).content, database.get(pair.b).content
    files = folders.files
    passages: Sequence[Passage] = ()
    if isinstance(a, str) and isinstance(b, str):
        if hidden is not None:
            a, files_a = _without_names(a, files[pair.a], hidden)
            b, files_b = _without_names(b, files[pair.b], hidden)
            files = {pair.a: files_a, pair.b: files_b}
        passages = database.compare(Document(pair.a, a), Document(pair.b, b)).passages or ()
    texts, sets = beside.contents_beside(
        database, a, b, elements=_ROWS, limit=_TEXT, passages=passages
    )
    if texts is None:
        return {"texts": None, "sets": sets}
    left = _in_files(files, pair.a, (row.a for row in texts.rows))
    right = _in_files(files, pair.b, (row.b for row in texts.rows))
    sides = zip(texts.rows, left, right, strict=True)
    texts = replace(texts, rows=[replace(row, a=line, b=other) for row, line, other in sides])
    around = _AROUND if len(texts.rows) > _WHOLE else None
    copied = bool(database.settings.passages and texts.coloured)
    shown = differences.shown_rows(
        texts.rows, around, _has_copied if copied else differences.differs
    )
    lines = list(itertools.islice(beside.lines_of(texts, shown, 0, len(texts.rows)), _ROWS + 1))
    folded, count = dict[int, list[beside.Shown]](), 0
    for line in lines[:_ROWS]:
        count += line.skipped
        if line.skipped and count <= _ROWS:
            behind = line.first + line.skipped
            inside = range(line.first, behind)
            folded[line.first] = [*beside.lines_of(texts, inside, line.first, behind)]
    return {
        "texts": texts,
        "lines": lines[:_ROWS],
        "folded": folded,
        "cut": len(lines) > _ROWS or texts.cut,
        "copied": copied,
        "submissions": folders.files,
    }


def _without_names(
    text: str, files: Sequence[FolderFile], hidden: Names
) -> tuple[str, list[FolderFile]]:
    """A text without names, and where its files then begin."""
    parts = [hidden.replaced(part) for part in text.split(FILES)]
    sizes = [0, *itertools.accumulate(len(part) + len(FILES) for part in parts)]
    moved = [file._replace(start=start) for file, start in zip(files, sizes, strict=False)]
    return FILES.join(parts), moved


def _in_files(
    files_of: Mapping[str, Sequence[FolderFile]], key: str, lines: Iterable[differences.Line | None]
) -> Iterator[differences.Line | None]:
    """The lines of a document, numbered from the start of its files, which begin with names."""
    files = [file for file in files_of.get(key, ()) if file.key != key]
    first_line = 1
    for line in lines:
        if line is not None and files and line.start >= files[0].start:
            while files and line.start >= files[0].start:
                name = files.pop(0).key.removeprefix(f"{key}/")
            first_line = line.number
            line = replace(line, pieces=[differences.Piece(name, "file"), *line.pieces])
        yield line and replace(line, number=max(line.number - first_line + 1, 0))


def _has_copied(row: differences.Row) -> bool:
    """Whether a row has a part of a copied passage, or begins a file."""
    pieces = (piece for line in (row.a, row.b) if line for piece in line.pieces)
    return any(piece.number or piece.kind == "file" for piece in pieces)
