"""The documents of a DataFrame; columns are checked before any job starts."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
)

from lshdb.errors import ContentError, InputError, UsageError
from lshdb.groups import takes_only
from lshdb.model import Content, Settings, Shingling
from lshdb.options import SettingsOptions, SparkOptions
from lshdb.shingling.content import cleaned
from lshdb.sources.records import Path, field_paths, set_of
from lshdb.tuning.resolve import resolve

_DUPLICATES_SHOWN: Final = 3
_KEYS: Final = (StringType, ByteType, ShortType, IntegerType, LongType)
"""Types of keys, and of the elements of sets."""


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
    """The documents, a row each: key string, content string or array; null if not usable.

    Raises:
        UsageError: a missing column, or one of a type without keys or documents.
    """
    shingling = options.settings.shingling
    of_sets = shingling.of_sets
    if of_sets and options.text is not None:
        raise UsageError("the settings are for sets (shingle set): name their column with set=")
    if not of_sets and options.set is not None:
        raise UsageError(
            f"the settings are for texts (shingle {shingling}): name their column with text="
        )
    name = (options.set or "set") if of_sets else (options.text or "text")
    key_type = _type(df, field_paths(options.key, df.columns)[0])
    types = [_type(df, path) for path in field_paths(name, df.columns)]
    type = next((one for one in types if not isinstance(one, StringType)), types[0])
    if not isinstance(key_type, _KEYS):
        raise UsageError(
            f"column {options.key!r} is of type {key_type.simpleString()}: keys are strings or "
            "integers"
        )
    content = column_of(df, name)
    if isinstance(type, StringType):
        content = F.make_valid_utf8(content)
    elif not (of_sets and isinstance(type, ArrayType) and isinstance(type.elementType, _KEYS)):
        wanted = "arrays of strings or integers, or JSON arrays" if of_sets else "strings"
        raise UsageError(
            f"column {name!r} is of type {type.simpleString()}: documents are {wanted}"
        )
    key = F.make_valid_utf8(column_of(df, options.key).cast("string"))
    usable = (key != "") & ~F.contains(key, F.lit("\0"))
    return df.select(F.when(usable, key).alias("key"), content.alias("content"))


def check_keys(documents: DataFrame) -> None:
    """Run a job that finds repeated keys; InputError names some.

    Rows without a usable key do not count.
    """
    repeated = documents.where("key IS NOT NULL").groupBy("key").count().where("count > 1")
    found = [row["key"] for row in repeated.select("key").take(_DUPLICATES_SHOWN + 1)]
    if found:
        shown = ", ".join(repr(key) for key in found[:_DUPLICATES_SHOWN])
        more = ", ..." if len(found) > _DUPLICATES_SHOWN else ""
        raise InputError(
            f"several documents have the same key ({shown}{more}): give each a different key"
        )


def contents_of(column: pa.Array, shingling: Shingling) -> list[Content | None]:
    """The documents of a column of contents, cleaned; None for unusable ones."""
    contents: list[Content | None] = []
    for value in column.to_pylist():
        try:
            if value is not None and shingling.of_sets:
                value = set_of(value, "set")
            contents.append(None if value is None else cleaned(value, shingling))
        except (ContentError, InputError):
            contents.append(None)
    return contents


def _type(df: DataFrame, path: Path) -> DataType:
    name, *inner = path
    found = [field for field in df.schema.fields if field.name == name]
    if len(found) != 1:
        what = "no column" if not found else "more than one column"
        raise UsageError(f"{what} {name!r}; there are {', '.join(map(repr, df.columns))}")
    type: DataType = found[0].dataType
    for one in inner:
        if not isinstance(type, StructType) or one not in type.names:
            raise UsageError(f"no field {one!r} in column {name!r}, which is {type.simpleString()}")
        type = type[one].dataType
    return type


def column_of(df: DataFrame, name: str) -> Column:
    """The column of exactly this name, or a field in a column, or several joined as a text.

    See lshdb.sources.records.field_paths.
    """
    columns = []
    for path in field_paths(name, df.columns):
        quoted = ("`" + one.replace("`", "``") + "`" for one in path)
        columns.append(F.col(".".join(quoted)))
    if len(columns) == 1:
        return columns[0]
    return F.when(F.coalesce(*columns).isNotNull(), F.concat_ws("\n", *columns))
