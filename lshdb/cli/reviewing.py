"""The review command: clusters one by one at a terminal, decided by single keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from lshdb.cli.conditions import ANY, Condition
from lshdb.cli.messages import message
from lshdb.cli.options import DATABASE, DatabaseFile, Keep, Star, StoredKey, Threshold, Who
from lshdb.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from lshdb.model import Cluster

_SORTS: Final[dict[str, Callable[[Cluster], float]]] = {
    "size": lambda one: -len(one.members),
    "highest": lambda one: -one.lowest,
    "lowest": lambda one: one.lowest,
}

Sort: TypeAlias = Annotated[
    str,
    typer.Option(metavar="size|highest|lowest", help="Largest clusters first, or by similarity."),
]


def review(
    at: DatabaseFile = DATABASE,
    threshold: Threshold = None,
    keep: Keep = "first",
    star: Star = False,
    sort: Sort = "size",
    key: StoredKey = None,
    condition: Condition = ANY,
    who: Who = None,
) -> None:
    """Review the clusters at a terminal, and decide which documents stay.

    Shows the kept document of each cluster beside each of the others, with what differs, and
    takes a key: k (both stay), d (the shown one goes), n (they are not duplicates), s (later), u
    (undo), q (quit); ? lists the others. Decided pairs are not shown again, so that the next run
    goes on where this one ended.

    Each decision is stored at once, as by lshdb decide. Nothing is removed before lshdb remove
    --decided. Keys may also come from a pipe, one a line.

    Example: lshdb review -d code.db --threshold 0.9
    """
    if sort not in _SORTS:
        raise UsageError(f"--sort {sort} is not {', '.join(_SORTS)}")
    from lshdb.cli.review_terminal import Review
    from lshdb.ingest.deciding import user

    with at.open("write") as database:
        # Without decisions, so that clusters keep their places from one run to the next.
        found = list(
            database.clusters(
                threshold=threshold,
                keep=keep,  # type: ignore[arg-type]  # checked there
                star=star,
                key=key,
                ignore_decisions=True,
                **condition.given(),
            )
        )
        if not found:
            message("no two documents are similar: nothing to review")
            return
        found.sort(key=_SORTS[sort])
        least = database.settings.threshold if threshold is None else threshold
        work = Review(database, found, least, user() if who is None else who)
        try:
            work.run()
        finally:
            work.report(at)
