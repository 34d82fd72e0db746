"""`lshdb reindex`: rebuild the index for another threshold or shape."""

from dataclasses import replace

from lshdb.cli import options, running
from lshdb.cli.documents import base_texts
from lshdb.cli.messages import message, shape, shows_progress, warn_of_low_recall
from lshdb.formatting import size
from lshdb.options import ReindexOptions


def reindex(
    *, at: options.DatabaseFile, asked: ReindexOptions, base: options.BasePaths = None
) -> None:
    """Rebuild the index for another threshold, recall or shape, for passages or base texts.

    It is built from the stored signatures; for passages, rare words or other base texts from
    contents. Others can query the old index meanwhile, but not add. If it fails or is interrupted,
    the file is as before. Shingles, permutations, sketch and seed cannot change.

    Example: lshdb reindex -d code.db --threshold 0.6
    """
    with at.open("write") as database:
        before = database.settings
        if base:
            texts = {} if [*base] == ["none"] else base_texts(base, before.shingling)
            asked = replace(asked, base=texts)
        try:
            done = database.reindex(replace(asked, progress=shows_progress()))
        except KeyboardInterrupt:
            is_old = database.settings == before
            now = "the index is as before" if is_old else "the new index is in place"
            raise running.failed(f"interrupted; {now}", running.INTERRUPTED) from None
    warn_of_low_recall(done.after, asked.shape)
    if done.after == done.before:
        message(f"{at.db} has {shape(done.after)} already: nothing to do")
        return
    written = f"{done.documents:,} documents" if done.rows else "band rows as before"
    free = f", {size(done.free)} of the file are free" if done.free >= 500_000 else ""
    message(f"{at.db} reindexed: {shape(done.after)}; {written}{free}")
