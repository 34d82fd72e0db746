"""Arrow tables: adding them, and pairs and clusters as record batches.

Needs the extra `arrow`; pyarrow is imported for the first table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from lshdb.errors import UsageError
from lshdb.ingest.add import add_documents
from lshdb.ingest.dedup import selection_for
from lshdb.model import AddReport, DroppedRow, OnSimilar
from lshdb.search.pairs import PairBlock
from lshdb.sources.records import Failure, RecordParser
from lshdb.sources.sinks import arrow, record_batch
from lshdb.store.store import Store

if TYPE_CHECKING:
    import pyarrow as pa


def add_table(
    store: Store,
    table: object,
    key: str,
    text: str,
    set: str | None,
    *,
    metadata: bool,
    metadata_fields: Sequence[str],
    workers: int | None = None,
    on_similar: OnSimilar = "keep",
    on_batch: Callable[[AddReport], None] | None = None,
    on_failure: Callable[[Failure], None] | None = None,
    on_skip: Callable[[DroppedRow], None] | None = None,
) -> AddReport:
    """Add the rows of a table; see Database.add_table."""
    of_sets = store.settings.shingling.of_sets
    if set is not None and not of_sets:
        raise UsageError(f"set={set!r}: this database holds texts, of a column named by text")
    if metadata_fields and not metadata:
        raise UsageError("metadata=False and metadata_fields do not go together")
    parser = RecordParser(
        of_sets,
        key,
        text,
        "set" if set is None else set,
        metadata=metadata,
        metadata_fields=tuple(metadata_fields),
        naming="{}=",
    )
    selection_for(on_similar)  # refuses wrong values before reading
    arrow()
    from lshdb.sources.arrow_rows import blocks, table_batches  # needs pyarrow

    return add_documents(
        store,
        blocks(table_batches(table, parser), "table", parser),
        parser=parser,
        workers=workers,
        on_similar=on_similar,
        on_batch=on_batch,
        on_failure=on_failure,
        on_skip=on_skip,
    )


def pair_batches(blocks: Iterable[PairBlock], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Pairs as record batches of the columns of lshdb.exchange.results.PAIR."""
    pa = arrow()
    for block in blocks:
        exact = pa.repeat(pa.scalar(block.exact), len(block.a))
        columns = [block.a, block.b, block.similarities, exact, block.estimates, block.identical]
        yield record_batch(schema, columns)
