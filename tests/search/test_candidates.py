"""Buckets that documents share, beside dictionaries of sets."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict

import numpy as np

from lshdb.search.candidates import SharedBuckets


def members_of(buckets: SharedBuckets) -> list[list[int]]:
    bounds = buckets.offsets.tolist()
    return [buckets.members[start:stop].tolist() for start, stop in itertools.pairwise(bounds)]


def test_rows_are_collected_also_where_a_bucket_goes_on_in_the_next_part() -> None:
    rng = random.Random(1)
    for _ in range(50):
        rows = [
            (bucket, doc_id)
            for bucket in range(rng.randrange(1, 8))
            for doc_id in sorted(rng.sample(range(100, 140), rng.randrange(2, 6)))
        ]
        cuts = sorted(rng.sample(range(len(rows) + 1), min(3, len(rows))))
        parts = [
            np.array(rows[start:stop], dtype=np.int64).reshape(-1, 2).T
            for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True)
        ]
        documents, buckets = SharedBuckets.collect((part[0], part[1]) for part in parts)
        expected: defaultdict[int, list[int]] = defaultdict(list)
        for bucket, doc_id in rows:
            expected[bucket].append(doc_id)
        assert documents.tolist() == sorted({doc_id for _, doc_id in rows})
        assert [documents[each].tolist() for each in members_of(buckets)] == [*expected.values()]


def test_keys_make_a_bucket_of_each_hash_that_several_documents_have() -> None:
    """Repeated keys count once, and the document may have any number below 2^31."""
    rng = random.Random(2)
    for size in (0, 1, 2, 40, 400):
        rows = [(rng.randrange(30), rng.choice([0, 7, 9, 2**31 - 1])) for _ in range(size)]
        keys = np.array([hash_ << 32 | document for hash_, document in rows], dtype=np.uint64)
        expected = {hash_: {d for other, d in rows if other == hash_} for hash_, _ in rows}
        shared = [sorted(expected[hash_]) for hash_ in sorted(expected) if len(expected[hash_]) > 1]
        assert members_of(SharedBuckets.of(keys)) == shared
