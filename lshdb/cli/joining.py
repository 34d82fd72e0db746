"""The commands that compare all documents with each other: pairs, clusters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from lshdb.cli.messages import tell_recall
from lshdb.cli.options import DATABASE, TEXT, DatabaseFile, Estimate, Form, Threshold
from lshdb.cli.results import columns_of, write_results

if TYPE_CHECKING:
    import pyarrow as pa

    from lshdb.database import Database


Everything: TypeAlias = Annotated[
    bool, typer.Option("--all", help="As if nothing were decided: see lshdb decide.")
]


def pairs(
    at: DatabaseFile = DATABASE,
    threshold: Threshold = None,
    estimate: Estimate = False,
    everything: Everything = False,
    form: Form = TEXT,
) -> None:
    """Find all pairs of similar documents.

    Similarities are exact where the database keeps contents, else estimates. Each pair comes
    once, in the order of addition, as soon as it is found; Ctrl-C or a closed pipe ends it. Pairs
    that were marked different are left out.

    A pair is a line: its similarity, whether the documents are identical, or else the similarity
    exact or an estimate, both keys.

    Example: lshdb pairs -d code.db --threshold 0.9
    """
    from lshdb.model import Pair

    with at.reading(form) as database:
        least = _least(database, threshold)
        write_results(
            columns_of(Pair),
            _pairs(database, threshold, estimate, everything),
            form,
            shown=("similarity", "exact", "a", "b"),
            counted=("pair", "pairs"),
            none=f"no pair with similarity {least:g} or more",
            batches=lambda: _pair_batches(database, threshold, estimate, everything),
        )


def _pairs(
    database: Database, threshold: float | None, estimate: bool, everything: bool
) -> Iterator[tuple[str, str, float, bool, float, bool]]:
    for block in database.pair_blocks(threshold, estimate, everything):
        yield from block.rows()


def _pair_batches(
    database: Database, threshold: float | None, estimate: bool, everything: bool
) -> Iterator[pa.RecordBatch]:
    from lshdb.exchange.tables import pair_batches

    return pair_batches(database.pair_blocks(threshold, estimate, everything))


def clusters(
    at: DatabaseFile = DATABASE,
    threshold: Threshold = None,
    keep: Annotated[
        str, typer.Option(metavar="first|longest|last", help="Which member to keep.")
    ] = "first",
    star: Annotated[
        bool,
        typer.Option("--star", help="Make every member similar to the kept one itself."),
    ] = False,
    estimate: Estimate = False,
    everything: Everything = False,
    form: Form = TEXT,
) -> None:
    """Group similar documents, and say which one of each group to keep.

    A cluster is all documents that similar pairs connect, so that two of its members need not be
    similar themselves: those less similar to the kept one than the threshold are marked "below".
    With --star there are none: documents in the order of --keep each take those that are similar
    to them and not yet taken.

    A member is a line: the number of its cluster, its similarity to the kept one, whether that is
    exact or an estimate, or the documents identical, what it is (keep, member or below), its key.
    What was decided of a member comes in place of that: keep, drop, or different if it was marked
    so from the kept one; see lshdb decide.

    Example: lshdb clusters -d code.db --keep longest
    """
    from lshdb.exchange.tables import CLUSTER_COLUMNS, cluster_rows

    with at.reading(form) as database:
        least = _least(database, threshold)
        found = database.clusters(
            threshold=threshold,
            keep=keep,  # type: ignore[arg-type]  # checked there
            star=star,
            estimate=estimate,
            ignore_decisions=everything,
        )
        write_results(
            CLUSTER_COLUMNS,
            cluster_rows(found, least),
            form,
            shown=("cluster", "similarity", "exact", "role", "key"),
            counted=("document in clusters", "documents in clusters"),
            none=f"no two documents with similarity {least:g} or more",
        )


def _least(database: Database, threshold: float | None) -> float:
    """The threshold; a note says what the index finds if it is below the database's."""
    settings = database.settings
    if threshold is None or not 0 < threshold < settings.threshold:
        return settings.threshold if threshold is None else threshold
    tell_recall(settings, threshold)
    return threshold
