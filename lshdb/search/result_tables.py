"""Results of queries and joins: an iterator of objects as they are found, or a table of all.

A table has the columns that the command line writes: a column for each field of a match, a pair or
a member of a cluster, and for each requested field of metadata. An app makes the table
(lshdb.apps.tables).
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain, repeat
from operator import attrgetter
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    TypeVar,
    cast,
)

from lshdb import model, offers, progress
from lshdb.columns import (
    MATCH,
    MEMBER,
    PAIR,
    WEIGHTED,
    Columns,
    objects_of,
    rows_of,
)
from lshdb.errors import UsageError
from lshdb.groups import Options
from lshdb.options import ClustersOptions, FileName, PairsOptions, QueryManyOptions, RankingOptions
from lshdb.results import Result, short

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from lshdb.options import SqlValue
    from lshdb.store.store import Store

T = TypeVar("T")
_COUNTED = 500
"""Queries between two updates of their progress."""


def with_fields(columns: Columns, fields: Iterable[str], *prefixes: str) -> dict[str, type]:
    """Columns, followed by columns for fields of metadata.

    A field with the name of another column is called `metadata.NAME`. With prefixes a field has a
    column for each prefix: `a.NAME`, `b.NAME`.
    """
    all_columns = dict(columns)
    for prefix in prefixes or ("",):
        for name in fields:
            column = prefix + name
            while column in all_columns:
                column = f"metadata.{column}"
            all_columns[column] = object
    return all_columns


class Tabular(Result):
    """Rows of named columns, which make tables.

    Attributes:
        columns: the names of the columns, with their types if these are known.
    """

    columns: Columns | list[str]

    def rows(self) -> Iterator[Sequence[Any]]:
        """The rows of the table: a value per column."""
        raise NotImplementedError

    def to_arrow(self) -> pa.Table:
        """An Arrow table of the rows. Needs the extra `arrow` (pyarrow).

        A column of any values whose types differ is text.

        Raises:
            UsageError: pyarrow is not installed.
            StoreError: the file cannot be read.
        """
        return offers.offered(offers.RESULTS, "to_arrow")(self)

    def df(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame. Needs pandas, and the extra `arrow` (pyarrow)."""
        return offers.offered(offers.RESULTS, "df")(self)


class Matches(Tabular, list[model.Match]):
    """The matches of a query, best first: a list, and a table.

    Attributes:
        columns: the columns of the table, with their types.
    """

    columns: Columns

    def __init__(self, matches: Iterable[model.Match], columns: Columns) -> None:
        super().__init__(matches)
        self.columns = columns

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows of the table: a value per column for each match, then the requested fields."""
        names = [name for name, kind in MATCH.items() if self.columns.get(name) is kind]
        for match in self:
            yield *[getattr(match, name) for name in names], *(match.metadata or {}).values()


def answers_of(
    answers: Iterator[tuple[str, list[model.Match]]],
    options: QueryManyOptions,
    total: int | None,
) -> Generator[tuple[str, Matches]]:
    """The keys of many queries and their matches; shows progress while a caller reads them."""
    columns = match_columns(options.ranking)
    count = 0
    with progress.shown(options.progress, "query") as show, closing(answers):  # type: ignore[type-var]
        for count, (key, matches) in enumerate(answers, 1):
            if not count % _COUNTED:
                show(count, total, "queries")
            yield key, Matches(matches, columns)
        show(count, total, "queries")


def match_columns(ranking: RankingOptions, *lead: str) -> dict[str, type]:
    """The columns of matches, with those that a caller puts before them."""
    columns: dict[str, type] = {**dict.fromkeys(lead, str), **MATCH}
    if not ranking.containment:
        del columns["containment"]
    return with_fields(columns, ranking.similar.fields)


@dataclass(eq=False, repr=False)
class Results(Tabular, Iterator[T], Generic[T]):
    """Pairs or clusters as they are found: an iterator, and a table.

    The table always has all results, wherever the iterator is.

    Attributes:
        columns: the columns of the table, with their types.
    """

    _name: str
    columns: Columns
    _find: Callable[[], Iterator[T]]
    _rows: Callable[[], Iterator[Sequence[Any]]]

    def __post_init__(self) -> None:
        self._results = _begun(self._find)

    def __next__(self) -> T:
        return next(self._results)

    def close(self) -> None:
        """End the iteration, and close its connection."""
        self._results.close()

    def rows(self) -> Iterator[Sequence[Any]]:
        """The rows of the table, as they are found: a value per column."""
        return self._rows()

    def __repr__(self) -> str:
        return f"<{self._name}: an iterator; to_arrow() and df() give a table>"


def _begun(find: Callable[[], Iterator[T]]) -> Generator[T]:
    """A search as a generator, which begins with the first result and can be closed."""
    yield from find()


def finding(
    find: Callable[..., Iterator[T]],
    store: Store,
    options: Options,
    group_by: FileName | None,
    *others: Any,
) -> Callable[[], Iterator[T]]:
    """A search of the documents of a file, or of its folders if `group_by` says which."""
    if group_by is None:
        return partial(find, store, options, *others)
    in_folders = offers.offered(offers.SEARCHES, "group_by")
    return partial(in_folders, find, store, options, group_by, *others)


class PairResults(Results[model.Pair]):
    """Pairs as results.

    Attributes:
        sample: what draws some of all pairs; None if all are wanted.
    """

    sample: Any = None

    @property
    def drawn_from(self) -> int | None:
        """How many pairs a sample was drawn from; None before its first pair, or without one."""
        count: int | None = self.sample and self.sample.drawn_from
        return count


def pair_results(store: Store, options: PairsOptions) -> PairResults:
    """The results of `Database.pairs`."""
    from lshdb.search.pairs import pair_blocks

    sample = None
    if options.sample is not None:
        sample = offers.offered(offers.SEARCHES, "sample")(options.sample, options.seed)
    names = {**PAIR, **WEIGHTED}
    blocks = finding(pair_blocks, store, options, options.join.group_by, progress.silent, sample)

    def rows() -> Iterator[Sequence[Any]]:
        if not options.join.similar.fields and not options.weighted.sort:
            for block in blocks():
                yield from rows_of(block, names)
            return
        values = attrgetter(*names)
        for pair in pairs():
            fields = pair.a_metadata or {}, pair.b_metadata or {}
            yield *values(pair), *chain.from_iterable(of.values() for of in fields)

    columns = with_fields(names, options.join.similar.fields, "a.", "b.")

    def pairs() -> Iterator[model.Pair]:
        found = chain.from_iterable(objects_of(block, model.Pair) for block in blocks())
        if not options.weighted.sort:
            return found
        rank = offers.offered(offers.SEARCHES, "sort")(store.settings)
        return iter(rank(found, options.weighted, options.join.similar.top, "similarity"))

    results = PairResults("pairs", columns, pairs, rows)
    results.sample = sample
    return results


def cluster_results(store: Store, options: ClustersOptions) -> Results[model.Cluster]:
    """The results of `Database.clusters`."""
    from lshdb.search.pairs import all_clusters

    with store.reading():
        settings = store.settings
    if options.clusters.order.keep == "longest" and settings.shingling.foreign:
        raise UsageError("signatures made elsewhere have no lengths: keep first or last")
    similar = options.join.similar
    threshold = similar.threshold or settings.threshold
    find = finding(all_clusters, store, options, options.join.group_by)
    columns = with_fields(MEMBER, similar.fields)
    return Results("clusters", columns, find, lambda: member_rows(find(), threshold))


def member_rows(clusters: Iterable[model.Cluster], threshold: float) -> Iterator[Sequence[Any]]:
    """A row for each member of each cluster: the values of `MEMBER`, then those of fields."""
    for cluster in clusters:
        columns: dict[str, Iterable[Any]] = {
            "cluster": repeat(cluster.cluster),
            "key": cluster.members,
            "keep": repeat(cluster.keep),
            "role": roles(cluster, threshold),
            "similarity": cluster.similarities,
            "exact": repeat(cluster.exact),
            "identical": cluster.identical,
            "same_text": cluster.same_text,
        }
        all_metadata = cluster.metadata or ({},) * len(cluster.members)
        for row, metadata in zip(rows_of(columns, MEMBER), all_metadata, strict=True):
            yield *row, *metadata.values()


def roles(cluster: model.Cluster, threshold: float) -> list[str]:
    """The role of each member of a cluster: its decision, or `keep`, `member` or `below`."""
    kept = cluster.members.index(cluster.keep)
    member_roles = ["member" if score >= threshold else "below" for score in cluster.similarities]
    member_roles[kept] = "keep"
    return [decided or role for decided, role in zip(cluster.decided, member_roles, strict=True)]


class SqlRows(Tabular, Iterator[Any]):
    """The rows of a SELECT as named tuples: an iterator, and a table of the remaining rows.

    A column whose name is not valid in Python, or repeated, is `_0`, `_1`, ... by its index.

    Attributes:
        columns: the names of the columns, made distinct as SQLite does: key, key:1.
    """

    def __init__(self, names: list[str], rows: Iterator[tuple[SqlValue, ...]]) -> None:
        self._rows = _begun(lambda: rows)
        self.columns: list[str] = _distinct(names)
        row_type = cast(Any, namedtuple("Row", names, rename=True))
        row_type.__repr__ = short
        self._named = row_type._make

    def __next__(self) -> Any:
        return self._named(next(self._rows))

    def close(self) -> None:
        """End the iteration, and close its connection."""
        self._rows.close()

    def rows(self) -> Iterator[tuple[SqlValue, ...]]:
        """The remaining rows, as plain tuples."""
        return self._rows

    def dicts(self) -> Iterator[dict[str, SqlValue]]:
        """The remaining rows, as dicts by the names in `columns`."""
        return (dict(zip(self.columns, row, strict=True)) for row in self._rows)

    def __repr__(self) -> str:
        return f"<rows of {short(self.columns)[1:-1]}: an iterator; df() gives a table>"


def _distinct(names: Sequence[str]) -> list[str]:
    distinct: list[str] = []
    for name in names:
        candidate, number = name, 0
        while candidate in distinct:
            number += 1
            candidate = f"{name}:{number}"
        distinct.append(candidate)
    return distinct
