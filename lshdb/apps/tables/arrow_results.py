"""Results as tables: Arrow tables, and data frames of pandas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from lshdb.errors import UsageError
from lshdb.json_text import dumps
from lshdb.read.formats import arrow
from lshdb.search.result_tables import Tabular

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def to_frame(results: Tabular) -> pd.DataFrame:
    """Results as a pandas DataFrame; UsageError without pandas or pyarrow."""
    try:
        import pandas  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("pandas"):
            raise
        raise UsageError("data frames need pandas: pip install pandas") from None
    return to_arrow(results).to_pandas()


def to_arrow(results: Tabular) -> pa.Table:
    """Results as an Arrow table; UsageError without pyarrow.

    A column of any values, or of an unknown type, has the type that Arrow finds for all of them.
    If they have no common type, or are all null, it is text: strings as they are, other values as
    JSON.
    """
    pa = arrow()
    from lshdb.apps.tables.arrow_files import row_batches, schema_of

    columns = results.columns
    if isinstance(columns, list):
        columns = dict.fromkeys(columns, object)
    # Columns of values of any type come last.
    typed = {name: kind for name, kind in columns.items() if kind is not object}
    others: dict[str, list[Any]] = {name: [] for name in columns if name not in typed}

    def typed_values() -> Iterator[Sequence[Any]]:
        for row in results.rows():
            for values, value in zip(others.values(), row[len(typed) :], strict=True):
                values.append(value)
            yield row[: len(typed)]

    schema = schema_of(typed)
    table = pa.Table.from_batches(row_batches(schema, typed_values()), schema)
    arrays: dict[str, Any] = dict(zip(typed, table.columns, strict=True))
    for name, values in others.items():
        try:
            column = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            column = pa.array(list(map(_as_text, values)), pa.string())
        arrays[name] = column.cast(pa.string()) if pa.types.is_null(column.type) else column
    return pa.table(arrays)


def _as_text(value: object) -> str | None:
    if isinstance(value, bytes):
        return value.hex()
    return value if value is None or isinstance(value, str) else dumps(value)
