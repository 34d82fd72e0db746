"""The outputs of a run: kept rows, and all rows with their clusters.

Files get their names together at the end, if nothing failed: a run that fails leaves no file that
looks complete.
"""

import contextlib
import dataclasses
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from lshdb import errors
from lshdb.apps.dedup import row_sinks
from lshdb.apps.dedup.deciding import DecidedBatch
from lshdb.apps.dedup.input_tables import binary_kind_of, checked_format
from lshdb.apps.dedup.model import DroppedRow
from lshdb.apps.dedup.output_directory import Outputs
from lshdb.apps.dedup.rows import ANNOTATED, Rows, head_with, rows_of
from lshdb.read import formats, sinks
from lshdb.read.batch import Batch, Origin, Record, TableSchema
from lshdb.read.outputs import Output
from lshdb.read.paths import format_of, partition_of, printable_path
from lshdb.read.session import Session


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
                with row_sinks.opened(target, head, of_lines=of_lines) as rows:
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
        row_sinks.check_columns(printable_path(path), schema, common.columns, frozenset(new))
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
