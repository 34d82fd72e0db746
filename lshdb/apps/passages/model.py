"""Results of searches for passages, and their columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter

from lshdb.columns import WEIGHTED, Columns, columns_of
from lshdb.results import Result


@dataclass(frozen=True, slots=True)
class CopiedPassage(Result):
    """A run of words that a text and a stored document share, or several with small gaps.

    Offsets are in code points, lines count from 1; an end is the first character after it.

    Attributes:
        start, end: where it is in the text.
        line, end_line: its first and last line there.
        stored_start, stored_end: where it is in the stored document.
        stored_line, stored_end_line: its lines there.
        words: how many words both share (characters for `char` shingles, a run of blanks as one).
        similarity: the share of these in the words of the longer side; 1 without gaps.
        text: the passage as it is in the text.
        kind: `copied`, or `reworded`: then `words` is how many the passage has in the text.
        score: for a reworded passage, and for one that is copied within it, the weighted
            similarity of the two windows that are most alike (see apps.passages.reworded); it is
            also their `similarity`.
        file, stored_file: when folders are compared, the keys of the files that contain the
            passage, to which all offsets and lines refer; else None.
        page, stored_page: the pages on which it begins, in texts of PDF files; else None, and in
            folders.
    """

    start: int
    end: int
    line: int
    end_line: int
    stored_start: int
    stored_end: int
    stored_line: int
    stored_end_line: int
    words: int
    similarity: float
    text: str
    kind: str = "copied"
    score: float | None = None
    file: str | None = None
    stored_file: str | None = None
    page: int | None = None
    stored_page: int | None = None


@dataclass(frozen=True, slots=True)
class Source(Result):
    """A stored document that shares passages with a text.

    Attributes:
        key: its key.
        coverage: the share of the text's words, without those of base texts, that are in passages.
        stored_coverage: the share of the stored document's words that are in them.
        words: how many words of a text are in the shared passages; of both texts the larger number.
        passages: the shared passages, in the order of the text.
        weighted, weighted_share: as for Match.
    """

    key: str
    coverage: float
    stored_coverage: float
    words: int
    passages: tuple[CopiedPassage, ...]
    weighted: float | None = None
    weighted_share: float | None = None


@dataclass(frozen=True, slots=True)
class CommonPassage(Result):
    """A run of words of a text that is in too many documents to be evidence of copying.

    Attributes:
        start, end: where it is, in code points.
        line, end_line: its first and last line, from 1.
        words: how many words it has.
        text: the run.
    """

    start: int
    end: int
    line: int
    end_line: int
    words: int
    text: str

    def at(self, key: str, unit: str) -> str:
        """Where a document has it, and how many of its units, as notes say it."""
        lines = (
            f"s {self.line} to {self.end_line}" if self.end_line > self.line else f" {self.line}"
        )
        return f"{key} line{lines} ({self.words:,} {unit}s)"


@dataclass(frozen=True)
class Passages(Result):
    """The passages that a text shares with stored documents; iterates over the sources.

    See Database.passages.

    Attributes:
        words: how many words the text has; 0 if it is shorter than the shortest run.
        shortest: words of the shortest run that is found.
        unit: `word`, or `character` where the shingles are of characters.
        sources: the documents, the one that holds most of the text first.
        common: the runs that are in too many documents, and do not count.
    """

    words: int
    shortest: int
    unit: str
    sources: tuple[Source, ...]
    common: tuple[CommonPassage, ...]

    def __iter__(self) -> Iterator[Source]:
        return iter(self.sources)

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, index: int) -> Source:
        return self.sources[index]


@dataclass(frozen=True, slots=True)
class PassagePair(Result):
    """Two stored documents that share passages.

    Attributes:
        a, b: their keys, in the order of first addition.
        words: how many words of a document are in shared passages; of both the larger number.
        a_coverage, b_coverage: the share of the words of each document that are in them.
        passages: the shared passages, with A as the text and B as the stored document.
        weighted, weighted_share: as for Match.
    """

    a: str
    b: str
    words: int
    a_coverage: float
    b_coverage: float
    passages: tuple[CopiedPassage, ...]
    weighted: float | None = None
    weighted_share: float | None = None

    @property
    def share(self) -> float:
        """The larger of both shares."""
        return max(self.a_coverage, self.b_coverage)


PASSAGE: Columns = {
    "passage_words" if name == "words" else name: kind
    for name, kind in columns_of(CopiedPassage).items()
}


PASSAGE_PAIR: Columns = {**columns_of(PassagePair, "passages", *WEIGHTED), **PASSAGE}


PAIR_TOTALS: Columns = {**columns_of(PassagePair, "passages"), "passages": int}
"""Columns of pairs that share passages, with the number of passages in place of the passages."""


SOURCE: Columns = columns_of(Source, "passages")


passage_values = attrgetter(*columns_of(CopiedPassage))
"""Gives the values of a passage for the columns of `PASSAGE`."""
