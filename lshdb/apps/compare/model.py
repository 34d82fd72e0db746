"""What two documents have in common, and in what they differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from lshdb.results import Result
from lshdb.text.shingling import Element


@dataclass(frozen=True, slots=True)
class Change(Result):
    """A difference between two texts: the words of each.

    Attributes:
        given: the words of the new text; empty if it lacks them.
        stored: the words of the stored text; empty if it lacks them.
    """

    given: str
    stored: str


@dataclass(frozen=True, slots=True)
class Rename(Result):
    """A name of a program that another program has under another name.

    Attributes:
        a: the name in A.
        b: the name in B, which stands wherever both have the same code.
        times: how often.
    """

    a: str
    b: str
    times: int


@dataclass(frozen=True, slots=True)
class SharedBucket(Result):
    """A bucket that two documents share: the number of its band, and its key."""

    band_no: int
    bucket_key: int


@dataclass(frozen=True, slots=True)
class Passage(Result):
    """A run of shingles that two texts share, as offsets in code points into each.

    Attributes:
        a_start, a_end: its bounds in the first text: text[a_start:a_end].
        b_start, b_end: its bounds in the second text.
        shingles: the number of consecutive shingles.
        a_line, b_line: the lines in which it begins, from 1.
    """

    a_start: int
    a_end: int
    b_start: int
    b_end: int
    shingles: int
    a_line: int
    b_line: int


@dataclass(frozen=True)
class Comparison(Result):
    """What two documents A and B have in common; see Database.compare.

    Fields that need the contents are None where the database does not keep them.

    Attributes:
        a, b: their keys.
        a_shingles, b_shingles: how many distinct shingles each has.
        shared: how many distinct shingles both have.
        union: how many distinct shingles at least one of them has.
        similarity: shared / union, the exact Jaccard similarity; 0 for two empty documents. Of
            records and scans what they share of the smaller one, weighted by rarity.
        identical, same_text: whether both have the same bytes, and text, as for Match.
        a_in_b: shared / a_shingles, the share of A that B holds; 0 for an empty document.
        b_in_a: shared / b_shingles, likewise.
        estimate: the similarity by how many lanes agree, 0 with an empty document.
        standard_error: the estimate's, about sqrt(J (1 - J) / lanes), with the exact J if it is
            known.
        agreeing_lanes: how many lanes agree.
        lanes: how many lanes a signature has.
        shared_buckets: the buckets that both are in.
        bands: how many bands the index has.
        candidates: whether a query for one of them would find the other: they share a bucket, or
            for a cascade, enough buckets.
        candidate_probability: the probability that two documents of this similarity (exact if it
            is known, else the estimate) are candidates.
        passages: what two texts share, in the order of A; None for sets.
        shared_elements: what two sets share, integers first; None for texts.
        a_content, b_content: the documents.
        base: the names of the base texts, whose shingles are left out of all values but the
            contents.
    """

    a: str
    b: str
    a_shingles: int | None
    b_shingles: int | None
    shared: int | None
    union: int | None
    similarity: float | None
    identical: bool
    same_text: bool
    a_in_b: float | None
    b_in_a: float | None
    estimate: float
    standard_error: float
    agreeing_lanes: int
    lanes: int
    shared_buckets: tuple[SharedBucket, ...]
    bands: int
    candidates: bool
    candidate_probability: float
    passages: tuple[Passage, ...] | None = field(repr=False)
    shared_elements: tuple[Element, ...] | None = field(repr=False)
    a_content: str | tuple[Element, ...] | None = field(repr=False)
    b_content: str | tuple[Element, ...] | None = field(repr=False)
    base: tuple[str, ...] = field(repr=False)
    _changes: Callable[[], list[Change]] = field(default=list, repr=False, compare=False)
    _renames: Callable[[], list[Rename]] = field(default=list, repr=False, compare=False)

    @property
    def changes(self) -> list[Change]:
        """The words in which two texts differ, in order; found when they are wanted."""
        return self._changes()

    @property
    def renames(self) -> list[Rename]:
        """The names that differ between two programs in step, in a database of programs, the most
        frequent first; found when they are wanted.
        """
        return self._renames()

    def record(self) -> dict[str, Any]:
        """The fields by their names, for JSON: without the contents, and with shared texts and
        renamed names.
        """
        record = asdict(replace(self, _changes=list, _renames=list))
        del record["_changes"], record["_renames"]
        record["renames"] = [asdict(rename) for rename in self.renames]
        text = record.pop("a_content")
        del record["b_content"]
        for passage in record["passages"] or () if isinstance(text, str) else ():
            passage["text"] = text[passage["a_start"] : passage["a_end"]]
        return record
