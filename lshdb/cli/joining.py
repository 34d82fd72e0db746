"""The commands that compare all documents with each other: pairs, clusters."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from lshdb.cli.conditions import ANY, Condition
from lshdb.cli.messages import message, note_recall
from lshdb.cli.options import (
    DATABASE,
    TEXT,
    DatabaseFile,
    Estimate,
    Form,
    Keep,
    Shown,
    Star,
    StoredKey,
    Threshold,
    Top,
)
from lshdb.cli.results import fields_of, on_terminal, write_results
from lshdb.cli.running import failed
from lshdb.errors import UsageError
from lshdb.sources.paths import escaped

if TYPE_CHECKING:
    from lshdb.database import Database

_BELOW: Final = "below"


Everything: TypeAlias = Annotated[
    bool, typer.Option("--all", help="Ignore decisions: see lshdb decide.")
]


def pairs(
    at: DatabaseFile = DATABASE,
    threshold: Threshold = None,
    top: Top = None,
    key: StoredKey = None,
    condition: Condition = ANY,
    estimate: Estimate = False,
    everything: Everything = False,
    fields: Shown = None,
    form: Form = TEXT,
) -> None:
    """Find all pairs of similar documents.

    Similarities are exact where the database keeps contents, else estimates. Each pair comes
    once, in the order of addition, as soon as it is found; Ctrl-C or a closed pipe ends it. With
    --top the most similar ones come when all are found. Pairs marked different are left out.

    A line has the similarity of a pair, then exact, estimate or identical, then both keys. With
    --where both must match.

    Example: lshdb pairs -d code.db --threshold 0.9 --top 20
    """
    with at.reading(form) as database:
        least = _least(database, threshold)
        found = database.pairs(
            threshold=threshold,
            estimate=estimate,
            ignore_decisions=everything,
            key=key,
            top=top,
            fields=fields or (),
            **condition.given(),
        )
        write_results(
            found.columns,
            found.rows(),
            form,
            shown=("similarity", "exact", "a", "b", *fields_of(found.columns)),
            counted=("pair", "pairs"),
            none=f"no pair with similarity {least:g} or more",
            batches=found.batches,
        )


def clusters(
    at: DatabaseFile = DATABASE,
    threshold: Threshold = None,
    keep: Keep = "first",
    star: Star = False,
    min_size: Annotated[int | None, typer.Option(min=1, help="Minimum number of members.")] = None,
    max_size: Annotated[int | None, typer.Option(min=2, help="Maximum number of members.")] = None,
    top: Top = None,
    key: StoredKey = None,
    condition: Condition = ANY,
    estimate: Estimate = False,
    everything: Everything = False,
    drop_list: Annotated[
        bool,
        typer.Option("--drop-list", help="Print only the keys of what can go."),
    ] = False,
    null: Annotated[
        bool,
        typer.Option("--null", "-0", help="End keys of --drop-list with NUL bytes."),
    ] = False,
    fields: Shown = None,
    form: Form = TEXT,
) -> None:
    """Group similar documents, and show which one of each group to keep.

    A cluster is all documents that similar pairs connect. Members that are less similar to the kept
    one than the threshold are marked "below"; with --star there are none. A line has the number of
    the cluster, the similarity to the kept one, the role (keep, member or below, or the decision),
    and the key.

    Example: lshdb clusters --star --drop-list -0 | lshdb remove --from - -0
    """
    if null and not (drop_list and form.is_text):
        raise UsageError("--null is for --drop-list as text")
    if drop_list and fields:
        raise UsageError("give one of --drop-list and --fields")
    with at.reading(form) as database:
        least = _least(database, threshold)
        found = database.clusters(
            threshold=threshold,
            keep=keep,  # type: ignore[arg-type]  # checked there
            star=star,
            estimate=estimate,
            ignore_decisions=everything,
            key=key,
            top=top,
            min_size=min_size,
            max_size=max_size,
            fields=fields or (),
            **condition.given(),
        )
        if drop_list:
            _write_dropped(found.columns, found.rows(), form, null)
            return
        write_results(
            found.columns,
            found.rows(),
            form,
            shown=("cluster", "similarity", "exact", "role", "key", *fields_of(found.columns)),
            counted=("document in clusters", "documents in clusters"),
            none=f"no two documents with similarity {least:g} or more",
        )


def _write_dropped(
    columns: Iterable[str], rows: Iterable[Sequence[Any]], form: Form, null: bool
) -> None:
    """Write the keys of members to drop; if lines are keys, only those that fit on a line."""
    names = list(columns)
    role, key = names.index("role"), names.index("key")
    below = unprintable = 0

    def dropped() -> Iterator[tuple[str]]:
        nonlocal below, unprintable
        for row in rows:
            below += row[role] == _BELOW
            if row[role] not in ("member", "drop"):
                continue
            if form.is_text and not null and escaped(row[key]) != row[key]:
                unprintable += 1
            else:
                yield (row[key],)

    if null:
        for (one,) in dropped():
            sys.stdout.write((escaped(one) if on_terminal() else one) + "\0")
    else:
        write_results({"key": str}, dropped(), form, counted=("key", "keys"), none="none to drop")
    if below:
        message(f'"below", so not listed: {below:,}; with --star there are none')
    if unprintable:
        raise failed(
            f"keys with control characters, such as newlines, are not listed: {unprintable:,}; "
            "give -0"
        )


def _least(database: Database, threshold: float | None) -> float:
    """The threshold; a note says what the index finds if it is below the database's."""
    settings = database.settings
    if threshold is None or not 0 < threshold < settings.threshold:
        return settings.threshold if threshold is None else threshold
    note_recall(settings, threshold)
    return threshold
