"""The columns of results, declared once for each kind: their names, types and order.

A column is a field of a dataclass in lshdb.model. Modules that compute results give their columns
by name, as a `Block`; modules that write or show results read them by name. No other module knows
the position of a column.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from lshdb import model

T = TypeVar("T")
Columns = Mapping[str, type]
"""Names and types: str, int, float, bool, bytes; list for JSON arrays and objects, which are JSON
text in CSV and Parquet; object for any value of SQLite or JSON. Every value may be None."""
Block = Mapping[str, Sequence[Any]]
"""Some rows of a result: the values of each column, as many in each."""
_TYPES = {"int": int, "float": float, "bool": bool}


def columns_of(kind: Any, *others: str) -> dict[str, type]:
    """The fields of a dataclass as columns, with their types, without others and metadata."""
    types = {
        field.name: str(getattr(field.type, "__name__", field.type))
        for field in dataclasses.fields(kind)
        if not field.name.endswith("metadata")
    }
    return {
        name: list if hint.startswith("tuple") else _TYPES.get(hint.partition(" | ")[0], str)
        for name, hint in types.items()
        if name not in others
    }


WEIGHTED: Columns = {"weighted": float, "weighted_share": float}
MATCH: Columns = columns_of(model.Match)
PAIR: Columns = columns_of(model.Pair, *WEIGHTED)
MEMBER: Columns = {
    "cluster": int,
    "key": str,
    "keep": str,
    "role": str,
    "similarity": float,
    "exact": bool,
    "identical": bool,
    "same_text": bool,
}


def rows_of(
    columns: Mapping[str, Iterable[Any]], names: Iterable[str]
) -> Iterator[tuple[Any, ...]]:
    """The rows of the columns with these names."""
    return zip(*(columns[name] for name in names), strict=False)


def objects_of(columns: Block, kind: type[T]) -> Iterator[T]:
    """The rows as objects of a dataclass; a field without a column has its default.

    Raises:
        KeyError: a field has neither.
    """
    values: list[Iterable[Any]] = []
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        is_missing = field.name not in columns and field.default is not dataclasses.MISSING
        values.append(itertools.repeat(field.default) if is_missing else columns[field.name])
    return map(kind, *values)
