"""Copied passages: the runs of words that a text shares with stored documents.

The fingerprints of a text (lshdb.shingling.winnowing) name the documents that may share a run of
`Settings.passages` units with it; their contents decide. A unit is a word, or a character where
the shingles are of characters. A window is a run of that many units; the i-th begins at unit i.

Not all shared text is copied. Text in a base text, or in more documents than `common`, does not
count: its units are cut out of both texts. A fingerprint in that many documents leads to none
of them, so the time of a query stays linear whatever headers there are. Four of these documents
decide whether a window with such a fingerprint is common; one that is not is shown where another
window leads to the document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lshdb.errors import UsageError
from lshdb.limits import DEFAULTS
from lshdb.model import Passages, Settings, Source
from lshdb.search.passage_pairs import check_limits
from lshdb.search.passage_texts import (
    Compared,
    Located,
    Mask,
    base_windows,
    bridged,
    common_passages,
    common_windows,
    counting,
    covered,
    is_in,
    least_of,
    passages_at,
    run_of,
    shown,
    some_lead,
    turned,
    window_hashes,
    windows_of,
)
from lshdb.search.query import row_of_key
from lshdb.search.similarity import batches_of_text
from lshdb.shingling.content import cleaned
from lshdb.shingling.hashing import Hashes, Offsets, secret_seed
from lshdb.shingling.passages import Run
from lshdb.shingling.winnowing import fingerprints
from lshdb.store.store import Store


@dataclass(frozen=True, slots=True)
class PassageQuery:
    """The arguments of `Database.passages`; see there. Invalid ones raise UsageError.

    Attributes:
        text: the query; or
        key: of a stored document instead.
    """

    text: str | None = None
    key: str | None = None
    least: int | None = None
    top: int | None = None
    gap: int = 0
    common: int = DEFAULTS.common
    base: Sequence[str] = ()

    def __post_init__(self) -> None:
        if (self.text is None) == (self.key is None):
            raise UsageError("give either a text or a key")
        check_limits(self.top, self.gap, self.common)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The text of a query.

    Attributes:
        windows: uint64[n], the hash of each window.
        counts: bool[n], which windows count: those with no unit of a base text or a common run.
        leading: bool[n], which windows lead to a document: their fingerprint is in few.
        common: bool[n], which windows are common.
        left_out: sorted windows that do not count, in no document.
        candidates: int64[c], doc_ids, ascending.
    """

    windows: Hashes
    counts: Mask
    leading: Mask
    common: Mask
    left_out: Sequence[Hashes]
    candidates: Offsets


@dataclass(frozen=True, slots=True)
class _Found:
    """The runs of a document that count, and how many units of the text they cover."""

    doc_id: int
    units: int
    runs: list[Run]
    covered: int

    @property
    def rank(self) -> tuple[int, ...]:
        """The sort key, lowest first: by units covered, then by the longest run."""
        return -self.covered, -max(run.length for run in self.runs), self.units, self.doc_id


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
    least = least_of(query.least, run)
    asked = _look_up(store, query, text, own_id)
    if asked is None:
        return Passages(0, run, unit_of(settings), (), ())
    found = sorted(_verified(store, asked, least), key=lambda one: one.rank)[: query.top]
    units = len(asked.windows) + run - 1
    own = Located.of(text, settings)
    doc_ids = np.array([one.doc_id for one in found], dtype=np.int64)
    keys = store.keys_of(doc_ids)
    sources = []
    for one, key, content in zip(found, keys, store.contents(doc_ids), strict=True):
        other = Located.of(content, settings)
        sources.append(
            Source(
                key,
                one.covered / units,
                covered(turned(one.runs), run) / one.units,
                one.covered,
                passages_at(own, other, bridged(one.runs, run, query.gap)),
            )
        )
    common = common_passages(own, asked.common, run)
    return Passages(units, run, unit_of(settings), tuple(sources), common)


def unit_of(settings: Settings) -> str:
    """What a unit is called."""
    return "word" if settings.shingling.kind == "word" else "character"


def _look_up(store: Store, query: PassageQuery, text: str, own_id: int) -> _Asked | None:
    """The windows of a text, and the documents that may share one; None if it has none."""
    settings = store.settings
    run = settings.passages
    own = fingerprints([text], settings.shingling, run, settings.seed)
    if not len(own):
        return None
    windows, of_windows = windows_of(text, settings, secret_seed())
    place, doc_ids = store.documents_of_fingerprints(own.values, query.common + 1)
    hot = np.bincount(place, minlength=len(own)) > query.common
    common = common_windows(store, own.values[hot], secret_seed())
    place, doc_ids = place[doc_ids != own_id], doc_ids[doc_ids != own_id]
    left_out = [common, *base_windows(query.base, settings, secret_seed())]
    counts = counting(windows, np.array([0, len(windows)]), left_out, run)
    candidates = np.unique(doc_ids[~hot[place]])
    leading = ~is_in(of_windows, own.values[hot])
    return _Asked(windows, counts, leading, is_in(windows, common), left_out, candidates)


def _verified(store: Store, asked: _Asked, least: int) -> Iterator[_Found]:
    """Those of the candidates that share runs which count and are long enough."""
    settings, run = store.settings, store.settings.passages
    compared = Compared(asked.windows, asked.counts)
    waiting = iter(asked.candidates.tolist())
    for batch in batches_of_text(store, asked.candidates):
        hashes, offsets = window_hashes(batch, settings, secret_seed())
        counts = counting(hashes, offsets, asked.left_out, run)
        doc_ids = [doc_id for _, doc_id in zip(batch, waiting, strict=False)]
        for place, found in compared.runs_in(hashes, offsets, counts):
            runs = shown(found, least - run + 1, store.limits.passages)
            if runs and some_lead(found, asked.leading):
                units = int(offsets[place + 1] - offsets[place]) + run - 1
                yield _Found(doc_ids[place], units, runs, covered(runs, run))
