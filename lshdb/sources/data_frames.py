"""Data of a program: its own library gives the columns that are needed, and rows by their numbers.

Columns that documents do not need are never looked at, so that rows come back as they were,
whatever their types are. Tables other than of pandas need pyarrow, the extra `arrow`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from importlib import import_module
from itertools import compress
from typing import Any

import numpy as np

from lshdb.errors import UsageError
from lshdb.keys import with_article
from lshdb.shingling.arrays import Mask
from lshdb.sources import added_columns, formats
from lshdb.sources.batch import Batch
from lshdb.sources.records import RecordOptions, distinct_names, documents_of_rows

Columns = Mapping[str, list[Any]]
"""A value for each row, by the names of added_columns.ANNOTATED."""
_BATCH = 1_000
"""Rows that a dataset gives at once."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Rows in the form of their library.

    Attributes:
        documents: returns the documents of all rows, by the name of the rows as printed, and how
            they are read; may be called again.
        take: returns the rows that a mask selects.
        extend: returns all rows with further columns.
    """

    documents: Callable[[str, RecordOptions], Iterator[Batch]]
    take: Callable[[Mask], Any]
    extend: Callable[[Columns], Any]


def frame_of(data: Any) -> Frame:
    """The rows of data; UsageError for data without rows."""
    formats.check_one_table(data)
    library = type(data).__module__.partition(".")[0]
    if hasattr(data, "iloc"):
        return _of_pandas(data)
    if library == "polars":
        return _of_polars(data)
    if hasattr(data, "select_columns") and hasattr(data, "select"):
        return _of_dataset(data)
    if _is_relation(data):
        return _of_duckdb(data)
    if _is_table(data):
        return _of_arrow(data)
    if isinstance(data, Iterable) and not isinstance(data, str | Mapping | bytes):
        return _of_dicts([*data])
    raise UsageError(
        f"{type(data).__name__} has no rows: give a table of pyarrow, pandas or Polars, a Dataset, "
        "dicts, or names of files"
    )


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
    formats.check_one_table(table)
    if hasattr(table, "iloc") or (hasattr(table, "select") and not _is_relation(table)):
        return frame_of(table).documents(name, options)
    formats.arrow()
    from lshdb.sources import arrow_rows

    tables = table
    if hasattr(table, "with_format"):  # a dataset that is streamed
        tables = table.with_format("arrow").iter(_BATCH)
    elif _is_table(table) or isinstance(table, str | Mapping) or not isinstance(table, Iterable):
        tables = [table]
    return arrow_rows.documents_of_tables(tables, name, options)


def _is_table(data: object) -> bool:
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")


def _is_relation(data: object) -> bool:
    return hasattr(data, "fetchall") and hasattr(data, "project")


def _documents(
    names: Sequence[str],
    select: Callable[[list[str]], Iterable[object]],
    name: str,
    options: RecordOptions,
) -> Iterator[Batch]:
    """The documents of a table that has columns of these names and can select some of them."""
    formats.arrow()
    from lshdb.sources import arrow_rows

    tables = select(options.wanted_columns(names))
    return arrow_rows.documents_of_tables(tables, name, options)


def _added(names: Iterable[Any], columns: Columns) -> Any:
    """Further columns of rows with columns of these names, as an Arrow table."""
    from lshdb.sources import arrow_rows

    added_columns.check_new(names)
    return formats.arrow().table(columns, arrow_rows.schema_of(added_columns.ANNOTATED))


def _of_dicts(rows: list[Any]) -> Frame:
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise UsageError(f"row {number} is {with_article(type(row).__name__)}, not a dict")

    def extended(columns: Columns) -> list[dict[str, Any]]:
        for row in rows:
            added_columns.check_new(row)
        values = zip(*columns.values(), strict=True)
        pairs = zip(rows, values, strict=True)
        return [{**row, **dict(zip(columns, added, strict=True))} for row, added in pairs]

    return Frame(
        lambda name, options: documents_of_rows(
            len(rows), lambda part: map(dict, rows[part]), name, options
        ),
        lambda mask: [*compress(rows, mask.tolist())],
        extended,
    )


def _of_polars(data: Any) -> Frame:
    is_lazy = hasattr(data, "collect")
    frame = data.collect() if is_lazy else data

    def form(rows: Any) -> Any:
        return rows.lazy() if is_lazy else rows

    def extended(columns: Columns) -> Any:
        added = import_module("polars").from_arrow(_added(frame.columns, columns))
        return form(frame.hstack(added))

    return Frame(
        partial(_documents, frame.columns, lambda names: [frame.select(names)]),
        lambda mask: form(frame.filter(mask)),
        extended,
    )


def _of_dataset(dataset: Any) -> Frame:
    def select(names: list[str]) -> Iterable[object]:
        # Iterating over a dataset itself makes Python objects, row by row.
        tables: Iterable[object] = dataset.select_columns(names).with_format("arrow").iter(_BATCH)
        return tables

    def extended(columns: Columns) -> Any:
        added_columns.check_new(dataset.column_names)
        return reduce(lambda rows, column: rows.add_column(*column), columns.items(), dataset)

    return Frame(
        partial(_documents, dataset.column_names, select),
        lambda mask: dataset.select(np.flatnonzero(mask)),
        extended,
    )


# pandas


def _of_pandas(frame: Any) -> Frame:
    pandas = import_module("pandas")
    levels = [name for name in frame.index.names if name is not None and name not in frame.columns]

    def documents(name: str, options: RecordOptions) -> Iterator[Batch]:
        table = frame.reset_index(levels) if levels else frame
        names = ["" if pandas.isna(column) else str(column) for column in table.columns]
        names = distinct_names(names)
        wanted = options.wanted_columns([*dict.fromkeys(names)])
        indices = [index for index, column in enumerate(names) if column in wanted]
        names = [names[index] for index in indices]
        options.check_columns(names)

        def rows(part: slice) -> Iterator[dict[str, Any]]:
            columns = [_values(table.iloc[part, index]) for index in indices]
            return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))

        ranks: Sequence[Any] = ()
        if options.order_field in names:
            column = table.iloc[:, indices[names.index(options.order_field)]]
            if getattr(column.dtype, "ordered", False):
                ranks = column.rank().tolist()
        return documents_of_rows(len(table), rows, name, options, order_values=ranks)

    def extended(columns: Columns) -> Any:
        added_columns.check_new(frame.columns)
        if None in columns["kept"]:  # of rows without a document
            kinds = {"cluster": "Int64", "similarity": "Float64", "exact": "boolean"}
            nullable = {name: pandas.array(columns[name], kind) for name, kind in kinds.items()}
            columns = {**columns, **nullable}
        return frame.assign(**columns)

    return Frame(documents, lambda mask: frame.iloc[np.flatnonzero(mask)], extended)


def _values(column: Any) -> list[Any]:
    """The values of a column of pandas, None for missing ones."""
    kind = column.dtype
    if kind.kind == "f" and kind.itemsize < 8:
        values = [*column.array]  # Python has one precision for all floats
    elif kind.type.__name__ in ("Period", "Interval"):
        values = column.astype(str).tolist()
    else:
        values = column.tolist()
    missing = column.isna()
    if missing.any():
        values = [None if out else value for value, out in zip(values, missing, strict=True)]
    return values


# Arrow and DuckDB


def _of_arrow(data: Any) -> Frame:
    from lshdb.sources.arrow_rows import table_reader

    pa = formats.arrow()
    table = table_reader(data).read_all()
    names = distinct_names(table.column_names)

    def form(rows: Any) -> Any:
        if not isinstance(data, pa.RecordBatch):
            return rows
        return pa.concat_batches([data.slice(0, 0), *rows.to_batches()])

    def extended(columns: Columns) -> Any:
        added = _added(table.column_names, columns)
        return reduce(lambda rows, name: rows.append_column(name, added[name]), columns, table)

    return Frame(
        partial(_documents, names, lambda wanted: [table.rename_columns(names).select(wanted)]),
        lambda mask: form(_taken(table, mask)),
        extended,
    )


def _taken(table: Any, mask: Mask) -> Any:
    """The rows of an Arrow table that a mask selects."""
    pa = formats.arrow()
    try:
        return table.filter(pa.array(mask))
    except pa.ArrowNotImplementedError:  # views and run ends: runs of rows share their values
        edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
        runs = edges.reshape(-1, 2).tolist()
        parts = [table.slice(start, end - start) for start, end in runs]
        return pa.concat_tables(parts or [table.slice(0, 0)])


def _of_duckdb(relation: Any) -> Frame:
    """A relation, which is read once: the next time it may give other rows, or another order.

    A column of a type that Arrow would change goes through it as DuckDB's text.
    """
    lshdb_rows = _arrow_of(relation.limit(0))  # noqa: F841  DuckDB finds it by its name
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    through_arrow = relation.query("lshdb_given", "FROM lshdb_rows").types
    changed = {
        '"' + name.replace('"', '""') + '"': kind
        for (name, kind), other in zip(types.items(), through_arrow, strict=True)
        if kind != str(other)
    }

    def cast(kinds: Mapping[str, str]) -> str:
        casts = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in kinds.items())
        return f"* REPLACE ({casts})" if casts else "*"

    def form(rows: Any) -> Any:
        lshdb_rows = rows  # noqa: F841
        return relation.query("lshdb_given", "FROM lshdb_rows").project(cast(changed))

    pa = formats.arrow()
    table = _arrow_of(relation.project(cast(dict.fromkeys(changed, "VARCHAR"))))
    for index, kind in enumerate(relation.types):
        if kind.id == "enum":  # its values are in order
            values = pa.array(kind.children[0][1])
            column = table.column(index).cast(values.type)
            codes = pa.compute.index_in(column, values).combine_chunks()
            column = pa.DictionaryArray.from_arrays(codes, values, ordered=True)
            table = table.set_column(index, table.column_names[index], column)
    frame = _of_arrow(table)
    return Frame(
        frame.documents,
        lambda mask: form(frame.take(mask)),
        lambda columns: form(frame.extend(columns)),
    )


def _arrow_of(relation: Any) -> Any:
    from lshdb.sources.arrow_rows import table_reader

    return table_reader(relation).read_all()
