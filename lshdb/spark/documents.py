"""The documents of a DataFrame; columns are checked before any job starts."""

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from lshdb.errors import ContentError, InputError, UsageError
from lshdb.groups import takes_only
from lshdb.options import SettingsOptions, SparkOptions
from lshdb.shingling.content import cleaned
from lshdb.shingling.shingling import Content, Shingling
from lshdb.sketching.settings import Settings
from lshdb.sources.metadata import Path
from lshdb.sources.records import field_paths, set_of
from lshdb.tuning.resolve import resolve

_KEYS = (StringType, ByteType, ShortType, IntegerType, LongType)
"""Types of keys, and of the elements of sets."""
_TYPES = {str: StringType, int: LongType, float: DoubleType, bool: BooleanType}
"""Spark's types of the columns of results."""


@takes_only(SettingsOptions)
def make_settings(options: SettingsOptions) -> Settings:
    """Settings as `lshdb.open` makes them for a new file, with the same defaults.

    Those of a file that exists are `lshdb.open(path, mode="read").settings`.

    Raises:
        SettingsError: impossible settings.

    >>> from lshdb.spark import make_settings
    >>> make_settings(threshold=0.7).construction
    Construction(rows=4, bands=17)
    """
    return resolve(options)


def documents(df: DataFrame, options: SparkOptions) -> DataFrame:
    """The documents, a row each: key string, content string, sets as JSON; null if not usable.

    Raises:
        UsageError: a missing column, or one of a type without keys or documents.
    """
    shingling = options.settings.shingling
    kind, other = ("set", "text") if shingling.of_sets else ("text", "set")
    if getattr(options, other) is not None:
        raise UsageError(
            f"the settings are for {kind}s (shingle {shingling}): name their column with {kind}="
        )
    key = keys_of(df, options.key)
    name = getattr(options, kind) or kind
    content, types = _column(df, name)
    if all(isinstance(one, StringType) for one in types):
        content = F.make_valid_utf8(content)
    elif shingling.of_sets and isinstance(getattr(types[0], "elementType", None), _KEYS):
        content = F.to_json(content)
    else:
        wanted = "arrays of strings or integers, or JSON arrays" if kind == "set" else "strings"
        raise _unfit(name, types, f"documents are {wanted}")
    usable = (key != "") & ~F.contains(key, F.lit("\0"))
    return df.select(F.when(usable, key).alias("key"), content.alias("content"))


def keys_of(df: DataFrame, name: str) -> Column:
    """The column of keys, as strings; UsageError if it has none."""
    column, types = _column(df, name)
    if not all(isinstance(one, _KEYS) for one in types):
        raise _unfit(name, types, "keys are strings or integers")
    return F.make_valid_utf8(column.cast("string"))


def check_keys(documents: DataFrame) -> None:
    """Run a job that finds repeated keys; InputError names one.

    Rows without a usable key do not count.
    """
    counted = documents.where("key IS NOT NULL").groupBy("key").count()
    if repeated := counted.where("count > 1").head():
        raise InputError(
            f"several documents have the same key ({repeated['key']!r}): give each a different key"
        )


def contents_of(column: pa.Array, shingling: Shingling) -> list[Content | None]:
    """The documents of a column of contents, cleaned; None for unusable ones."""
    contents: list[Content | None] = []
    for value in column.to_pylist():
        try:
            content = set_of(value, "set") if shingling.of_sets else value
            contents.append(cleaned(content, shingling))
        except (ContentError, InputError):
            contents.append(None)
    return contents


def schema_of(columns: Mapping[str, type]) -> StructType:
    """Columns of results as Spark has them."""
    return StructType([StructField(name, _TYPES[kind]()) for name, kind in columns.items()])


def _column(df: DataFrame, name: str) -> tuple[Column, list[DataType]]:
    """A column, or a field in one, or several joined as a text; and the types of each.

    See lshdb.sources.records.field_paths.
    """
    paths = field_paths(name, df.columns)
    types = [_type(df, path) for path in paths]
    columns = [
        F.col(".".join("`" + one.replace("`", "``") + "`" for one in path)) for path in paths
    ]
    if len(columns) == 1:
        return columns[0], types
    return F.when(F.coalesce(*columns).isNotNull(), F.concat_ws("\n", *columns)), types


def _type(df: DataFrame, path: Path) -> DataType:
    """The type of a field."""
    found: DataType = df.schema
    for name in path:
        if not isinstance(found, StructType) or found.names.count(name) != 1:
            raise UsageError(
                f"column {'.'.join(path)!r} is missing or repeated; there are "
                f"{', '.join(map(repr, df.columns))}"
            )
        found = found[name].dataType
    return found


def _unfit(name: str, types: list[DataType], wanted: str) -> UsageError:
    shown = ", ".join(one.simpleString() for one in types)
    return UsageError(f"column {name!r} is of type {shown}: {wanted}")
