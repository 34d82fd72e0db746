"""Deciding in another order than the input's, to keep the longest or the last of similar documents.

The input is read twice. First all documents go into a temporary file, from which they are read in
the order of decisions; then the input is read again, for the kept rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Final, Literal, TypeAlias, get_args

from lshdb.errors import ContentError, InputError, UsageError
from lshdb.ingest.add import Outcome, Selection, write_documents
from lshdb.model import AddReport, Document
from lshdb.shingling.content import cleaned, encoded, from_stored
from lshdb.sources.paths import STDIN
from lshdb.sources.readers import Item, Reader, parsed
from lshdb.sources.records import Failure, Lines, RecordParser, Rows, TextFile
from lshdb.store.store import Store
from lshdb.store.waiting import Order, Waiting

_AT_ONCE: Final = 1_000
"""Documents written to the temporary file at once."""
_CHANGED: Final = "the input has changed while it was read"

OnStep: TypeAlias = Callable[[str, int], None]
"""Called with the name of a step, and the number of lines, rows and files done."""


def check_order(keep: str) -> None:
    """UsageError for an unknown order."""
    if keep not in get_args(Order):
        raise UsageError(f"keep {keep!r} is not {', '.join(get_args(Order))}")


def decided_in_order(
    store: Store,
    items: Iterable[Item],
    again: Iterable[Item],
    parser: RecordParser,
    order: Literal["longest", "last"],
    selection: Selection,
    *,
    workers: int | None,
    on_batch: Callable[[AddReport], None] | None,
    on_failure: Callable[[Failure], None] | None,
    on_step: OnStep | None,
) -> Iterator[Outcome]:
    """The kept documents, in the order of the input; see Database.dedup_blocks.

    Args:
        store: a temporary database; the temporary file is beside it.
        items: documents, or blocks of them.
        again: the same items once more, which are read when all is decided.
        parser: makes documents of blocks.
        order: which of similar documents is kept.
        selection: the rule for similar documents.
        workers: as for `write_documents`.
        on_batch: called with the results of each batch, before the first outcome.
        on_failure: as for `write_documents`.
        on_step: called now and then.
    """
    on_step = on_step or (lambda _what, _count: None)
    temporary = store.path.with_name(f"{store.path.name}-waiting")
    with closing(Waiting(temporary)) as waiting:
        count = _take_in(waiting, items, parser, store, on_failure or (lambda _: None), on_step)
        documents = (
            Document(str(number), from_stored(content, store.settings.shingling))
            for number, content in waiting.in_order(order)
        )
        decided = 0
        for written in write_documents(store, documents, workers, None, None, selection):
            skipped = (one for outcome in written.outcomes for one in outcome.skipped if one)
            waiting.drop(
                (int(one.key), int(one.kept), one.similarity, one.exact, one.identical)
                for one in skipped
            )
            if on_batch is not None:
                on_batch(written.report)
            decided += written.report.documents
            on_step("deciding", decided)
        yield from _outcomes(waiting, again, count, on_step)
    temporary.unlink()


def _take_in(
    waiting: Waiting,
    items: Iterable[Item],
    parser: RecordParser,
    store: Store,
    on_failure: Callable[[Failure], None],
    on_step: OnStep,
) -> int:
    """Write all documents to the temporary file; return the number of lines, rows and files."""
    shingling = store.settings.shingling
    rows: list[tuple[int, str, int, str]] = []
    count = 0

    def take(number: int, document: Document, where: str) -> None:
        try:
            content = cleaned(document.content, shingling)
        except ContentError as error:
            on_failure(Failure(where, str(error)))
            return
        stored = encoded(content) if shingling.of_sets else str(content)
        rows.append((number, document.key, len(content), stored))

    for item in items:
        if isinstance(item, Failure):
            on_failure(item)
        elif isinstance(item, Lines | Rows):
            for place, one in parsed(item, parser):
                if isinstance(one, Failure):
                    on_failure(one)
                else:
                    document = Document(*one) if isinstance(one, tuple) else one
                    take(count + place, document, item.where(place))
            count += item.count
        else:
            document = item.document if isinstance(item, TextFile) else item
            take(count, document, document.key)
            count += 1
        if len(rows) >= _AT_ONCE or isinstance(item, Lines | Rows):
            waiting.add(rows)
            rows.clear()
            on_step("reading", count)
    waiting.add(rows)
    return count


def read_again(reader: Reader, paths: list[str]) -> Iterator[Item]:
    """The items of files once more; UsageError for standard input, which cannot be read twice."""
    if STDIN in paths:
        raise UsageError("standard input can be read only once: save it to a file")
    again = replace(reader)  # which counts for itself
    for item in again.items(paths):
        reader.bytes_read = again.bytes_read
        yield item


def _outcomes(
    waiting: Waiting, again: Iterable[Item], count: int, on_step: OnStep
) -> Iterator[Outcome]:
    """The lines, rows and files again, each with its decision."""
    first = 0
    for item in again:
        if isinstance(item, Failure):
            continue
        block = item if isinstance(item, Lines | Rows) else None
        end = first + (1 if block is None else block.count)
        found = waiting.decisions(first, end)
        places = [] if block is None else [number - first for number, _, _ in found]
        on_step("writing", first)
        yield Outcome(block, [key for _, key, _ in found], places, [one for _, _, one in found])
        first = end
    if first != count:
        raise InputError(_CHANGED)
