"""Near duplicates among a program's rows; kept rows come back in the form that they had.

A temporary database holds the documents during the run. Only the columns of keys and documents are
read; the rows' own library selects the kept ones.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from lshdb.errors import InputError, UsageError
from lshdb.ingest.add import Outcome
from lshdb.ingest.dedup import Selection
from lshdb.ingest.ordering import check_order, deduplicated
from lshdb.limits import DEFAULTS, Limits
from lshdb.model import Line, Settings
from lshdb.progress import shown
from lshdb.settings import SettingsRequest, check_given, check_needed
from lshdb.sources.outputs import Output
from lshdb.sources.paths import expanded, is_database, printable_path
from lshdb.sources.readers import Item, Reader
from lshdb.sources.records import Failure, Lines, RecordParser, Rows
from lshdb.sources.sinks import (
    KIND,
    Target,
    arrow,
    common_head,
    lines_of,
    output_format,
    records,
    sink,
)
from lshdb.store.connection import TIMEOUT
from lshdb.store.partial_files import temporary_directory
from lshdb.store.store import Store
from lshdb.store.waiting import Order
from lshdb.tuning.resolve import resolve

if TYPE_CHECKING:
    from lshdb.sources.records import Block

Mask: TypeAlias = npt.NDArray[np.bool_]
_ROWS: Final = 1_000
_OBJECTS: Final = 200
"""About the bytes of a row's objects."""
_NAME: Final = "row"
"""Name of rows without a file in messages, before their number."""


@dataclass(frozen=True, slots=True)
class DroppedRow:
    """A dropped row, and the kept one that is most similar to it.

    Attributes:
        row: its place among all rows, from 0.
        key: its key; `row:NUMBER` or FILE:NUMBER, from 1, for a row without one.
        kept: the key of the kept row.
        similarity: of the two, exact or estimated, in [0, 1].
        exact: whether `similarity` is exact.
        identical: whether both have the same text or set.
        file: the file that it is from; empty for a table.
        line: its number there, from 1.
    """

    row: int
    key: str
    kept: str
    similarity: float
    exact: bool
    identical: bool
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class _Source:
    """Rows in the form that they were given in.

    Attributes:
        parser: makes documents of them.
        items: returns all rows, in blocks; may be called again.
        take: returns the rows that a mask selects.
        listing: turns columns of values into a table of the same library.
        each: yields taken rows one by one, by the names of their columns.
        paths: of files.
    """

    parser: RecordParser
    items: Callable[[], Iterator[Item]]
    take: Callable[[Mask], Any]
    listing: Callable[[dict[str, list[Any]]], Any]
    each: Callable[[Mask], Iterator[dict[str, Any]]]
    paths: Sequence[str] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Deduplicated:
    """Rows without near duplicates, and those that were dropped. Made by `lshdb.dedup`.

    Attributes:
        threshold: the minimum similarity of similar rows.
        mask: bool[n], which of the n rows are kept.
        failed: how many rows have no document, such as those without a text; they are not kept.
    """

    threshold: float
    mask: Mask
    failed: int
    _dropped: list[DroppedRow]
    _source: _Source
    _again: Callable[[float], Deduplicated] = field(compare=False)

    def __repr__(self) -> str:
        return (
            f"Deduplicated({self.kept_count:,} kept, {self.dropped_count:,} dropped, "
            f"{self.failed:,} failed, threshold {self.threshold:g})"
        )

    @property
    def kept_count(self) -> int:
        """The number of kept rows."""
        return int(np.count_nonzero(self.mask))

    @property
    def dropped_count(self) -> int:
        """The number of rows that are similar to a kept one."""
        return len(self._dropped)

    @property
    def kept(self) -> Any:
        """The kept rows, in order, as a table of the library that the rows came from.

        For dicts and files, a list of dicts; files are read again for it.
        """
        return self._source.take(self.mask)

    @property
    def dropped(self) -> Any:
        """The rows of `iter_dropped` as a table of the same library; a list of dicts for dicts."""
        names = [one.name for one in fields(DroppedRow)]
        if not self._source.paths:
            names = [name for name in names if name not in ("file", "line")]
        return self._source.listing(
            {name: [getattr(row, name) for row in self._dropped] for name in names}
        )

    def iter_kept(self) -> Iterator[dict[str, Any]]:
        """The kept rows, one by one as dicts; files are read again lazily."""
        return self._source.each(self.mask)

    def iter_dropped(self) -> Iterator[DroppedRow]:
        """The dropped rows, in order."""
        return iter(self._dropped)

    def rethreshold(self, threshold: float) -> Deduplicated:
        """The result for the same or a higher threshold, with the same index.

        All rows are decided on again from the beginning: a row that is now kept may cause others
        to be dropped. The rows are read again.

        Raises:
            UsageError: a threshold below the first, for which the index was not made.
        """
        check_given(threshold=threshold)
        if threshold < self.threshold:
            raise UsageError(
                f"threshold {threshold:g} is below {self.threshold:g}, for which the index is "
                "made: call lshdb.dedup with it"
            )
        return self._again(threshold)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the kept rows of files to a file, in the format of its suffix.

        They are read again, so that memory stays bounded. The file gets its name when complete.

        Raises:
            UsageError: the rows are from a table, whose library can write files; or files of
                several kinds would go to a table; or it is one of the files, or a database.
            OSError: it cannot be written.
        """
        paths = self._source.paths
        if not paths:
            raise UsageError("save is for rows of files: for a table, write `kept`")
        _save(os.fspath(path), paths, self._source, self.mask)


def dedup(
    data: object,
    *,
    key: str = "id",
    text: str = "text",
    set: str = "set",
    keep: Order = "first",
    estimate: bool = False,
    threshold: float | None = None,
    recall: float | None = None,
    shingle: str | None = None,
    permutations: int | None = None,
    bands: int | None = None,
    rows: int | None = None,
    construction: str | None = None,
    sketch: str | None = None,
    seed: int | Literal["random"] | None = None,
    purpose: str | None = None,
    workers: int | None = None,
    on_failure: Callable[[Failure], None] | None = None,
    limits: Limits = DEFAULTS,
) -> Deduplicated:
    """Drop rows that are similar to a kept row.

    A row is dropped if it is similar to an earlier kept one. So no two kept rows are similar, as
    far as the index finds. No file of yours is written.

    Args:
        data: a table of pyarrow, pandas, Polars or DuckDB; a Hugging Face Dataset; dicts in a list
            or another iterable; the name of a file of rows or a pattern, or a list of them.
        key: the column of keys; rows may lack it, and keys may be repeated.
        text: the column of texts; `a,b` joins two, and `a.b` is b in a.
        set: the column of sets, with `shingle="set"`.
        keep: which of similar rows to keep: the `first`, `longest` or `last`; the rows are decided
            on in that order.
        estimate: decide by estimates from signatures.
        threshold: as for `lshdb.open`, like the settings below.
        recall: the share of similar pairs that the index must find.
        shingle: the unit that is compared.
        permutations: lanes of a signature.
        bands: with rows, the shape of the index.
        rows: of a band.
        construction: the same as text.
        sketch: the kind of signature.
        seed: of all hashes.
        purpose: the kind of documents, instead of shingle and threshold.
        workers: as for `Database.add_many`.
        on_failure: called with each row that has no document, with the place and reason.
        limits: sizes of batches and other numbers, see lshdb.Limits.

    Raises:
        UsageError: data of another kind, or wrong arguments.
        InputError: the column of documents is missing, or a file cannot be read.

    >>> import lshdb
    >>> result = lshdb.dedup([
    ...     {"id": "a", "text": "The fox and the grapes", "stars": 5},
    ...     {"id": "b", "text": "The FOX and the grapes!", "stars": 4},
    ...     {"id": "c", "text": "The ant and the dove", "stars": 3},
    ... ])
    >>> result
    Deduplicated(2 kept, 1 dropped, 0 failed, threshold 0.8)
    >>> [row["stars"] for row in result.kept]
    [5, 3]
    >>> [(row.key, row.kept, row.similarity) for row in result.iter_dropped()]
    [('b', 'a', 1.0)]
    """
    check_order(keep)
    check_given(threshold=threshold, key=key, text=text, workers=workers, on_failure=on_failure)
    check_needed(limits=limits)
    request = SettingsRequest(
        threshold=threshold,
        recall=recall,
        shingle=shingle,
        permutations=permutations,
        bands=bands,
        rows=rows,
        construction=construction,
        sketch=sketch,
        seed=seed,
        content=not estimate,
        purpose=purpose,
    )
    settings = resolve(request)
    of_sets = settings.shingling.of_sets
    parser = RecordParser(
        of_sets, key, text, set, auto_key=True, metadata=False, naming="{}=", limits=limits
    )
    source = _source_of(data, parser)

    def decided(at: float) -> Deduplicated:
        selection = Selection(at, estimate, keep_blocks=True)
        return _decided(source, settings, keep, selection, workers, on_failure, decided, limits)

    return decided(settings.threshold)


def _decided(
    source: _Source,
    settings: Settings,
    keep: Order,
    selection: Selection,
    workers: int | None,
    on_failure: Callable[[Failure], None] | None,
    again: Callable[[float], Deduplicated],
    limits: Limits,
) -> Deduplicated:
    failed = 0

    def fail(failure: Failure) -> None:
        nonlocal failed
        failed += 1
        if on_failure is not None:
            on_failure(failure)

    masks: list[Mask] = []
    dropped: list[DroppedRow] = []
    first = 0
    with (
        temporary_directory(None) as directory,
        closing(
            Store.open(directory / "dedup.db", "create", TIMEOUT, lambda: settings, limits=limits)
        ) as store,
    ):
        outcomes = deduplicated(
            store,
            source.items(),
            source.items(),
            source.parser,
            keep,
            selection,
            numbered=True,
            workers=workers,
            on_failure=fail,
            progress=shown(False, "dedup"),
        )
        for outcome in outcomes:
            block = outcome.block
            if block is None:
                continue
            mask = np.zeros(block.count, dtype=bool)
            mask[outcome.kept] = True
            masks.append(mask)
            for place, skipped in zip(outcome.places, outcome.skipped, strict=True):
                if skipped is not None:
                    file = block.name if source.paths else ""
                    dropped.append(
                        DroppedRow(
                            first + place,
                            skipped.key,
                            skipped.kept,
                            skipped.similarity,
                            skipped.exact,
                            skipped.identical,
                            file,
                            block.number(place),
                        )
                    )
            first += block.count
    whole = np.concatenate(masks) if masks else np.zeros(0, dtype=bool)
    return Deduplicated(selection.least(settings), whole, failed, dropped, source, again)


def decided_lines(outcomes: Iterable[Outcome]) -> Iterator[Line]:
    """The rows of blocks as JSON lines, and whether they are kept; see Database.dedup."""
    for outcome in outcomes:
        block = outcome.block
        if block is None:
            continue
        lines = lines_of(block, outcome.places)
        of_rows = zip(outcome.keys, outcome.places, lines, outcome.skipped, strict=True)
        for key, place, line, skipped in of_rows:
            yield Line(key, block.name, block.number(place), line, skipped)


# the forms of rows


def _source_of(rows: Any, parser: RecordParser) -> _Source:
    """The source of the rows; UsageError for data without rows."""
    if isinstance(rows, str | os.PathLike):
        rows = [rows]
    if isinstance(rows, list | tuple) and rows and isinstance(rows[0], str | os.PathLike):
        for row in rows:
            if not isinstance(row, str | os.PathLike):
                raise UsageError(f"among names of files there is {row!r:.100}")
        if not any(os.path.exists(path) for path in expanded(map(os.fspath, rows))):
            raise InputError(
                f"{os.fspath(rows[0])!r:.100}: no such file; strings are names of files, and texts "
                'go in dicts: [{"text": text} for text in texts]'
            )
        return _of_files([os.fspath(path) for path in rows], parser)
    library, kind = type(rows).__module__.partition(".")[0], type(rows).__name__
    if library in ("pandas", "polars") and kind == "Series":
        raise UsageError('a Series has no columns: give a table, series.to_frame("text")')
    if library == "datasets" and isinstance(rows, Mapping):
        first = next(iter(rows), "train")
        raise UsageError(f"a {kind} has a table for each split: give one, such as ds[{first!r}]")
    if library == "polars" and hasattr(rows, "collect"):
        rows = rows.collect()
    if library == "pandas" and hasattr(rows, "iloc"):
        return _of_pandas(rows, parser)
    if library == "polars" and hasattr(rows, "filter"):
        return _source_of_table(
            rows, parser, rows.filter, type(rows), lambda kept: kept.iter_rows(named=True)
        )
    if library == "datasets" and hasattr(rows, "select"):
        return _source_of_table(
            rows,
            parser,
            lambda mask: rows.select(np.flatnonzero(mask)),
            type(rows).from_dict,
            iter,
        )
    if hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "__arrow_c_array__"):
        return _of_arrow(rows, parser)
    if isinstance(rows, Iterable) and not isinstance(rows, Mapping | bytes):
        return _of_dicts(list(rows), parser)
    raise UsageError(
        f"{kind} has no rows: give a table of pyarrow, pandas or Polars, a Dataset, "
        "dicts, or names of files"
    )


def _source_of_table(
    table: Any,
    parser: RecordParser,
    take: Callable[[Mask], Any],
    listing: Callable[[dict[str, list[Any]]], Any],
    each: Callable[[Any], Iterator[dict[str, Any]]],
    read: Any = None,
) -> _Source:
    """The source of a table that Arrow reads; `read` if another one has the same rows."""
    arrow()
    from lshdb.sources.arrow_rows import blocks, table_batches

    wanted = table if read is None else read

    def items() -> Iterator[Item]:
        yield from blocks(table_batches(wanted, parser), _NAME, parser)

    return _Source(parser, items, take, listing, lambda mask: each(take(mask)))


def _of_arrow(rows: Any, parser: RecordParser) -> _Source:
    pa = arrow()
    from lshdb.sources import arrow_rows

    if not isinstance(rows, pa.Table):
        rows = arrow_rows.table_reader(rows).read_all()

    def each(kept: Any) -> Iterator[dict[str, Any]]:
        for batch in kept.to_batches():
            yield from arrow_rows.records(batch)

    return _source_of_table(rows, parser, lambda mask: rows.filter(pa.array(mask)), pa.table, each)


def _of_pandas(frame: Any, parser: RecordParser) -> _Source:
    # Arrow may not know the types of other columns.
    names = [name for name in frame.columns if isinstance(name, str)]
    own = parser.own_fields(names)
    parser.check_columns(names)
    return _source_of_table(
        frame,
        parser,
        lambda mask: frame[mask],
        type(frame),
        lambda kept: iter(kept.to_dict("records")),
        frame[[name for name in names if name in own]],
    )


def _of_dicts(rows: list[Any], parser: RecordParser) -> _Source:
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise UsageError(f"{_NAME} {number} is a {type(row).__name__}, not a dict")

    def items() -> Iterator[Item]:
        columns: tuple[str, ...] = ()
        waiting: list[tuple[int, tuple[object, ...]]] = []
        size = 0
        for number, row in enumerate(rows, 1):
            own = parser.own_fields(row)
            names = tuple(name for name in row if name in own)
            if waiting and (names != columns or len(waiting) == _ROWS or size > _ROWS * _ROWS):
                yield Rows(_NAME, columns, waiting, size)
                waiting, size = [], 0
            columns = names
            values = tuple(row[name] for name in names)
            waiting.append((number, values))
            size += _OBJECTS + sum(len(one) for one in values if isinstance(one, str))
        if waiting:
            yield Rows(_NAME, columns, waiting, size)

    def each(mask: Mask) -> Iterator[dict[str, Any]]:
        return (row for row, kept in zip(rows, mask.tolist(), strict=True) if kept)

    return _Source(parser, items, lambda mask: [*each(mask)], _dicts, each)


def _dicts(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


# files


def _of_files(given: list[str], parser: RecordParser) -> _Source:
    paths = list(expanded(given))
    reader = _reader(parser)
    for path in paths:
        if not os.path.isfile(path):
            what = "no such file"
            if os.path.exists(path):
                what = "not a file: name the files of a directory, as in dir/*.jsonl"
            raise InputError(f"{printable_path(path)}: {what}")
        if is_database(path):
            raise UsageError(
                f"{printable_path(path)} is a database: lshdb.dedup reads tables, and "
                "Database.dedup compares rows with what a database has"
            )
        reader.head(path)

    def items() -> Iterator[Item]:
        return _reader(parser).items(paths)

    def each(mask: Mask) -> Iterator[dict[str, Any]]:
        for block, places in _kept_places(items(), mask):
            yield from records(block, places)

    return _Source(parser, items, lambda mask: [*each(mask)], _dicts, each, paths)


def _reader(parser: RecordParser) -> Reader:
    return Reader(**parser.record_options(), fallback="jsonl", whole=True)


def _kept_places(items: Iterable[Item], mask: Mask) -> Iterator[tuple[Block, list[int]]]:
    """The blocks of all rows, with the places of those that a mask selects."""
    first = 0
    for block in items:
        if isinstance(block, Lines | Rows):
            yield block, np.flatnonzero(mask[first : first + block.count]).tolist()
            first += block.count


def _save(path: str, paths: Sequence[str], source: _Source, mask: Mask) -> None:
    if os.path.exists(path) and any(os.path.samefile(path, one) for one in paths):
        raise UsageError(f"{path} is one of the files that are read: save to another one")
    reader = _reader(source.parser)
    own = reader.format_of(paths[0])
    format = output_format(path, own)
    head = common_head(reader, paths, format)
    of_lines = KIND[own] == "json"
    with Output(path) as file, sink(Target(file, format), head, of_lines=of_lines) as rows:
        for block, places in _kept_places(source.items(), mask):
            rows.write(block, places)
