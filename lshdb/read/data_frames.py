"""Data of a program: its own library gives the columns that are needed, and rows by their numbers.

Columns that documents do not need are never looked at, so that rows come back as they were,
whatever their types are. Tables other than of pandas need pyarrow, the extra `arrow`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import compress
from typing import Any

import numpy as np

from lshdb.errors import UsageError
from lshdb.keys import with_article
from lshdb.read import formats
from lshdb.read.batch import Batch
from lshdb.read.records import RecordOptions, distinct_names, documents_of_rows
from lshdb.text.arrays import Mask

_BATCH = 1_000
"""Rows that a dataset gives at once."""


@dataclass(eq=False)
class Frame(ABC):
    """Rows in the form of their library.

    Attributes:
        data: the rows.
        name: of the rows, as printed.
        options: how they become documents.
    """

    data: Any
    name: str
    options: RecordOptions

    def __post_init__(self) -> None:  # noqa: B027
        """Read data that may give other rows the next time."""

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """All rows, with their documents."""

    @abstractmethod
    def take(self, mask: Mask) -> Any:
        """The rows that a mask selects."""

    def again(self, *, only_rows: bool = True) -> Iterator[Batch]:  # noqa: ARG002
        """All rows once more."""
        return self.batches()


def frame_of(data: Any, name: str, options: RecordOptions) -> Frame:
    """The rows of data; UsageError for data without rows."""
    library = _library_of(data)
    if library is None:
        raise UsageError(
            f"{type(data).__name__} has no rows: give a table of pyarrow, pandas or Polars, a "
            "Dataset, dicts, or names of files"
        )
    return library(data, name, options)


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
    library, tables = _library_of(table), [table]
    if library in (_Pandas, _Polars, _Dataset):
        return library(table, name, options).batches()
    if hasattr(table, "with_format"):  # a dataset that is streamed
        tables = table.with_format("arrow").iter(_BATCH)
    elif library is _Dicts:
        tables = table
    return _documents(tables, name, options)


def _documents(tables: Iterable[Any], name: str, options: RecordOptions) -> Iterator[Batch]:
    formats.arrow()
    from lshdb.read import arrow_rows

    return arrow_rows.documents_of_tables(tables, name, options)


def _library_of(data: Any) -> type[Frame] | None:
    """The class for rows like these; None for data without rows."""
    formats.check_one_table(data)
    for attribute, library in _LIBRARIES.items():
        if hasattr(data, attribute):
            return library
    is_several = isinstance(data, Iterable) and not isinstance(data, str | Mapping | bytes)
    return _Dicts if is_several else None


class _Dicts(Frame):
    def __post_init__(self) -> None:
        self.data = [*self.data]
        for number, row in enumerate(self.data, 1):
            if not isinstance(row, Mapping):
                raise UsageError(f"row {number} is {with_article(type(row).__name__)}, not a dict")

    def batches(self) -> Iterator[Batch]:
        return documents_of_rows(
            len(self.data), lambda part: map(dict, self.data[part]), self.name, self.options
        )

    def take(self, mask: Mask) -> list[Any]:
        return [*compress(self.data, mask.tolist())]


class _Pandas(Frame):
    def batches(self) -> Iterator[Batch]:
        frame, options, is_missing = self.data, self.options, import_module("pandas").isna
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
        return documents_of_rows(len(table), rows, self.name, options, order_values=ranks)

    def take(self, mask: Mask) -> Any:
        return self.data.iloc[np.flatnonzero(mask)]


class _Polars(Frame):
    def __post_init__(self) -> None:
        self._form, self.data = type(self.data), self.data.lazy().collect()

    def batches(self) -> Iterator[Batch]:
        table = self.data.select(self.options.wanted_columns(self.data.columns))
        return _documents([table], self.name, self.options)

    def take(self, mask: Mask) -> Any:
        return self._form(self.data.filter(mask))


class _Dataset(Frame):
    def batches(self) -> Iterator[Batch]:
        names = self.options.wanted_columns(self.data.column_names)
        # Iterating over a dataset itself makes Python objects, row by row.
        tables = self.data.select_columns(names).with_format("arrow").iter(_BATCH)
        return _documents(tables, self.name, self.options)

    def take(self, mask: Mask) -> Any:
        return self.data.select(np.flatnonzero(mask))


class _Arrow(Frame):
    def __post_init__(self) -> None:
        if not isinstance(self.data, formats.arrow().RecordBatch):
            from lshdb.read import arrow_rows

            self.data = arrow_rows.table_reader(self.data).read_all()

    def batches(self) -> Iterator[Batch]:
        return _documents([self.data], self.name, self.options)

    def take(self, mask: Mask) -> Any:
        from lshdb.read import arrow_rows

        return arrow_rows.taken(self.data, mask)


class _DuckDB(_Arrow):
    """A relation, which is read once: the next time it may give other rows, or another order.

    DuckDB has Arrow's extension types for all of its own types but ENUM, which is text in Arrow.
    """

    def __post_init__(self) -> None:
        self._query, setting = self.data.query, "arrow_lossless_conversion"
        [[before]] = self._query("lshdb_given", f"VALUES (current_setting('{setting}'))").fetchall()
        self._query("lshdb_given", f"SET {setting} = true")
        try:
            super().__post_init__()
        finally:
            self._query("lshdb_given", f"SET {setting} = {before}")

    def batches(self) -> Iterator[Batch]:
        return _documents([self._form(self.data)], self.name, self.options)

    def take(self, mask: Mask) -> Any:
        return self._form(super().take(mask))

    def _form(self, table: Any) -> Any:
        """An Arrow table as a relation of the same connection."""
        lshdb_rows = table  # noqa: F841  DuckDB finds it by its name
        return self._query("lshdb_given", "FROM lshdb_rows")


_LIBRARIES: dict[str, type[Frame]] = {
    "iloc": _Pandas,
    "merge_sorted": _Polars,
    "set_format": _Dataset,
    "set_alias": _DuckDB,
    "__arrow_c_stream__": _Arrow,
    "__arrow_c_array__": _Arrow,
}
"""The class for data with an attribute of this name: that of the first one it has."""
