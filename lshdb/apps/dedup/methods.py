"""The method of `Database` that drops rows of files."""

from collections.abc import Iterable, Iterator

from lshdb.apps.dedup.file_rows import DecidedRow, decided_files, rows_of
from lshdb.apps.dedup.options import DedupOptions
from lshdb.database import Database, store_of
from lshdb.taking import takes


@takes(DedupOptions)
def dedup_files(db: Database, paths: Iterable[str], options: DedupOptions) -> Iterator[DecidedRow]:
    r"""Go through rows of files, and add the documents that are not similar to earlier ones.

    A row is dropped if its document is similar to one that is stored, or was kept before
    it, and shares a bucket with that. So no two of those kept are similar, as far as the
    index finds. A document that is stored already, key and content, is not kept either.

    Args:
        paths: files of JSON lines, CSV, Parquet and Arrow; `-` is the reader's standard input.

    Yields:
        Each row that is a document, in order; a kept one when it is safely in the file.

    Raises:
        InputError: the reference does not exist; or while iterating, before anything is added:
            it has no document, or a part of it cannot be read.
        SettingsMismatch: while iterating, its signatures are made differently.

    Warns:
        LimitWarning: kept documents were compared with a part of a large bucket only.
        FailureWarning: at the end, or where you stop iterating, if rows or files gave no
            document, and `on_failure` does not get them.

    >>> import lshdb
    >>> from pathlib import Path
    >>> _ = Path("news.jsonl").write_text(
    ...     '{"id": 1, "text": "The fox and the grapes"}\n'
    ...     '{"id": 2, "text": "The FOX and the grapes!"}\n'
    ... )
    >>> with lshdb.open("seen.db") as db:
    ...     [row.key for row in db.dedup_files(["news.jsonl"]) if row.dropped is None]
    ['1']
    """
    batches = decided_files(store_of(db), paths, options)  # wrong options are errors here and now
    return (row for batch in batches for row in rows_of(batch))
