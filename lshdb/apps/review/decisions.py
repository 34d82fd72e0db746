"""Decisions about documents: their rows in a file, those that hold by key, and those for a join."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar, cast

import numpy as np

from lshdb.apps.review import statements as sql
from lshdb.maintain.findings import Problem
from lshdb.model import Verdict
from lshdb.results import Result
from lshdb.store.guard import Connection
from lshdb.store.lookups import StoreReader
from lshdb.store.rows import typed
from lshdb.text import arrays
from lshdb.text.content import digest

PART = "decisions"
"""The part of a file that has them, from the first one on."""
_Document = TypeVar("_Document")


DecisionState = Literal["holds", "overruled", "changed", "missing", "spent"]


@dataclass(frozen=True, slots=True)
class Decision(Result):
    """A person's decision about a document, or about similar documents.

    Attributes:
        decision: its number, from 1, in the order in which decisions were made.
        verdict: `keep` or `drop` for one document; `different` for two or more, none of which is
            a duplicate of another.
        keys: the documents' keys, in the order of their bytes.
        digests: the digests of their contents at that time, in hexadecimal.
        file_digests: those of the bytes of their files; None where there was none, or it was not
            known.
        note: the reason; None without one.
        who: who decided.
        decided: when, in UTC, such as 2026-01-31T23:59:59.123456Z.
        state: whether it holds now. `overruled`: a later decision differs; `changed`: a document
            has changed since, so that it is undecided again; `missing`: a document no longer
            exists; `spent`: the file that was to go was gone when its folder was synced. (A
            decision about more than two different documents holds for those that have not changed,
            and for their texts under other keys.)
    """

    decision: int
    verdict: Verdict
    keys: tuple[str, ...]
    digests: tuple[str, ...] = field(repr=False)
    note: str | None
    who: str
    decided: str
    state: DecisionState = "holds"
    file_digests: tuple[str | None, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class DecisionRow:
    """A decision about one document.

    `present` is the digest of the document of its key now, and `holds` whether it has, or its file,
    that of the decision: None if there is none. `spent` is 1 if the file that was to go is gone.
    """

    decision: int
    verdict: str
    key: str
    digest: bytes
    file_digest: bytes | None
    note: str | None
    who: str
    decided: str
    spent: int | None
    present: bytes | None
    holds: int | None

    @property
    def document(self) -> tuple[str, bytes]:
        """The key, and the digest of the text: the present one if this is about that document."""
        return self.key, self.present if self.present and self.holds else self.digest


def decision_rows(reader: StoreReader) -> list[DecisionRow]:
    """All decisions in order, the rows of each by key."""
    return reader.records(DecisionRow, sql.DECISIONS) if PART in reader.parts else []


def decided(reader: StoreReader) -> list[tuple[int, Verdict, int, str]]:
    """The decisions about the documents of their keys as they are now, the earliest first.

    Returns:
        The number of each decision, its verdict, a doc_id and its key.
    """
    rows = reader.rows(sql.DECIDED) if PART in reader.parts else []
    return [cast(Any, typed(row, int, str, int, str)) for row in rows]


def different_texts(reader: StoreReader) -> list[tuple[int, bytes, int, str]]:
    """The documents whose texts, or files, were marked different, under any key.

    Returns:
        The number of the decision, the digest of the text in it, the doc_id and the key.
    """
    if PART not in reader.parts:
        return []
    marks: defaultdict[bytes, set[tuple[int, bytes]]] = defaultdict(set)
    empty = digest(b"")
    rows = reader.rows(sql.DIFFERENT, empty)
    for decision, text, file_digest in (typed(row, int, bytes, bytes | None) for row in rows):
        for value in filter(None, (text, file_digest)):
            marks[value].add((decision, text))
    rows = reader.rows(sql.WITH_DIFFERENT, empty) if marks else []
    texts = {
        (decision, text, doc_id, key)
        for value, doc_id, key in (typed(row, bytes, int, str) for row in rows)
        for decision, text in marks[value]
    }
    return sorted(texts)


def read_decisions(reader: StoreReader) -> list[Decision]:
    """All decisions, in the order in which they were stored, and whether they hold."""
    rows = decision_rows(reader)
    last = Contents(rows).last
    texts: defaultdict[int, set[bytes]] = defaultdict(set)
    for decision, content_digest, _, _ in different_texts(reader):
        texts[decision].add(content_digest)
    return [
        _decision(list(rows_of_decision), last, len(texts[number]))
        for number, rows_of_decision in itertools.groupby(rows, key=lambda row: row.decision)
    ]


def dropped_contents(reader: StoreReader) -> set[tuple[str, bytes]]:
    """The keys and digests whose last decision is to drop them, whether still stored or not."""
    return {row.document for row in dropped_rows(reader)}


def dropped_rows(reader: StoreReader) -> list[DecisionRow]:
    """The decisions to drop documents that no later one overrules, stored or not."""
    rows = decision_rows(reader)
    verdicts = Contents(rows).of_key
    return [
        row
        for row in rows
        if row.verdict == "drop" and not row.spent and verdicts.get(row.document) == "drop"
    ]


def _decision(rows: list[DecisionRow], last: dict[tuple[str, bytes], int], texts: int) -> Decision:
    """The decision of some rows; `texts` is how many of its texts are stored, under any keys."""
    first = rows[0]
    state: DecisionState = "holds"
    if first.spent:
        state = "spent"
    elif max(sum(row.holds or 0 for row in rows), texts) < min(len(rows), 2):
        state = "missing" if any(row.holds is None for row in rows) else "changed"
    elif first.verdict != "different" and last[first.document] != first.decision:
        state = "overruled"
    return Decision(
        first.decision,
        cast(Verdict, first.verdict),
        tuple(row.key for row in rows),
        tuple(row.digest.hex() for row in rows),
        first.note,
        first.who,
        first.decided,
        state,
        tuple(row.file_digest.hex() if row.file_digest else None for row in rows),
    )


class _InForce(Generic[_Document]):
    """The decisions in force. A document is its key, its key and digest, or its number.

    Of two about the same document a later `keep` or `drop` overrules an earlier one, and a later
    `different` an earlier `drop`: what is no duplicate must not go as one.

    Attributes:
        of_key: the verdict `keep` or `drop` about each document.
        last: the number of that decision, or of the one that overrules it.
        marks: by decision, of documents and of texts, what a document is that differs from others.
    """

    def __init__(
        self,
        rows: Iterable[tuple[int, Verdict, _Document]],
        texts: Iterable[tuple[int, bytes, _Document]] = (),
    ) -> None:
        """Take decisions.

        Args:
            rows: the number of a decision, its verdict and a document, the earliest first.
            texts: the number of a decision that texts are different, one of them, and a document
                that has it under any key.
        """
        self.of_key: dict[_Document, Verdict] = {}
        self.last: dict[_Document, int] = {}
        self.marks: dict[_Document, dict[tuple[int, bool], object]] = {}
        for decision, verdict, document in rows:
            if verdict != "different":
                self.of_key[document] = verdict
                self.last[document] = decision
                continue
            self.marks.setdefault(document, {})[decision, False] = document
            if self.of_key.get(document) == "drop":
                del self.of_key[document]
                self.last[document] = decision
        for decision, text, document in texts:
            self.marks.setdefault(document, {})[decision, True] = text

    def apart(self, a: _Document, b: _Document) -> bool:
        """Whether two documents are marked different, or their texts are."""
        a_marks, b_marks = self.marks_of(a), self.marks_of(b)
        return any(b_marks.get(group, mark) != mark for group, mark in a_marks.items())

    def marks_of(self, document: _Document) -> Mapping[tuple[int, bool], object]:
        """What a document is in the decisions that mark it different from others."""
        return self.marks.get(document, {})

    def of_member(self, member: _Document, kept: _Document) -> Verdict | None:
        """The decision about a member of a cluster."""
        return self.of_key.get(member) or ("different" if self.apart(member, kept) else None)

    def decided(self) -> set[_Document]:
        """All documents with a decision."""
        return self.of_key.keys() | self.marks.keys()


class Contents(_InForce[tuple[str, bytes]]):
    """The decisions in force about keys and digests, whether these are still stored or not."""

    def __init__(self, rows: Iterable[DecisionRow]) -> None:
        ordered = sorted(
            (row for row in rows if not row.spent), key=lambda row: (row.decided, row.decision)
        )
        super().__init__(
            (row.decision, cast(Verdict, row.verdict), row.document) for row in ordered
        )
        empty = digest(b"")
        self._texts: defaultdict[bytes, dict[tuple[int, bool], object]] = defaultdict(dict)
        for row in ordered:
            if row.verdict == "different" and row.digest != empty:
                self._texts[row.digest][row.decision, True] = row.digest

    def marks_of(self, document: tuple[str, bytes]) -> Mapping[tuple[int, bool], object]:
        """Those of the document under its key, and of its text under any."""
        return {**super().marks_of(document), **self._texts.get(document[1], {})}


def _about(reader: StoreReader, column: int) -> Iterator[Iterator[Any]]:
    """The decisions about stored documents, and different texts, as _InForce takes them.

    Args:
        reader: of the file.
        column: of what names documents: 2 is the doc_id, 3 the key.
    """
    for rows in (decided(reader), different_texts(reader)):
        yield ((row[0], row[1], row[column]) for row in rows)


class MarkedDocuments:
    """The documents of a collection that grows which are marked different from others.

    Args:
        contents: the decisions.
        reader: reads the documents that it has at first; None if it has none.
    """

    def __init__(self, contents: Contents, reader: StoreReader | None = None) -> None:
        self._contents = contents
        # The doc_ids, each with what it is in a decision, by decision.
        self._marks: defaultdict[tuple[int, bool], dict[int, object]] = defaultdict(dict)
        self._groups: dict[int, list[tuple[int, bool]]] = {}
        if reader is not None:
            for doc_id, marks in _InForce[int](*_about(reader, 2)).marks.items():
                self._set(doc_id, marks)

    def _set(self, doc_id: int, marks: Mapping[tuple[int, bool], object]) -> None:
        for group in self._groups.pop(doc_id, ()):
            del self._marks[group][doc_id]
        for group, mark in marks.items():
            self._marks[group][doc_id] = mark
        self._groups[doc_id] = [*marks]

    def add(self, doc_id: int, document: tuple[str, bytes]) -> None:
        """Note a document, by its key and digest, that may replace another one."""
        self._set(doc_id, self._contents.marks_of(document))

    def different_from(self, document: tuple[str, bytes]) -> set[int]:
        """The doc_ids of documents that are marked different from one."""
        return {
            doc_id
            for group, mark in self._contents.marks_of(document).items()
            for doc_id, other in self._marks[group].items()
            if other != mark
        }


class Verdicts(_InForce[str]):
    """The decisions that hold now, by the keys of documents."""

    def __init__(self, reader: StoreReader) -> None:
        super().__init__(*_about(reader, 3))

    def settled(self, keys: Sequence[str]) -> bool:
        """Whether nothing is left to decide about similar documents, a pair or a cluster.

        Each is kept or dropped, or marked different from all that are not dropped.
        """
        return next(self.open_pairs(keys), None) is None

    def open_pairs(self, keys: Sequence[str]) -> Iterator[tuple[str, str]]:
        """The pairs of similar documents, in order, that are left to decide.

        Neither is dropped, the second is not kept either, and they are not marked different.
        """
        left = [key for key in keys if self.of_key.get(key) != "drop"]
        open_ = [key for key in left if key not in self.of_key]
        pairs = ((key, other) for key in left for other in open_ if other != key)
        return (pair for pair in pairs if not self.apart(*pair))


class Decided(_InForce[int]):
    """The decisions by doc_ids, for a join: a search.pair_filters.PairFilter.

    Attributes:
        marked: int64[k], the documents of the join that are marked different from others.
    """

    def __init__(self, reader: StoreReader, doc_ids: arrays.IntArray) -> None:
        """Read those about the documents int64[m], ascending."""
        super().__init__(*_about(reader, 2))
        self._doc_ids = doc_ids
        self._is_marked = self._are(self.marks)
        (self.marked,) = self._is_marked.nonzero()
        kept, dropped = (
            self._are(doc_id for doc_id, about in self.of_key.items() if about == verdict)
            for verdict in ("keep", "drop")
        )
        self._ranks = np.subtract(dropped, kept, dtype=np.int64)

    def _are(self, doc_ids: Iterable[int]) -> arrays.Mask:
        """Which documents of the join are some, bool[m]."""
        return arrays.is_in(self._doc_ids, arrays.int_array(sorted(doc_ids)))

    def keep(self, left: arrays.IntArray, right: arrays.IntArray) -> arrays.Mask:
        """Which pairs int64[c] are not marked different, bool[c]."""
        kept: arrays.Mask = ~(self._is_marked[left] & self._is_marked[right])
        a, b = (self._doc_ids[side[~kept]].tolist() for side in (left, right))
        kept[~kept] = [not self.apart(*pair) for pair in zip(a, b, strict=True)]
        return kept

    def rank(self, documents: arrays.IntArray) -> arrays.IntArray:
        """-1 for those of documents int64[n] that are kept, 1 for those dropped, else 0."""
        return self._ranks[documents]


def keys_to_drop(reader: StoreReader) -> list[str]:
    """The keys of the documents that the decisions mark as `drop`, in order, in a transaction."""
    verdicts = Verdicts(reader).of_key
    return sorted(key for key, verdict in verdicts.items() if verdict == "drop")


def problems(connection: Connection) -> Iterator[Problem]:
    """The decisions that are invalid, as `check` lists them; see lshdb.offers.CHECKS."""
    for number, texts, is_wrong in connection.rows(sql.JUDGED_DECISIONS):
        try:
            is_wrong = is_wrong or not isinstance(texts, str) or not texts.encode()
        except UnicodeEncodeError:  # of a text that is not UTF-8
            is_wrong = True
        if is_wrong:
            yield Problem(PART, str(number), "rows that disagree", "a decision")
