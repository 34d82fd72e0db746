"""Candidate pairs: documents that share a bucket, with a limit on what one bucket gives.

Spark brings the rows of a bucket together, sorted by key, in one shuffle; a task then walks along
its buckets and holds no more of one than the limit. A self-join in SQL needs the rows twice: once
to count the documents of each bucket and once to pair them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from lshdb.errors import UsageError
from lshdb.model import Construction, Settings
from lshdb.sketching.constructions import evaluate
from lshdb.spark.counts import Counts

WHOLE: Final = 2000
"""Documents in the largest bucket that gives all of its pairs, unless told otherwise."""
_PAIRS: Final = 1 << 16
"""Pairs in a batch."""

Numbers = npt.NDArray[np.int64]


class _Bucket(NamedTuple):
    """A bucket too large for all of its pairs."""

    band_no: int
    bucket_key: int
    first: str
    members: int


def candidate_pairs(
    bands: DataFrame,
    settings: Settings,
    *,
    limit: int | None = WHOLE,
    counts: Counts | None = None,
) -> DataFrame:
    """The pairs of documents that share a bucket, or those that make a cascade true, each once.

    Args:
        bands: band rows, as from `bands`.
        settings: those of the bands.
        limit: in a bucket of more documents, each is paired with the first of the bucket only;
            None for all pairs of every bucket, however many these are.
        counts: what the limit cuts is added to these.

    Returns:
        a string, b string: keys, a before b in the order of their UTF-8 bytes.

    Raises:
        UsageError: a limit below 2.
    """
    if limit is not None and limit < 2:
        raise UsageError(f"limit {limit} is not at least 2")
    construction = settings.construction
    rows = (
        bands.select("band_no", "bucket_key", "key")
        .repartition("band_no", "bucket_key")
        .sortWithinPartitions("band_no", "bucket_key", "key")
    )
    listed = rows.mapInArrow(
        pairing_task(limit, counts, with_band=bool(construction.higher)),
        "a string, b string, band_no int" if construction.higher else "a string, b string",
    )
    if not construction.higher:
        return listed.dropDuplicates(["a", "b"])
    together = listed.groupBy("a", "b").agg(F.collect_set("band_no").alias("band_nos"))
    enough = together.where(F.size("band_nos") >= construction.least_bands)
    return enough.mapInArrow(_cascade_task(construction), "a string, b string")


def pairing_task(
    limit: int | None, counts: Counts | None, *, with_band: bool
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a task does to batches (band_no, bucket_key, key), sorted; buckets may go on in others.

    It gives pairs (a, b) or, `with_band`, (a, b, band_no).
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pairing = _Pairing(limit, counts, with_band)
        for batch in batches:
            yield from pairing.take(batch)
        yield from pairing.finish()

    return run


class _Pairing:
    """Walks along sorted band rows; the last bucket of a batch waits for the next one."""

    def __init__(self, limit: int | None, counts: Counts | None, with_band: bool) -> None:
        self._limit = limit
        self._counts = counts
        self._with_band = with_band
        self._waiting: pa.RecordBatch | None = None
        self._hot: _Bucket | None = None

    def take(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The pairs of one more batch, and of what waited for it."""
        if self._hot is not None:
            same = _leading(batch, self._hot)
            yield from self._stars(batch.slice(0, same), self._hot.first)
            self._hot = self._hot._replace(members=self._hot.members + same)
            if same == batch.num_rows:
                return
            self._close()
            batch = batch.slice(same)
        if self._waiting is not None:
            batch = pa.concat_batches([self._waiting, batch])
            self._waiting = None
        if not batch.num_rows:
            return
        begins = _begins(batch)
        last = int(begins[-1])
        yield from self._whole(batch.slice(0, last), begins[:-1])
        tail = batch.slice(last)
        if self._limit is None or tail.num_rows <= self._limit:
            self._waiting = tail
            return
        first = tail.column("key")[0].as_py()
        yield from self._stars(tail.slice(1), first)
        band_no, bucket_key = (tail.column(i)[0].as_py() for i in (0, 1))
        self._hot = _Bucket(band_no, bucket_key, first, tail.num_rows)

    def finish(self) -> Iterator[pa.RecordBatch]:
        """The pairs of the last bucket."""
        self._close()
        if self._waiting is not None:
            yield from self._whole(self._waiting, np.zeros(1, dtype=np.int64))

    def _close(self) -> None:
        if self._hot is not None:
            self._count_cut(np.array([self._hot.members]))
            self._hot = None

    def _whole(self, batch: pa.RecordBatch, begins: Numbers) -> Iterator[pa.RecordBatch]:
        """The pairs of buckets that end with the batch, and begin at int64[B]."""
        sizes = np.diff(np.append(begins, batch.num_rows))
        place = np.arange(batch.num_rows) - np.repeat(begins, sizes)
        later = np.repeat(sizes, sizes) - 1 - place
        if self._limit is not None:
            hot = sizes > self._limit
            if hot.any():
                later[np.repeat(hot, sizes) & (place > 0)] = 0
                self._count_cut(sizes[hot])
        ends = np.cumsum(later)
        total = int(ends[-1]) if len(ends) else 0
        for start in range(0, total, _PAIRS):
            number = np.arange(start, min(start + _PAIRS, total))
            one = np.searchsorted(ends, number, side="right")
            other = one + 1 + number - (ends[one] - later[one])
            yield self._batch(batch, one, other)

    def _batch(self, batch: pa.RecordBatch, one: Numbers, other: Numbers) -> pa.RecordBatch:
        key = batch.column("key")
        columns = {"a": key.take(pa.array(one)), "b": key.take(pa.array(other))}
        if self._with_band:
            columns["band_no"] = batch.column("band_no").take(pa.array(one))
        return pa.RecordBatch.from_pydict(columns)

    def _stars(self, members: pa.RecordBatch, first: str) -> Iterator[pa.RecordBatch]:
        """Pairs of the first document of a bucket with others."""
        if members.num_rows:
            key = members.column("key")
            columns = {"a": pa.repeat(pa.scalar(first, key.type), len(key)), "b": key}
            if self._with_band:
                columns["band_no"] = members.column("band_no")
            yield pa.RecordBatch.from_pydict(columns)

    def _count_cut(self, sizes: Numbers) -> None:
        if self._counts is not None:
            self._counts.add("cut_buckets", len(sizes))
            self._counts.add("cut_pairs", int(((sizes - 1) * (sizes - 2) // 2).sum()))


def _begins(batch: pa.RecordBatch) -> Numbers:
    """Where buckets begin, int64[B]."""
    band, bucket = (batch.column(i).to_numpy() for i in (0, 1))
    changed = (band[1:] != band[:-1]) | (bucket[1:] != bucket[:-1])
    return np.append(0, np.flatnonzero(changed) + 1)


def _leading(batch: pa.RecordBatch, bucket: _Bucket) -> int:
    """How many rows at the beginning are of a bucket."""
    band, key = batch.column("band_no").to_numpy(), batch.column("bucket_key").to_numpy()
    other = (band != bucket.band_no) | (key != bucket.bucket_key)
    return int(np.argmax(other)) if other.any() else len(other)


def _cascade_task(
    construction: Construction,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Leaves the pairs (a, b, band_nos) whose bands make a cascade true."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            band_nos = batch.column("band_nos")
            sizes = pc.list_value_length(band_nos).to_numpy()
            collided = np.zeros((batch.num_rows, construction.bands), dtype=np.bool_)
            pair = np.repeat(np.arange(batch.num_rows), sizes)
            collided[pair, band_nos.flatten().to_numpy()] = True
            true = evaluate(collided, construction)
            yield batch.select(["a", "b"]).filter(pa.array(true))

    return run
