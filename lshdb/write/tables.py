"""Adding tables of Arrow and, where the app dedup is there, of libraries of data frames."""

from typing import Any

from lshdb import offers
from lshdb.errors import UsageError
from lshdb.model import AddReport
from lshdb.options import AddTableOptions
from lshdb.read import formats, long_tables, records
from lshdb.store.store import Store
from lshdb.write import add


def add_table(
    store: Store, table: object, options: AddTableOptions, select: add.Select | None = None
) -> AddReport:
    """Add the rows of a table; see Database.add_table."""
    of_sets = store.settings.shingling.of_sets
    if options.columns.set is not None and not of_sets:
        raise UsageError(
            f"set={options.columns.set!r}: this database holds texts, of a column named by text"
        )
    if options.metadata_fields and not options.metadata:
        raise UsageError("metadata=False and metadata_fields do not go together")
    how: dict[str, Any] = {
        "key_field": options.columns.key,
        "metadata": options.metadata,
        "metadata_fields": tuple(options.metadata_fields),
    }
    reading = records.RecordOptions(
        of_sets,
        text_field=options.columns.text or "text",
        set_field=options.columns.set or "set",
        naming="{}=",
        limits=store.limits,
        **how | long_tables.reading(options.sets, store.settings.shingling, how),
    )
    if offers.is_there("dedup"):
        documents_of = offers.offered(offers.READERS, "tables")
    else:
        formats.arrow()
        from lshdb.read.arrow_rows import documents_of_tables as documents_of
    batches = documents_of(table, "table", reading)
    if reading.element_field:
        batches = long_tables.grouped(batches, reading, store.real_path.parent)
    return add.add_documents(
        store, batches, options.add, options.on_failure, select=select, late_bands=True
    )
