"""From a DataFrame to lshdb files, and back."""

import glob
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

import lshdb
from lshdb import Database, UsageError
from lshdb.apps.spark import frame_documents
from lshdb.apps.spark.counts import LIMITS
from lshdb.apps.spark.frame_documents import Batches, usable
from lshdb.apps.spark.options import SparkWriteOptions
from lshdb.apps.spark.statements import ALL_DOCUMENTS
from lshdb.errors import TIMEOUT
from lshdb.read.outputs import Output
from lshdb.store.partial_files import temporary_directory
from lshdb.store.store import Store
from lshdb.taking import takes
from lshdb.text.arrays import bounded

_ROW = 800
"""Size of a row besides its content, in characters: signature, key, Python objects."""


@dataclass(frozen=True)
class Shard:
    """One of the files that were written, with its number of documents."""

    path: Path
    documents: int


@takes(SparkWriteOptions)
def write_databases(df: DataFrame, options: SparkWriteOptions) -> list[Shard]:
    """Write documents to lshdb files, shard-00000-of-00008.db and so on, one task each; runs jobs.

    A document's file depends on its key. Each file is made on the executor's own disk, and gets
    its name in the directory when it is complete. `lshdb add -d all.db DIRECTORY/*.db` makes one
    database of them.

    Args:
        df: one row per document.

    Raises:
        UsageError: a missing column, fewer than one shard, a directory that holds databases or
            is not a plain path.
        FileExistsError: the directory is a file.
        InputError: several documents have the same key.
    """
    settings, counts, number = options.data.settings, options.data.counts, options.shards
    name = os.fspath(options.directory)
    if "://" in name:
        raise UsageError(
            f"{name}: SQLite writes to file systems only; name a directory that all executors see"
        )
    target = Path(name).absolute()
    if any(target.glob("*.db")):
        raise UsageError(f"{name} holds databases already: name another directory")
    docs = frame_documents.documents(df, options.data)
    frame_documents.check_keys(docs)
    target.mkdir(parents=True, exist_ok=True)
    # With a given number, Spark keeps all partitions: each is a file, even an empty one.
    parts = docs.repartition(number, "key").sortWithinPartitions("key")

    def items(batches: Batches) -> Iterator[tuple[str, object]]:
        for batch in batches:
            keys, contents = usable(batch, settings, counts)
            yield from zip(keys.to_pylist(), contents, strict=True)

    def run(batches: Batches) -> Batches:
        context = TaskContext.get()
        assert context is not None
        path = target / f"shard-{context.partitionId():05d}-of-{number:05d}.db"
        with temporary_directory(None) as directory:  # on this machine's own disk
            local_path = directory / path.name
            with Database(Store.open(local_path, "create", TIMEOUT, lambda: settings)) as database:
                database.add_many(items(batches), workers=0)  # type: ignore[arg-type]
                count = len(database)
            with local_path.open("rb") as file, Output(str(path), sync=True) as copy:
                shutil.copyfileobj(file, copy)
        yield pa.RecordBatch.from_pydict({"path": [str(path)], "documents": [count]})

    written = parts.mapInArrow(run, "path string, documents long").collect()
    return [Shard(Path(path), count) for path, count in sorted(map(tuple, written))]


def read_database(spark: SparkSession, path: str | os.PathLike[str]) -> DataFrame:
    """The documents of a file, or of all files of a pattern like `dir/*.db`, one task each.

    Returns:
        file string; doc_id long; key string; shingles long; content string, null if it is not kept,
        a set as a JSON array; signature binary, null for an empty document.

    Raises:
        UsageError: the driver has no such file; executors must see it too.
    """
    name = os.fspath(path)
    paths = [name] if os.path.exists(name) else sorted(glob.glob(name))
    if not paths:
        raise UsageError(f"{name}: no such file")
    files = spark.sparkContext.parallelize([(os.path.abspath(file),) for file in paths], len(paths))
    columns = "doc_id long, key string, shingles long, content string, signature binary"
    schema = cast(StructType, StructType.fromDDL(f"file string, {columns}"))
    types = to_arrow_schema(schema)

    def size_of(row: Sequence[Any]) -> int:
        return _ROW + sum(len(value) for value in row if isinstance(value, str))

    def run(batches: Batches) -> Batches:
        for file in (file for batch in batches for file in batch.column("file").to_pylist()):
            with lshdb.open(file, mode="read") as database:
                for rows in bounded(database.sql(ALL_DOCUMENTS).rows(), size_of, LIMITS.text_batch):
                    values = [[file] * len(rows), *zip(*rows, strict=True)]
                    arrays = map(pa.array, values, types.types)
                    yield pa.RecordBatch.from_arrays([*arrays], schema=types)

    return spark.createDataFrame(files, "file string").mapInArrow(run, schema)
