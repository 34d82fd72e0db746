"""`lshdb reindex`: rebuild the index for another threshold or shape."""

from dataclasses import replace

from lshdb import offers
from lshdb.cli import messages
from lshdb.cli.options import BasePaths, DatabaseFile
from lshdb.formatting import size
from lshdb.options import ReindexOptions
from lshdb.sketch.settings import purpose_in_words


def reindex(*, file: DatabaseFile, options: ReindexOptions, base: BasePaths = None) -> None:
    """Rebuild the index for another threshold, recall or shape, for passages or base texts.

    It is built from the stored signatures; for passages, rare words or other base texts from
    contents. Others can query the old index meanwhile, but not add. If it fails or is interrupted,
    the file is as before. Shingles, permutations, sketch and seed cannot change.

    Example: lshdb reindex -d code.db --threshold 0.6
    """
    with file.open("write") as database:
        before = database.settings
        if base:
            texts_of = offers.offered(offers.OF_OPTIONS, "base")
            texts = {} if [*base] == ["none"] else texts_of(base, before.shingling)
            options = replace(options, base=texts)
        report = database.reindex(options)
    messages.warn_of_low_recall(report.after, options.shape)
    finds = purpose_in_words(report.after)
    if report.after == report.before:
        messages.message(f"{file.db} {finds} already: nothing to do")
        return
    written = f"{report.documents:,} documents" if report.rows else "band rows as before"
    free_bytes = f", {size(report.free)} of the file are free" if report.free >= 500_000 else ""
    messages.message(f"{file.db} reindexed: {finds}; {written}{free_bytes}")
