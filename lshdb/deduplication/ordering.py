"""The order in which rows are decided on, which says which one of similar rows stays.

For an order that is not that of the input, the input is read twice. First all documents are written
to a temporary file, and read from it in the order of decisions; then the input is read again for
the kept rows.
"""

import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import lru_cache

from lshdb.deduplication.containing import Codes
from lshdb.deduplication.rules import RowRule, rule_of
from lshdb.errors import InputError, UsageError
from lshdb.model import AddReport, Failure
from lshdb.options import RuleOptions
from lshdb.progress import Progress
from lshdb.shingling.arrays import bounded
from lshdb.shingling.content import encoded, from_stored
from lshdb.shingling.shingling import Shingling
from lshdb.sources.batch import Batch, Origin
from lshdb.sources.metadata import picked
from lshdb.sources.paths import STDIN, escaped, expanded, paths_of_key
from lshdb.store.spool import Spool, SpooledDocument

_NUMBER = re.compile(r"\s*[+-]?(\d{1,300}(\.\d*)?|\.\d+)([eE][+-]?\d{1,2})?\s*", re.ASCII)
"""A text that is a number, as all numbers of CSV are."""


def is_row_by_row(options: RuleOptions) -> bool:
    """Whether the rule decides row by row."""
    return isinstance(rule_of(options), RowRule)


def reads_twice(options: RuleOptions) -> bool:
    """Whether all rows are read before the first one is decided on."""
    return options.ordered or options.drop_all or not is_row_by_row(options)


def _inside(options: RuleOptions) -> Callable[[str], bool] | None:
    """A function that says whether a file is in the directory `keep_in`; None without that.

    Directories are compared by device and inode: links and mounts have other names.

    Raises:
        InputError: there is no such directory.
    """
    directory = options.keep_in
    if directory is None:
        return None
    if not os.path.isdir(directory):
        raise InputError(f"keep_in {escaped(directory)}: no such directory")
    status, real = os.stat(directory), os.path.realpath(directory)

    @lru_cache
    def holds(folder: str) -> bool:
        path = os.path.realpath(folder)
        while path != real:
            with suppress(OSError):  # in an archive
                if status.st_ino and os.path.samestat(os.stat(path), status):
                    return True
            path, inner = os.path.dirname(path), path
            if path == inner:
                return False
        return True

    def holds_file(path: str) -> bool:
        return holds(os.path.dirname(os.path.realpath(path) if os.path.islink(path) else path))

    return holds_file


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
    keep, field = options.keep, next(iter(options.ranked_by), None)
    by_size = keep == "longest" or not is_row_by_row(options)
    columns = numbers, sizes, batch.all_metadata(), batch.where()
    for number, size, metadata, (file, line) in zip(*columns, strict=True):
        path = os.path.abspath(os.path.join("" if line else root, file or ""))
        if "\\x" in path:  # as bytes that are not UTF-8 are written
            path = next(iter(paths_of_key(path)), path)
        if file is None and (inside or keep in ("newest", "oldest", "shortest-path")):
            raise UsageError(f"keep {keep}: these rows are in no file")
        rank: object = None
        if field is not None:
            rank = _rank_of(picked(metadata, [field])[field])
        elif keep in ("newest", "oldest"):
            rank = os.stat(path).st_mtime_ns
        elif keep == "shortest-path":
            rank = len(file or "")
        elif keep == "last":
            rank = number
        elif by_size:
            rank = size
        elsewhere = inside is not None and not inside(path)
        group = 0
        if field is not None:  # numbers come first, then texts, then rows without either
            group = 2 if rank is None else int(isinstance(rank, str))
        yield 3 * elsewhere + group, rank


def _rank_of(value: object) -> object:
    """The rank of a field's value: a number, also of a text that is one, or a text; else None."""
    if isinstance(value, str) and not value.strip():
        return None  # as an empty field of CSV
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        digits = value.strip()
        value = int(digits) if digits.lstrip("+-").isdigit() else float(digits)
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        return float(value)
    return value if isinstance(value, int | float | str) else None


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
    inside = _inside(options)
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
    if spool.count and not ranked and options.ranked_by:
        raise UsageError(f"no row has a number or text in field {options.ranked_by[0]!r}")
    largest_first = options.keep_max is not None or not is_row_by_row(options)
    spool.order(descending=options.keep in ("last", "longest", "newest") or largest_first)
    return AddReport(empty=empty, failed=failed)


def check_read_twice(options: RuleOptions, paths: Iterable[str]) -> None:
    """UsageError if the input is read twice, and can be read only once.

    Raises:
        InputError: the directory of `keep_in` does not exist.
    """
    _inside(options)
    for path in expanded(paths) if reads_twice(options) else ():
        is_pipe = os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))
        if path == STDIN or is_pipe:
            raise UsageError(
                "this order or rule reads the input twice, and standard input or a pipe can be "
                "read only once: save it to a file"
            )
