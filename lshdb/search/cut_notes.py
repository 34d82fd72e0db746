"""Every limit on comparisons, and its warning; the numbers are in lshdb.limits.

A bucket may hold a large part of a collection: copies of one document, or documents under one
header. The time to compare all of its pairs grows with the square of its size. A `Cut` describes
what a limit leaves out; `lshdb.errors.warn_of_limit` passes it to the caller.

| what | compares of a bucket | and if that may change the result |
|---|---|---|
| `pairs` | all, or by rare shingles all that can be similar (see candidates.prefix_filtered) | |
| `clusters` | the same by rare shingles; else as `clusters` allows | warns |
| `query` | all | |
| `query` with `top` | the best `query_best` of the first `query_first`, by estimate | warns |
| `query`, `pairs` of records | those that share a shingle of 1,000 or fewer records | warns |
| `dedup`, `add` | the first `dedup_listed` that are kept | warns |
| Spark | all pairs of WHOLE documents; in larger buckets those with the first | counts |
| `tune` | the first `sample_rows` | warns |

`buckets`, and SQL about them, lack documents that wait for rows of the index, and warn (see
store.lookups).
"""

from lshdb.errors import Cut
from lshdb.limits import Limit


def query_cut(buckets: int, read: int) -> Cut:
    """Of these buckets of a query, only the first documents were read."""
    return Cut(
        "query",
        buckets,
        f"{buckets} of the query's buckets hold more than {read:,} documents each; only the most "
        "promising of these were compared, so better matches may be missing: without top, a query "
        "compares with all",
    )


def queries_cut(queries: int, read: int) -> Cut:
    """These queries were compared with a part of a large bucket, or of those with a run."""
    return Cut(
        "query",
        queries,
        f"queries that share a bucket (with top) or a run of words (by containment) with more than "
        f"{read:,} documents: {queries:,}; only some of these documents were compared, so better "
        "matches may be missing: exhaustive compares with all",
    )


def clusters_cut(buckets: int, limit: Limit) -> Cut:
    """These buckets have pairs, of documents in different clusters, that were not compared."""
    return Cut(
        "clusters",
        buckets,
        f"buckets with more than {limit.whole:,} documents, not all similar: {buckets:,}; not all "
        "of their candidate pairs were compared, so a cluster may be shown in parts; lshdb pairs "
        "compares all",
    )


def filter_missing(part: str, app: str) -> Cut:
    """A part of the file keeps pairs apart, and what reads it is not there."""
    return Cut(
        part,
        1,
        f"the {part} in this file do not count: they belong to the app {app!r}, which is not "
        "installed",
    )
