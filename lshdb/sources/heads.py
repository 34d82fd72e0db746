"""The heads of tables, which are read before their rows: columns, schema, format."""

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from lshdb.errors import InputError, UsageError
from lshdb.sources import formats, sinks
from lshdb.sources.batch import TableSchema
from lshdb.sources.paths import printable_path
from lshdb.sources.session import Session


def head(session: Session, path: str) -> TableSchema | None:
    """The head of a file of rows; None for JSON, which has none.

    Raises:
        InputError: it cannot be read in its format, or it lacks a column.
    """
    if formats.KIND.get(session.options.format_of(path), "json") == "json":
        return None
    with closing(session.apart(whole=True).file(path)) as batches:
        batch = next(batches)
    for _, failure in batch.failures:
        raise InputError(f"{failure.where}: {failure.reason}")
    return None if batch.origin is None else sinks.rows_of(batch.origin).schema


def common_head(session: Session, paths: Sequence[str], format: str) -> TableSchema | None:
    """The head of one file in this format for the rows of several; None if unknown.

    Raises:
        UsageError: JSON and tables would go to a table.
        InputError: the tables have different columns, or of different types.
    """
    # A pipe can be read only once.
    heads = [(path, head(session, path) if os.path.isfile(path) else None) for path in paths]
    if formats.KIND[format] == "json":
        return None
    kinds = {formats.KIND[session.options.format_of(path)]: path for path in reversed(paths)}
    if len(kinds) > 1:
        _, other, *_ = sorted(kinds.values(), key=paths.index)
        raise UsageError(
            f"{paths[0]} and {other} are of different kinds, and a table has the columns of "
            "one: write JSON lines, or to a directory"
        )
    common: TableSchema | None = None
    for path, schema in heads:
        if common is None or schema is None:
            common = common or schema
            continue
        sinks.check_columns(printable_path(path), schema, common.columns)
        if common.schema is not None:
            from lshdb.sources.arrow_rows import common_schema

            merged_schema = common_schema(common.schema, schema.schema, printable_path(path))
            common = replace(common, schema=merged_schema, replaces_dictionaries=True)
    return common
