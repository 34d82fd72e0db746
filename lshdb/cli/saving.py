"""Results written to a file: CSV, JSON lines or Parquet, as the file's name says."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from lshdb.cli.files import STDOUT, Output, check_distinct
from lshdb.cli.output import Cell, message
from lshdb.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from lshdb.model import Cluster
    from lshdb.search.pairs import PairBlock

Kind: TypeAlias = Literal["csv", "jsonl", "parquet"]

_KINDS: Final[dict[str, Kind]] = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".jsonl": "jsonl",
    ".jsonl.gz": "jsonl",
    ".parquet": "parquet",
}
_ROW_GROUP: Final = 100_000
"""Rows of a row group of Parquet."""


def kind_of(path: str, database: str) -> Kind:
    """What kind of file a path names; UsageError if it cannot be written.

    Nothing is asked of the database before: a mistake is told at once.
    """
    kind = next((kind for end, kind in _KINDS.items() if path.lower().endswith(end)), None)
    if path == STDOUT or kind is None:
        raise UsageError(f"--output {path}: the name must end in {', '.join(_KINDS)}")
    check_distinct([database, f"{database}-wal", f"{database}-shm"], [path])
    if kind == "parquet":
        from lshdb.exchange.tables import arrow

        arrow()
    return kind


def save_pairs(blocks: Iterable[PairBlock], path: str, kind: Kind) -> None:
    """Write pairs: a, b, similarity, exact, estimate."""
    if kind == "parquet":
        from lshdb.exchange.tables import pair_batches, pairs_schema

        rows = _parquet(path, pairs_schema(), pair_batches(blocks))
    else:
        names = ("a", "b", "similarity", "exact", "estimate")
        rows = _lines(path, kind, names, _pairs(blocks))
    message(f"{path}: {rows:,} pair{'s' * (rows != 1)}")


def save_clusters(clusters: Iterable[Cluster], threshold: float, path: str, kind: Kind) -> None:
    """Write the members of clusters: cluster, key, keep, role, similarity, exact."""
    if kind == "parquet":
        from lshdb.exchange.tables import cluster_batches, clusters_schema

        rows = _parquet(path, clusters_schema(), cluster_batches(clusters, threshold))
    else:
        names = ("cluster", "key", "keep", "role", "similarity", "exact")
        rows = _lines(path, kind, names, _members(clusters, threshold))
    message(f"{path}: {rows:,} documents in clusters")


def _pairs(blocks: Iterable[PairBlock]) -> Iterator[Sequence[Cell]]:
    for block in blocks:
        scores, estimates = block.similarities.tolist(), block.estimates.tolist()
        for a, b, score, estimate in zip(block.a, block.b, scores, estimates, strict=True):
            yield a, b, score, block.exact, estimate


def _members(clusters: Iterable[Cluster], threshold: float) -> Iterator[Sequence[Cell]]:
    from lshdb.exchange.tables import roles

    for cluster in clusters:
        own = zip(cluster.members, roles(cluster, threshold), cluster.similarities, strict=True)
        for key, role, score in own:
            yield cluster.cluster, key, cluster.keep, role, score, cluster.exact


def _lines(path: str, kind: Kind, names: Sequence[str], rows: Iterable[Sequence[Cell]]) -> int:
    """Write rows, each a line but for newlines in quotes; how many."""
    count = 0
    with Output(path) as output:
        if kind == "csv":
            output.write_line(_csv(names))
        for row in rows:
            if kind == "csv":
                output.write_line(_csv([_bool(cell) for cell in row]))
            else:
                line = json.dumps(dict(zip(names, row, strict=True)))
                output.write_line(line.encode() + b"\n")
            count += 1
    return count


def _csv(row: Sequence[Cell]) -> bytes:
    # Keys as they are: this goes to a file, not to a terminal.
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(row)
    return text.getvalue().encode()


def _bool(cell: Cell) -> Cell:
    return str(cell).lower() if isinstance(cell, bool) else cell


def _parquet(path: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> int:
    """Write record batches; how many rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    count = 0
    waiting: list[pa.RecordBatch] = []
    with Output(path) as output, output.named(), pq.ParquetWriter(output.file, schema) as writer:

        def write() -> None:
            writer.write_table(pa.Table.from_batches(waiting, schema))
            waiting.clear()

        for batch in batches:
            waiting.append(batch)
            count += batch.num_rows
            if sum(one.num_rows for one in waiting) >= _ROW_GROUP:
                write()
        write()
    return count
