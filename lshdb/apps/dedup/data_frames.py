"""Data of a program: its own library gives rows back, by their numbers, as they were.

Tables other than of pandas need pyarrow, the extra `arrow`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np

from lshdb.apps.tables.tables import (
    check_one_table,
    documents_of_rows,
    documents_of_table,
    table_reader,
)
from lshdb.errors import UsageError
from lshdb.read import formats
from lshdb.read.batch import Batch
from lshdb.read.records import RecordOptions
from lshdb.text.arrays import Mask

_NAME = "row"
"""Of a row in messages, with its number."""


@dataclass(eq=False)
class Frame(ABC):
    """Rows in the form of their library.

    Attributes:
        data: the rows.
        options: how they become documents.
    """

    data: Any
    options: RecordOptions

    def __post_init__(self) -> None:  # noqa: B027
        """Read data that may give other rows the next time."""

    def batches(self) -> Iterator[Batch]:
        """All rows, with their documents."""
        return documents_of_table(self.data, _NAME, self.options)

    @abstractmethod
    def take(self, mask: Mask) -> Any:
        """The rows that a mask selects."""

    def again(self, *, only_rows: bool = True) -> Iterator[Batch]:  # noqa: ARG002
        """All rows once more."""
        return self.batches()


def frame_of(data: Any, options: RecordOptions) -> Frame:
    """The rows of data; UsageError for data without rows."""
    check_one_table(data)
    for attribute, library in _LIBRARIES.items():
        if hasattr(data, attribute):
            return library(data, options)
    if isinstance(data, Iterable) and not isinstance(data, str | Mapping | bytes):
        return _Dicts(data, options)
    raise UsageError(
        f"{type(data).__name__} has no rows: give a table of pyarrow, pandas or Polars, a "
        "Dataset, dicts, or names of files"
    )


class _Dicts(Frame):
    def __post_init__(self) -> None:
        self.data = [*self.data]
        for number, row in enumerate(self.data, 1):
            if not isinstance(row, Mapping):
                raise UsageError(f"row {number} is of type {type(row).__name__}, not a dict")

    def batches(self) -> Iterator[Batch]:
        return documents_of_rows(
            len(self.data), lambda part: map(dict, self.data[part]), _NAME, self.options
        )

    def take(self, mask: Mask) -> list[Any]:
        return [*compress(self.data, mask.tolist())]


class _Pandas(Frame):
    def take(self, mask: Mask) -> Any:
        return self.data.iloc[np.flatnonzero(mask)]


class _Polars(Frame):
    def __post_init__(self) -> None:
        self._form, self.data = type(self.data), self.data.lazy().collect()

    def take(self, mask: Mask) -> Any:
        return self._form(self.data.filter(mask))


class _Dataset(Frame):
    def take(self, mask: Mask) -> Any:
        return self.data.select(np.flatnonzero(mask))


class _Arrow(Frame):
    def __post_init__(self) -> None:
        if not isinstance(self.data, formats.arrow().RecordBatch):
            from lshdb.read.arrow_rows import readable

            with readable("the table cannot be read"):
                self.data = table_reader(self.data).read_all()

    def take(self, mask: Mask) -> Any:
        from lshdb.apps.dedup.arrow_tables import taken

        return taken(self.data, mask)


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
        return documents_of_table(self._form(self.data), _NAME, self.options)

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
