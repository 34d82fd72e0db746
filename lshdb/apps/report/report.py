"""A report to hand on: one file of HTML that shows the near duplicates of a database.

The file contains all that it shows, and needs no server, no script and no network. Limits on the
numbers of clusters, pairs and decisions, and on the bytes of texts side by side, bound its size.
"""

import base64
import hashlib
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup

from lshdb import Cluster, Database, Document, Passage
from lshdb.apps.compare import beside, differences
from lshdb.apps.compare.beside import StoredContent
from lshdb.apps.folders.folder_documents import FolderFile, Folders
from lshdb.apps.programs.tokens import FILES
from lshdb.apps.report import evidence
from lshdb.apps.report.hidden_names import Names
from lshdb.apps.report.options import PlotOptions, ReportOptions
from lshdb.apps.review import drawing, listing
from lshdb.apps.web import rendering
from lshdb.errors import limits_noted
from lshdb.model import ConnectedPair
from lshdb.options import (
    ClustersOptions,
    ConditionOptions,
    GroupingOptions,
    JoinOptions,
    SimilarOptions,
)
from lshdb.progress import Progress

_PAGES = Path(__file__).parent / "pages"
_PAIRS_BYTES = 6_000_000
"""Maximum bytes of the texts side by side; the other parts have bounded numbers and lengths."""
_EACH = 3
"""Pairs shown of each cluster, if there are enough clusters."""
_OPEN = 5
"""Pairs that are unfolded."""
_EQUAL = 2
"""Equal lines of a text shown at the beginning and the end of a long run of them."""
_COPIES = 50
"""Maximum number of pairs with the same text that are listed."""
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


def report(
    folders: Folders,
    connected: evidence.Connections,
    options: ReportOptions,
    about: Mapping[str, Any],
    pairs: int,
    hidden: Names | None,
    progress: Progress,
) -> str:
    """The report as HTML, of up to 10 MB in UTF-8.

    Args:
        folders: the database, which is only read, or its folders.
        connected: the pairs that anything connects.
        options: which documents are in the report, and how clusters are made.
        about: `title`, the heading; `failed`, the number of files that could not be read;
            `missing`, the names of submissions that are not compared, and `failures`, those of
            other files, each with the reason; `notes`, what was not searched, in sentences.
        pairs: maximum number of pairs shown side by side, up to 1,000.
        hidden: the names that texts are shown without.
        progress: called now and then.
    """
    database = Database(folders.store)
    with limits_noted() as limits:
        survey = _survey_clusters(database, folders, options.grouping, progress)
        scale = rendering.similarity_scale(survey.threshold, database.settings.shingling)
        same_text = [pair for pair in connected.pairs if pair.same_text]
        # Of each document on the right only the first pair.
        copies = list({pair.b: pair for pair in reversed(same_text)}.values())[: -_COPIES - 1 : -1]
        others = [pair for pair in connected.pairs if not pair.same_text]
        chosen = _chosen(others, survey.items, pairs)
        comparisons = _side_by_side(folders, database, chosen, hidden, scale, progress)
        shown = chosen[: len(comparisons)]
        listed = sorted([*copies, *(shown or chosen)], key=lambda pair: pair.number)
        return rendering.rendered(
            "report",
            _PAGES,
            links=None,
            review=None,
            folders=folders,
            options=options,
            made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
            keep=listing.rule_words(options.grouping.clusters.order),
            info=database.info(),
            threshold=survey.threshold,
            connected=connected,
            histogram=_histogram(connected, {pair.number for pair in shown}),
            min_gap=evidence.MIN_GAP,
            scale=scale,
            same_text=len(same_text),
            copies=copies,
            orders=_orders(listed, database),
            shown={pair.number for pair in shown},
            left_out=len(chosen) - len(comparisons),
            comparisons=comparisons,
            hidden=hidden,
            **{**about, "notes": [*about["notes"], *limits]},
            **_style(),
            **_clusters_and_decisions(database, survey),
        )


def _similar(folders: Folders, grouping: GroupingOptions, threshold: float | None) -> JoinOptions:
    """Which pairs are similar; folders are made of the documents that count."""
    condition = ConditionOptions() if folders.files else grouping.condition
    return JoinOptions(similar=SimilarOptions(condition=condition, threshold=threshold))


def _survey_clusters(
    database: Database, folders: Folders, grouping: GroupingOptions, progress: Progress
) -> listing.Survey[Cluster]:
    """The clusters that have a new document."""
    join = _similar(folders, grouping, grouping.threshold)
    request = ClustersOptions(join=join, clusters=grouping.clusters)
    survey = listing.survey_clusters(database, request, progress)
    if not folders.old:
        return survey
    items = [cluster for cluster in survey.items if not folders.old.issuperset(cluster.members)]
    members = sum(len(cluster.members) for cluster in items)
    totals = replace(survey.totals, count=len(items), members=members)
    picture = drawing.sizes(len(cluster.members) for cluster in items)
    return replace(survey, items=items, totals=totals, picture=picture)


def _histogram(connected: evidence.Connections, shown: Container[int]) -> list[dict[str, Any]]:
    """The columns of the scores: bounds, how many pairs, the height, and the pair it leads to."""
    columns = drawing.columns(connected.counts, None, 0, 0)
    for column in reversed(columns):
        column["pair"] = next(
            (
                pair.number
                for pair in connected.pairs
                if pair.number in shown and column["low"] <= pair.score <= column["high"]
            ),
            None,
        )
    return columns


def _largest(*names: str) -> Callable[[ConnectedPair], float]:
    """What gives the largest of some values of a pair."""
    return lambda pair: max(getattr(pair, name) or 0 for name in names)


def _orders(
    pairs: Sequence[ConnectedPair], database: Database
) -> list[tuple[str, str, list[ConnectedPair]]]:
    """The orders of the list: the name, the heading of its column, the pairs."""
    settings = database.settings
    orders = [("score", "Score"), ("similarity", "Similarity")]
    if settings.passages:
        orders += [("weighted", "Weighted"), ("a_coverage", "Copied")]
    if settings.reworded:
        orders += [("reworded", "Reworded")]
    result = []
    for name, heading in orders:
        other = "b_coverage" if name == "a_coverage" else name
        result.append((name, heading, sorted(pairs, key=_largest(name, other), reverse=True)))
    result.append(("a", "Documents", sorted(pairs, key=lambda pair: (pair.a, pair.b))))
    return result


def _side_by_side(
    folders: Folders,
    database: Database,
    pairs: Sequence[ConnectedPair],
    hidden: Names | None,
    scale: dict[str, Any],
    progress: Progress,
) -> list[Markup]:
    """The HTML of pairs side by side, up to the first that exceeds the bytes of a report."""
    comparisons: list[Markup] = []
    size = 0
    for number, pair in enumerate(pairs, 1):
        progress(number, len(pairs), "pairs shown side by side")
        following = pairs[number].number if number < len(pairs) else None
        values = _comparison_values(folders, database, pair, hidden)
        comparison = rendering.rendered(
            "report_pair",
            _PAGES,
            open=number <= _OPEN,
            following=following,
            pair=pair,
            scale=scale,
            **values,
        )
        size += len(comparison.encode())
        if size > _PAIRS_BYTES:
            break
        comparisons.append(Markup(comparison))  # rendered with escapes
    return comparisons


def _style() -> dict[str, object]:
    """The style sheet of a report, and the hash by which its policy allows it."""
    sheets = rendering.STATIC / "lshdb.css", _PAGES / "report.css"
    style = "".join(sheet.read_text("utf-8") for sheet in sheets)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return {"style": Markup(style), "style_hash": digest}  # our own files


def _clusters_and_decisions(
    database: Database, survey: listing.Survey[Cluster]
) -> dict[str, object]:
    """The first clusters, all decisions, and how many decisions of each verdict hold."""
    decisions = database.decisions()
    listed = listing.Listing(survey, listing.held_decisions(database), listing.Filters())
    return {
        "cluster_survey": survey,
        "clusters": [listed.described(cluster, _MEMBERS) for cluster in listed.items[:_CLUSTERS]],
        "decisions": decisions,
        "verdicts": Counter(
            decision.verdict for decision in decisions if decision.state == "holds"
        ),
    }


def plot(folders: Folders, options: PlotOptions, name: str, progress: Progress) -> str:
    """A picture of the similarities of a database, as SVG.

    It shows how many pairs have which similarity (below the threshold an estimate from a sample),
    how probably the index finds a pair, and how large the clusters are. `name` is the heading; the
    other arguments are those of `report`.
    """
    database = Database(folders.store)
    settings = database.settings
    grouping = GroupingOptions(condition=options.condition, threshold=options.threshold)
    survey = _survey_clusters(database, folders, grouping, progress)
    join = _similar(folders, grouping, survey.threshold)
    return rendering.rendered(
        "plot",
        _PAGES,
        name=name,
        info=database.info(),
        pair_survey=listing.survey_pairs(database, join, progress),
        cluster_survey=survey,
        threshold=survey.threshold,
        scale=rendering.similarity_scale(survey.threshold, settings.shingling),
        curve=drawing.s_curve(settings.construction, survey.threshold),
    )


def _chosen(
    candidates: list[ConnectedPair], clusters: list[Cluster], pairs: int
) -> list[ConnectedPair]:
    """The pairs to show: a few of each cluster, or more of each if there are few clusters."""
    cluster_of = {key: number for number, cluster in enumerate(clusters) for key in cluster.members}
    seen: defaultdict[int | None, Iterator[int]] = defaultdict(itertools.count)
    first = sorted(candidates, key=lambda pair: next(seen[cluster_of.get(pair.a)]) >= _EACH)
    return sorted(first[:pairs], key=lambda pair: pair.number)


def _comparison_values(
    folders: Folders, database: Database, pair: ConnectedPair, hidden: Names | None
) -> dict[str, Any]:
    """The values that show two documents side by side.

    Of long texts they have the rows that differ and some rows around these; where passages are
    indexed, the rows with copied passages in place of those that differ.
    """
    a, b = database.get(pair.a).content, database.get(pair.b).content
    files = folders.files
    if hidden is not None and isinstance(a, str) and isinstance(b, str):
        a, files_a = _without_names(a, files[pair.a], hidden)
        b, files_b = _without_names(b, files[pair.b], hidden)
        files = {pair.a: files_a, pair.b: files_b}
    passages = _passages(database, pair, a, b)
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
    copied = bool(database.settings.passages and texts.copied)
    shown = differences.shown_rows(
        texts.rows, around, _has_copied if copied else differences.differs
    )
    if not texts.code:
        shown = _folded(texts.rows, shown)
    lines = list(itertools.islice(beside.lines_of(texts, shown, 0, len(texts.rows)), _ROWS + 1))
    cut = len(lines) > _ROWS or texts.cut
    return {
        "texts": texts,
        "lines": lines[:_ROWS],
        "cut": cut,
        "copied": copied,
        "submissions": folders.files,
    }


def _passages(
    database: Database, pair: ConnectedPair, a: StoredContent, b: StoredContent
) -> Sequence[Passage]:
    """The passages that both texts have as they are shown."""
    if isinstance(a, str) and isinstance(b, str):
        return database.compare(Document(pair.a, a), Document(pair.b, b)).passages or ()
    return ()


def _without_names(
    text: str, files: Sequence[FolderFile], hidden: Names
) -> tuple[str, list[FolderFile]]:
    """A text without names, and where its files then begin."""
    starts = [file.start for file in files]
    parts = [hidden.replaced(part) for part in text.split(FILES)]
    sizes = [0, *itertools.accumulate(len(part) + len(FILES) for part in parts)]
    moved = [
        file._replace(start=start) for file, start in zip(files, sizes[: len(starts)], strict=True)
    ]
    return FILES.join(parts), moved


def _folded(rows: Sequence[differences.Row], shown: Sequence[int]) -> list[int]:
    """The shown rows without the middle of long runs of equal ones, which begin no file."""
    folded: list[int] = []
    run: list[int] = []
    for index in [*shown, -1]:
        is_equal = index >= 0 and rows[index].kind == "same" and not _begins_file(rows[index])
        if is_equal and (not run or index == run[-1] + 1):
            run.append(index)
            continue
        folded += run if len(run) <= 2 * _EQUAL + 1 else [*run[:_EQUAL], *run[-_EQUAL:]]
        run = [index] if is_equal else []
        folded += [] if is_equal or index < 0 else [index]
    return folded


def _pieces(row: differences.Row) -> Iterator[differences.Piece]:
    """The pieces of the lines of a row."""
    return (piece for line in (row.a, row.b) if line for piece in line.pieces)


def _begins_file(row: differences.Row) -> bool:
    """Whether a row begins a file in one of the texts."""
    return any(piece.kind == "file" for piece in _pieces(row))


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
    return any(piece.number or piece.kind == "file" for piece in _pieces(row))
