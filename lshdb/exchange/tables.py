"""Arrow tables: adding them, and pairs and clusters as record batches.

Needs the extra `arrow`; pyarrow is imported for the first table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from lshdb.errors import UsageError
from lshdb.ingest.add import add_documents
from lshdb.model import AddReport
from lshdb.options import AddTableOptions
from lshdb.search.pairs import PairBlock
from lshdb.sources.formats import arrow
from lshdb.sources.records import RecordOptions
from lshdb.store.store import Store

if TYPE_CHECKING:
    import pyarrow as pa


def add_table(store: Store, table: object, options: AddTableOptions) -> AddReport:
    """Add the rows of a table; see Database.add_table."""
    of_sets = store.settings.shingling.of_sets
    if options.set is not None and not of_sets:
        raise UsageError(
            f"set={options.set!r}: this database holds texts, of a column named by text"
        )
    if options.metadata_fields and not options.metadata:
        raise UsageError("metadata=False and metadata_fields do not go together")
    reading = RecordOptions(
        of_sets,
        options.key,
        options.text or "text",
        options.set or "set",
        metadata=options.metadata,
        metadata_fields=tuple(options.metadata_fields),
        naming="{}=",
        limits=store.limits,
    )
    arrow()
    from lshdb.sources.arrow_rows import document_batches, table_batches  # needs pyarrow

    batches = document_batches(table_batches(table, reading), "table", reading)
    return add_documents(store, batches, options, options.on_failure)


def pair_batches(blocks: Iterable[PairBlock], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Pairs as record batches of the columns of lshdb.exchange.results.PAIR."""
    pa = arrow()
    from lshdb.sources.arrow_rows import record_batch

    for block in blocks:
        exact = pa.repeat(pa.scalar(block.exact), len(block.a))
        columns = [block.a, block.b, block.similarities, exact, block.estimates, block.identical]
        yield record_batch(schema, columns)
