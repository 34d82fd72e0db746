"""The windows of texts, the runs of windows that two texts share, and their places.

A unit is a word, or a character where the shingles are of characters. A window is a run of
`Settings.passages` units; the i-th begins at unit i. Windows are hashed under a secret seed (see
lshdb.shingling.hashing.secret_seed), the same for all that are compared; fingerprints, which lead
to documents, under the file's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import chain, pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lshdb.errors import UsageError, warn_of_limit
from lshdb.model import CommonPassage, CopiedPassage, Settings, Shingling
from lshdb.search.limits import pair_cut
from lshdb.search.similarity import batches_of_text
from lshdb.shingling.arrays import offsets_of, parts_of, places_of
from lshdb.shingling.hashing import Hashes, Offsets
from lshdb.shingling.passages import Run, longest_runs
from lshdb.shingling.positions import line_starts, shingle_positions
from lshdb.shingling.shingles import shingle
from lshdb.shingling.winnowing import fingerprint_shingling, fingerprints, fingerprints_of_windows
from lshdb.store.lookups import StoreReader

_AT_ONCE: Final = 1 << 20
"""Windows of other texts that are compared at once."""
COMMON_SAMPLE: Final = 4
"""First documents of a too common fingerprint that show which run around it they share."""
_COMMON_AGREEING: Final = 2
"""How many of these must share a common run: one may be the text of the query."""
_COMMON_NAMED: Final = 5
"""The longest of all common runs, which are named to the user."""
_COMMON_SEARCHED: Final = 100
"""Documents in which these are looked for."""
_SPARSE: Final = 4
"""Bits more than the number of windows of a text needs: at most one in 16 of the windows of
unrelated texts is searched among them."""
_SLOTS: Final = 3
"""The same for a table of slots: at most one in 8 others is taken for one of the values."""
_MOST_MATCHES: Final = 1 << 21
"""Matches of two texts that are compared, in some 100 bytes each."""
MANY_TIMES: Final = 16
"""All places of a window are compared with all in another text if one of both has it up to this
many times; else both texts are sorted (see longest_runs): with 64, a hundredth of the pairs of
100,000 source files share half of all places where runs begin."""

Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int32]


def run_of(settings: Settings) -> int:
    """Units of the shortest run that the index finds; UsageError without such an index."""
    if not settings.passages:
        raise UsageError(
            "this database has no index of passages: make it with "
            "`lshdb reindex --passages 8`, or a new file with `lshdb init --passages 8`"
        )
    return settings.passages


def least_of(wanted: int | None, run: int) -> int:
    """The shortest run that is wanted; UsageError if the index may miss it."""
    least = run if wanted is None else wanted
    if least < run:
        raise UsageError(
            f"least {least} is below {run}, the shortest run that this index finds: ask for "
            f"{run} or more, or rebuild the index with `lshdb reindex --passages {max(least, 3)}`"
        )
    return least


def _window_shingling(settings: Settings) -> Shingling:
    return Shingling(settings.shingling.kind, settings.passages)


def base_windows(base: Iterable[str], settings: Settings, seed: int) -> Iterator[Hashes]:
    """The windows of all base texts, sorted."""
    for text in base:
        if len(fingerprints([text], settings.shingling, settings.passages, settings.seed)):
            yield np.sort(window_hashes([text], settings, seed)[0])


def window_hashes(texts: Sequence[str], settings: Settings, seed: int) -> tuple[Hashes, Offsets]:
    """The hashes of the windows of n texts that have some, uint64[any], and offsets int64[n+1]."""
    shingles = shingle(texts, _window_shingling(settings), seed)
    return shingles.hashes, shingles.offsets


def windows_of(text: str, settings: Settings, seed: int) -> tuple[Hashes, Offsets]:
    """The windows of a text that has some, uint64[n], and the fingerprint of each, int64[n]."""
    run = settings.passages
    short = fingerprint_shingling(settings.shingling, run)
    return window_hashes([text], settings, seed)[0], fingerprints_of_windows(
        shingle([text], short, settings.seed).hashes, run - short.size + 1
    )


def common_windows(reader: StoreReader, hot: Offsets, seed: int) -> Hashes:
    """The windows that are common, sorted: uint64[any].

    Args:
        reader: of the file.
        hot: int64[n], the fingerprints that too many documents have. Windows around them are
            common if two of the first documents have them.
        seed: of the windows.
    """
    if not len(hot):
        return np.empty(0, dtype=np.uint64)
    _, doc_ids = reader.documents_of_fingerprints(hot, COMMON_SAMPLE)
    texts = chain.from_iterable(batches_of_text(reader, np.unique(doc_ids)))
    return agreed([windows_around(text, hot, reader.settings, seed) for text in texts])


def longest_common(
    reader: StoreReader, common: Hashes, hot: Offsets, seed: int
) -> tuple[tuple[str, CommonPassage], ...]:
    """The longest runs of common windows in some documents, each once, with the documents' keys."""
    settings = reader.settings
    _, some = reader.documents_of_fingerprints(hot, 1)
    doc_ids = np.unique(some)[:_COMMON_SEARCHED]
    known = common[:0]
    found: list[tuple[str, CommonPassage]] = []
    for key, text in zip(reader.keys_of(doc_ids), reader.contents(doc_ids), strict=True):
        windows = window_hashes([text], settings, seed)[0]
        new = np.zeros(len(windows), dtype=np.bool_)
        new[np.unique(windows, return_index=True)[1]] = True  # its first place
        new &= is_in(windows, common) & ~is_in(windows, known)
        if new.any():
            known = np.union1d(known, windows[new])
            runs = common_passages(Located.of(text, settings), new, settings.passages)
            found += ((key, one) for one in runs)
            found = nlargest(_COMMON_NAMED, found, key=lambda one: one[1].words)
    return tuple(found)


def common_passages(text: Located, common: Mask, run: int) -> tuple[CommonPassage, ...]:
    """The runs of a text that are common, from its windows that are, bool[n]."""
    first, last = np.array(stretches(common, run), dtype=np.int64).reshape(-1, 2).T
    starts, ends, *lines = text.spans(first, last)
    texts = [text.text[start:end] for start, end in zip(starts, ends, strict=True)]
    rows = zip(starts, ends, *lines, (last - first).tolist(), texts, strict=True)
    return tuple(CommonPassage(*row) for row in rows)


def windows_around(text: str, values: Offsets, settings: Settings, seed: int) -> Hashes:
    """The windows of a text whose fingerprints are among sorted ones, int64[n], each once."""
    windows, own = windows_of(text, settings, seed)
    return np.unique(windows[is_in(own, values)])


def agreed(samples: Sequence[Hashes]) -> Hashes:
    """The windows that are common, sorted: those that enough of the samples have."""
    # A damaged index may lead to no document.
    none = np.empty(0, dtype=np.uint64)
    windows, counts = np.unique(np.concatenate([none, *samples]), return_counts=True)
    return windows[counts >= _COMMON_AGREEING]


def counting(hashes: Hashes, offsets: Offsets, left_out: Iterable[Hashes], run: int) -> Mask:
    """Which windows have no unit of a window that is left out, bool[n].

    Args:
        hashes: uint64[n], the windows of some texts, one text after the other.
        offsets: int64[texts+1], where each text begins.
        left_out: sorted windows that do not count.
        run: units of a window.
    """
    out = np.zeros(len(hashes), dtype=np.bool_)
    for some in left_out:
        out |= is_in(hashes, some)
    if not out.any():
        return ~out
    # Unit i of a text is behind the units of the texts before, of which each has run - 1 more
    # than windows.
    own = np.repeat(np.arange(len(offsets) - 1) * (run - 1), np.diff(offsets))
    unit = np.arange(len(hashes)) + own
    change = np.zeros(len(hashes) + (len(offsets) - 1) * (run - 1) + 1, dtype=np.int64)
    change[unit[out]] += 1
    change[unit[out] + run] -= 1
    total = np.append(0, np.cumsum(np.cumsum(change)[:-1] > 0))
    counts: Mask = total[unit + run] == total[unit]
    return counts


class WindowIndex:
    """Windows in the order of their hashes, among which many others are looked up.

    Attributes:
        order: int64[w], the windows, those with one hash next to each other.
    """

    def __init__(self, hashes: Hashes, windows: Offsets) -> None:
        """Take the windows int64[w] of uint64[n]."""
        self.order = windows[np.argsort(hashes[windows], kind="stable")]
        ordered = hashes[self.order]
        begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
        self._bounds = np.append(begins, len(ordered))
        self._distinct = ordered[begins]
        bits = len(begins).bit_length() + _SPARSE
        self._shift = np.uint64(64 - bits)
        self._slots = np.zeros(1 << bits, dtype=np.bool_)
        self._slots[(self._distinct >> self._shift).view(np.int64)] = True

    def find(self, hashes: Hashes) -> tuple[Offsets, Offsets, Offsets]:
        """Which of the hashes uint64[any] some windows have: int64[f].

        Returns:
            These hashes, and for each where its windows begin in `order`, and how many there are.
        """
        # One look at a sparse table is enough for most. In the order of hashes all is several
        # times as fast, as the processor's cache has the place of the next one.
        which = np.flatnonzero(self._slots[(hashes >> self._shift).view(np.int64)])
        wanted = hashes[which]
        order = np.argsort(wanted, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.searchsorted(self._distinct, wanted[order])
        here = self._distinct.take(rank, mode="clip") == wanted
        which, rank = which[here], rank[here]
        first = self._bounds[rank]
        return which, first, self._bounds[rank + 1] - first


class Compared:
    """The windows of a text, prepared to be searched in many others."""

    def __init__(self, windows: Hashes, counts: Mask) -> None:
        """Take the windows uint64[n] of a text, and which of them count, bool[n]."""
        self._nothing = unused(windows)
        # A window that does not count gets a value that no document has.
        self._own = windows if counts.all() else np.where(counts, windows, self._nothing)
        self._index = WindowIndex(windows, np.flatnonzero(counts))
        self._many = _many(windows[counts])

    def runs_in(
        self, hashes: Hashes, offsets: Offsets, counts: Mask
    ) -> Iterator[tuple[int, list[Run]]]:
        """The others that share windows which count in both, by their places, and the shared runs.

        Every shared window is in a run, each as long as possible (see preferred_runs). Runs may
        overlap.

        Args:
            hashes: uint64[any], the windows of other texts, one text after the other.
            offsets: int64[texts+1], where each text begins.
            counts: bool[any], which of the windows count.
        """
        for part in parts_of(np.diff(offsets), _AT_ONCE):
            begin, end = offsets[part.start], offsets[part.stop]
            some = offsets[part.start : part.stop + 1] - begin
            for place, runs in self._runs_in(hashes[begin:end], some, counts[begin:end]):
                yield part.start + place, runs

    def _runs_in(
        self, hashes: Hashes, begins: Offsets, counts: Mask
    ) -> Iterator[tuple[int, list[Run]]]:
        places, first, times = self._index.find(hashes)
        if not counts.all():
            kept = counts[places]
            places, first, times = places[kept], first[kept], times[kept]
        bounds = np.searchsorted(places, begins)
        other = np.repeat(np.arange(len(begins) - 1), np.diff(bounds))
        matches = np.diff(offsets_of(times)[bounds])
        texts = [slice(*bound) for bound in pairwise(begins.tolist())]
        few = matches <= _MOST_MATCHES
        if len(self._many):
            few &= [
                not len(np.intersect1d(_many(hashes[text][counts[text]]), self._many))
                for text in texts
            ]
        for part in parts_of(matches * few, _MOST_MATCHES):
            at = np.arange(bounds[part.start], bounds[part.stop])
            at = at[few[other[at]]]
            # Each place of another text with each of this one.
            pair = np.repeat(other[at], times[at])
            a = self._index.order[places_of(first[at], times[at])]
            b = np.repeat(places[at], times[at]) - begins[pair]
            pair, *columns = runs_of_matches(pair, a, b)
            runs = list(map(Run, *(one.tolist() for one in columns)))
            for number in (np.flatnonzero(matches[part]) + part.start).tolist():
                if few[number]:
                    begin, end = np.searchsorted(pair, (number, number + 1)).tolist()
                    yield number, runs[begin:end]
                else:
                    text = texts[number]
                    yield number, self.runs_in_repeating(hashes[text], counts[text])

    def runs_in_repeating(self, its: Hashes, counts: Mask) -> list[Run]:
        """The runs of a text that repeats windows of this one so often that no match is tried.

        The same runs, but where several places are as good, any of them.

        Args:
            its: uint64[n], its windows.
            counts: bool[n], which of them count.
        """
        counts = counts & (its != self._nothing)
        a, b, length = longest_runs(self._own, np.where(counts, its, ~self._nothing))
        preferred = preferred_runs(np.zeros(len(a), dtype=np.int64), a, b, length)
        return list(map(Run, *(one[preferred].tolist() for one in (a, b, length))))


def _many(windows: Hashes) -> Hashes:
    """The windows that stand in a text more than MANY_TIMES times, sorted."""
    ordered = np.sort(windows)
    many = ordered[MANY_TIMES:][ordered[MANY_TIMES:] == ordered[:-MANY_TIMES]]
    return np.unique(many) if len(many) else many


def runs_of_matches(
    pair: Offsets, a: Offsets, b: Offsets
) -> tuple[Offsets, Offsets, Offsets, Offsets]:
    """The runs of windows that agree in pairs of texts, without those that no window prefers.

    Args:
        pair: int64[m], the number of the pair of each match.
        a: int64[m], the place of the window in the first text.
        b: int64[m], that in the second one.

    Returns:
        The pair of each run, its first places in both texts and its length, int64[r] each, in the
        order of pairs, then of the first text.
    """
    order = np.lexsort((a, b - a, pair))
    pair, a, b = pair[order], a[order], b[order]
    new = np.ones(len(a), dtype=np.bool_)
    new[1:] = (np.diff(a) != 1) | (np.diff(b) != 1) | (np.diff(pair) != 0)
    first = np.flatnonzero(new)
    length = np.diff(first, append=len(a))
    pair, a, b = pair[first], a[first], b[first]
    order = np.lexsort((a, pair))
    order = order[preferred_runs(pair, a, b, length)[order]]
    return pair[order], a[order], b[order], length[order]


def preferred_runs(pair: Offsets, a: Offsets, b: Offsets, length: Offsets) -> Mask:
    """Which runs some window of the first text prefers, bool[r].

    It prefers the longest run that has it; of equally long ones that with the nearest places in
    both texts, then the first.

    Args:
        pair: int64[r], the number of the pair of each run, from 0.
        a: int64[r], the place in the first text where it begins.
        b: int64[r], that in the second one.
        length: int64[r], its windows.
    """
    # All windows between two places where runs begin or end are in the same runs.
    begins = pair * int((a + length).max(initial=0)) + a
    places = np.unique(np.append(begins, begins + length))
    first = np.searchsorted(places, begins)
    count = np.searchsorted(places, begins + length) - first
    best = np.full(len(places), -1)
    order = np.lexsort((np.abs(b - a), -length))[::-1]
    for part in parts_of(count[order], _AT_ONCE):
        some = order[part]
        best[places_of(first[some], count[some])] = np.repeat(some, count[some])  # the last stays
    preferred = np.zeros(len(a), dtype=np.bool_)
    preferred[best[best >= 0]] = True
    return preferred


def shown(runs: Sequence[Run], least: int, most: int) -> list[Run]:
    """The first `most` runs of at least some windows, with a warning if there are more."""
    long = [one for one in runs if one.length >= least]
    if len(long) > most:
        warn_of_limit(pair_cut(most))
    return long[:most]


def bridged(runs: Sequence[Run], run: int, gap: int) -> list[tuple[int, int, int, int, int]]:
    """Passages in units; those that follow each other in both texts within a gap are joined.

    Args:
        runs: of windows, in the order of the first text.
        run: units of a window.
        gap: maximum units between two passages, in either text.

    Returns:
        For each, its first and last + 1 unit in the first text and in the second, and how many of
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
class Located:
    """A text, the bounds of its units, int32[units], and where its lines begin, int32[lines]."""

    text: str
    starts: Places
    ends: Places
    lines: Places

    @classmethod
    def of(cls, text: str, settings: Settings) -> Located:
        """Locate the units of a text."""
        units = shingle_positions(text, Shingling(settings.shingling.kind, 1))
        columns = units.starts, units.ends, line_starts(text)
        return cls(text, *(one.astype(np.int32) for one in columns))

    def spans(self, first: Offsets, last: Offsets) -> tuple[list[int], ...]:
        """Where stretches of units are: first character, last + 1, first line and last, from 1."""
        starts, ends = self.starts[first], self.ends[last - 1]
        lines = self.lines_of(starts, ends)
        return tuple(one.tolist() for one in (starts, ends, *lines))

    def lines_of(self, starts: Places, ends: Places) -> tuple[Offsets, Offsets]:
        """The first and last lines of stretches of characters, from 1: int64[n] both."""
        line = np.searchsorted(self.lines, starts, side="right")
        return line, np.searchsorted(self.lines, ends - 1, side="right")


def passages_at(
    own: Located, other: Located, spans: Sequence[tuple[int, int, int, int, int]]
) -> tuple[CopiedPassage, ...]:
    """Passages in units, as `bridged` gives them, with their places in both texts."""
    a, a_end, b, b_end, words = np.array(spans, dtype=np.int64).reshape(-1, 5).T
    similarity = words / np.maximum(a_end - a, b_end - b)
    starts, ends, *lines = own.spans(a, a_end)
    texts = [own.text[start:end] for start, end in zip(starts, ends, strict=True)]
    scores = words.tolist(), similarity.tolist()
    rows = zip(starts, ends, *lines, *other.spans(b, b_end), *scores, texts, strict=True)
    return tuple(CopiedPassage(*row) for row in rows)


def covered(runs: Iterable[Run], run: int) -> int:
    """How many units of the first text are covered by runs of windows."""
    units = done = 0
    for first, last in sorted((one.a_first, one.a_first + one.length + run - 1) for one in runs):
        units += max(0, last - max(first, done))
        done = max(done, last)
    return units


def turned(runs: Iterable[Run]) -> list[Run]:
    """The same runs with the second text first."""
    return [Run(one.b_first, one.a_first, one.length) for one in runs]


def is_in(hashes: npt.NDArray[Any], ordered: npt.NDArray[Any]) -> Mask:
    """Which of the hashes are among sorted ones of the same type, 8 bytes each: bool[n]."""
    found = np.zeros(len(hashes), dtype=np.bool_)
    if len(ordered):
        # One look at a sparse table is enough for most.
        slots = slots_of(ordered.view(np.int64))
        some = np.flatnonzero(slots[hashes.view(np.int64) & (len(slots) - 1)])
        wanted = hashes[some]
        found[some] = ordered.take(np.searchsorted(ordered, wanted), mode="clip") == wanted
    return found


def slots_of(values: Offsets) -> Mask:
    """A table of 2^bits slots, true at the low bits of each of the values, int64[n]."""
    slots = np.zeros(1 << (len(values).bit_length() + _SLOTS), dtype=np.bool_)
    slots[values & (len(slots) - 1)] = True
    return slots


def unused(hashes: Hashes) -> np.uint64:
    """A value that is neither a hash nor the complement of one."""
    value = np.uint64(0)
    while (hashes == value).any() or (hashes == ~value).any():
        value += np.uint64(1)
    return value


def some_lead(runs: Iterable[Run], leading: Mask) -> bool:
    """Whether a run has one of some windows, bool[n], of the first text."""
    return any(leading[one.a_first : one.a_first + one.length].any() for one in runs)


def units_in(windows: Mask, run: int) -> Mask:
    """Which units are in one of the windows, bool[n] -> bool[n + run - 1]."""
    change = np.zeros(len(windows) + run, dtype=np.int64)
    change[: len(windows)] += windows
    change[run:] -= windows
    return np.cumsum(change)[:-1] > 0


def stretches(windows: Mask, run: int) -> list[tuple[int, int]]:
    """The stretches of units in the windows: first and last + 1."""
    edges = np.flatnonzero(np.diff(units_in(windows, run), prepend=False, append=False))
    return list(zip(edges[0::2].tolist(), edges[1::2].tolist(), strict=True))
