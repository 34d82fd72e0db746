"""The command reindex: another threshold or shape, from the stored signatures."""

from __future__ import annotations

from typing import Annotated

import typer

from lshdb.cli.messages import message, progress_bar, shape, warn_of_low_recall
from lshdb.cli.options import DATABASE, Bands, Construction, DatabaseFile, Rows, passages_given
from lshdb.cli.running import INTERRUPTED, failed


def reindex(
    at: DatabaseFile = DATABASE,
    threshold: Annotated[
        float | None,
        typer.Option(help="Minimum similarity of similar documents. [default: unchanged]"),
    ] = None,
    recall: Annotated[
        float | None,
        typer.Option(help="Share of pairs at the threshold to find. [default: unchanged]"),
    ] = None,
    bands: Bands = None,
    rows: Rows = None,
    construction: Construction = None,
    passages: Annotated[
        str | None,
        typer.Option(
            metavar="WORDS|off",
            parser=passages_given,
            help="Make the index of passages for runs of this many words, or delete it. "
            "[default: as it is]",
        ),
    ] = None,
) -> None:
    """Rebuild the index for another threshold, recall or shape, or for passages.

    It is built from the stored signatures, and for passages from the contents. Others can query
    the old index meanwhile, but not add. If it fails or is interrupted, the file is as before.
    Shingles, permutations, sketch and seed cannot change.

    Example: lshdb reindex -d code.db --threshold 0.6
    """
    with at.open("write") as database:
        before = database.settings
        try:
            with progress_bar("reindexing") as progress:
                done = database.reindex(
                    threshold=threshold,
                    recall=recall,
                    bands=bands,
                    rows=rows,
                    construction=construction,
                    passages=None if passages is None else int(passages),
                    on_progress=progress,
                )
        except KeyboardInterrupt:
            is_old = database.settings == before
            now = "the index is as before" if is_old else "the new index is in place"
            raise failed(f"interrupted; {now}", INTERRUPTED) from None
    warn_of_low_recall(done.after, bands, construction)
    if done.after == done.before:
        message(f"{at.db} has {shape(done.after)} already: nothing to do")
        return
    written = f"{done.documents:,} documents" if done.rows else "band rows as before"
    free = f", {done.free / 1e6:,.0f} MB of the file are free" if done.free >= 500_000 else ""
    message(f"{at.db} reindexed: {shape(done.after)}; {written}{free}")
