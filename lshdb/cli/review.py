"""`lshdb review`: review the clusters, and decide which documents stay."""

import shlex
from typing import Annotated

from lshdb.cli import messages
from lshdb.cli.options import DatabaseFile, Own, Who
from lshdb.errors import UsageError
from lshdb.groups import Option, values_of
from lshdb.options import ClusteringOptions, ClustersOptions
from lshdb.progress import silent

_ORDERS = ("size", "highest", "lowest", "informative")


def review(
    *,
    file: DatabaseFile,
    options: ClusteringOptions,
    order: Annotated[
        str,
        Option(
            "Largest first, by similarity, or first what is nearest the threshold.",
            metavar="|".join(_ORDERS),
        ),
    ] = "size",
    who: Who = None,
    own: Own = False,
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
    if order not in _ORDERS:
        raise UsageError(f"--order {order} is not {', '.join(_ORDERS)}")
    from lshdb.cli.screen import ReviewScreen
    from lshdb.review import listing
    from lshdb.review.reviewing import Review

    with file.open("write") as database:
        # Without decisions, so that clusters keep their places from one run to the next.
        request = ClustersOptions(**values_of(options), ignore_decisions=True)
        survey = listing.survey_clusters(database, request, silent)
        if not survey.items:
            messages.message("no two documents are similar: nothing to review")
            return
        work = ReviewScreen(
            database, survey, listing.Filters(sort=order), Review(database.path, who, own)
        )
        try:
            work.run()
        finally:
            messages.message(work.progress())
            if dropped := len(database.remove_decided(dry_run=True)):
                messages.message(
                    f"to be dropped: {dropped:,}; lshdb remove --decided "
                    f"-d {shlex.quote(str(file.db))} removes them, and lists them with --dry-run"
                )
