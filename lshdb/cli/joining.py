"""The commands that compare all documents with each other: pairs, clusters."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from lshdb.cli.options import DEFAULT_PATH, DEFAULT_TIMEOUT, AsCsv, AsJson, DatabasePath, Timeout
from lshdb.cli.output import Cell, csv_rows, json_line, message, on_terminal, rows, tell_recall
from lshdb.cli.running import end_on_interrupt

if TYPE_CHECKING:
    from lshdb.database import Database
    from lshdb.model import Cluster, Pair

_TABLE_ROWS = 1_000
_TABLE_SECONDS = 1.0

Threshold: TypeAlias = Annotated[
    float | None, typer.Option(help="The least similarity. [default: the database's]")
]
Estimate: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--estimate", help="Faster: the similarity that signatures tell, without contents."
    ),
]

Output: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write to FILE, which gets its name when all is done: .parquet, .csv or .jsonl.",
    ),
]


def pairs(
    db: DatabasePath = DEFAULT_PATH,
    timeout: Timeout = DEFAULT_TIMEOUT,
    threshold: Threshold = None,
    estimate: Estimate = False,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    output: Output = None,
) -> None:
    """Find all pairs of similar documents.

    Similarities are exact where the database keeps contents, else estimates. Each pair comes
    once, in the order of addition, as soon as it is found; Ctrl-C or a closed pipe ends it.

    A pair is a line: its similarity, whether that is exact or an estimate, both keys.

    Example: lshdb pairs -d code.db --threshold 0.9
    """
    import lshdb

    _one_format(as_json, as_csv, output)
    if output is None:
        end_on_interrupt()
    with lshdb.open(db, mode="read", timeout=timeout) as database:
        least = _least(database, threshold)
        if output is not None:
            from lshdb.cli.saving import kind_of, save_pairs

            form = kind_of(output, str(db))
            save_pairs(database.pair_blocks(threshold, estimate), output, form)
            return
        found = database.pairs(threshold=threshold, estimate=estimate)
        first = next(found, None)
        if first is None and not (as_json or as_csv):
            message(f"no pair with similarity {least:g} or more")
            return
        everything = chain([] if first is None else [first], found)
        if as_json:
            for pair in everything:
                json_line(
                    {
                        "a": pair.a,
                        "b": pair.b,
                        "similarity": pair.similarity,
                        "exact": pair.exact,
                        "estimate": pair.estimate,
                    }
                )
        elif as_csv:
            csv_rows(("a", "b", "similarity", "exact", "estimate"), map(_csv_of_pair, everything))
        elif on_terminal():
            kind = "similarity" if first is not None and first.exact else "estimate"
            _tables((kind, "a", "b"), ((f"{p.similarity:.4f}", p.a, p.b) for p in everything))
        else:
            rows(
                ("similarity", "kind", "a", "b"),
                ((f"{p.similarity:.6f}", _kind(p.exact), p.a, p.b) for p in everything),
            )


def clusters(
    db: DatabasePath = DEFAULT_PATH,
    timeout: Timeout = DEFAULT_TIMEOUT,
    threshold: Threshold = None,
    keep: Annotated[
        str, typer.Option(metavar="first|longest|last", help="Which member to keep.")
    ] = "first",
    star: Annotated[
        bool,
        typer.Option("--star", help="Make every member similar to the kept one itself."),
    ] = False,
    estimate: Estimate = False,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    output: Output = None,
) -> None:
    """Group similar documents, and say which one of each group to keep.

    A cluster is all documents that similar pairs connect, so that two of its members need not be
    similar themselves: those less similar to the kept one than the threshold are marked "below".
    With --star there are none: documents in the order of --keep each take those that are similar
    to them and not yet taken.

    A member is a line: the number of its cluster, its similarity to the kept one, whether that is
    exact or an estimate, what it is (keep, member or below), its key. In JSON a cluster is a line.

    Example: lshdb clusters -d code.db --keep longest
    """
    import lshdb

    _one_format(as_json, as_csv, output)
    if output is None:
        end_on_interrupt()
    with lshdb.open(db, mode="read", timeout=timeout) as database:
        least = _least(database, threshold)
        found = database.clusters(
            threshold=threshold,
            keep=keep,  # type: ignore[arg-type]  # checked there
            star=star,
            estimate=estimate,
        )
        if output is not None:
            from lshdb.cli.saving import kind_of, save_clusters

            save_clusters(found, least, output, kind_of(output, str(db)))
            return
        first = next(found, None)
        if first is None and not (as_json or as_csv):
            message(f"no two documents with similarity {least:g} or more")
            return
        everything = chain([] if first is None else [first], found)
        members = chain.from_iterable(_members(cluster, least) for cluster in everything)
        if as_json:
            for cluster in everything:
                json_line(
                    {
                        "cluster": cluster.cluster,
                        "keep": cluster.keep,
                        "members": cluster.members,
                        "lowest": cluster.lowest,
                        "mean": cluster.mean,
                        "below": cluster.below,
                        "exact": cluster.exact,
                    }
                )
        elif as_csv:
            names = ("cluster", "key", "role", "similarity", "exact")
            csv_rows(names, ((n, key, role, s, _bool(e)) for n, s, e, role, key in members))
        elif on_terminal():
            kind = "similarity" if first is not None and first.exact else "estimate"
            shown = ((n, f"{s:.4f}", role, key) for n, s, _, role, key in members)
            _tables(("cluster", kind, "", "key"), shown)
        else:
            rows(
                ("cluster", "similarity", "kind", "role", "key"),
                ((n, f"{s:.6f}", _kind(e), role, key) for n, s, e, role, key in members),
            )


def _members(cluster: Cluster, least: float) -> Iterator[tuple[int, float, bool, str, str]]:
    """Number, similarity, whether it is exact, role and key of each member."""
    from lshdb.exchange.tables import roles

    own = zip(cluster.members, cluster.similarities, roles(cluster, least), strict=True)
    for key, similarity, role in own:
        yield cluster.cluster, similarity, cluster.exact, role, key


def _csv_of_pair(pair: Pair) -> Sequence[Cell]:
    return pair.a, pair.b, pair.similarity, _bool(pair.exact), pair.estimate


def _one_format(as_json: bool, as_csv: bool, output: str | None) -> None:
    if as_json + as_csv + (output is not None) > 1:
        from lshdb.errors import UsageError

        raise UsageError("give one of --json, --csv and --output")


def _least(database: Database, threshold: float | None) -> float:
    """The threshold; if the index is not made for it, that is told."""
    settings = database.settings
    if threshold is None or not 0 < threshold < settings.threshold:
        return settings.threshold if threshold is None else threshold
    tell_recall(settings, threshold)
    return threshold


def _tables(names: Sequence[str], table: Iterator[Sequence[Cell]]) -> None:
    """Print a long table as several, so that the first rows need not wait for the last."""
    waiting: list[Sequence[Cell]] = []
    begun = time.monotonic()
    for row in table:
        waiting.append(row)
        if len(waiting) == _TABLE_ROWS or time.monotonic() - begun > _TABLE_SECONDS:
            rows(names, waiting)
            waiting, begun = [], time.monotonic()
    if waiting:
        rows(names, waiting)


def _kind(exact: bool) -> str:
    return "exact" if exact else "estimate"


def _bool(value: bool) -> str:
    return "true" if value else "false"
