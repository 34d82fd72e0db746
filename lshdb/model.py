"""Documents and results, by subject: frozen dataclasses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from lshdb import formatting
from lshdb.results import Result
from lshdb.sketch.settings import Settings, settings_in_words
from lshdb.text.shingling import Content, Element


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
"""Keys of documents that differ that are named."""


@dataclass(frozen=True)
class AddReport(Result):
    """The results of `add_many` or `add_files`.

    Attributes:
        added, updated, unchanged: one count for each document.
        failed: lines and files that could not be read.
        empty: written documents without a shingle, which are similar to nothing.
        replaced: documents read from files with bytes that are not Unicode.
        skipped: documents left out because they are similar to a document that is kept.
        kept: documents left out because their keys have another content or metadata, by
            `on_conflict`.
        decisions: decisions of reviewers that were added from other databases.
        conflicts: the kept documents, and of added databases those that replaced another content
            or metadata.
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
        root: the directory that keys of files are relative to.
    """

    settings: Settings
    documents: int
    empty: int
    unindexed: int
    bytes: int
    tables: Mapping[str, int] | None = field(default=None, hash=False)
    root: str = ""

    def in_words(self) -> dict[str, dict[str, str]]:
        """Settings and size for people: groups of facts, each with its name."""
        documents = {"stored": f"{self.documents:,}"}
        if self.empty:
            documents["empty"] = f"{self.empty:,} without a shingle, similar to nothing"
        if self.unindexed:
            documents["not indexed yet"] = f"{self.unindexed:,}: queries compare them one by one"
        documents["keys of files from"] = self.root
        sizes = {"file": self.bytes, **(self.tables or {})}
        return {
            "Documents": documents,
            "Settings": settings_in_words(self.settings),
            "Size": {name: formatting.size(count) for name, count in sizes.items()},
        }


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
