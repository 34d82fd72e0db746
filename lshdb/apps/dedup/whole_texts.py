"""Texts of a reference that are shorter than a run: they match only as a whole.

A question of nine words has no run of 13 words. It matches a text that has all of its words one
after the other, folded as for shingles. Texts are looked up by the rarest word of each question. A
text of fewer than five words, such as `The`, is a part of too many: it matches only the same words.
A text of signs alone, such as emoji, matches only the same signs.
"""

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Self

import numpy as np

from lshdb import errors
from lshdb.apps.dedup.collection import Collection, DropReason
from lshdb.apps.passages import positions
from lshdb.apps.passages.line_ends import whole_words
from lshdb.apps.passages.passage_runs import passage_at
from lshdb.formatting import counted, listed
from lshdb.read.paths import escaped
from lshdb.text import folding, shingles
from lshdb.text.arrays import NO_NUMBERS, expand_ranges, int_array, offsets_of
from lshdb.text.shingling import Shingling

_MARK = b"\xff"
_PART = 5
"""Units of the shortest text that matches a part of another."""
_NAMED = 5
"""Keys of shorter ones in a message."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Run:
    """The units of a text.

    Attributes:
        text: as it is stored.
        folded: the UTF-8 of its folded units, each with a byte before and behind it that no UTF-8
            has.
        cut: the units of all texts.
        first: the index of the text's first unit.
        count: how many units it has.
    """

    text: str
    folded: bytes
    cut: positions.Units
    first: int
    count: int

    def span(self, first: int, count: int) -> tuple[int, int, int, int]:
        """Where a range of units starts and ends in the text; its first and last line, from 1."""
        first += self.first
        start, end = int(self.cut.starts[first]), int(self.cut.stops[first + count - 1])
        text = positions.with_line_feeds(self.text)
        return start, end, text.count("\n", 0, start) + 1, text.count("\n", 0, end - 1) + 1


@dataclasses.dataclass(eq=False)
class WholeTexts:
    """The short texts of a reference.

    Attributes:
        shingling: of its texts.
        words: texts with fewer are short.
        runs: the short ones that are not blank, by their doc_ids.
    """

    shingling: Shingling
    words: int
    runs: dict[int, _Run] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, collection: Collection, words: int) -> Self:
        """The short texts of a reference, with a warning that says how many there are."""
        short, total = cls(collection.store.settings.shingling, words), 0
        for reader, doc_ids, _ in collection.parts():
            total += len(doc_ids)
            short.take(doc_ids.tolist(), [*map(str, reader.contents(doc_ids))])
        name, count = str(collection.reference), len(short.runs)
        _warn(name, count, f"{count:,} of {counted(total, 'document')}", words, "as a whole")
        with collection.reader() as reader:
            warn_of_shortest(name, reader.keys_of(int_array(short.shortest)))
        return short

    @property
    def shortest(self) -> list[int]:
        """The doc_ids of those that match only the same words."""
        return [doc_id for doc_id, run in self.runs.items() if run.count < _PART]

    def take(self, doc_ids: Sequence[int], texts: Sequence[str]) -> None:
        """Remember the texts that are short."""
        for doc_id, run in zip(doc_ids, _runs_of(texts, self.shingling), strict=True):
            if 0 < run.count < self.words:
                self.runs[doc_id] = run

    @cached_property
    def _doc_ids(self) -> dict[bytes, list[int]]:
        """The remembered texts by the rarest unit of each, the shortest ones by all of them."""
        counts = Counter(unit for run in self.runs.values() for unit in _units_in(run.folded))
        doc_ids = defaultdict[bytes, list[int]](list)
        for doc_id, run in self.runs.items():
            units = _units_in(run.folded) if run.count >= _PART else {run.folded}
            doc_ids[min(units, key=lambda unit: (counts[unit], -len(unit), unit))].append(doc_id)
        return doc_ids

    def reasons(self, texts: Sequence[str]) -> dict[int, list[DropReason]]:
        """The reasons of texts that have short texts, by the indices of the texts.

        The longest short text comes first, and of equally long ones the first; it has its passage.
        """
        runs = enumerate(_runs_of(texts, self.shingling) if self.runs else ())
        return {row: reasons for row, run in runs if (reasons := self._reasons(run))}

    def _reasons(self, run: _Run) -> list[DropReason]:
        offsets = {
            doc_id: offset
            for units in self._doc_ids.keys() & {run.folded, *_units_in(run.folded)}
            for doc_id in self._doc_ids[units]
            if (offset := run.folded.find(self.runs[doc_id].folded)) >= 0
        }
        reasons = [
            DropReason(doc_id, self.runs[doc_id].count / run.count, True)
            for doc_id in sorted(offsets, key=lambda doc_id: (-self.runs[doc_id].count, doc_id))
        ]
        if reasons:
            longest = reasons[0].doc_id
            short, first = self.runs[longest], run.folded.count(_MARK, 0, offsets[longest])
            spans = *run.span(first, short.count), *short.span(0, short.count)
            passage = passage_at(run.text, short.text, spans, short.count, 1.0)
            reasons[0] = dataclasses.replace(reasons[0], passage=passage)
        return reasons


def warn_of_shortest(reference: str, keys: Sequence[str]) -> None:
    """A warning that names the documents of a reference that match only the same words."""
    names = listed([*map(escaped, keys)], _NAMED)
    how = f"a row with the same words ({names})"
    _warn(reference, len(keys), counted(len(keys), "document"), _PART, how)


def _warn(reference: str, count: int, documents: str, words: int, how: str) -> None:
    """A warning that says how short documents of a reference match, if there are some."""
    has, match = ("has", "it matches") if count == 1 else ("have", "they match")
    note = f"{reference}: {documents} {has} fewer than {words} words: {match} only {how}"
    if count:
        errors.warn_of_limit(errors.Cut("dedup", count, note))


def _units_in(folded: bytes) -> set[bytes]:
    """The different units of a run: words."""
    return {unit for unit in folded.split(_MARK) if unit}


def _runs_of(texts: Sequence[str], shingling: Shingling) -> Iterator[_Run]:
    """The runs of texts, in order."""
    runs_by_index: dict[int, _Run] = {}
    for group in shingles.groups(texts, shingling):
        group_texts = [texts[index] for index in group]
        cut = positions.cut([*shingling.read(whole_words(group_texts, shingling))], shingling.kind)
        # Each unit with the byte behind it, which becomes the mark.
        sizes = cut.ends - cut.begins + 1
        octets = np.frombuffer(cut.folded, dtype=np.uint8)[expand_ranges(cut.begins, sizes)]
        bounds, firsts = offsets_of(sizes), offsets_of(cut.counts)
        octets[bounds[1:] - 1] = ord(_MARK)
        for number, (index, text) in enumerate(zip(group, group_texts, strict=True)):
            first, last = firsts[number : number + 2].tolist()
            folded = _MARK + octets[bounds[first] : bounds[last]].tobytes()
            run = _Run(text, folded, cut, first, last - first)
            runs_by_index[index] = run if run.count else _as_signs(run)
    yield from (runs_by_index[index] for index in range(len(texts)))


def _as_signs(run: _Run) -> _Run:
    """A text without words as one unit, all of it; unchanged if it is blank."""
    text, signs = run.text, " ".join(folding.fold(run.text).split())
    if not signs:
        return run
    bounds = int_array([len(text) - len(text.lstrip())]), int_array([len(text.rstrip())])
    cut = positions.Units(b"", NO_NUMBERS, NO_NUMBERS, *bounds, NO_NUMBERS)
    return _Run(text, _MARK + signs.encode("utf-8", "surrogatepass") + _MARK, cut, 0, 1)
