"""Near duplicates among a program's rows; kept rows come back in the form that they had.

A temporary database holds the documents during the run. Only the columns of keys and documents are
read; the rows' own library selects the kept ones.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    TypeVar,
    cast,
    overload,
)

import numpy as np

from lshdb import groups
from lshdb.apps.dedup import data_frames, input_tables, output_directory, rules, run_outputs
from lshdb.apps.dedup.file_rows import FilesOfRows, session_of_rows
from lshdb.apps.dedup.model import Dropped
from lshdb.apps.dedup.references import Reference, completed, settings_known
from lshdb.apps.dedup.rows import ANNOTATED, rows_of
from lshdb.apps.dedup.run import Run, references_checked
from lshdb.apps.frames.options import DataOptions
from lshdb.errors import TIMEOUT, InputError, SettingsWarning, UsageError, warn
from lshdb.formatting import counted
from lshdb.maintain.resolve import check_against, resolve
from lshdb.model import Failure
from lshdb.options import WalkingOptions, WritingOptions
from lshdb.read import counts
from lshdb.read.batch import Batch, Origin
from lshdb.read.files import FilesRead
from lshdb.read.paths import expanded, file_and_sheet, partition_of
from lshdb.read.records import with_partition
from lshdb.read.session import Session
from lshdb.results import Result
from lshdb.store.store import Store
from lshdb.taking import takes
from lshdb.text import arrays

if TYPE_CHECKING:
    from lshdb.taking import Taking

AnyRows = TypeVar("AnyRows")
_P = ParamSpec("_P")
_Paths = str | os.PathLike[str] | list[str] | tuple[str, ...]
_OF_TEXTS = (
    'lshdb.dedup reads rows; give dicts, or the names to Database.dedup_files(names, format="text")'
)


@dataclass(frozen=True, slots=True)
class _Files:
    """Rows of files, read again whenever they are needed.

    Attributes:
        tables: of the input.
        rows: of the tables.
    """

    tables: input_tables.Tables
    rows: FilesOfRows

    def batches(self) -> Iterator[Batch]:
        """All rows, with their documents."""
        return _whole(self.rows.batches())

    def again(self, *, only_rows: bool = True) -> Iterator[Batch]:
        """All rows once more."""
        return _whole(self.rows.again(only_rows=only_rows))

    def selected(self, mask: arrays.Mask) -> Iterator[tuple[Origin, list[int]]]:
        """The rows that a mask selects, of each batch; InputError if a file has changed."""
        first = 0
        for batch in self.again():
            if batch.origin is not None:
                yield batch.origin, np.flatnonzero(mask[first : first + batch.count]).tolist()
                first += batch.count

    def each(self, mask: arrays.Mask) -> Iterator[dict[str, Any]]:
        """The rows that a mask selects as dicts, one by one."""
        for origin, indices in self.selected(mask):
            partition = partition_of(origin.name)
            for record in rows_of(origin).records(indices):
                yield with_partition(record, partition)

    def take(self, mask: arrays.Mask) -> list[dict[str, Any]]:
        """The rows that a mask selects, in a list."""
        return [*self.each(mask)]


@dataclass(frozen=True, repr=False)
class Deduplicated(Result, Generic[AnyRows]):
    """Rows without near duplicates, and those that were dropped. Made by `lshdb.dedup`.

    Attributes:
        threshold: the minimum similarity of similar rows.
        mask: bool[n], which of the n rows are kept.
        failed: how many rows have no document, such as those without a text; they are not kept.
        failures: where the first 10,000 of them are, and why.
        dropped: the rows that are similar to a kept one, in order: a list, and a table.
    """

    threshold: float
    mask: arrays.Mask
    failed: int
    failures: tuple[Failure, ...]
    dropped: Dropped
    _source: data_frames.Frame | _Files = field(compare=False)
    _options: DataOptions = field(compare=False)

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
        return len(self.dropped)

    @property
    def kept(self) -> AnyRows:
        """The kept rows, in order, in the form that the rows came in.

        For dicts and files, a list of dicts; files are read again for it.
        """
        return cast("AnyRows", self._source.take(self.mask))

    @property
    def annotations(self) -> dict[str, list[Any]]:
        """Four columns about all rows, in their order, to be joined with them.

        `cluster` is the number of the first row of each group, from 1; `kept` is the key of the row
        that stays in place of each, its own if it stays; `similarity` is to that, and `exact` says
        whether it is exact. Rows without a document have None in all of them. Files are read again
        for it.

        Raises:
            UsageError: no row stays in place of others, as with `drop_all`.
        """
        if self._options.choice.drop_all:
            raise UsageError("drop_all keeps none of similar rows: there is none to name")
        columns: dict[str, list[Any]] = {name: [None] * len(self.mask) for name in ANNOTATED}
        first, dropped, clusters = 0, iter(self.dropped), run_outputs.Clusters()
        for batch in self._source.again(only_rows=False):
            assert batch.origin is not None
            rows = np.add(batch.indices, first).tolist()
            reasons = [None if self.mask[row] else next(dropped) for row in rows]
            annotations = clusters.annotations(batch.origin, batch.indices, batch.keys, reasons)
            for row, values in zip(rows, annotations, strict=True):
                for column, value in zip(columns.values(), values, strict=True):
                    column[row] = value
            first += batch.count
        return columns

    def iter_kept(self) -> Iterator[dict[str, Any]]:
        """The kept rows of files, one by one as dicts: they are read again, lazily.

        Raises:
            InputError: a file has changed since, which is seen when all are read.
            UsageError: the rows are from a table or in a list, as `kept` is.
        """
        return self._files("iter_kept").each(self.mask)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the kept rows of files to a file, in the format of its suffix, or to a directory.

        They are read again, so that memory stays bounded. The file gets its name when complete. A
        directory gets a file for each one that was read.

        Args:
            path: of the file or directory.
            overwrite: delete what earlier runs wrote to the directory.

        Raises:
            UsageError: the rows are from a table, whose library can write files; or files of
                several kinds would go to a table; or it is one of the files, or a database; or a
                directory has files that this does not write.
            InputError: no row could be read, or a file has changed; what was there stays.
            OSError: it cannot be written.
        """
        files = self._files("save")
        if self.failed and not self.kept_count + self.dropped_count:
            first = self.failures[0]
            raise InputError(f"no row could be read, the first: {first.where}: {first.reason}")
        outputs = output_directory.Outputs(
            os.fspath(path),
            files.tables,
            appends=self._options.into is not None,
            overwrites=overwrite,
            option="overwrite=True",
            note=lambda text: warn(UserWarning(text)),
        )
        for target in filter(os.path.exists, outputs.targets):
            if any(os.path.samefile(target, name) for name in files.tables.names):
                raise UsageError(f"{target} is one of the files that are read: save to another one")
        with outputs, run_outputs.KeptRows(outputs, files.rows.session) as rows:
            for origin, indices in files.selected(self.mask):
                rows.write(origin, indices)

    def _files(self, method: str) -> _Files:
        if not isinstance(self._source, _Files):
            raise UsageError(f"{method} is for rows of files: for others, use `kept`")
        return self._source


class _Dedup(Protocol[_P]):
    """Takes rows and options, and gives kept rows back in the same form."""

    @overload
    def __call__(
        self, data: _Paths, /, *args: _P.args, **kwargs: _P.kwargs
    ) -> Deduplicated[list[dict[str, Any]]]: ...
    @overload
    def __call__(
        self, data: AnyRows, /, *args: _P.args, **kwargs: _P.kwargs
    ) -> Deduplicated[AnyRows]: ...


def _in_the_same_form(
    function: "Taking[Concatenate[object, _P], [object, DataOptions], Any]",
) -> _Dedup[_P]:
    return cast("_Dedup[_P]", function)


@_in_the_same_form
@takes(DataOptions)
def dedup(data: object, options: DataOptions) -> Deduplicated[Any]:
    """Drop rows that are similar to a kept row.

    A row is dropped if it is similar to an earlier kept one. So no two kept rows are similar, as
    far as the index finds. No file of yours is written.

    Args:
        data: a table of pyarrow, pandas, Polars or DuckDB; a Hugging Face Dataset; dicts in a list
            or another iterable; the name of a file of rows, a directory of them or a pattern, or a
            list of these.

    Raises:
        UsageError: data of another kind, or wrong arguments.
        InputError: the column of documents is missing, or a file cannot be read.
        SettingsMismatch: a database has other settings than those of the index alone, see
            lshdb.open.

    Warns:
        SettingsWarning: the index of `into` has other settings than those given.
        FailureWarning: rows have no document, and are not kept: see `failures` of the result. None
            is issued if `on_failure` gets them.

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
    >>> [(row.key, row.kept, row.similarity) for row in result.dropped]
    [('b', 'a', 1.0)]
    """
    request = groups.replaced(
        options.comparison.settings,
        base=options.base,
        content=not options.choice.drop.similarity.estimate,  # exact similarities need contents
    )
    shape = request.shape
    rule = rules.rule_of(options.choice, shape.threshold, shape.recall)
    references = references_checked(options.choice, options.into)
    rows = options.of_files
    if options.into is None and (known := settings_known(references, TIMEOUT)) is not None:
        request = completed(request, known)
    with contextlib.ExitStack() as stack:
        store = None
        if options.into is not None:
            new = rules.with_index(rule, request)
            path, limits = Path(options.into), options.limits
            store = Store.open(path, "create", TIMEOUT, lambda: resolve(new), limits=limits)
            stack.enter_context(contextlib.closing(store))
            if note := check_against(request, store.settings, store.path):
                warn(SettingsWarning(note))
        settings = resolve(request) if store is None else store.settings
        session = session_of_rows(
            rows,
            settings,
            on_failure=options.on_failure,
            root=os.path.realpath(os.curdir),
            naming="{}=",
            limits=options.limits,
        )
        source = _source_of(data, session, references)
        masks, dropped = [np.zeros(0, dtype=bool)], Dropped()
        if store is not None and isinstance(rule, rules.SimilarRule):
            rule = replace(rule, threshold=settings.threshold)
        run = Run(
            rows,
            rule,
            references,
            settings,
            session,
            source,
            write=WritingOptions(workers=options.workers),
            stored=store,
            staged=True,
        )
        stack.enter_context(run)
        for batch in run.decided():
            if batch.origin is not None:
                masks.append(np.zeros(len(batch.origin.numbers), dtype=bool))
                masks[-1][batch.kept] = True
                dropped.extend(filter(None, batch.dropped))
        run.merge()
    failed = session.counts.failures
    failed.warn("the result's `failures` name them")
    run.warn_of_ids()
    mask = np.concatenate(masks)
    return Deduplicated(
        settings.threshold, mask, failed.count, tuple(failed.kept), dropped, source, options
    )


def _source_of(
    data: Any, session: Session, references: Sequence[Reference]
) -> data_frames.Frame | _Files:
    """The rows of data, or of the tables that names of files, directories and patterns lead to.

    Those of references are left out.
    """
    names = data if isinstance(data, list | tuple) and data else [data]
    if not isinstance(names[0], str | os.PathLike):
        return data_frames.frame_of(data, session.options)
    for name in names:
        if not isinstance(name, str | os.PathLike):
            raise UsageError(f"among names of files there is {name!r:.100}")
    names = [*map(os.fspath, names)]
    compared = [r.name for r in references if r.is_path and not r.is_database]
    for name in expanded(names):
        if not os.path.exists(file_and_sheet(name)[0]):
            raise InputError(
                f"{name!r:.100}: no such file; strings are names of files, and texts go in dicts: "
                '[{"text": text} for text in texts]'
            )
    walking, skipped_files = WalkingOptions(ignore=False), counts.SkippedFiles()
    files_read = FilesRead()
    input_tables.find_tables(compared, walking, counts.SkippedFiles(), files_read, all_json=True)
    tables = input_tables.find_tables(names, walking, skipped_files, FilesRead(files_read))
    if repeated := skipped_files["repeated"]:
        if not tables.names:
            raise UsageError("against has the same files as the data, and no others are there")
        text = f"{counted(repeated, 'file')} skipped: earlier paths, or against, lead to the same"
        warn(UserWarning(text))
    input_tables.check_rows(tables.names, _OF_TEXTS)
    for path in tables.names:
        run_outputs.head(session, path)
    return _Files(tables, FilesOfRows([*tables.names], session))


def _whole(batches: Iterable[Batch]) -> Iterator[Batch]:
    """The batches; InputError for a file that cannot be read, or not to its end."""
    for batch in batches:
        if batch.origin is None:
            for _, failure in batch.failures:
                raise InputError(f"{failure.where}: {failure.reason}")
        yield batch
