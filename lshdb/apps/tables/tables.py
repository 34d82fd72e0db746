"""Tables of a program: their own library gives the columns that documents need.

Other columns are never looked at, whatever their types are. Tables other than of pandas need
pyarrow, the extra `arrow`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from lshdb.errors import UsageError
from lshdb.read import formats
from lshdb.read.batch import Batch, Origin, Record
from lshdb.read.records import Collector, RecordOptions, distinct_names
from lshdb.text.arrays import chunks

_ROWS = 1_000
"""Rows of a program that become documents at once."""
_BATCH = 1_000
"""Rows that a dataset gives at once."""


def documents_of_table(table: Any, name: str, options: RecordOptions) -> Iterator[Batch]:
    """The documents of a table of any library, read once and lazily.

    Args:
        table: of pandas, Polars or Hugging Face; or an object with the Arrow C stream interface
            (`__arrow_c_stream__`) or the C array interface, or an iterable of such objects.
        name: of the table, as printed.
        options: how rows become documents.

    Raises:
        UsageError: it is none of these.
        InputError: it lacks a column that is wanted, even if it has no rows, or cannot be read.
    """
    check_one_table(table)
    if hasattr(table, "iloc"):
        return _of_pandas(table, name, options)
    if hasattr(table, "merge_sorted"):  # of Polars
        table = table.lazy().collect()
        table = table.select(options.wanted_columns(table.columns))
    elif hasattr(table, "with_format"):  # of Hugging Face; a streamed one may not know its columns
        if hasattr(table, "set_format"):
            table = table.select_columns(options.wanted_columns(table.column_names))
        # Iterating over a dataset itself makes Python objects, row by row.
        table = table.with_format("arrow").iter(_BATCH)
    formats.arrow()
    from lshdb.read import arrow_rows

    is_table = hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__")

    def batches() -> Iterator[Any]:
        for part in [table] if is_table or not isinstance(table, Iterable) else table:
            reader = table_reader(part)
            options.check_columns(distinct_names(arrow_rows.names_of(reader.schema)))
            yield from reader

    def documents() -> Iterator[Batch]:
        with arrow_rows.readable("the table cannot be read"):
            yield from arrow_rows.document_batches(batches(), name, options)

    return documents()


def table_reader(table: Any) -> Any:
    """A RecordBatchReader of a table with an interface of Arrow; UsageError if it has none."""
    pa = formats.arrow()
    # pyarrow's own tables do not go through C: before 25 that fails with views that a cast made.
    if isinstance(table, pa.Table):
        return table.to_reader()
    if isinstance(table, pa.RecordBatchReader):
        return table
    if hasattr(table, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(table)
    if hasattr(table, "__arrow_c_array__"):
        batch = pa.record_batch(table)
        return pa.RecordBatchReader.from_batches(batch.schema, [batch])
    raise UsageError(
        f"{type(table).__name__} is not a table: give something with the Arrow C stream interface, "
        "such as a pyarrow Table or RecordBatchReader, or a pandas or Polars DataFrame"
    )


def documents_of_rows(
    count: int,
    rows: Callable[[slice], Iterable[Record]],
    name: str,
    options: RecordOptions,
    *,
    order_values: Sequence[object] = (),
) -> Iterator[Batch]:
    """The documents of rows of a program, which are numbered from 1.

    Args:
        count: the number of rows.
        rows: gives some of them.
        name: of the rows, as printed.
        options: how they become documents.
        order_values: as those of a Collector, of all rows.
    """
    for part in chunks(count, _ROWS):
        numbers = range(part.start + 1, min(part.stop, count) + 1)
        documents = Collector(options, Origin(name, numbers, in_file=False), order_values[part])
        for index, record in enumerate(rows(part)):
            documents.take(index, record)
        yield documents.batch()


def check_one_table(rows: object) -> None:
    """UsageError for a column alone, or for several tables."""
    library, kind = type(rows).__module__.partition(".")[0], type(rows).__name__
    if library in ("pandas", "polars") and kind == "Series":
        raise UsageError('a Series has no columns: give a table, series.to_frame("text")')
    if library == "datasets" and isinstance(rows, Mapping):
        first = next(iter(rows), "train")
        raise UsageError(f"{kind} has a table for each split: give one, such as ds[{first!r}]")


def _of_pandas(frame: Any, name: str, options: RecordOptions) -> Iterator[Batch]:
    is_missing = import_module("pandas").isna
    levels = [level for level in frame.index.names if level not in (None, *frame.columns)]
    table = frame.reset_index(levels) if levels else frame
    names = distinct_names(["" if is_missing(n) else str(n) for n in table.columns])
    wanted = options.wanted_columns(names)
    table = table.iloc[:, [*map(names.index, wanted)]].set_axis(wanted, axis="columns")

    def rows(part: slice) -> Any:
        values = table.iloc[part].astype(object)
        return values.where(values.notna(), None).to_dict("records")

    order: Any = table.get(options.order_field)
    is_ordered = getattr(getattr(order, "dtype", None), "ordered", False)
    ranks = order.rank().tolist() if is_ordered else ()
    return documents_of_rows(len(table), rows, name, options, order_values=ranks)
