"""Winnowing: a few hashes of each text, so that texts that share a run of words share one of them.

Of each window of w shingles of k units, the shingle with the smallest hash is kept. A run of
t = w + k - 1 units that two texts share is a window of both, with the same smallest hash, wherever
it is in them (Schleimer, Wilkerson, Aiken: Winnowing, SIGMOD 2003). A text of random words has
about 2 / (w + 1) fingerprints per word.

A unit is a word, for `char` shingles a character of the folded text, for `code` a token.

These values are part of the file format: tests/database/test_known_answers.py pins
them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from lshdb.apps.passages import statements as sql
from lshdb.apps.passages.line_ends import whole_words
from lshdb.apps.passages.positions import Units
from lshdb.apps.passages.table_part import TablePart
from lshdb.sketch.part_rows import PartRows
from lshdb.sketch.settings import Settings
from lshdb.store.index import IndexTable
from lshdb.text import shingles
from lshdb.text.arrays import NO_NUMBERS, IntArray, is_new
from lshdb.text.hashing import Hashes, Offsets, selection, span_hash
from lshdb.text.kinds import Tokens
from lshdb.text.shingling import Content, Shingling

_DROPPED = np.uint64(16)
"""Bits of a hash that a fingerprint leaves out. SQLite stores 48 bits in 6 bytes. With 32 bits, in
4 bytes, 100,000 pairs of documents would share one of 30 million fingerprints by chance, and
30 million pairs one of 500 million."""


@dataclasses.dataclass(frozen=True)
class Fingerprints:
    """The fingerprints of n documents, each value once per document, in the order of the values.

    Attributes:
        values: int64[f], 0 to 2^48 - 1.
        documents: int64[f], the index of the document among the n.
        positions: int64[f], the unit at which the shingle begins, from 0.
    """

    values: IntArray
    documents: IntArray
    positions: IntArray

    def __len__(self) -> int:
        return len(self.values)

    @property
    def by_document(self) -> tuple[IntArray, IntArray]:
        """The values and the documents, by document."""
        order = np.argsort(self.documents, kind="stable")
        return self.values[order], self.documents[order]


def fingerprint_size(run: int) -> int:
    """Units of the shingles of fingerprints, for runs of at least `run` units.

    Fewer documents without a common run share longer shingles. But then a window has fewer
    shingles, so more of them are kept: for runs of 8 units, one per 2.5 units with shingles of
    five eighths of the run, and one per 2 units with three quarters.
    """
    return -(-5 * run // 8)


def _of_runs(shingling: Shingling, run: int) -> Shingling:
    """The shingles of fingerprints, without base texts."""
    size, options = fingerprint_size(run), shingling.options - {"cjk"}
    return dataclasses.replace(shingling, size=size, options=options, base=())


def fingerprints(
    contents: Sequence[Content],
    shingling: Shingling,
    run: int,
    seed: int,
    tokens: Tokens | None = None,
) -> Fingerprints:
    """The fingerprints of a batch of n texts.

    Args:
        contents: n texts.
        shingling: of the database, not `set`; its size and base texts do not matter.
        run: units of the shortest run that is always found.
        seed: of the hashes.
        tokens: of the programs, if they have been cut already.
    """
    short = _of_runs(shingling, run)
    window = run - short.size + 1
    columns = [(np.empty(0, dtype=np.uint64), NO_NUMBERS, NO_NUMBERS)]
    for group in shingles.groups(contents, short) if tokens is None else [range(len(contents))]:
        texts = whole_words((str(contents[index]) for index in group), shingling)
        if shingles.is_large(texts[0], short):
            for values, positions in _piece_fingerprints(
                shingles.pieces(texts[0], short, seed), window
            ):
                columns.append((values, np.full(len(values), group[0]), positions))
            continue
        hashed = shingles.shingle_group(texts, short, seed, tokens)
        values, positions = _winnowed(hashed.hashes >> _DROPPED, hashed.offsets, window)
        text_indices = np.repeat(
            np.arange(len(texts)), np.diff(np.searchsorted(positions, hashed.offsets))
        )
        positions -= hashed.offsets[text_indices]
        columns.append((values, np.array(group)[text_indices], positions))
    hashes, documents, positions = map(np.concatenate, zip(*columns, strict=True))
    order = np.argsort(hashes, kind="stable")
    prints, documents = hashes[order].view(np.int64), documents[order]
    new = is_new(prints) | is_new(documents)
    return Fingerprints(prints[new], documents[new], positions[order[new]])


def base_fingerprints(settings: Settings, more: Iterable[str]) -> IntArray:
    """All values that may be fingerprints of the base texts of a file, and of more.

    Returns:
        int64[any], sorted.
    """
    shingling = settings.shingling.without(more)
    base = whole_words((text for _, text in shingling.base), shingling)
    short = _of_runs(shingling, settings.passages).without(base)
    return (shingles.base_hashes(short, settings.seed) >> _DROPPED).view(np.int64)


def windows(units: Units, kind: str, size: int, seed: int) -> Hashes:
    """The hashes of the runs of `size` units that begin at each of n units, uint64[n].

    At the last size - 1 units of a text, where no run begins, the values are arbitrary.
    """
    hasher = span_hash(seed, "word" if kind == "word" else "char")
    begins, ends = units.begins, units.ends
    if kind == "word":
        return shingles.word_sums(hasher.spans(units.folded, begins, ends - begins), size, seed)
    last = np.minimum(np.arange(len(ends)) + size - 1, len(ends) - 1)
    return hasher.spans(units.folded, begins, ends[last] - begins)


def shingle_values(units: Units, kind: str, run: int, seed: int) -> IntArray:
    """The values of the shingles that begin at each of n units, int64[n]: some are fingerprints.

    At the last units of a text, where no shingle begins, the values are arbitrary.
    """
    return (windows(units, kind, fingerprint_size(run), seed) >> _DROPPED).view(np.int64)


def window_fingerprints(values: IntArray, run: int) -> IntArray:
    """The fingerprints of the runs of `run` units that begin at each of n units, int64[n].

    At the last run - 1 units of a text, where no run begins, the values are arbitrary.

    Args:
        values: int64[n], of the shingles that begin at each unit.
        run: units of a run.
    """
    window = run - fingerprint_size(run) + 1
    padded = np.append(values, np.zeros(window - 1, dtype=np.int64))
    return _window_minima(padded.view(np.uint64), window)[-1].view(np.int64)


def _window_minima(hashes: Hashes, window: int) -> list[Hashes]:
    """The smallest of each w hashes in a row, uint64[n] -> uint64[n - w + 1].

    For w of 1, 2, 4 and so on, and at last `window`; empty where there are fewer than w.
    """
    minima, width = [hashes], 1
    while width < window:
        step = min(width, window - width)
        minima.append(np.minimum(minima[-1][:-step], minima[-1][step:]))
        width += step
    return minima


def _winnowed(hashes: Hashes, offsets: Offsets, window: int) -> tuple[Hashes, Offsets]:
    """The smallest hashes of the windows of n documents, and their indices.

    Adjacent windows usually have the same smallest hash, which is returned once.
    """
    *narrower, minimum = _window_minima(hashes, window)
    begins, counts = offsets[:-1], np.diff(offsets) - window + 1
    begins, counts = begins[counts > 0], counts[counts > 0]
    new = is_new(minimum)
    new[begins] = True
    new &= selection(begins, counts, len(minimum))  # no window is in two documents
    positions = np.flatnonzero(new)
    values = minimum[positions]
    for minima in reversed(narrower):  # the first index that has the value, by halves
        is_later = minima[np.minimum(positions, len(minima) - 1)] > values
        positions = positions + is_later * (len(hashes) - len(minima) + 1)
    return values, positions


def _piece_fingerprints(stream: Iterable[Hashes], window: int) -> Iterator[tuple[Hashes, Offsets]]:
    """Winnow a document whose shingles come in pieces, piece by piece; see `_winnowed`."""
    tail = np.empty(0, dtype=np.uint64)
    hashes_before = 0
    for piece in stream:
        hashes = np.concatenate([tail, piece >> _DROPPED])
        values, positions = _winnowed(hashes, np.array([0, len(hashes)]), window)
        yield values, positions + hashes_before
        keep = min(window - 1, len(hashes))
        tail = hashes[len(hashes) - keep :]
        hashes_before += len(hashes) - keep


def _made(texts: Sequence[str], settings: Settings, tokens: Tokens | None) -> PartRows:
    """See IndexPart; the columns are the values and the positions, by value."""
    run = settings.passages
    prints = fingerprints(texts, settings.shingling, run, settings.seed, tokens)
    return PartRows(run, prints.documents, (prints.values, prints.positions))


PART = TablePart(
    IndexTable(
        "fingerprints",
        sql.FINGERPRINT_ROWS,
        sql.INSERT_FINGERPRINT,
        sql.INSERT_FINGERPRINTS,
        sql.DELETE_FINGERPRINT,
        sql.DELETE_FINGERPRINTS,
    ),
    _made,
)
"""The part of the index that finds copied passages."""
