"""The command reindex: another threshold or shape, from the stored signatures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lshdb.cli.messages import message
from lshdb.cli.options import (
    DEFAULT_PATH,
    DEFAULT_TIMEOUT,
    Bands,
    Construction,
    DatabasePath,
    Rows,
    Timeout,
)
from lshdb.cli.running import INTERRUPTED, failed

if TYPE_CHECKING:
    from lshdb.model import Settings


def reindex(
    db: DatabasePath = DEFAULT_PATH,
    threshold: Annotated[
        float | None,
        typer.Option(help="Similarity from which documents count as similar. [default: as it is]"),
    ] = None,
    recall: Annotated[
        float | None,
        typer.Option(help="Share of pairs at the threshold to be found. [default: as it is]"),
    ] = None,
    bands: Bands = None,
    rows: Rows = None,
    construction: Construction = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
) -> None:
    """Make the index anew for another threshold, recall or shape.

    It is made from the stored signatures; the documents are not needed again. Others can query
    meanwhile, with the old index, and not add. If it fails or is interrupted, the file is as
    before. Shingles, permutations, sketch and seed cannot change.

    Example: lshdb reindex -d code.db --threshold 0.6
    """
    import lshdb
    from lshdb.cli.progress import progress_bar

    with lshdb.open(db, mode="write", timeout=timeout) as database:
        before = database.settings
        try:
            with progress_bar("reindexing") as progress:
                done = database.reindex(
                    threshold=threshold,
                    recall=recall,
                    bands=bands,
                    rows=rows,
                    construction=construction,
                    on_progress=progress,
                )
        except KeyboardInterrupt:
            is_old = database.settings == before
            now = "the index is as before" if is_old else "the new index is in place"
            raise failed(f"interrupted; {now}", INTERRUPTED) from None
    shape = _shape(done.after)
    if done.after == done.before:
        message(f"{db} has {shape} already: nothing to do")
        return
    written = f"{done.documents:,} documents" if done.rows else "band rows as before"
    free = f", {done.free / 1e6:,.0f} MB of the file are free" if done.free >= 500_000 else ""
    message(f"{db} reindexed: {shape}; {written}{free}")


def _shape(settings: Settings) -> str:
    construction = settings.construction
    cascade = f" ({construction})" if construction.higher else ""
    return (
        f"threshold {settings.threshold:g}, {construction.bands} bands of {construction.rows} "
        f"rows{cascade}, recall {settings.recall:g}"
    )
