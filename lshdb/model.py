"""Documents and results, by subject: frozen dataclasses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from lshdb import formatting
from lshdb.results import Result
from lshdb.sketch.settings import Settings, settings_in_words
from lshdb.text.shingling import Content, Element

UNKNOWN_ROOT = "not known: the next add or sync of files asks for --root"
"""Said of a file of an earlier format, none of whose keys leads to a file."""
_LARGE_TABLE = 1 << 16
"""Minimum bytes of a table that is listed by its name."""


@dataclass(frozen=True, slots=True)
class Document(Result):
    """A document on its way into a database.

    Attributes:
        key: the user's name for it: a string, or for a new document another id (see lshdb.keys).
        content: its text, or the elements of its set.
        metadata: its other fields by name, kept as JSON (see lshdb.read.metadata.to_json for
            the values).
    """

    key: Any
    content: Content
    metadata: Mapping[str, object] | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class Failure(Result):
    """A file, line or row that gave no document: where it is, and why.

    The reason contains only printable characters of the input.
    """

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class StoredDocument(Result):
    """A document as the database stores it.

    Attributes:
        doc_id: its number, in the order of first addition.
        key: the user's name for it.
        content: its text or the elements of its set; None where content is not kept.
        shingles: how many shingles it has, repetitions counted.
        signature: uint16[permutations], or uint32 if lanes have 32 bits; None for a document
            without shingles.
        bucket_keys: int64[bands], the bucket of each band; None for the same documents.
        metadata: its other fields by name; None if there are none.
    """

    doc_id: int
    key: str
    content: str | tuple[Element, ...] | None
    shingles: int
    signature: npt.NDArray[np.uint16 | np.uint32] | None = field(repr=False, compare=False)
    bucket_keys: npt.NDArray[np.int64] | None = field(repr=False, compare=False)
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Match(Result):
    """A document similar to the query.

    Attributes:
        key: the document's key.
        similarity: Jaccard similarity, exact or estimated, in [0, 1].
        exact: whether `similarity` is exact.
        estimate: the similarity by how many of the signatures' lanes agree.
        bands: in how many bands the two share a bucket.
        containment: the share of the query's distinct shingles that the document holds, exact
            if `similarity` is; None unless the query asked for it.
        identical: whether it has the same bytes, by the digests of both: those of the file, of the
            member of an archive, of the message of a mailbox (its body and parts), and of what is
            no file those of its text in UTF-8 (of a set, the same elements). False where they are
            not known, as where only signatures are.
        same_text: whether it has the same text, character by character, which may have been taken
            out of other bytes. Documents that differ in case or punctuation have similarity 1 and
            not the same text.
        weighted: similarity of the fingerprints of both, weighted by their rarity, in [0, 1] (see
            lshdb.apps.passages.weights); None without an index of passages.
        weighted_share: the weighted overlap as a share of the smaller document.
        metadata: the fields that the query asked for, by name, None where it has none.
    """

    key: str
    similarity: float
    exact: bool
    estimate: float
    bands: int
    containment: float | None = None
    identical: bool = False
    same_text: bool = False
    weighted: float | None = None
    weighted_share: float | None = None
    metadata: dict[str, Any] | None = field(default=None, repr=False, hash=False)


Outcome = Literal["added", "updated", "unchanged", "similar"]
"""The outcome of adding a document; `similar`: it was left out."""


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
class WordMatches(Result):
    """Documents whose contents have some words; see Database.find_words.

    Attributes:
        documents: the keys and contents, in the order of addition; a set as its JSON.
        following: the doc_id after which to go on; None if all documents were searched.
    """

    documents: tuple[tuple[str, str], ...]
    following: int | None


@dataclass(frozen=True)
class Comparison(Result):
    """What two documents A and B have in common; see Database.compare.

    Fields that need the contents are None where the database does not keep them.

    Attributes:
        a, b: their keys.
        a_shingles, b_shingles: how many distinct shingles each has.
        shared: how many distinct shingles both have.
        union: how many distinct shingles at least one of them has.
        similarity: shared / union, the exact Jaccard similarity; 0 for two empty documents.
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


@dataclass(frozen=True, slots=True)
class Pair(Result):
    """Two similar documents.

    Attributes:
        a: the key of the document that was added first.
        b: the key of the other document.
        similarity: Jaccard similarity, exact or estimated, in [0, 1].
        exact: whether `similarity` is exact.
        estimate: the similarity by how many of the signatures' lanes agree.
        identical, same_text: whether both have the same bytes, and text, as for Match.
        weighted, weighted_share: as for Match.
        a_metadata, b_metadata: the requested fields of each, as for Match.
    """

    a: str
    b: str
    similarity: float
    exact: bool
    estimate: float
    identical: bool = False
    same_text: bool = False
    weighted: float | None = None
    weighted_share: float | None = None
    a_metadata: dict[str, Any] | None = field(default=None, repr=False, hash=False)
    b_metadata: dict[str, Any] | None = field(default=None, repr=False, hash=False)


@dataclass(frozen=True, slots=True)
class Cluster(Result):
    """Similar documents, and which of them to keep.

    Attributes:
        cluster: its number, counted from 1.
        keep: the key of the document to keep.
        members: the keys of all documents, in the order of addition.
        similarities: the Jaccard similarity of each member to the kept one (its own is 1).
        lowest: the lowest similarity of another member to the kept one; 1 if there is no other.
        mean: the mean similarity of the other members to the kept one; 1 if there is no other.
        below: how many members are less similar to the kept one than the threshold: a cluster is a
            chain of similar documents, whose ends need not be similar.
        exact: whether similarities are exact.
        identical, same_text: whether each member has the same bytes, and text, as the kept one, as
            for Match.
        copies: whether each member goes without a decision if the kept one stays, once it is as
            similar as the threshold says: at threshold 1, a file only if it is identical.
        decided: the decision about each member: `keep`, `drop`, `different` if it is not a
            duplicate of the kept one, or None.
        metadata: the requested fields of each member, as for Match.
    """

    cluster: int
    keep: str
    members: tuple[str, ...]
    similarities: tuple[float, ...] = field(repr=False)
    lowest: float
    mean: float
    below: int
    exact: bool
    identical: tuple[bool, ...] = field(repr=False)
    same_text: tuple[bool, ...] = field(repr=False)
    copies: tuple[bool, ...] = field(repr=False)
    decided: tuple[Verdict | None, ...] = field(default=(), repr=False)
    metadata: tuple[dict[str, Any], ...] | None = field(default=None, repr=False, hash=False)


Verdict = Literal["keep", "drop", "different"]
"""A verdict: keep a document, drop it, or documents are not duplicates of each other."""


NAMED_CONFLICTS = 3
"""Keys of documents that differ in two databases that are named."""


@dataclass(frozen=True)
class AddReport(Result):
    """The results of `add_many` or `add_files`.

    Attributes:
        added, updated, unchanged: one count for each document.
        failed: lines and files that could not be read.
        empty: written documents without a shingle, which are similar to nothing.
        replaced: documents read from files with bytes that are not Unicode.
        skipped: documents left out because they are similar to a document that is kept.
        kept: documents of other databases that were left out because this one keeps another
            content or metadata under their keys.
        decisions: decisions of reviewers that were added from other databases.
        conflicts: kept or replaced documents of which another database has another content or
            metadata.
        conflict_keys: the first three keys of these.
        repeated: how many of the updated documents took the place of another text that the same
            call had added under the same key.
        failures: where the first 10,000 failures are, and why; empty in the reports that
            `on_batch` gets.
        damaged, guessed: files read without a page or part that is damaged, and in an encoding that
            is guessed; only in the report of `add_files`.
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    failed: int = 0
    empty: int = 0
    replaced: int = 0
    skipped: int = 0
    kept: int = 0
    decisions: int = 0
    conflicts: int = 0
    conflict_keys: tuple[str, ...] = field(default=(), repr=False)
    failures: tuple[Failure, ...] = field(default=(), repr=False)
    damaged: int = 0
    guessed: int = 0
    repeated: int = 0

    def __add__(self, other: AddReport) -> AddReport:
        names = [count.name for count in fields(self)]  # not astuple, which copies deeply
        total = AddReport(*(getattr(self, name) + getattr(other, name) for name in names))
        return replace(total, conflict_keys=total.conflict_keys[:NAMED_CONFLICTS])

    @property
    def documents(self) -> int:
        """How many documents were given."""
        return self.added + self.updated + self.unchanged + self.skipped + self.kept


@dataclass(frozen=True, slots=True)
class Bucket(Result):
    """One bucket of one band, and the number of its documents."""

    band_no: int
    bucket_key: int
    documents: int


@dataclass(frozen=True)
class Info(Result):
    """A database's settings and size.

    Attributes:
        settings: the database's settings.
        documents: how many documents it holds.
        empty: how many of them have no shingle.
        unindexed: how many are not in all of their buckets yet, as a large addition is running or
            was killed; queries find them by their signatures.
        bytes: the size of the file with its write-ahead log.
        tables: the bytes of each table with its indexes, the largest first. None if they are not
            known: nobody asked, or SQLite was built without its table dbstat.
        root: the directory that keys of files are relative to; None if it is not known.
    """

    settings: Settings
    documents: int
    empty: int
    unindexed: int
    bytes: int
    tables: Mapping[str, int] | None = field(default=None, hash=False)
    root: str | None = None

    def in_words(self) -> dict[str, dict[str, str]]:
        """Settings and size for people: groups of facts, each with its name."""
        documents = {"stored": f"{self.documents:,}"}
        if self.empty:
            documents["empty"] = f"{self.empty:,} without a shingle, similar to nothing"
        if self.unindexed:
            documents["not indexed yet"] = f"{self.unindexed:,}: queries compare them one by one"
        documents["keys of files from"] = self.root or UNKNOWN_ROOT
        sizes = {"file": formatting.size(self.bytes)}
        known = (self.tables or {}).items()
        large = [table for table in known if table[1] >= _LARGE_TABLE]
        sizes |= {name: formatting.size(count) for name, count in large}
        if others := sum(count for _, count in known) - sum(count for _, count in large):
            sizes["other tables"] = formatting.size(others)
        return {
            "Documents": documents,
            "Settings": settings_in_words(self.settings),
            "Size": sizes,
        }


@dataclass(frozen=True, slots=True)
class DroppedRow(Result):
    """A row or document that is dropped, and the kept one that is most similar to it.

    Attributes:
        key: its key; `row:NUMBER` or FILE:NUMBER, from 1, for a row without one.
        file: the file that it is from; None for rows of a table and documents of a program.
        line: its line in the file, or its row in the table, from 1; for CSV its first line; None
            for a text file and a document of a program.
        kept: the key of the kept row or document.
        kept_file, kept_line: file and line of the kept row, if it is of the same run or of a
            reference that is not a database; None for a document that was stored before.
        similarity: the similarity of the two, exact or estimated, in [0, 1]; by the rule
            `copied`, the share of the dropped document's words in passages of the kept one.
        exact: whether `similarity` is exact.
        identical, same_text: whether both have the same bytes, and text, as for Match.
        reference: the name of the reference (`against`) that has the kept document; None if it was
            kept by this run.
        metadata, kept_metadata: the requested fields of each, as for Match.
        passage: by the rule `copied`, the longest passage that it copies from the kept document.
        references: with `all_references`, the keys of the documents of references that it matches,
            the most similar first: at most ten, then how many more; else None.
    """

    key: str
    file: str | None
    line: int | None
    kept: str
    kept_file: str | None
    kept_line: int | None
    similarity: float
    exact: bool
    identical: bool = False
    same_text: bool = False
    reference: str | None = None
    metadata: dict[str, Any] | None = field(default=None, repr=False, hash=False)
    kept_metadata: dict[str, Any] | None = field(default=None, repr=False, hash=False)
    passage: CopiedPassage | None = None
    references: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Reindexed(Result):
    """The result of `Database.reindex`.

    Attributes:
        before: the settings that the index had.
        after: the settings that it has now; equal to `before` if nothing changed.
        documents: how many have band rows.
        rows: how many band rows were written; 0 if the old ones can stay.
        free: bytes of the file that are free for later documents.
    """

    before: Settings
    after: Settings
    documents: int
    rows: int
    free: int
