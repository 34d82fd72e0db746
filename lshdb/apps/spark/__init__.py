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

    frame_documents  checks the columns, and gives documents to functions, batch by batch
    similar_pairs  signatures and bands, by options; candidates, and which of them are similar
    clustering   their components; deduplicating drops near duplicates
    copied_passages  fingerprints, and pairs of documents that share a passage
    databases    to lshdb files and back, by statements; reading has INPUT of the commands, and its
                 broken lines; starting starts Spark, and has its errors; counts what is left out

Doors: .
"""

from importlib import import_module

from lshdb.errors import install

_NAMES = {
    "clustering": "clusters",
    "copied_passages": "fingerprints passage_pairs",
    "counts": "Counts",
    "databases": "Shard read_database write_databases",
    "deduplicating": "Deduplicated dedup",
    "frame_documents": "make_settings",
    "similar_pairs": "bands candidate_pairs pairs signatures",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_MODULES)


def check_installed() -> None:
    """Raise an ImportError that says what to install, where Spark is not."""
    try:
        import pyarrow  # noqa: F401
        import pyspark  # noqa: F401
    except ImportError as error:
        raise ImportError(f"Spark is not installed: {install('spark')}") from error


def __getattr__(name: str) -> object:
    """Import a name when it is first used; ImportError where Spark is not installed."""
    if name not in _MODULES:
        raise AttributeError(f"module 'lshdb.spark' has no attribute {name!r}")
    check_installed()
    return getattr(import_module(f"lshdb.apps.spark.{_MODULES[name]}"), name)
