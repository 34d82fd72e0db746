"""Adding Arrow tables: needs the extra `arrow`; the first table imports pyarrow."""

from typing import Any

from lshdb.apps.tables.options import AddTableOptions
from lshdb.apps.tables.tables import documents_of_table
from lshdb.database import Database, store_of
from lshdb.errors import UsageError
from lshdb.model import AddReport
from lshdb.read.session import options_of
from lshdb.taking import takes
from lshdb.write import add


@takes(AddTableOptions)
def add_table(db: Database, table: object, options: AddTableOptions) -> AddReport:
    """Add the rows of a table. Needs the extra `arrow` (pyarrow).

    The other columns are kept as metadata, like those of a file. With `set_key` and `set_item`
    the rows of a key make one set.

    Args:
        table: anything with the Arrow C stream interface: a pyarrow Table, RecordBatch or
            RecordBatchReader, a pandas or Polars DataFrame, a DuckDB relation; an iterable
            of these, read as needed; or a Hugging Face dataset.

    Raises:
        UsageError: this is not a table, or pyarrow is not installed.
        InputError: the table lacks a column, has it in another type, or cannot be read;
            earlier batches stay.
        ContentError: a database of signatures that were made elsewhere.

    >>> import lshdb, pyarrow
    >>> table = pyarrow.table({"id": [1, 2], "text": ["The fox and the grapes", None]})
    >>> with lshdb.open("fables.db") as db:
    ...     report = db.add_table(table, on_failure=print)
    Failure(where='table:2', reason="field 'text' is null, not a string")
    >>> report.added, report.failed
    (1, 1)
    """
    store = store_of(db)
    of_sets = store.settings.shingling.of_sets
    if options.columns.set is not None and not of_sets:
        raise UsageError(
            f"set={options.columns.set!r}: this database holds texts, of a column named by text"
        )
    if options.metadata_fields and not options.metadata:
        raise UsageError("metadata=False and metadata_fields do not go together")
    values: dict[str, Any] = {
        "key_field": options.columns.key,
        "text_field": options.columns.text or "text",
        "set_field": options.columns.set or "set",
        "metadata": options.metadata,
        "metadata_fields": tuple(options.metadata_fields),
        "naming": "{}=",
        "limits": store.limits,
    }
    reading = options_of(values, store.settings.shingling, options.sets)
    rows = documents_of_table(table, "table", reading)
    batches = reading.whole_documents(rows, store.real_path.parent)
    return add.add_documents(store, batches, options.add, options.on_failure, late_bands=True)
