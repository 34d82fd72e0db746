"""Reworded copies: stretches of two texts that share words which are rare in the collection.

Both texts are cut into windows (lshdb.apps.passages.rare_words), whose terms have weights
(lshdb.apps.passages.weights). Two windows are as similar as the weighted Jaccard similarity
of their terms: the weight of those in both over that of those in either. Windows of one text that
are similar to windows of another, with at most GAP others between in both, are a passage.

Candidates are the documents that share most of the rarest terms of a window, by the full-text index
of the file; their contents decide.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from lshdb.apps.passages import lookups, passage_runs, passage_windows, positions, rare_words
from lshdb.apps.passages.model import CopiedPassage, PassagePair, Passages, Source
from lshdb.apps.passages.options import PassagePairsOptions, PassagesOptions
from lshdb.apps.passages.rare_words import STEP, WINDOW, Terms
from lshdb.apps.passages.weights import TermWeights
from lshdb.errors import UsageError
from lshdb.progress import Progress
from lshdb.search import similarity
from lshdb.store.lookups import StoreReader
from lshdb.text import arrays, hashing
from lshdb.text.shingling import Shingling

GAP = 4
"""Windows between two that are one passage."""
MIN_SCORE = 0.25
"""Of a passage, if nothing else is asked: see docs/reworded.md for what others find."""
_RARE = 10
"""The rarest terms of a window, by which candidates are found."""
_RAREST = 5
"""The same where the number of candidates is limited: half of the time of a report of essays."""
_BEST = 5
"""Candidates of a window."""
_MIN_SHARED = 4
"""Terms that two windows share at least: fewer are chance in short texts."""
_DIGITS = 9
"""Of sums: their last digits depend on the order of terms, which is that of a process's hashes."""
_AT_ONCE = 1 << 20
"""Pairs of windows that share a term, at once in memory."""
RUN = 8
"""Words of a run that is shown as copied, in a file without an index of passages."""
_COPIED = 0.9
"""The share of a passage in such runs with which it is not reworded but copied."""

WordSpan = tuple[int, int]
"""First character and last + 1 of a word."""
_Floats = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True, slots=True)
class _Text:
    """A text in windows, with the terms that count.

    Attributes:
        content: the text.
        terms: all of its terms.
        hashes: uint64[v], those that count, sorted.
        first: int64[v], the index of each among all terms.
        weights: float64[v], of each.
        offsets: int64[v+1], where the windows of each begin.
        term, windows: int64[e], the index of each in every window that has it, and the window.
        totals: float64[w], the weight of the terms of each window.
    """

    content: str
    terms: Terms
    hashes: hashing.Hashes
    first: arrays.IntArray
    weights: _Floats
    offsets: arrays.IntArray
    term: arrays.IntArray
    windows: arrays.IntArray
    totals: _Floats

    @classmethod
    def of(cls, content: str, terms: Terms, rarity: TermWeights) -> _Text:
        """A text and its terms, which are weighed."""
        hashes, first = np.unique(terms.hashes, return_index=True)
        weights = rarity.weights_of(terms, first)
        hashes, first, weights = hashes[weights > 0], first[weights > 0], weights[weights > 0]
        term, windows = _in_windows([terms], hashes)
        offsets = np.searchsorted(term, np.arange(len(hashes) + 1))
        totals = _sums(windows, weights[term], terms.windows)
        return cls(content, terms, hashes, first, weights, offsets, term, windows, totals)


def _in_windows(
    texts: Sequence[Terms], hashes: hashing.Hashes
) -> tuple[arrays.IntArray, arrays.IntArray]:
    """The windows of texts that have some terms, uint64[v], sorted.

    Returns:
        The place of a term, and of a window that has it, counted through all texts: int64[e] both,
        by both, each once.
    """
    windows = np.array([terms.windows for terms in texts])
    begins = arrays.offsets_of(windows)
    text_hashes = np.concatenate([terms.hashes for terms in texts])
    place = np.searchsorted(hashes, text_hashes)
    counted = (
        np.flatnonzero(hashes.take(place, mode="clip") == text_hashes) if len(hashes) else place[:0]
    )
    text = np.repeat(np.arange(len(texts)), [len(terms.hashes) for terms in texts])[counted]
    units = np.concatenate([terms.units for terms in texts])[counted]
    term, window = rare_words.in_windows(units, windows[text])
    pairs = place[counted][term] * begins[-1] + begins[text][term] + window
    return np.divmod(hashing.distinct(pairs), begins[-1])


def _sums(places: arrays.IntArray, values: _Floats, count: int) -> _Floats:
    """The sums of the values float64[n] of each place, float64[count]."""
    return np.bincount(places, values, minlength=count).astype(np.float64, copy=False)


def _possible(
    text: _Text, others: Sequence[Terms], min_score: float
) -> Iterator[tuple[int, arrays.IntArray, arrays.IntArray, _Floats]]:
    """The windows of a text and of others that may be as similar as that.

    Yields:
        The index of another text, and of pairs of windows: the number of the first text's, that of
        the other's, in order, int64[m] both, and the weight of what both have, float64[m].
    """
    term, windows = _in_windows(others, text.hashes)
    begins = arrays.offsets_of(np.array([terms.windows for terms in others]))
    sizes = arrays.sizes_of(text.offsets)[term]
    pairs, weight, shared = arrays.NO_NUMBERS, np.empty(0), np.empty(0)
    for part in arrays.chunks_of(sizes, _AT_ONCE):
        # Each window of a term in the one text with each in the others.
        terms_of_part, size = term[part], sizes[part]
        window = text.windows[arrays.expand_ranges(text.offsets[terms_of_part], size)]
        pair = window * begins[-1] + np.repeat(windows[part], size)
        pairs, number = np.unique(np.concatenate([pairs, pair]), return_inverse=True)
        weights = np.repeat(text.weights[terms_of_part], size)
        weight = _sums(number, np.concatenate([weight, weights]), len(pairs))
        shared = _sums(number, np.concatenate([shared, np.ones(len(pair))]), len(pairs))
    window, other_window = np.divmod(pairs, begins[-1])
    # What either has weighs at least what the one has.
    possible = (shared >= _MIN_SHARED) & (weight >= min_score * text.totals[window])
    window, other_window, weight = window[possible], other_window[possible], weight[possible]
    index = np.searchsorted(begins, other_window, side="right") - 1
    for other in hashing.distinct(index).tolist():
        of_other = index == other
        yield (
            other,
            window[of_other],
            other_window[of_other] - begins[other],
            weight[of_other],
        )


def _candidates(
    text: _Text, rarity: TermWeights, doc_id: int, after: int, maximum: int | None = None
) -> arrays.IntArray:
    """The documents that share most of the rarest terms of a window, int64[any], sorted.

    Not the document `doc_id`, and only those with a higher id than `after`. Of more than `maximum`
    documents, those that have the largest share of the rarest terms of a window.
    """
    # What only the document itself has leads to no other.
    documents = np.array([rarity.documents[term] for term in text.hashes.tolist()])
    known = documents > (doc_id >= 0)
    leading = np.flatnonzero((known & (text.weights >= rarity.leading))[text.term])
    # Of terms of one weight the first of the text; their hashes differ from process to process.
    leading = leading[np.argsort(text.first[text.term[leading]], kind="stable")]
    terms = _RARE if maximum is None else _RAREST
    rare = leading[
        arrays.first_of_each(text.windows[leading], terms, -text.weights[text.term[leading]])
    ]
    leads, number = np.unique(text.term[rare], return_inverse=True)
    names = text.terms.names(text.first[leads])
    place, doc_ids = lookups.documents_of_terms(rarity.reader, names, after)
    others = doc_ids != doc_id
    place, doc_ids = place[others], doc_ids[others]
    begins = np.searchsorted(place, np.arange(len(leads) + 1))
    sizes = arrays.sizes_of(begins)[number]
    candidates, documents = np.unique(doc_ids, return_inverse=True)
    document = documents[arrays.expand_ranges(begins[number], sizes)]
    pair = np.repeat(text.windows[rare], sizes) * len(candidates) + document
    pairs, number = np.unique(pair, return_inverse=True)
    sums = _sums(number, np.repeat(text.weights[text.term[rare]], sizes), len(pairs)).round(_DIGITS)
    window, document = np.divmod(pairs, max(len(candidates), 1))
    chosen = arrays.first_of_each(window, _BEST, -sums)
    best: arrays.IntArray = hashing.distinct(document[chosen])
    if maximum is not None and len(best) > maximum:
        totals = _sums(text.windows[rare], text.weights[text.term[rare]], len(text.totals))
        shares = np.zeros(len(candidates))
        np.maximum.at(shares, document[chosen], (sums / totals[window])[chosen].round(_DIGITS))
        best = np.sort(best[np.argsort(-shares[best], kind="stable")[:maximum]])
    return candidates[best]


def _passages(matches: npt.NDArray[Any]) -> list[list[float]]:
    """First and last windows in both texts and the highest similarity of each passage.

    Args:
        matches: float64[m, 3]: the numbers of both windows, in order, and their similarity.
    """
    passages: list[list[float]] = []
    for a, b, score in matches.tolist():
        last = [a, a, b, b, score]
        while near := next((other for other in passages if _near(last, other)), None):
            passages.remove(near)
            pairs = list(zip(last, near, strict=True))
            last = [(min, max, min, max, max)[column](pair) for column, pair in enumerate(pairs)]
        passages.append(last)
    return sorted(passages)


def _near(a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether two passages, as of `_passages`, have at most GAP windows between in both texts."""
    return all(
        a[column] - b[column + 1] <= GAP and b[column] - a[column + 1] <= GAP for column in (0, 2)
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Search:
    """A search for reworded copies in a file, and which are wanted."""

    reader: StoreReader
    rarity: TermWeights
    min_score: float
    runs: passage_windows.Counting
    criteria: passage_runs.Criteria
    max_candidates: int | None

    @classmethod
    def of(
        cls,
        reader: StoreReader,
        query: PassagePairsOptions,
        max_candidates: int | None = None,
    ) -> Search:
        """What a query asks for; UsageError if the file has no index of rare words."""
        settings = reader.settings
        if not settings.reworded:
            raise UsageError(
                "this database has no index of rare words: make it with `lshdb reindex --reworded "
                "on`, or a new file with `lshdb init --reworded`"
            )
        run = settings.passages if settings.shingling.kind == "word" else 0
        run = query.copied.min_words or run or RUN
        none = arrays.NO_NUMBERS
        base = [*(text for _, text in settings.shingling.base), *query.copied.base]
        words = Shingling("word", 1).without(base)
        counting = passage_windows.Counting(words, run, settings.seed, hashing.secret_seed(), none)
        return cls(
            reader,
            TermWeights(reader, base),
            MIN_SCORE if query.min_score is None else query.min_score,
            counting,
            passage_runs.Criteria(run, run, query.copied.runs.gap, reader.limits.passages),
            max_candidates,
        )

    def of_text(self, content: str, terms: Terms, doc_id: int, after: int = 0) -> Iterator[Source]:
        """What a text shares with documents other than `doc_id`, whose ids are above `after`."""
        text = _Text.of(content, terms, self.rarity)
        candidates = _candidates(text, self.rarity, doc_id, after, self.max_candidates)
        keys = iter(self.reader.keys_of(candidates))
        for contents in similarity.batches_of_text(self.reader, candidates):
            others = rare_words.terms_of(contents)
            batch_keys = [*islice(keys, len(others))]
            sizes = np.array([other_terms.windows * len(text.totals) for other_terms in others])
            for part in arrays.chunks_of(sizes, _AT_ONCE):
                for index, a, b, weight in _possible(text, others[part], self.min_score):
                    number = part.start + index
                    source = self._compared(
                        text,
                        contents[number],
                        others[number],
                        batch_keys[number],
                        a,
                        b,
                        weight,
                    )
                    if source is not None:
                        yield source

    def _compared(
        self,
        text: _Text,
        other: str,
        terms: Terms,
        key: str,
        a: arrays.IntArray,
        b: arrays.IntArray,
        weight: _Floats,
    ) -> Source | None:
        """What a text shares with a document; None if none of their windows is similar enough.

        Args:
            text: the text.
            other: the document's content.
            terms: of it.
            key: of it.
            a: int64[m], windows of the text that may be similar to one of the document.
            b: int64[m], those of the document.
            weight: float64[m], the weight of what both windows have.
        """
        union = text.totals[a] + _Text.of(other, terms, self.rarity).totals[b] - weight
        scores = np.minimum(weight / np.maximum(union, 1e-9), 1.0).round(_DIGITS)
        matches = np.stack([a, b, scores], axis=1)[scores >= self.min_score]
        if not len(matches):
            return None
        reworded = [_trimmed(text, other, terms, *windows) for windows in _passages(matches)]
        texts = self.runs.windows_of([text.content, other])
        first, second = np.arange(2).reshape(2, 1)
        _, shared = passage_runs.shared_passages(texts, self.criteria, first, second)
        copied = [
            dataclasses.replace(run, score=max(passage.similarity for passage in around))
            for run in passage_runs.passages_of(shared, texts.contents, first, second)
            if (around := [passage for passage in reworded if _overlap(passage, run)])
        ]
        marks = _marked(text.terms, copied, "start", "end")
        passages = [*copied]
        for passage in reworded:
            first, behind = text.terms.starts.searchsorted([passage.start, passage.end])
            if marks[first:behind].mean() < _COPIED:
                passages.append(passage)
        covered = _marked(text.terms, passages, "start", "end")
        stored_covered = _marked(terms, passages, "stored_start", "stored_end")
        passages.sort(key=lambda passage: (passage.start, -passage.end))
        return Source(
            key,
            float(covered.mean()),
            float(stored_covered.mean()),
            int(max(covered.sum(), stored_covered.sum())),
            tuple(passages[: self.reader.limits.passages]),
        )


def _overlap(a: CopiedPassage, b: CopiedPassage) -> bool:
    """Whether two passages have characters in common, in both texts."""
    in_text = a.start < b.end and b.start < a.end
    return in_text and a.stored_start < b.stored_end and b.stored_start < a.stored_end


def _marked(terms: Terms, passages: Iterable[CopiedPassage], start: str, end: str) -> arrays.Mask:
    """Which words of a text are in passages, bool[u]."""
    marks = np.zeros(len(terms.starts), dtype=np.bool_)
    for passage in passages:
        first, behind = terms.starts.searchsorted([getattr(passage, start), getattr(passage, end)])
        marks[first:behind] = True
    return marks


def _trimmed(
    text: _Text,
    other: str,
    terms: Terms,
    a: float,
    a_last: float,
    b: float,
    b_last: float,
    score: float,
) -> CopiedPassage:
    """The passage of some windows, from the first to the last shared term of each text."""
    a_indices, b_indices = _between(text.terms, a, a_last), _between(terms, b, b_last)
    shared = np.intersect1d(text.terms.hashes[a_indices], terms.hashes[b_indices])
    shared = np.intersect1d(shared, text.hashes)
    a_indices = a_indices[np.isin(text.terms.hashes[a_indices], shared)]
    b_indices = b_indices[np.isin(terms.hashes[b_indices], shared)]
    spans: list[int] = []
    for content, terms_of_side, indices in (
        (text.content, text.terms, a_indices),
        (other, terms, b_indices),
    ):
        units = _dense(terms_of_side.units[indices])
        start, end = terms_of_side.starts[units[:1]], terms_of_side.stops[units[-1:]]
        lines = positions.line_numbers([content], np.zeros(1, dtype=np.int64), start, end)
        spans += [int(bound[0]) for bound in (start, end, *lines)]
    words = int(np.ptp(_dense(text.terms.units[a_indices]))) + 1
    return passage_runs.passage_at(text.content, other, spans, words, score, "reworded", score)


def _dense(units: arrays.IntArray) -> arrays.IntArray:
    """Ascending units int64[n] without those at both ends that are few and far from the others."""
    parts = np.split(units, np.flatnonzero(np.diff(units) > STEP) + 1)
    dense = [part for part in parts if len(part) >= _MIN_SHARED]
    return np.concatenate(dense) if dense else units


def _between(terms: Terms, first: float, last: float) -> arrays.IntArray:
    """The indices of the terms in the windows from one to another, int64[n]."""
    begin, end = terms.units.searchsorted([first * STEP, last * STEP + WINDOW])
    return np.arange(begin, end)


def shared_rare_words(reader: StoreReader, a: str, b: str) -> tuple[list[WordSpan], list[WordSpan]]:
    """Where two texts have words that both have and that are rare in a file, in their order."""
    a_terms, b_terms = rare_words.terms_of([a, b])
    shared = np.intersect1d(_Text.of(a, a_terms, TermWeights(reader)).hashes, b_terms.hashes)
    spans = []
    for terms in (a_terms, b_terms):
        units = terms.units[np.isin(terms.hashes, shared)]
        spans.append([*zip(terms.starts[units].tolist(), terms.stops[units].tolist(), strict=True)])
    return spans[0], spans[1]


def find_reworded(store: StoreReader, query: PassagesOptions, text: str, doc_id: int) -> Passages:
    """The stored documents of which a text has reworded copies; of its own document, -1 if none."""
    search = Search.of(store, query.search)
    (terms,) = rare_words.terms_of([text])
    words = len(terms.starts) if len(terms.hashes) >= _MIN_SHARED else 0
    sources = [*search.of_text(text, terms, doc_id)] if words else []
    sources.sort(key=lambda source: (-_score(source), -source.words))
    return Passages(words, _MIN_SHARED, "word", tuple(sources[: query.search.top]), ())


def _score(shared: Source | PassagePair) -> float:
    """The highest score of the passages that a text shares with a document."""
    return max(passage.score or 0 for passage in shared.passages)


def reworded_pairs(
    reader: StoreReader,
    query: PassagePairsOptions,
    progress: Progress,
    last: int | None = None,
    max_candidates: int | None = None,
) -> Iterator[PassagePair]:
    """All pairs of documents with reworded copies, in the order of addition.

    With `top`, those of the highest scores, best first. In memory are the weights of all terms, and
    some thousands of documents.

    Args:
        reader: the file.
        query: which pairs are wanted.
        progress: called now and then.
        last: the highest id of the first document of a pair; None for all.
        max_candidates: documents that each one is compared with, those that share most of what is
            rare in it; None for all that share enough.
    """
    search = Search.of(reader, query, max_candidates)

    def pairs() -> Iterator[PassagePair]:
        done, (total, _) = 0, reader.count()
        for all_ids, all_keys in reader.all_keys():
            count = len(all_ids) if last is None else int(np.searchsorted(all_ids, last, "right"))
            doc_ids, keys = all_ids[:count], all_keys[:count]
            waiting = zip(doc_ids.tolist(), keys, strict=True)
            for texts in similarity.batches_of_text(reader, doc_ids):
                for text, terms in zip(texts, rare_words.terms_of(texts), strict=True):
                    doc_id, key = next(waiting)
                    for source in search.of_text(text, terms, doc_id, doc_id):
                        shares = source.coverage, source.stored_coverage
                        yield PassagePair(key, source.key, source.words, *shares, source.passages)
                    done += 1
                    progress(done, total, "documents")

    yield from pairs() if query.top is None else nlargest(query.top, pairs(), key=_score)
