"""The documents of a DataFrame; columns are checked before any job starts.

Then functions get them batch by batch: `of_documents`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from lshdb import ContentError, InputError, Settings, Shingling, UsageError
from lshdb.apps.spark.counts import Counts
from lshdb.apps.spark.options import SparkOptions
from lshdb.keys import key_of_id
from lshdb.maintain.resolve import resolve
from lshdb.options import SettingsOptions
from lshdb.read import records
from lshdb.read.metadata import LIST, Path
from lshdb.taking import takes
from lshdb.text.content import cleaned
from lshdb.text.shingling import Content

_INTEGERS = (ByteType, ShortType, IntegerType, LongType)
_ELEMENTS = (StringType, *_INTEGERS)
"""Types of the elements of sets."""
_NUMBER = 40
"""Characters of a number in keys that sort, with those of a decimal."""
_FLOAT = DecimalType(38, 20)
"""The type by which keys that are floats are sorted: they are below 2^53."""
_CONTENT_SHOWN = 60
"""Characters of a document that are shown for one without a key."""
_TYPES = {str: StringType, int: LongType, float: DoubleType, bool: BooleanType}
"""Spark's types of the columns of results."""
Batches = Iterator[pa.RecordBatch]
BatchColumns = dict[str, Any]
"""The values of columns: arrays of Arrow or numpy, or lists."""


@takes(SettingsOptions)
def make_settings(options: SettingsOptions) -> Settings:
    """Settings as `lshdb.open` makes them for a new file, with the same defaults.

    The settings of an existing file are `lshdb.open(path, mode="read").settings`.

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
    if getattr(options.columns, other) is not None:
        raise UsageError(
            f"the settings are for {kind}s (shingle {shingling}): name their column with {kind}="
        )
    key = keys_of(df, options.columns.key)
    name = getattr(options.columns, kind) or kind
    content, types = _column(df, name)
    if all(isinstance(data_type, StringType) for data_type in types):
        content = F.make_valid_utf8(content)
    elif shingling.of_sets and isinstance(getattr(types[0], "elementType", None), _ELEMENTS):
        content = F.to_json(content)
    else:
        expected = "arrays of strings or integers, or JSON arrays" if kind == "set" else "strings"
        raise _unfit(name, types, f"documents are {expected}")
    return df.select(key.alias("key"), content.alias("content"))


def keys_of(df: DataFrame, name: str) -> Column:
    """The keys of a column of ids by the rule of `lshdb.keys`; null where an id gives no key.

    Raises:
        UsageError: a missing column, or one of a type without keys.
    """
    column, types = _column(df, name)
    if all(isinstance(data_type, StringType) for data_type in types):
        key = F.make_valid_utf8(column)
        return F.when((key != "") & ~F.contains(key, F.lit("\0")), key)
    if len(types) > 1:
        raise _unfit(name, types, "an id is one column of texts, numbers, times or bytes")
    if isinstance(types[0], _INTEGERS):
        return column.cast("string")
    keys: Column = arrow_udf(_keys, "string")(column)  # type: ignore[call-overload]
    return keys


def _keys(ids: pa.Array) -> pa.Array:
    """The keys of ids of any type, string[n]; null where there is none."""
    keys: list[str | None] = []
    for value in ids.to_pylist():
        try:
            keys.append(key_of_id(value))
        except InputError:
            keys.append(None)
    return pa.array(keys, pa.string())


def number_order(df: DataFrame, name: str, key: Column) -> Column:
    """Strings of digits and points that sort as keys that are numbers; empty for other keys."""
    (kind, *_) = _column(df, name)[1]
    if isinstance(kind, DoubleType | FloatType):
        kind = _FLOAT
    if not isinstance(kind, (*_INTEGERS, DecimalType)):
        return F.lit("")
    if isinstance(kind, DecimalType):
        key = key.cast(kind).cast("string")
    digits = F.lpad(F.ltrim(key, F.lit("-")), _NUMBER, "0")
    below = F.concat(F.lit("0"), F.translate(digits, "0123456789", "9876543210"))
    return F.when(F.startswith(key, F.lit("-")), below).otherwise(F.concat(F.lit("1"), digits))


def check_keys(documents: DataFrame) -> None:
    """Run a job that finds repeated keys; InputError names one.

    Rows without a usable key do not count.
    """
    counted = documents.where("key IS NOT NULL").groupBy("key").count()
    if repeated := counted.where("count > 1").head():
        raise InputError(
            f"several documents have the same key ({repeated['key']!r}): give each a different key"
        )


def failures(documents: DataFrame, shingling: Shingling) -> DataFrame:
    """The rows without a usable key or document.

    Args:
        documents: key and content, as `documents` returns them.
        shingling: the shingling of the documents.

    Returns:
        key string, null for a row without a key; where string, the key, or else the start of the
        document; reason string.
    """

    def run(batches: Batches) -> Batches:
        for batch in batches:
            failed = []
            for key, value in zip(*(batch.column(i).to_pylist() for i in range(2)), strict=True):
                where, reason = key, "it has no usable id"
                if key is None:
                    where = f"a row with {(value or '')[:_CONTENT_SHOWN]!r}"
                else:
                    try:
                        _cleaned(value, shingling)
                        continue
                    except (ContentError, InputError) as error:
                        reason = str(error)
                failed.append({"key": key, "where": where, "reason": reason})
            yield pa.RecordBatch.from_pylist(failed, schema)

    schema = pa.schema([(name, pa.string()) for name in ("key", "where", "reason")])
    return documents.mapInArrow(run, "key string, where string, reason string")


def _cleaned(value: str | None, shingling: Shingling) -> Content:
    """The document of a value; ContentError or InputError if it is none."""
    if value is None:
        raise ContentError("its document is null")
    return cleaned(records.set_of(value, "the set") if shingling.of_sets else value, shingling)


def contents_of(column: pa.Array, shingling: Shingling) -> list[Content | None]:
    """The documents of a column of contents, cleaned; None for unusable ones."""
    contents: list[Content | None] = []
    for value in column.to_pylist():
        try:
            contents.append(_cleaned(value, shingling))
        except (ContentError, InputError):
            contents.append(None)
    return contents


def of_documents(
    documents: DataFrame,
    settings: Settings,
    columns: Callable[[pa.Array, list[Content]], BatchColumns],
    schema: str | StructType,
    counts: Counts | None = None,
) -> DataFrame:
    """The results of a function for the keys and contents of usable documents, batch by batch."""

    def run(batches: Batches) -> Batches:
        for batch in batches:
            yield pa.RecordBatch.from_pydict(columns(*usable(batch, settings, counts)))

    return documents.mapInArrow(run, schema)


def usable(
    batch: pa.RecordBatch, settings: Settings, counts: Counts | None = None
) -> tuple[pa.Array, list[Content]]:
    """The keys and contents of a batch; rows that lack a usable one are counted and left out."""
    keyed = batch.filter(pc.is_valid(batch.column("key")))
    contents = contents_of(keyed.column("content"), settings.shingling)
    usable_contents = [content for content in contents if content is not None]
    usable = pa.array([content is not None for content in contents], pa.bool_())
    keys = keyed.column("key").filter(usable)
    if counts is not None:
        counts.add("bad_keys", batch.num_rows - keyed.num_rows)
        counts.add("bad_documents", len(contents) - len(usable_contents))
    return keys, usable_contents


def schema_of(columns: Mapping[str, type]) -> StructType:
    """The Spark schema of columns of results."""
    return StructType([StructField(name, _TYPES[kind]()) for name, kind in columns.items()])


def quoted(name: str) -> str:
    """A name as Spark's SQL writes it."""
    return "`" + name.replace("`", "``") + "`"


def _column(df: DataFrame, name: str) -> tuple[Column, list[DataType]]:
    """A column, a field of a column, or several of them joined as a text; and the type of each.

    See lshdb.read.records.field_paths.
    """
    paths = records.field_paths(name, df.columns)
    types = [_type(df, path) for path in paths]
    columns = [F.col(".".join(map(quoted, path))) for path in paths]
    if len(columns) == 1:
        return columns[0], types
    return F.when(F.coalesce(*columns).isNotNull(), F.concat_ws("\n", *columns)), types


def _type(df: DataFrame, path: Path) -> DataType:
    """The type of a field."""
    data_type: DataType = df.schema
    for name in path:
        if not isinstance(data_type, StructType) or data_type.names.count(name) != 1:
            shown = ".".join(path)
            reason = "is in a list: on Spark a text is a column of strings, or a field of a column"
            if LIST not in shown:
                reason = f"is missing or repeated; there are {', '.join(map(repr, df.columns))}"
            raise UsageError(f"column {shown!r} {reason}")
        data_type = data_type[name].dataType
    return data_type


def _unfit(name: str, types: list[DataType], expected: str) -> UsageError:
    shown = ", ".join(data_type.simpleString() for data_type in types)
    return UsageError(f"column {name!r} is of type {shown}: {expected}")
