"""Copied passages: the runs of words that a text shares with stored documents.

The fingerprints of a text (lshdb.shingling.winnowing) name the documents that may share a run of
`Settings.passages` units with it; their contents decide. A unit is a word, or a character where
the shingles are of characters. A window is a run of that many units; the i-th begins at unit i.

Not everything that is shared is copied. What stands in a base text, or in more documents than
`common`, does not count: its units are cut out of the text that is asked about. A fingerprint in
so many documents leads to none of them, so no header makes a query longer than linear. Whether a
window that has one is common is asked of four of these documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lshdb.errors import UsageError, warn_of_limit
from lshdb.model import (
    CommonPassage,
    CopiedPassage,
    PassagePair,
    Passages,
    Settings,
    Shingling,
    Source,
)
from lshdb.search.candidates import SharedBuckets
from lshdb.search.limits import (
    COMMON,
    COMMON_AGREEING,
    COMMON_SAMPLE,
    COMPARED_CHARACTERS,
    PASSAGES,
    pair_cut,
)
from lshdb.search.query import row_of_key
from lshdb.search.similarity import Exact, batches_of_text
from lshdb.shingling.content import cleaned
from lshdb.shingling.hashing import Hashes, Offsets
from lshdb.shingling.passages import Run, shared_runs
from lshdb.shingling.positions import Positions, shingle_positions
from lshdb.shingling.shingles import shingle
from lshdb.shingling.winnowing import (
    fingerprint_shingling,
    fingerprints,
    fingerprints_of_windows,
)
from lshdb.store.lookups import StoreReader
from lshdb.store.store import Store

_PAIRS: Final = 1_000
"""Pairs of documents whose texts are in memory at once."""
_ANY: Final = 1e-12
"""Similarity of windows from which on documents share one."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class PassageQuery:
    """What `Database.passages` was asked; see there. Illegal ones raise UsageError.

    Attributes:
        text: what is asked about; or
        key: of the stored document that is.
    """

    text: str | None = None
    key: str | None = None
    least: int | None = None
    top: int | None = None
    gap: int = 0
    common: int = COMMON
    base: Sequence[str] = ()

    def __post_init__(self) -> None:
        if (self.text is None) == (self.key is None):
            raise UsageError("give either a text or a key")
        _check(self.top, self.gap, self.common)


def _check(top: int | None, gap: int, common: int) -> None:
    if top is not None and top < 1:
        raise UsageError(f"top {top} is not at least 1")
    if gap < 0:
        raise UsageError(f"gap {gap} is below 0")
    if common < 1:
        raise UsageError(f"common {common} is not at least 1")


@dataclass(frozen=True, slots=True)
class _Asked:
    """The text of a query.

    Attributes:
        windows: uint64[n], the hash of each window.
        counts: bool[n], which windows count: those with no unit of a base text or a common run.
        common: bool[n], which windows are common.
        candidates: int64[c], doc_ids, ascending.
    """

    windows: Hashes
    counts: Mask
    common: Mask
    candidates: Offsets


@dataclass(frozen=True, slots=True)
class _Found:
    """The runs of a document that count: int64[r] each, in units."""

    doc_id: int
    units: int
    runs: list[Run]


def find_passages(store: Store, query: PassageQuery) -> Passages:
    """The stored documents that share passages with a text."""
    with store.reading():
        if query.key is None:
            text, own = str(cleaned(query.text or "", store.settings.shingling)), -1
        else:
            row = row_of_key(store, query.key)
            text, own = row.content or "", row.doc_id
        return _find(store, query, text, own)


def _find(store: Store, query: PassageQuery, text: str, own_id: int) -> Passages:
    settings = store.settings
    run = run_of(settings)
    least = _least(query.least, run)
    asked = _look_up(store, query, text, own_id)
    if asked is None:
        return Passages(0, run, _unit(settings), (), ())
    found: list[tuple[_Found, Offsets]] = []
    for one in _verified(store, asked, asked.candidates):
        runs = [own for own in one.runs if own.length + run - 1 >= least]
        if runs:
            found.append((_Found(one.doc_id, one.units, runs), _covered(runs, run)))
    found.sort(key=lambda one: (-len(one[1]), one[0].units, one[0].doc_id))
    units = len(asked.windows) + run - 1
    own = _Located.of(text, settings)
    best = found[: query.top]
    doc_ids = np.array([one.doc_id for one, _ in best], dtype=np.int64)
    keys = store.keys_of(doc_ids)
    sources = []
    for (one, covered), key, content in zip(best, keys, store.contents(doc_ids), strict=True):
        other = _Located.of(content, settings)
        passages = bridged(one.runs, run, query.gap)
        sources.append(
            Source(
                key,
                len(covered) / units,
                len(_covered([Run(r.b_first, r.a_first, r.length) for r in one.runs], run))
                / one.units,
                len(covered),
                tuple(_passage(own, other, *passage) for passage in passages),
            )
        )
    common = tuple(
        CommonPassage(*own.span(first, last), last - first, own.text_of(first, last))
        for first, last in _spans(asked.common, run)
    )
    return Passages(units, run, _unit(settings), tuple(sources), common)


def _unit(settings: Settings) -> str:
    return "word" if settings.shingling.kind == "word" else "character"


def run_of(settings: Settings) -> int:
    """Units of the shortest run that the index finds; UsageError if it finds none."""
    if not settings.passages:
        raise UsageError(
            "this database has no index of passages: make it with "
            "`lshdb reindex --passages 8`, or a new file with `lshdb init --passages 8`"
        )
    return settings.passages


def _least(wanted: int | None, run: int) -> int:
    """The shortest run that is wanted; UsageError if the index does not find it surely."""
    least = run if wanted is None else wanted
    if least < run:
        raise UsageError(
            f"least {least} is below {run}, the shortest run that this index finds: ask for "
            f"{run} or more, or rebuild the index with `lshdb reindex --passages {max(least, 3)}`"
        )
    return least


def _window_shingling(settings: Settings) -> Shingling:
    return Shingling(settings.shingling.kind, settings.passages)


def _base_windows(base: Iterable[str], settings: Settings) -> Iterator[Hashes]:
    """The windows of each base text that has one, sorted."""
    for text in base:
        if len(fingerprints([text], settings.shingling, settings.passages, settings.seed)):
            yield np.sort(_window_hashes([text], settings)[0])


def _window_hashes(texts: Sequence[str], settings: Settings) -> tuple[Hashes, Offsets]:
    """The hashes of the windows of n texts that have one, uint64[any], and offsets int64[n+1]."""
    shingles = shingle(texts, _window_shingling(settings), settings.seed)
    return shingles.hashes, shingles.offsets


def _windows(text: str, settings: Settings) -> tuple[Hashes, Offsets]:
    """The windows of a text that has one, uint64[n], and the fingerprint of each, int64[n]."""
    run = settings.passages
    short = fingerprint_shingling(settings.shingling, run)
    return _window_hashes([text], settings)[0], fingerprints_of_windows(
        shingle([text], short, settings.seed).hashes, run - short.size + 1
    )


def _look_up(store: Store, query: PassageQuery, text: str, own_id: int) -> _Asked | None:
    """The windows of a text, and the documents that may share one; None if it has none."""
    settings = store.settings
    run = settings.passages
    own = fingerprints([text], settings.shingling, run, settings.seed)
    if not len(own):
        return None
    windows, _ = _window_hashes([text], settings)
    place, doc_ids = store.documents_of_fingerprints(own.values, query.common + 1)
    hot = np.bincount(place, minlength=len(own)) > query.common
    common = _is_in(windows, _common_windows(store, own.values[hot]))
    place, doc_ids = place[doc_ids != own_id], doc_ids[doc_ids != own_id]
    left_out = _units(common, run)
    for base in _base_windows(query.base, settings):
        left_out |= _units(_is_in(windows, base), run)
    candidates = np.unique(doc_ids[~hot[place]])
    return _Asked(windows, ~_windows_with(left_out, run), common, candidates)


def _common_windows(reader: StoreReader, hot: Offsets) -> Hashes:
    """The windows that are common, sorted: uint64[any].

    Args:
        reader: of the file.
        hot: int64[n], the fingerprints that more documents have than may be. Of the windows
            around them, those are common that two of the first documents have.
    """
    if not len(hot):
        return np.empty(0, dtype=np.uint64)
    settings = reader.settings
    _, doc_ids = reader.documents_of_fingerprints(hot, COMMON_SAMPLE)
    found: list[Hashes] = []
    for batch in batches_of_text(reader.contents(np.unique(doc_ids))):
        for text in batch:
            windows, values = _windows(text, settings)
            found.append(np.unique(windows[_is_in(values, hot)]))
    windows, counts = np.unique(np.concatenate(found), return_counts=True)
    return windows[counts >= COMMON_AGREEING]


def _verified(store: Store, asked: _Asked, doc_ids: Offsets) -> Iterator[_Found]:
    """Those of the documents that share windows that count, and their runs."""
    if not asked.counts.any() or not len(doc_ids):
        return
    settings = store.settings
    wanted = np.sort(asked.windows[asked.counts])
    # A window that does not count is made one that no document has.
    nothing = _unused(asked.windows)
    own = np.where(asked.counts, asked.windows, nothing)
    done = 0
    for batch in batches_of_text(store.contents(doc_ids)):
        hashes, offsets = _window_hashes(batch, settings)
        shared = np.zeros(len(hashes) + 1, dtype=np.int64)
        np.cumsum(_is_in(hashes, wanted), out=shared[1:])
        sharing = np.flatnonzero(shared[offsets[1:]] > shared[offsets[:-1]])
        for one in sharing.tolist():
            its = hashes[offsets[one] : offsets[one + 1]]
            its = np.where(its == nothing, ~nothing, its)
            runs = runs_between(own, its)
            units = len(its) + settings.passages - 1
            yield _Found(int(doc_ids[done + one]), units, runs)
        done += len(batch)


def runs_between(own: Hashes, its: Hashes) -> list[Run]:
    """The runs of windows of one text that stand in another, each as long as it can be.

    Every window of `own` that is in `its` is in one of them. Runs of different places may overlap.
    """
    runs = shared_runs(own, its, PASSAGES + 1)
    if len(runs) > PASSAGES:
        runs.pop()
        warn_of_limit(pair_cut(PASSAGES))
    whole: list[Run] = []
    for run in runs:
        more = _backwards(own, its, run.a_first, run.b_first)
        run = Run(run.a_first - more, run.b_first - more, run.length + more)
        last = whole[-1] if whole else None
        if (
            last is not None
            and run.b_first - run.a_first == last.b_first - last.a_first
            and run.a_first <= last.a_first + last.length
        ):
            end = max(last.a_first + last.length, run.a_first + run.length)
            whole[-1] = last._replace(length=end - last.a_first)
        else:
            whole.append(run)
    return whole


def _backwards(own: Hashes, its: Hashes, a: int, b: int) -> int:
    """How many windows before a and b agree, one after the other."""
    done, width = 0, 8
    while True:
        width = min(width, a - done, b - done)
        if not width:
            return done
        equal = own[a - done - width : a - done] == its[b - done - width : b - done]
        if not equal.all():
            return done + int(equal[::-1].argmin())
        done += width
        width *= 2


def bridged(runs: Sequence[Run], run: int, gap: int) -> list[tuple[int, int, int, int, int]]:
    """Passages in units, those joined that follow each other in both texts within a gap.

    Args:
        runs: of windows, in the order of the first text.
        run: units of a window.
        gap: units that may stand between two passages, in either text.

    Returns:
        Of each its first and last + 1 unit in the first text and in the second, and how many of
        its units in the first text are shared.
    """
    passages: list[list[int]] = []
    for a, b, length in runs:
        units = length + run - 1
        if passages and gap:
            last = passages[-1]
            ahead, there = a - last[1], b - last[3]
            if -units < ahead <= gap and -units < there <= gap and a >= last[0] and b >= last[2]:
                last[4] += units + min(ahead, 0)
                last[1], last[3] = max(last[1], a + units), max(last[3], b + units)
                continue
        passages.append([a, a + units, b, b + units, units])
    return [(one[0], one[1], one[2], one[3], one[4]) for one in passages]


@dataclass(frozen=True, slots=True)
class _Located:
    """A text, its units, and where its lines begin, int64[lines]."""

    text: str
    units: Positions
    lines: Offsets

    @classmethod
    def of(cls, text: str, settings: Settings) -> _Located:
        """Locate the units of a text."""
        units = shingle_positions(text, Shingling(settings.shingling.kind, 1))
        breaks = [0] + [found.end() for found in re.finditer("\n", text)]
        return cls(text, units, np.array(breaks, dtype=np.int64))

    def span(self, first: int, last: int) -> tuple[int, int, int, int]:
        """Where units are: first character, last + 1, first line and last, from 1."""
        start, end = int(self.units.starts[first]), int(self.units.ends[last - 1])
        line, end_line = np.searchsorted(self.lines, [start, end - 1], side="right").tolist()
        return start, end, line, end_line

    def text_of(self, first: int, last: int) -> str:
        """Their text."""
        return self.text[self.units.starts[first] : self.units.ends[last - 1]]


def _passage(
    own: _Located, other: _Located, a: int, a_end: int, b: int, b_end: int, words: int
) -> CopiedPassage:
    similarity = words / max(a_end - a, b_end - b)
    spans = *own.span(a, a_end), *other.span(b, b_end)
    return CopiedPassage(*spans, words, similarity, own.text_of(a, a_end))


def _covered(runs: Iterable[Run], run: int) -> Offsets:
    """The units of the first text that runs of windows cover, each once, int64[any]."""
    spans = sorted((one.a_first, one.a_first + one.length + run - 1) for one in runs)
    parts: list[Offsets] = [np.empty(0, dtype=np.int64)]
    done = 0
    for first, last in spans:
        if last > done:
            parts.append(np.arange(max(first, done), last))
            done = last
    return np.concatenate(parts)


def _is_in(hashes: npt.NDArray[Any], ordered: npt.NDArray[Any]) -> Mask:
    """Which of the hashes are among sorted ones of the same type, bool[n]."""
    if not len(ordered):
        return np.zeros(len(hashes), dtype=np.bool_)
    found: Mask = ordered.take(np.searchsorted(ordered, hashes), mode="clip") == hashes
    return found


def _unused(hashes: Hashes) -> np.uint64:
    """A value that is none of the hashes, nor the complement of one."""
    value = np.uint64(0)
    while (hashes == value).any() or (hashes == ~value).any():
        value += np.uint64(1)
    return value


def _units(windows: Mask, run: int) -> Mask:
    """Which units stand in one of the windows, bool[n] -> bool[n + run - 1]."""
    change = np.zeros(len(windows) + run, dtype=np.int64)
    change[: len(windows)] += windows
    change[run:] -= windows
    return np.cumsum(change)[:-1] > 0


def _windows_with(units: Mask, run: int) -> Mask:
    """Which windows have one of the units, bool[n + run - 1] -> bool[n]."""
    total = np.zeros(len(units) + 1, dtype=np.int64)
    np.cumsum(units, out=total[1:])
    return total[run:] > total[:-run]


def _spans(windows: Mask, run: int) -> list[tuple[int, int]]:
    """The stretches of units that stand in the windows: first and last + 1."""
    edges = np.flatnonzero(np.diff(_units(windows, run), prepend=False, append=False))
    return list(zip(edges[0::2].tolist(), edges[1::2].tolist(), strict=True))


# all pairs


@dataclass(frozen=True, slots=True)
class PairsQuery:
    """What `Database.passage_pairs` was asked; see there. Illegal ones raise UsageError."""

    least: int | None = None
    top: int | None = None
    gap: int = 0
    common: int = COMMON
    base: Sequence[str] = ()

    def __post_init__(self) -> None:
        _check(self.top, self.gap, self.common)


@dataclass(frozen=True, slots=True)
class _Stored:
    """A stored document as a text of pairs.

    Attributes:
        located: its text.
        windows: uint64[n].
        own: uint64[n], the same where those that do not count are no window of any document.
    """

    located: _Located
    windows: Hashes
    own: Hashes


def passage_pairs(store: Store, query: PairsQuery) -> Iterator[PassagePair]:
    """All pairs of documents that share passages, those of the documents added first first.

    Documents that share a fingerprint are paired, their windows counted as sets
    (lshdb.search.similarity.Exact), and of those that share one the passages are found. In memory
    are 12 bytes for each row of a fingerprint that documents share, and a bounded number of texts.
    """
    with store.beside() as reader:
        pairs = _pairs(reader, query)
        if query.top is None:
            yield from pairs
        else:
            yield from nlargest(query.top, pairs, key=lambda pair: pair.words)


def _pairs(reader: StoreReader, query: PairsQuery) -> Iterator[PassagePair]:
    settings = reader.settings
    run = run_of(settings)
    least = _least(query.least, run)
    doc_ids, buckets = SharedBuckets.collect(reader.shared_fingerprints(query.common))
    if not len(doc_ids):
        return
    common = _common_windows(reader, reader.common_fingerprints(query.common))
    left_out = [common, *_base_windows(query.base, settings)]
    shingles, _ = reader.sizes(doc_ids)
    exact = Exact(
        reader.contents,
        doc_ids,
        np.arange(len(doc_ids)),  # equal documents have passages like others
        shingles + run,
        replace(settings, shingling=_window_shingling(settings)),
    )
    texts = _Texts(reader, doc_ids, left_out)
    for a, b in buckets.pairs(len(doc_ids)):
        sharing = exact.scores(a, b, _ANY) > 0
        a, b = a[sharing], b[sharing]
        for start in range(0, len(a), _PAIRS):
            some = slice(start, start + _PAIRS)
            texts.read(np.unique(np.concatenate([a[some], b[some]])))
            keys = texts.keys
            for one, other in zip(a[some].tolist(), b[some].tolist(), strict=True):
                pair = _pair(texts[one], texts[other], run, least, query.gap)
                if pair is not None:
                    yield PassagePair(keys[one], keys[other], *pair)


def _pair(
    one: _Stored, other: _Stored, run: int, least: int, gap: int
) -> tuple[int, float, float, tuple[CopiedPassage, ...]] | None:
    """Words, coverages and passages of two documents; None if they share nothing that counts."""
    runs = [own for own in runs_between(one.own, other.windows) if own.length + run - 1 >= least]
    if not runs:
        return None
    words = len(_covered(runs, run))
    its = len(_covered([Run(r.b_first, r.a_first, r.length) for r in runs], run))
    return (
        words,
        words / (len(one.windows) + run - 1),
        its / (len(other.windows) + run - 1),
        tuple(_passage(one.located, other.located, *each) for each in bridged(runs, run, gap)),
    )


class _Texts:
    """The texts of documents, by their numbers, as long as there is room.

    Attributes:
        keys: of those that are there.
    """

    def __init__(self, reader: StoreReader, doc_ids: Offsets, left_out: Sequence[Hashes]) -> None:
        """`left_out` are sorted windows that do not count."""
        self._reader = reader
        self._doc_ids = doc_ids
        self._left_out = left_out
        self._texts: dict[int, _Stored] = {}
        self._size = 0
        self.keys: dict[int, str] = {}

    def __getitem__(self, number: int) -> _Stored:
        return self._texts[number]

    def read(self, numbers: Offsets) -> None:
        """Have the texts of documents int64[n], ascending."""
        if self._size > COMPARED_CHARACTERS:
            self._texts, self.keys, self._size = {}, {}, 0
        missing = np.array([n for n in numbers.tolist() if n not in self._texts], dtype=np.int64)
        doc_ids = self._doc_ids[missing]
        self.keys.update(zip(missing.tolist(), self._reader.keys_of(doc_ids), strict=True))
        settings, run = self._reader.settings, self._reader.settings.passages
        waiting = iter(missing.tolist())
        for batch in batches_of_text(self._reader.contents(doc_ids)):
            hashes, offsets = _window_hashes(batch, settings)
            bounds = pairwise(offsets.tolist())
            for text, (first, last), number in zip(batch, bounds, waiting, strict=False):
                windows = hashes[first:last]
                units = np.zeros(len(windows) + run - 1, dtype=np.bool_)
                for some in self._left_out:
                    units |= _units(_is_in(windows, some), run)
                counts = ~_windows_with(units, run)
                own = np.where(counts, windows, _unused(windows))
                self._texts[number] = _Stored(_Located.of(text, settings), windows, own)
                self._size += len(text)
