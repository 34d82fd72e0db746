"""Documents that are queried and added in one step, each as if it came alone.

Those that arrive together are written in one transaction, so that they wait for the disk once.
Documents that share a bucket, or a key, are taken one after another; all others cannot be matches
of each other, and are looked up and written at once. `scripts/bench service` shows what
that saves.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lshdb.errors import Cut
from lshdb.model import Match, Outcome
from lshdb.options import RankingOptions
from lshdb.read.batch import Batch
from lshdb.results import Result
from lshdb.search.query import answers
from lshdb.sketch.signing import digested
from lshdb.store.store import Store
from lshdb.write import parts, writing


@dataclass(frozen=True, slots=True)
class Arrived(Result):
    """The result of comparing and adding a document in one step; see lshdb.Service.

    Attributes:
        key: its key.
        outcome: `added`, `updated` or `unchanged` under its key, or left out because a stored
            document is `similar`.
        matches: the documents that were similar to it when it came, best first, without an
            earlier version of the document itself.
    """

    key: str
    outcome: Outcome
    matches: tuple[Match, ...]


@dataclass(frozen=True)
class Arrival:
    """A document to query and to add.

    Attributes:
        batch: of this document only.
        find: maximum number of similar documents to answer with.
        skip: whether it is left out if there is one.
    """

    batch: Batch
    find: int
    skip: bool


def take(store: Store, arrivals: Sequence[Arrival]) -> list[tuple[Arrived, list[Cut]]]:
    """Answer each document with similar ones, and add it, in order and in one transaction.

    Returns:
        The outcome of each, and the matches that limits cut off.
    """
    batch = Batch.joined([arrival.batch for arrival in arrivals])
    part = parts.part_of(batch, digested(store.settings, (batch.contents, True)))
    answers_by_index: dict[int, tuple[Arrived, list[Cut]]] = {}
    with store.writing():
        # The index may have been rebuilt since the file was read last.
        signed = writing.signatures_of(part, store.settings)
        part = replace(part, signed=signed)
        known = store.known(part.keys)
        digests_of_keys = zip(part.keys, part.digests, strict=True)
        changed = {
            key
            for key, content_digest in digests_of_keys
            if key in known and known[key].digest != content_digest
        }
        for indices in _groups(part.keys, signed.bucket_keys.tolist(), changed):
            answers_of_group = _answer_and_add(
                store, part.take(indices), [arrivals[i] for i in indices]
            )
            answers_by_index.update(zip(indices, answers_of_group, strict=True))
    return [answers_by_index[i] for i in range(len(arrivals))]


def _groups(
    keys: Sequence[str], bucket_keys: Sequence[Sequence[int]], changed: set[str]
) -> list[list[int]]:
    """The indices of documents in groups, one after another, within which none can match another.

    A document is in a later group than those before it with which it shares a bucket. One that
    takes the place of another is in a group of its own, after all before it and before all others:
    those still match its earlier version.

    Args:
        keys: of the documents.
        bucket_keys: of the documents, by bands.
        changed: the keys that are stored with another content.
    """
    groups: list[list[int]] = []
    first = 0  # the first group that may take more documents
    last: dict[tuple[int, int], int] = {}  # the last group that has a bucket of a band
    seen = set(changed)
    for index, (key, buckets) in enumerate(zip(keys, bucket_keys, strict=True)):
        buckets_of_bands = [*enumerate(buckets)]
        group = max(first, 1 + max(last.get(bucket, -1) for bucket in buckets_of_bands))
        if key in seen:
            group = len(groups)
            first = group + 1
        seen.add(key)
        last |= dict.fromkeys(buckets_of_bands, group)
        if group == len(groups):
            groups.append([])
        groups[group].append(index)
    return groups


def _answer_and_add(
    store: Store, part: parts.SignedPart, arrivals: Sequence[Arrival]
) -> list[tuple[Arrived, list[Cut]]]:
    """Answer and add documents that cannot match each other, in the caller's transaction."""
    became, _ = writing.outcomes(part, store.known(part.keys))
    # One more, as a document's earlier version is not among its matches.
    query = RankingOptions(top=max(arrival.find for arrival in arrivals) + 1)
    matches_of_arrivals = [*answers(store, query, writing.query_batch(part), None)]
    results: list[tuple[Arrived, list[Cut]]] = []
    for key, arrival, written, (matches, cuts) in zip(
        part.keys, arrivals, became, matches_of_arrivals, strict=True
    ):
        similar = [match for match in matches if match.key != key][
            : max(arrival.find, arrival.skip)
        ]
        outcome: Outcome = "similar" if arrival.skip and similar else written
        results.append((Arrived(key, outcome, tuple(similar[: arrival.find])), cuts))
    added = part.take([i for i, (arrived, _) in enumerate(results) if arrived.outcome != "similar"])
    if added.keys:
        writer = writing.Writer(store)
        writer.write(added)
        writer.finish()
    return results
