"""The outputs of a run: kept rows, and all rows with their clusters.

Files get their names together at the end, if nothing failed: a run that fails leaves no file that
looks complete.

Rows go out as they were read if the format stays: JSON lines and CSV byte for byte, Parquet and
Arrow as record batches. Otherwise their values go out: JSON as in metadata (lshdb.read.metadata),
CSV with texts as they are and other values as JSON, null as an empty field.
"""

import contextlib
import dataclasses
import os
import sys
from collections.abc import Callable, Generator, Iterator, Sequence, Set
from functools import partial
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Self

from lshdb import errors, json_text
from lshdb.apps.dedup.deciding import DecidedBatch
from lshdb.apps.dedup.input_tables import binary_kind_of, checked_format
from lshdb.apps.dedup.model import DroppedRow
from lshdb.apps.dedup.output_directory import Outputs
from lshdb.apps.dedup.rows import ANNOTATED, ArrowRows, Rows, head_with, rows_of
from lshdb.read import csv_rows, formats, json_rows, records, sinks
from lshdb.read.batch import Batch, Origin, Record, TableSchema
from lshdb.read.outputs import Output
from lshdb.read.paths import format_of, partition_of, printable_path
from lshdb.read.session import Session

_BLOCK = 1 << 20
_FORM = attrgetter("delimiter", "escape", "quoting", "columns")
"""Of the head of a table what its rows are written by."""


@dataclasses.dataclass(eq=False)
class KeptRows:
    """Writes kept rows to one file, or one per table. Use as a context manager.

    The files get their names at the end, if nothing failed.

    Attributes:
        outputs: the files, with the tables whose rows go to each.
        session: reads the tables.
        beside: the directory of a temporary file; None for the system's.
        opens: opens an output.

    Raises:
        UsageError, InputError: these rows cannot go there.
    """

    outputs: Outputs
    session: Session
    beside: Path | None = None
    opens: Callable[[str], Output] = Output

    def __post_init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._clusters = Clusters()
        self._targets: list[tuple[str, str, TableSchema | None, bool]] = []
        # A wrong table is refused before anything is written.
        for number, (output, paths) in enumerate(self.outputs.targets.items()):
            self._numbers |= dict.fromkeys(map(printable_path, paths), number)
            came = self.session.options.format_of(paths[0])
            format = checked_format(output, came)
            # Streams that are named as files, as those of datasets of Hugging Face.
            if format == "arrow" and all(
                format_of(path) == "arrow"
                and os.path.isfile(path)
                and binary_kind_of(path) != "Arrow"
                for path in paths
            ):
                format = "arrows"
            head = common_head(self.session, paths, format, output)
            if self.outputs.annotates and head is not None:
                head = head_with(head, ANNOTATED)
            self._targets.append((output, format, head, formats.KIND[came] == "json_rows"))
        self._writers = self._opened()

    def __enter__(self) -> Self:
        self._now, self._rows = 0, next(self._writers)
        return self

    def put(self, rows: DecidedBatch) -> None:
        """Write the rows of a batch that belong here."""
        if rows.origin is None:
            return
        if self.outputs.annotates:
            origin = annotated(rows, rows.origin, self._clusters)
            self.write(origin, range(len(origin.numbers)))
        else:
            self.write(rows.origin, rows.kept)

    def write(self, origin: Origin, indices: Sequence[int]) -> None:
        """Write some rows of a table."""
        while self._now < self._numbers[origin.name]:
            self._now, self._rows = self._now + 1, next(self._writers)
        if partition := _partition(origin.name, self._targets[self._now][0]):
            origin = rows_of(origin).with_partition(indices, partition)
            indices = range(len(indices))
        self._rows.write(origin, indices)

    def flush(self) -> None:
        """Pass buffered output to the system."""
        self._rows.flush()

    def _opened(self) -> Generator[Any]:
        """Open each output in turn, also outputs without rows; the next one completes the last."""
        with contextlib.ExitStack() as files:
            for path, format, head, of_lines in self._targets:
                output = files.enter_context(self.opens(path))
                target = sinks.Target(output, format, beside=self.beside)
                is_spooled = of_lines and formats.KIND[format] != "json_rows"
                rows = _Spooled(target) if is_spooled else RowSink(target, head)
                with formats.completed(rows):
                    yield rows
                output.close()

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if error is None:
            for _rest in self._writers:
                pass
        else:
            with contextlib.suppress(type(error)):
                self._writers.throw(error)


class Clusters:
    """Numbers the clusters of a run: a kept document, and the rows that are dropped for it.

    The number is that of the first of these rows among all rows of the input, from 1.
    """

    def __init__(self) -> None:
        self._first = dict[object, int]()  # by the kept document
        self._rows = 0  # of all batches so far

    def annotations(
        self,
        origin: Origin,
        indices: Sequence[int],
        keys: Sequence[str],
        dropped_rows: Sequence[DroppedRow | None],
    ) -> Iterator[tuple[object, ...]]:
        """The values of ANNOTATED for the documents of a batch, see DecidedBatch."""
        file = origin.name if origin.in_file else None
        for index, key, dropped in zip(indices, keys, dropped_rows, strict=True):
            document: object = None, key, file, origin.numbers[index]
            values: tuple[object, ...] = key, 1.0, True
            if dropped is not None:
                document = dropped.reference, dropped.kept, dropped.kept_file, dropped.kept_line
                values = dropped.kept, dropped.similarity, dropped.exact
            yield self._first.setdefault(document, self._rows + index + 1), *values
        self._rows += len(origin.numbers)


def annotated(rows: DecidedBatch, origin: Origin, clusters: Clusters) -> Origin:
    """The rows with the columns of ANNOTATED, which are null for rows without a document.

    Lines of JSON that are no objects are left out.
    """
    read = rows_of(origin)
    annotations = clusters.annotations(origin, rows.indices, rows.keys, rows.dropped)
    values = dict(zip(rows.indices, annotations, strict=True))
    indices = [
        index
        for index in range(len(origin.numbers))
        if index in values or _record(read, index) is not None
    ]
    nulls = (None,) * len(ANNOTATED)
    return read.with_columns(indices, [values.get(i, nulls) for i in indices], ANNOTATED)


def _record(rows: Rows, index: int) -> Record | None:
    """A row; None for a line that is none."""
    with contextlib.suppress(errors.InputError, ValueError):
        return next(rows.records([index]))
    return None


# the heads of tables, which are read before their rows


def head(session: Session, path: str) -> TableSchema | None:
    """The head of a file of rows; None for JSON, which has none.

    Raises:
        InputError: it cannot be read in its format, or it lacks a column; of JSON, all rows of its
            beginning lack the field.
    """
    if session.options.format_of(path) == "xlsx":
        return None  # to read it takes as long as all of it, and says what it lacks
    apart = session.apart(whole=True, only_rows=True)
    file = apart.resolved(path)
    with contextlib.closing(apart.file(file)) as batches:
        batch = next(batches, Batch())
    if batch.origin is not None:
        schema = batch.origin.schema
        if schema is None or session.options.format_of(path) != "parquet":
            return schema
        from lshdb.apps.dedup.arrow_tables import head_of_parquet

        return head_of_parquet(schema, file.place)
    for _, failure in batch.failures:
        raise errors.InputError(f"{failure.where}: {failure.reason}")
    return None


def _partition(path: str, output: str) -> dict[str, str | None]:
    """The columns that the directories of a table name, and those of its output do not."""
    named, known = partition_of(path), partition_of(output)
    return {name: named[name] for name in named if name not in known}


def common_head(
    session: Session, paths: Sequence[str], format: str, output: str
) -> TableSchema | None:
    """The head of one file in this format for the rows of several; None if unknown.

    Args:
        session: reads the tables.
        paths: of the tables.
        format: of the file.
        output: its path.

    Raises:
        UsageError: JSON and tables would go to a table.
        InputError: the tables have different columns, or of different types.
    """
    # A pipe can be read only once.
    heads = [(path, head(session, path) if os.path.isfile(path) else None) for path in paths]
    if formats.KIND[format] == "json_rows":
        return None
    kinds = {formats.KIND[session.options.format_of(path)]: path for path in reversed(paths)}
    if len(kinds) > 1:
        _, other, *_ = sorted(kinds.values(), key=paths.index)
        raise errors.UsageError(
            f"{paths[0]} and {other} are of different kinds, and a table has the columns of "
            "one: write JSON lines, or to a directory"
        )
    common: TableSchema | None = None
    for path, schema in heads:
        if schema is not None:
            new_columns = [n for n in _partition(path, output) if n not in schema.columns]
            schema = head_with(schema, dict.fromkeys(new_columns, str))
        if common is None or schema is None:
            common = common or schema
            continue
        new = [name for name in schema.columns if name not in common.columns]
        check_columns(printable_path(path), schema, common.columns, frozenset(new))
        changes: dict[str, Any] = {}
        if new:  # the rows before have no value
            changes = {"columns": (*common.columns, *new), "heading": b""}
            changes["later"] = common.later.union(new)
        if common.schema is not None:
            from lshdb.apps.dedup.arrow_tables import common_schema

            changes["schema"] = common_schema(common.schema, schema.schema, printable_path(path))
            changes["replaces_dictionaries"] = True
        common = dataclasses.replace(common, **changes)
    return common


# writers of rows


class RowSink:
    """Rows that are written to a file in one format.

    Args:
        target: the file.
        head: of the tables that the rows are from; None to take it from the first of them.
    """

    def __init__(self, target: sinks.Target, head: TableSchema | None) -> None:
        self._target, self._head = target, head
        self._noted: set[str] = set()
        self._sink: Any = None
        if head is not None or formats.KIND[target.format] == "json_rows":
            self._begin(head)

    def _begin(self, head: TableSchema | None) -> None:
        """Write the beginning of the format."""
        format = self._target.format
        if head is not None and formats.KIND[format] == "arrow_rows":
            from lshdb.apps.dedup.arrow_tables import writable
            from lshdb.apps.tables.arrow_files import ArrowSink

            head = writable(head, format)
            self._sink = ArrowSink(self._target, head)
        else:
            self._sink = formats.format_named(format).sink(self._target, head)
        self._head = head

    def write(self, origin: Origin, indices: Sequence[int]) -> None:
        """Write rows as they were read, by their indices, ascending.

        Raises:
            InputError: a table has other columns than earlier rows.
        """
        rows, schema = rows_of(origin), origin.schema
        if self._sink is None:
            self._begin(schema)
        columns = () if self._head is None else self._head.columns
        if self._head is not None:
            check_columns(origin.name, schema, columns, self._head.later)
        if not indices:
            return
        if isinstance(self._sink, csv_rows.CsvSink):
            if schema is not None and _FORM(schema) == _FORM(self._sink.dialect):
                self._sink.put_lines([origin.rows[index] for index in indices])
                return
        elif isinstance(self._sink, json_rows.JsonSink):
            if schema is None:  # they are JSON already
                self._sink.put_lines(rows.lines(indices))
            else:
                values = self._records(rows, indices)
                self._sink.put_lines(json_rows.json_of(record) + b"\n" for record in values)
            return
        elif isinstance(rows, ArrowRows):
            from lshdb.apps.dedup.arrow_tables import fitted

            assert self._head is not None
            self._sink.put_batches([fitted(rows.batch_of(indices), self._head.schema)])
            return
        self._sink.put([*map(record.get, columns)] for record in self._records(rows, indices))

    def put(self, rows: sinks.RowValues) -> None:
        """Write rows of a value for each column of the head."""
        self._sink.put(rows)

    def _records(self, rows: Rows, indices: Sequence[int]) -> Sequence[Record]:
        """Rows as values; notes the columns for whose values the format has texts."""
        values, texts = [*rows.records(indices)], dict[str, str]()
        if isinstance(rows, ArrowRows):
            for record in values:
                texts |= json_text.text_fields(record)
        name = self._target.format.removesuffix("l").upper()
        new = {column: kind for column, kind in texts.items() if column not in self._noted}
        records.note_columns(f"{name} has the exact text of some values", new)
        self._noted |= texts.keys()
        return values

    def flush(self) -> None:
        """Pass buffered output to the system."""
        self._target.file.flush()

    def finish(self) -> None:
        """Write the end of the format; the file stays open."""
        if self._sink is None:
            self._begin(TableSchema(()))
        self._sink.finish()

    def abandon(self) -> None:
        """Write no more."""
        if self._sink is not None:
            self._sink.abandon()


class _Spooled:
    """JSON lines in a temporary file until their columns are known, then in a table."""

    def __init__(self, target: sinks.Target) -> None:
        self._target = target
        self._spool = TemporaryFile(buffering=_BLOCK, dir=target.beside)  # noqa: SIM115
        self._lines = RowSink(sinks.Target(self._spool, "jsonl"), None)
        self._typed = formats.KIND[target.format] == "arrow_rows"
        self._types: dict[str, Any] = {}

    def write(self, origin: Origin, indices: Sequence[int]) -> None:
        self._lines.write(origin, indices)
        rows = [*rows_of(origin).records(indices)]
        names = dict.fromkeys(name for row in rows for name in row)
        if not self._typed:
            self._types |= names
            return
        from lshdb.apps.dedup.arrow_tables import JsonColumn

        for name in names:
            column = self._types.setdefault(name, JsonColumn())
            column.add([row.get(name) for row in rows])

    def flush(self) -> None:
        """Nothing is in the output before the end."""

    def finish(self) -> None:
        schema = None
        if self._typed:
            text = formats.arrow().string()
            types = {name: column.type for name, column in self._types.items()}
            texts = [name for name, kind in types.items() if kind is None]
            schema = formats.arrow().schema([*(types | dict.fromkeys(texts, text)).items()])
            note = "has the text of values that no type of it has exactly"
            name = self._target.format.capitalize()
            records.note_columns(f"{name} {note}", dict.fromkeys(texts, "JSON"))
        table = RowSink(self._target, TableSchema(tuple(self._types), schema))
        self._spool.seek(0)
        chunks = iter(partial(self._spool.read, _BLOCK), b"")
        for block in json_rows.line_blocks(chunks, sys.maxsize):
            lines = json_rows.lines_in(block)
            numbers = range(len(lines))
            table.write(Origin("lines", numbers, lines), numbers)
        table.finish()
        self._spool.close()

    def abandon(self) -> None:
        """Write nothing."""


def check_columns(
    name: str,
    schema: TableSchema | None,
    earlier: Sequence[str],
    later: Set[str],
) -> None:
    """InputError if the rows of a table of this name have other columns than earlier rows.

    Columns that came later may be missing, or new.
    """
    if schema is not None and (differ := (set(schema.columns) ^ set(earlier)) - later):
        where = "these rows" if min(differ) in schema.columns else "earlier rows"
        raise errors.InputError(
            f"{name}: column {min(differ)!r} is only in {where}: -o DIRECTORY writes a file for "
            "each table, and JSON lines have both"
        )
