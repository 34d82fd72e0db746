"""The same signatures, buckets and similar pairs on Apache Spark; needs the extra `spark`.

DataFrames in and out: a result is computed when it is used, on the executors, which need this
package, by the same functions that fill an lshdb file.

    signatures(df, settings)     key, shingles, signature, bucket_keys
    bands(signatures)            key, band_no, bucket_key
    candidate_pairs(bands, ...)  a, b
    pairs(df, settings)          a, b, similarity, exact, estimate
    clusters(pairs)              key, keep
    dedup(df, settings)          kept rows, dropped rows
    fingerprints, passage_pairs(df, settings)   copied passages, a row each
    write_databases, read_database                  to lshdb files and back

Limits: keys give the order, as rows of a DataFrame have none. Spark Connect cannot count: there
`signatures`, `bands`, `candidate_pairs`, `pairs` and `clusters` work, without `Counts`.

    sketching    signatures and bands, by options; frame_documents checks the columns
    candidates   candidate pairs, with a limit on one bucket; identical for that rule
    verifying    similar pairs; clustering their components; deduplicating drops near duplicates
    copied_passages  fingerprints, and pairs of documents that share a passage
    databases    to lshdb files and back, by statements; reading has INPUT of the commands, and its
                 broken lines; starting starts Spark, and has its errors; counts what is left out

Doors: .
"""

from importlib import import_module
from typing import TYPE_CHECKING

from lshdb.errors import install

if TYPE_CHECKING:
    from lshdb.apps.spark.candidates import candidate_pairs
    from lshdb.apps.spark.clustering import clusters
    from lshdb.apps.spark.copied_passages import fingerprints, passage_pairs
    from lshdb.apps.spark.counts import Counts
    from lshdb.apps.spark.databases import Shard, read_database, write_databases
    from lshdb.apps.spark.deduplicating import Deduplicated, dedup
    from lshdb.apps.spark.frame_documents import make_settings
    from lshdb.apps.spark.sketching import bands, signatures
    from lshdb.apps.spark.verifying import pairs

__all__ = [
    "Counts",
    "Deduplicated",
    "Shard",
    "bands",
    "candidate_pairs",
    "clusters",
    "dedup",
    "fingerprints",
    "make_settings",
    "pairs",
    "passage_pairs",
    "read_database",
    "signatures",
    "write_databases",
]


def check_installed() -> None:
    """Raise an ImportError that says what to install, where Spark is not."""
    try:
        import pyarrow  # noqa: F401
        import pyspark  # noqa: F401
    except ImportError as error:
        raise ImportError(f"Spark is not installed: {install('spark')}") from error


def __getattr__(name: str) -> object:
    """Import a name when it is first used; ImportError where Spark is not installed."""
    if name not in __all__:
        raise AttributeError(f"module 'lshdb.spark' has no attribute {name!r}")
    check_installed()
    modules = (
        "sketching",
        "candidates",
        "verifying",
        "clustering",
        "deduplicating",
        "copied_passages",
        "frame_documents",
        "databases",
        "counts",
    )
    found = (import_module(f"lshdb.apps.spark.{module}") for module in modules)
    return next(filter(None, (getattr(module, name, None) for module in found)))
