"""The order in which rows are decided on, which says which one of similar rows stays.

For an order that is not that of the input, the input is read twice. First all documents are written
to a temporary file, and read from it in the order of decisions; then the input is read again for
the kept rows.
"""

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

from lshdb.deduplication.containing import Codes
from lshdb.deduplication.rules import RowRule, rule_of
from lshdb.errors import UsageError
from lshdb.model import AddReport, Failure
from lshdb.options import RuleOptions
from lshdb.progress import Progress
from lshdb.shingling.arrays import bounded
from lshdb.shingling.content import encoded, from_stored
from lshdb.shingling.shingling import Shingling
from lshdb.sources import keeping
from lshdb.sources.batch import Batch, Origin
from lshdb.sources.paths import STDIN, expanded, paths_of_key
from lshdb.store.spool import Spool, SpooledDocument


def is_row_by_row(options: RuleOptions) -> bool:
    """Whether the rule decides row by row."""
    return isinstance(rule_of(options), RowRule)


def reads_twice(options: RuleOptions) -> bool:
    """Whether all rows are read before the first one is decided on."""
    return options.order.ordered or options.drop_all or not is_row_by_row(options)


def _ranks(
    options: RuleOptions,
    batch: Batch,
    numbers: Sequence[int],
    sizes: Iterable[int],
    inside: Callable[[str], bool] | None,
    root: str,
) -> Iterator[tuple[int, object]]:
    """The group and the rank of each document; UsageError if it has no file that is needed.

    Args:
        options: which documents come first.
        batch: the documents.
        numbers: the number of each document.
        sizes: the length of each document, or its number of shingles.
        inside: says whether a file is in the directory `keep_in`.
        root: the directory from which keys of files are paths.
    """
    by_size = options.order.keep == "longest" or not is_row_by_row(options)
    by_time = options.order.keep in ("newest", "oldest")
    columns = numbers, sizes, batch.all_metadata(), batch.where()
    for number, size, metadata, (file, line) in zip(*columns, strict=True):
        path = os.path.abspath(os.path.join("" if line else root, file or ""))
        if "\\x" in path:  # as bytes that are not UTF-8 are written
            path = next(iter(paths_of_key(path)), path)
        if file is None and (inside or by_time or options.order.keep == "shortest-path"):
            raise UsageError(f"keep {options.order.keep}: these rows are in no file")
        yield keeping.rank(
            options.order,
            number=number,
            size=size if by_size else None,
            metadata=metadata,
            path=file or "",
            modified=os.stat(path).st_mtime_ns if by_time else None,
            elsewhere=inside is not None and not inside(path),
        )


def in_order(spool: Spool, shingling: Shingling, *, metadata: bool) -> Generator[Batch]:
    """The documents in the order of decisions, with their numbers as those of their rows.

    Args:
        spool: the documents.
        shingling: of the documents.
        metadata: whether the metadata is read.
    """
    ordered = spool.in_order()
    with closing(ordered):
        for documents in bounded(
            ordered, lambda spooled: len(spooled.stored), spool.limits.block_bytes
        ):
            origin = Origin("", [document.number for document in documents])
            batch = _batch_of(documents, shingling)
            if not metadata:
                batch = replace(batch, metadata=())
            yield replace(batch, origin=origin, indices=range(len(documents)))


def kept(spool: Spool, shingling: Shingling) -> Iterator[Batch]:
    """The documents that are not dropped, in the order of the input."""
    for documents in spool.kept():
        yield _batch_of(documents, shingling)


def _batch_of(documents: Sequence[SpooledDocument], shingling: Shingling) -> Batch:
    return Batch(
        [document.key for document in documents],
        [from_stored(document.stored, shingling) for document in documents],
        [document.metadata for document in documents],
        size=sum(document.stored.__sizeof__() for document in documents),
        wheres=[(document.file, document.line) for document in documents],
    )


def take_in(
    spool: Spool,
    items: Iterable[Batch],
    on_failure: Callable[[Failure], object] | None,
    progress: Progress,
    options: RuleOptions,
    on_all: Codes | None,
    *,
    root: str = "",
) -> AddReport:
    """Write all documents to the temporary file, in the order in which they are decided on.

    Args:
        spool: the file.
        items: the documents.
        on_failure: gets the failures.
        progress: called with the number of rows.
        options: which documents come first.
        on_all: gets the documents, too, and counts their shingles.
        root: the directory from which keys of files are paths.

    Returns:
        The numbers of failed rows and, with `on_all`, of empty ones.
    """
    empty = failed = ranked = 0
    inside = keeping.holding(options.order.keep_in)
    for batch in items:
        for _, failure in batch.failures:
            failed += 1
            if on_failure is not None:
                on_failure(failure)
        forms, sizes = [*map(encoded, batch.contents)], [*map(len, batch.contents)]
        numbers = [spool.count + index for index in batch.indices or range(len(forms))]
        if on_all is not None:
            sizes = on_all.add(numbers, forms)
            empty += sizes.count(0)
        ranks = [*_ranks(options, batch, numbers, sizes, inside, root)]
        ranked += sum(rank is not None for _, rank in ranks)
        columns = numbers, batch.keys, ranks, forms, batch.all_metadata(), batch.where()
        spool.add(
            (number, key, *rank, form, metadata, *where)
            for number, key, rank, form, metadata, where in zip(*columns, strict=True)
        )
        spool.count += batch.count
        progress(spool.count, None, "rows read")
    if spool.count and not ranked and options.order.ranked_by:
        raise UsageError(f"no row has a number or text in field {options.order.ranked_by[0]!r}")
    spool.order(descending=keeping.is_descending(options.order) or not is_row_by_row(options))
    return AddReport(empty=empty, failed=failed)


def check_read_twice(options: RuleOptions, paths: Iterable[str]) -> None:
    """UsageError if the input is read twice, and can be read only once.

    Raises:
        InputError: the directory of `keep_in` does not exist.
    """
    keeping.holding(options.order.keep_in)
    for path in expanded(paths) if reads_twice(options) else ():
        is_pipe = os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))
        if path == STDIN or is_pipe:
            raise UsageError(
                "this order or rule reads the input twice, and standard input or a pipe can be "
                "read only once: save it to a file"
            )
