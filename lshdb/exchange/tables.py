"""Adding Arrow tables: needs the extra `arrow`; pyarrow is imported for the first one."""

from lshdb.errors import UsageError
from lshdb.ingest.add import Select, add_documents
from lshdb.model import AddReport
from lshdb.options import AddTableOptions
from lshdb.sources import formats, records
from lshdb.store.store import Store


def add_table(
    store: Store, table: object, options: AddTableOptions, select: Select | None = None
) -> AddReport:
    """Add the rows of a table; see Database.add_table."""
    of_sets = store.settings.shingling.of_sets
    if options.set is not None and not of_sets:
        raise UsageError(
            f"set={options.set!r}: this database holds texts, of a column named by text"
        )
    if options.metadata_fields and not options.metadata:
        raise UsageError("metadata=False and metadata_fields do not go together")
    reading = records.RecordOptions(
        of_sets,
        options.key,
        options.text or "text",
        options.set or "set",
        metadata=options.metadata,
        metadata_fields=tuple(options.metadata_fields),
        naming="{}=",
        limits=store.limits,
    )
    formats.check_one_table(table)
    formats.arrow()
    from lshdb.sources.arrow_rows import documents_of_table  # needs pyarrow

    batches = documents_of_table(table, "table", reading)
    return add_documents(store, batches, options, options.on_failure, select=select)
