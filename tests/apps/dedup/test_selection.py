"""Leaving out what is similar to what is kept: add_many(on_similar="skip") and dedup.

The oracle asks the database for each document by itself, and adds it or not.
"""

from __future__ import annotations

import random
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import inspection
import pytest
from helpers import database_of, set_families, text_families
from hypothesis import given
from hypothesis import strategies as st
from oracles import jaccard

import lshdb
from lshdb import DroppedRow, Limits, LimitWarning
from lshdb.text.shingling import Content

Documents = list[tuple[str, Content]]
SkippedRows = list[tuple[str, str, float, bool]]


CUTS = [
    Limits(batch_documents=batch, dedup_documents=block, dedup_pairs=pairs)
    for batch, block, pairs in ((4_000, 1_000, 250_000), (7, 3, 4))
]
"""Batches, parts and blocks of several sizes: what is decided is the same."""


def one_by_one(db: lshdb.Database, documents: Documents) -> tuple[SkippedRows, dict[str, int]]:
    """The oracle: what is skipped, and how many documents had which outcome."""
    skipped: SkippedRows = []
    counts = {"added": 0, "updated": 0, "unchanged": 0, "skipped": 0}
    for key, content in documents:
        stored = db.get(key) if key in db else None
        of_sets = db.settings.shingling.of_sets
        if stored is not None and (
            stored.content == (tuple(sorted(content)) if of_sets else content)
        ):
            counts["unchanged"] += 1
            continue
        matches = [match for match in db.query(content) if match.key != key]
        if matches:
            best = max(match.similarity for match in matches)
            first = min(
                (db.get(match.key).doc_id, match) for match in matches if match.similarity == best
            )[1]
            skipped.append((key, first.key, first.similarity, first.exact))
            counts["skipped"] += 1
        else:
            report = db.add(key, content)
            counts["added"] += report.added
            counts["updated"] += report.updated
    return skipped, counts


def selected(
    db: lshdb.Database, documents: Documents, workers: int = 0
) -> tuple[SkippedRows, dict[str, int]]:
    skipped: list[DroppedRow] = []
    report = db.add_many(documents, on_similar="skip", on_skip=skipped.append, workers=workers)
    counts = {name: getattr(report, name) for name in ("added", "updated", "unchanged", "skipped")}
    return [(s.key, s.kept, s.similarity, s.exact) for s in skipped], counts


def shuffled(documents: dict[str, Any], seed: int, keys: int | None = None) -> Documents:
    """Documents in some order; with `keys` under so few keys, which are then given again."""
    rng = random.Random(seed)
    rows = [*documents.items()]
    rng.shuffle(rows)
    if keys is not None:
        rows = [(f"key {rng.randrange(keys)}", content) for _, content in rows]
    return rows


def same(tmp_path: Path, documents: Documents, **options: Any) -> SkippedRows:
    """Assert that the oracle and the bulk do and report the same; what they skipped."""
    with lshdb.open(tmp_path / "one.db", **options) as one:
        expected = one_by_one(one, documents)
    contents = inspection.contents(one.path)
    for number, cut in enumerate(CUTS):
        with lshdb.open(tmp_path / f"bulk{number}.db", limits=cut, **options) as bulk:
            assert selected(bulk, documents) == expected
            assert inspection.contents(bulk.path) == contents
            assert list(bulk.pairs()) == []
            # Whatever comes again is similar to what is there, or is it.
            assert selected(bulk, documents)[1]["added"] == 0
        inspection.check(bulk.path)
    return expected[0]


TEXTS = text_families(seed=1, families=9, copies=5, words=40, most_edits=8)
SETS = set_families(seed=2, families=12, copies=5, size=20)
CASCADE = {"shingle": "set", "threshold": 0.3, "construction": "and 2, or 4, and 16"}
"""With far fewer candidates than its buckets bring up."""


@pytest.mark.parametrize(
    ("documents", "options"),
    [
        *((shuffled(TEXTS, 1), {"threshold": 0.7, "content": kept}) for kept in (True, False)),
        *((shuffled(SETS, 2, keys), {"shingle": "set", "threshold": 0.5}) for keys in (None, 3)),
        *((shuffled(SETS, 2), {**CASCADE, "content": kept}) for kept in (True, False)),
    ],
    ids=["texts", "signatures", "sets", "few keys", "cascade", "cascade of signatures"],
)
def test_documents_given_again_or_empty_are_decided_on_as_one_by_one(
    tmp_path: Path, documents: Documents, options: dict[str, Any]
) -> None:
    empty: list[Content] = [[], []] if "shingle" in options else ["", "..."]
    documents = [*documents, ("again", documents[3][1]), ("e1", empty[0]), ("e2", empty[1])]
    kept = options.get("content", True)
    documents += random.Random(3).sample(documents, 40) if kept else []
    skipped = same(tmp_path, documents, **options)
    assert len(skipped) > 5
    assert {exact for *_, exact in skipped} == {kept}


@given(
    documents=st.lists(
        st.tuples(st.sampled_from("abcdef"), st.sets(st.integers(0, 7), max_size=6)), max_size=25
    ),
    batch=st.integers(1, 30),
    block=st.integers(1, 10),
    listed=st.sampled_from([2, 128]),
)
def test_any_sequence_is_decided_on_alike_however_it_is_cut(
    tmp_path_factory: pytest.TempPathFactory,
    documents: list[tuple[str, set[int]]],
    batch: int,
    block: int,
    listed: int,
) -> None:
    """Few keys and few elements, so that all that can happen to a key happens."""
    given_sets: Documents = [(key, sorted(content)) for key, content in documents]
    directory = tmp_path_factory.mktemp("any")
    options: Any = {"shingle": "set", "threshold": 0.4}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        results = []
        for number, (size, of_block) in enumerate(((1, 1), (batch, block), (1_000, 1_000))):
            limits = Limits(batch_documents=size, dedup_documents=of_block, dedup_listed=listed)
            with lshdb.open(directory / f"{number}.db", **options, limits=limits) as db:
                results.append((selected(db, given_sets), inspection.contents(db.path)))
        assert results[0] == results[1] == results[2]
        if listed == 128:
            with lshdb.open(directory / "oracle.db", **options) as db:
                assert (one_by_one(db, given_sets), inspection.contents(db.path)) == results[0]


def under_one_header(count: int, seed: int = 1) -> dict[str, list[int]]:
    """Sets that share 40 elements and have ten others each; every fifth is like the one before."""
    rng = random.Random(seed)
    sets: dict[str, list[int]] = {}
    own: list[int] = []
    for i in range(count):
        own = [*own[1:], -i - 1] if i % 5 == 4 else rng.sample(range(100, 10_000), 10)
        sets[f"d{i}"] = [*range(40), *own]
    return sets


@pytest.mark.parametrize("cut", CUTS)
def test_of_a_large_bucket_the_first_kept_are_compared(tmp_path: Path, cut: Limits) -> None:
    """The oracle keeps a list for each bucket, of as many as there may be."""
    limits = replace(cut, dedup_listed=6)
    sets = under_one_header(150)
    sets |= {f"copy {i}": [*range(1_000, 1_020)] for i in range(100)}
    with database_of(tmp_path / "all.db", sets, shingle="set", threshold=0.8) as everything:
        buckets = {
            key: [(b.band_no, b.bucket_key) for b in everything.buckets(key)] for key in sets
        }
    lists: dict[tuple[int, int], list[str]] = {}
    expected: list[tuple[str, str, float]] = []
    not_all = 0
    for key, content in sets.items():
        candidates = {k for bucket in buckets[key] for k in lists.get(bucket, [])[:6]}
        scores = {k: jaccard(set(content), set(sets[k])) for k in candidates}
        order = [*sets]
        best = max(scores, key=lambda k: (scores[k], -order.index(k)), default=None)
        if best is not None and scores[best] >= 0.8:
            expected.append((key, best, scores[best]))
            continue
        not_all += any(len(lists.get(bucket, [])) > 6 for bucket in buckets[key])
        for bucket in buckets[key]:
            lists.setdefault(bucket, []).append(key)
    with (
        lshdb.open(tmp_path / "lsh.db", shingle="set", threshold=0.8, limits=limits) as db,
        pytest.warns(LimitWarning, match=rf"^kept documents that share a bucket.*: {not_all};"),
    ):
        skipped, _ = selected(db, [*sets.items()])
    assert [(key, kept, similarity) for key, kept, similarity, _ in skipped] == expected
    assert len(expected) > 115
    assert not_all > 50


def test_new_metadata_of_the_same_text_replaces_the_old(path: Path) -> None:
    old, new = ({"id": "a", "text": "the fox and the grapes", "n": n} for n in (1, 2))
    with database_of(path, [old]) as db:
        report = db.add_many([new, new], on_similar="skip")
        assert (report.updated, report.unchanged, report.skipped) == (1, 1, 0)
        assert db.get("a").metadata == {"n": 2}


def test_an_old_version_with_the_same_shingles_is_no_reason_to_leave_its_document_out(
    tmp_path: Path,
) -> None:
    """Though a copy of the new version was just left out for it."""
    documents: Documents = [("a", "One two three."), ("b", "one two three"), ("a", "one two three")]
    documents += [("c", "One two three."), ("c", "one two three"), ("b", "one two three")]
    skipped = same(tmp_path, documents)
    assert [(key, kept) for key, kept, *_ in skipped] == [(key, "a") for key in "bccb"]
