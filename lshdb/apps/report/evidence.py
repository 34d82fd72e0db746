"""All pairs of a collection that something connects: similar texts, copied and reworded passages.

A pair's score is 1 - (1 - weighted) (1 - r), where `weighted` is the similarity weighted by rarity
(`weights` of passages), and r is that of a reworded passage: REWORDED[0] at the lowest score that
is shown, and REWORDED[1] at 1, as texts on one subject share rare words, and a passage may be all
that two long texts share; and less where each of the two shares such passages with more than
FEW.
Without an index of passages the plain similarity takes the place of `weighted`. Of programs the
score is the similarity; or, if the pair comes earlier by `weighted`, that of the pair which has its
place by similarity. So the first 2n pairs have the first n by similarity, whatever weights say: of
some copies the statements that were inserted are the rarest in the class, and what half of a class
copied counts as a template. A pair of low similarity of which one has at least PART of what is rare
in the other, as when a short program was copied into a long one, counts as if `weighted` was a
third of that share, if that is more. Pairs of one score are in the order of their similarities.

On generated classes of Python, Java, C++ and JavaScript and on labelled programs (scripts/measure
experiments.copies and experiments.reports) products and means of both have as many true pairs, but
in some classes fewer than similarity alone. On licence texts, manuals, sections of law, and
generated answers and essays similarity in the score loses more than it gains; with the score of a
reworded passage itself, licences of one family come before versions of one licence.

Pairs stand apart if there is a gap in their weighted similarities (reworded passages would make a
gap by themselves, and of programs the score finds fewer gaps): a step from one to the next of
MIN_GAP or more, and STEPS times as large as each step among the next pairs, as many as are above it
and at least NEXT. Of several such steps the lowest is the gap; above it are at most as many pairs
as there are documents. Without such a step no pair stands apart.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lshdb import options
from lshdb.apps.passages import weights
from lshdb.apps.passages.options import PassagePairsOptions
from lshdb.apps.passages.passage_pairs import passage_totals
from lshdb.apps.passages.reworded import MIN_SCORE, reworded_pairs
from lshdb.formatting import sameness
from lshdb.groups import replaced
from lshdb.progress import Progress
from lshdb.read.files import have_one_file
from lshdb.results import Result
from lshdb.search.pairs import Join, pair_blocks
from lshdb.store.store import Store
from lshdb.text.arrays import IntArray, chunks

PART = 0.7
"""The weighted share from which a pair of low similarity is a partial copy."""
REWORDED = 0.2, 0.4
"""What a pair that only a reworded passage connects scores, at the lowest score of one and at 1.

The lowest is above the scores of pairs that nothing connects, so that the others stand apart."""
FEW = 4
"""Texts with reworded passages of one text that count in full; of more, each less in proportion."""
MIN_WORDS = 15
"""Words of a reworded passage that counts: of shorter ones in short texts, one in 15 is a copy."""
MIN_GAP = 0.1
"""The smallest step between two scores that is a gap."""
STEPS = 2.0
"""How many times as large it is as the steps among the next pairs."""
NEXT = 10
"""How many pairs below the gap are looked at, at least."""
MAX_PAIRS = 10_000
"""Pairs that are kept, those of the highest scores."""
MAX_EXHAUSTIVE = 2_000
"""Documents up to which all pairs are compared, whatever threshold the index is made for: 2 million
pairs of signatures take a second."""
_CANDIDATES = 8
"""Documents of which a text is looked through for reworded copies: 500 essays of 2,000 words take 9
seconds, and with all that share enough rare words 70."""
_BINS = 20


@dataclass(frozen=True, slots=True)
class ConnectedPair(Result):
    """Two documents of a report, and all that connects them.

    Attributes:
        a: the key of the document that was added first.
        b: the key of the other document.
        number: the place in the report, from 1.
        score: what ranks pairs, from 0 to 1, by lshdb.apps.report.evidence.
        stands_apart: whether the pair is above the gap in the scores.
        connected_by: `one file`, of hard links; `identical`; `same text`; or which of `similar`,
            `copied` and `reworded` hold.
        similarity: Jaccard similarity.
        exact: whether `similarity` is exact.
        identical, same_text: whether both have the same bytes, and text, as for Match.
        weighted, weighted_share: as for Match, by all shingles of texts.
        a_coverage, b_coverage: the share of the words of each that are in copied passages.
        words: how many words of one are, of both the larger number; None without such a passage.
        reworded: the highest score of a reworded passage; None without one.
    """

    a: str
    b: str
    number: int = 0
    score: float = 0.0
    stands_apart: bool = False
    connected_by: str = ""
    similarity: float | None = None
    exact: bool = True
    identical: bool = False
    same_text: bool = False
    weighted: float | None = None
    weighted_share: float | None = None
    a_coverage: float | None = None
    b_coverage: float | None = None
    words: int | None = None
    reworded: float | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Connections:
    """The pairs of a collection, the highest score first.

    Attributes:
        pairs: the first MAX_PAIRS of them.
        total: how many there are.
        apart: how many stand apart from the others.
        gap: the weighted similarities above and below the gap; None if no pair stands apart.
        of_shingles: the weighted similarities of the pairs, by which they stand apart.
        counts: how many pairs have which of these, in equal bins from 0 to 1.
        limit: the similarity below which pairs may be missing, as the index is made for it.
    """

    pairs: Sequence[ConnectedPair]
    total: int
    apart: int
    gap: tuple[float, float] | None
    of_shingles: Sequence[float]
    counts: Sequence[int]
    limit: float | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Ring:
    """Documents that pairs connect; the pairs, the highest score first."""

    pairs: Sequence[ConnectedPair]

    @property
    def keys(self) -> Sequence[str]:
        """The documents."""
        return [*dict.fromkeys(key for pair in self.pairs for key in (pair.a, pair.b))]

    def values(self, *names: str) -> list[float]:
        """The largest of some numbers of each pair."""
        return [max(getattr(pair, name) or 0.0 for name in names) for pair in self.pairs]


def rings(pairs: Sequence[ConnectedPair], *, every_two: bool) -> list[Ring]:
    """The pairs, the highest score first, in groups of documents that they connect.

    If every two documents of a group must be a pair, a pair of two groups is one by itself.
    """
    connected = {frozenset((pair.a, pair.b)) for pair in pairs}
    members = {key: [key] for pair in pairs for key in (pair.a, pair.b)}
    for pair in pairs:
        a, b = members[pair.a], members[pair.b]
        crossing = (frozenset((key, other)) for key in a for other in b)
        if a is not b and (not every_two or connected.issuperset(crossing)):
            a += b
            members.update(dict.fromkeys(b, a))
    grouped: defaultdict[int, list[ConnectedPair]] = defaultdict(list)
    for pair in pairs:
        a, b = members[pair.a], members[pair.b]
        grouped[id(a) if a is b else pair.number].append(pair)
    return [*map(Ring, grouped.values())]


def connections(
    store: Store,
    lowest: float,
    progress: Progress,
    *,
    condition: options.ConditionOptions | None = None,
    new: int | None = None,
) -> Connections:
    """Find the pairs that anything connects.

    Args:
        store: the file.
        lowest: minimum similarity of a pair that nothing else connects.
        progress: called now and then.
        condition: which documents count, in a file without passages and rare words.
        new: number of first documents, of which each pair has one; None for all pairs.
    """
    similar = options.SimilarOptions(condition=condition or options.ConditionOptions())
    with store.snapshot(similar.condition) as (reader, keep):
        settings = reader.settings
        join = Join(reader, options.JoinOptions(similar=similar), keep, reader.doc_ids())
        keys = reader.keys_of(join.doc_ids)
        last = None if new is None else int(join.doc_ids[new - 1]) if new else 0
        numbers = {key: number for number, key in enumerate(keys)}
        values: defaultdict[tuple[int, int], dict[str, Any]] = defaultdict(dict)

        def note(a: str, b: str, **evidence: Any) -> None:
            """Note what connects two documents, if both count."""
            if a in numbers and b in numbers and (new is None or numbers[a] < new):
                values[numbers[a], numbers[b]].update(evidence)

        for a, b in _similar(store, join, keys, lowest, progress):
            note(a, b)
        if settings.passages and settings.content:
            copied = passage_totals(store, PassagePairsOptions(), [], last)
            for a, b, words, share, b_share, *_ in copied:
                note(a, b, a_coverage=share, b_coverage=b_share, words=words)
        if settings.reworded:
            request = PassagePairsOptions(reworded=True)
            for reworded in reworded_pairs(reader, request, progress, last, _CANDIDATES):
                score = max(passage.score or 0 for passage in reworded.passages)
                is_long = max(passage.words for passage in reworded.passages) >= MIN_WORDS
                note(reworded.a, reworded.b, reworded=score, counted=score * is_long)
        ranked = _ranked(join, keys, values, lowest)
        if len(keys) > MAX_EXHAUSTIVE and settings.threshold > lowest:
            return dataclasses.replace(ranked, limit=settings.threshold)
        return ranked


def _similarities(join: Join, a: IntArray, b: IntArray, lowest: float) -> npt.NDArray[np.float64]:
    """The similarities of pairs int64[p]; those below `lowest` may be any below it."""
    scores = join.scorer.scores(a, b, lowest)
    return np.where((join.shingles[a] > 0) & (join.shingles[b] > 0), scores, 0)


def _similar(
    store: Store, join: Join, keys: Sequence[str], lowest: float, progress: Progress
) -> Iterator[Sequence[Any]]:
    """The keys of the similar pairs; of many documents those of the index."""
    count = len(keys)
    if count > MAX_EXHAUSTIVE:
        request = replaced(join.request, threshold=max(lowest, store.settings.threshold))
        for block in pair_blocks(store, request, progress):
            yield from zip(block["a"], block["b"], strict=True)
        return
    a, b = np.triu_indices(count, 1)
    for part in chunks(len(a), store.limits.pairs_chunk):
        progress(part.start, len(a), "pairs compared")
        scores = _similarities(join, a[part], b[part], lowest)
        for index in np.flatnonzero(scores >= lowest).tolist():
            yield keys[a[part][index]], keys[b[part][index]]


def _ranked(
    join: Join,
    keys: Sequence[str],
    values: dict[tuple[int, int], dict[str, Any]],
    lowest: float,
) -> Connections:
    """The pairs with all columns, in order.

    Args:
        join: of the documents.
        keys: of these.
        values: what connects pairs, by their numbers: fields of ConnectedPair, and `counted`, the
            score of a reworded passage that is long enough to count.
        lowest: minimum similarity of a pair that nothing else connects.
    """
    a, b = np.array(sorted(values), dtype=np.int64).reshape(-1, 2).T
    together = join.kept(a, b)
    a, b = a[together], b[together]
    pairs = [values[pair] for pair in zip(a.tolist(), b.tolist(), strict=True)]
    reader = join.reader
    similarities = _similarities(join, a, b, 0)
    weighted = np.full((2, len(pairs)), np.nan)
    if reader.settings.passages:
        weighted = weights.weigh_all(reader, join.doc_ids, join.shingles, a, b)
    reworded = np.array([pair.pop("counted", 0.0) for pair in pairs])
    partners = np.bincount(np.concatenate([a, b])[np.tile(reworded > 0, 2)], minlength=len(join))
    fewer = np.minimum(partners[a], partners[b])
    by_passages = np.interp(reworded, (MIN_SCORE, 1), REWORDED, left=0)
    by_passages *= FEW / np.maximum(fewer, FEW)
    by_shingles = np.where(np.isnan(weighted[0]), similarities, weighted[0])
    ranks = by_shingles
    if reader.settings.shingling.of_programs:
        ranks = better_place(similarities, by_shingles)
    is_part = (similarities < lowest) & (weighted[1] >= PART)
    of_part = np.where(is_part, weighted[1] / 3, 0)
    by_shingles, ranks = np.maximum(by_shingles, of_part), np.maximum(ranks, of_part)
    scores = 1 - (1 - ranks) * (1 - by_passages)
    order = np.lexsort((b, a, -similarities, -scores.round(9)))
    floor = 0.0 if reader.settings.passages else lowest
    apart, gap = standing_apart(np.sort(by_shingles)[::-1], len(join), floor)
    stand_apart = by_shingles >= (gap[0] if gap else np.inf)
    (identical, same_text), root = join.sameness(a, b), reader.root
    shares = [
        [None if np.isnan(share) else share for share in column] for column in weighted.tolist()
    ]
    ranked = []
    for rank, index in enumerate(order[:MAX_PAIRS].tolist(), 1):
        pair = ConnectedPair(
            keys[a[index]],
            keys[b[index]],
            number=rank,
            score=float(scores[index]),
            stands_apart=bool(stand_apart[index]),
            similarity=float(similarities[index]),
            exact=join.exact,
            identical=bool(identical[index]),
            same_text=bool(same_text[index]),
            weighted=shares[0][index],
            weighted_share=shares[1][index],
            **pairs[index],
        )
        words = _connected_by(pair, is_similar=similarities[index] >= lowest, root=root)
        ranked.append(dataclasses.replace(pair, connected_by=words))
    counts = np.histogram(by_shingles, _BINS, (0, 1))[0].tolist()
    of_shingles = by_shingles[order[:MAX_PAIRS]].tolist()
    return Connections(ranked, len(pairs), apart, gap, of_shingles, counts)


def better_place(
    similarities: npt.NDArray[np.float64], weighted: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """The similarities of pairs, or what has their place by weights, if that is more.

    >>> better_place(np.array([0.9, 0.6, 0.5, 0.3]), np.array([0.1, 0.2, 0.7, 0.8]))
    array([0.9, 0.6, 0.6, 0.9])
    """
    weighted = -weighted.round(9)
    places = np.sort(weighted).searchsorted(weighted, "right")  # the last one of equal pairs
    return np.maximum(similarities, np.sort(similarities)[len(similarities) - places])


def _connected_by(pair: ConnectedPair, *, is_similar: bool, root: str) -> str:
    """What connects a pair, in words."""
    if pair.identical and have_one_file(pair.a, pair.b, root):
        return "one file"
    if pair.same_text:
        return sameness(pair.identical, pair.same_text)
    reasons = {"similar": is_similar, "copied": pair.words, "reworded": pair.reworded is not None}
    return ", ".join(reason for reason, holds in reasons.items() if holds)


def standing_apart(
    scores: npt.NDArray[np.float64], documents: int, lowest: float = 0
) -> tuple[int, tuple[float, float] | None]:
    """How many of the scores, highest first, stand apart, and the scores around the gap.

    Other pairs of the documents have scores below `lowest`, or 0.

    >>> standing_apart(np.array([0.9, 0.8, 0.3, 0.28, 0.25]), 10, 0.25)
    (2, (0.8, 0.3))
    >>> standing_apart(np.linspace(0.4, 0, 45), 10)
    (0, None)
    """
    unlisted = max(0, documents * (documents - 1) // 2 - len(scores))
    padded = np.append(scores, np.full(unlisted, min(lowest, scores.min(initial=1))))
    steps = padded[:-1] - padded[1:]
    if not len(steps):
        return 0, None  # two documents have no other pair to stand apart from
    for above in reversed(range(min(documents, len(steps)))):
        behind = steps[above + 1 : above + 1 + max(NEXT, above + 1)]
        if steps[above] >= max(MIN_GAP, STEPS * float(behind.max(initial=0))):
            return above + 1, (float(padded[above]), float(padded[above + 1]))
    return 0, None
