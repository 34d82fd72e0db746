"""Decisions about documents: all of them, those that hold by key, and those for a join."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

import numpy as np

from lshdb.model import Decision, DecisionState, Verdict
from lshdb.shingling import arrays
from lshdb.store.lookups import DecisionRow, StoreReader

_VERDICTS: Sequence[Verdict] = ("keep", "drop", "different")
"""By the numbers of StoreReader.decided."""
_Document = TypeVar("_Document")


def read_decisions(reader: StoreReader) -> list[Decision]:
    """All decisions, in the order in which they were stored, and whether they hold."""
    rows = reader.decisions()
    last = _in_force(rows).last
    return [
        _decision(list(rows_of_decision), last)
        for _, rows_of_decision in itertools.groupby(rows, key=lambda row: row.decision)
    ]


def contents_in_force(reader: StoreReader) -> "_InForce[tuple[str, bytes]]":
    """The decisions in force about keys and digests, whether these are still stored or not."""
    return _in_force(reader.decisions())


def dropped_contents(reader: StoreReader) -> set[tuple[str, bytes]]:
    """The keys and digests whose last decision is to drop them, whether still stored or not."""
    verdicts = _in_force(reader.decisions()).of_key
    return {document for document, verdict in verdicts.items() if verdict == "drop"}


def _decision(rows: list[DecisionRow], last: dict[tuple[str, bytes], int]) -> Decision:
    first = rows[0]
    present = [row for row in rows if row.digest == row.present]
    state: DecisionState = "holds"
    if len(present) < min(len(rows), 2):
        state = "missing" if any(row.present is None for row in rows) else "changed"
    elif first.verdict != "different" and last[first.key, first.digest] != first.decision:
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
    )


class _InForce(Generic[_Document]):
    """The decisions in force. A document is its key, its key and digest, or its number.

    Of two about the same document a later `keep` or `drop` overrules an earlier one, and a later
    `different` an earlier `drop`: what is no duplicate must not go as one.

    Attributes:
        of_key: the verdict `keep` or `drop` about each document.
        last: the number of that decision, or of the one that overrules it.
    """

    def __init__(self, rows: Iterable[tuple[int, Verdict, _Document]]) -> None:
        """Take the number of a decision, its verdict and a document, the earliest first."""
        self.of_key: dict[_Document, Verdict] = {}
        self.last: dict[_Document, int] = {}
        self._groups: dict[_Document, set[int]] = {}
        for decision, verdict, document in rows:
            if verdict != "different":
                self.of_key[document] = verdict
                self.last[document] = decision
                continue
            self._groups.setdefault(document, set()).add(decision)
            if self.of_key.get(document) == "drop":
                del self.of_key[document]
                self.last[document] = decision

    def apart(self, a: _Document, b: _Document) -> bool:
        """Whether two documents are marked different."""
        a_groups, b_groups = self._groups.get(a), self._groups.get(b)
        return (
            a != b
            and a_groups is not None
            and b_groups is not None
            and not a_groups.isdisjoint(b_groups)
        )

    def of_member(self, member: _Document, kept: _Document) -> Verdict | None:
        """The decision about a member of a cluster."""
        return self.of_key.get(member) or ("different" if self.apart(member, kept) else None)

    def decided(self) -> set[_Document]:
        """All documents with a decision."""
        return self.of_key.keys() | self._groups.keys()


def _in_force(rows: Iterable[DecisionRow]) -> _InForce[tuple[str, bytes]]:
    """The decisions in force about contents, whether still stored or not."""
    ordered = sorted(rows, key=lambda row: (row.decided, row.decision))
    return _InForce(
        (row.decision, cast(Verdict, row.verdict), (row.key, row.digest)) for row in ordered
    )


class Verdicts(_InForce[str]):
    """The decisions that hold, by documents; of one reviewer, those that others do not overrule."""

    def __init__(self, decisions: Iterable[Decision], who: str | None = None) -> None:
        ordered = sorted(decisions, key=lambda decision: (decision.decided, decision.decision))
        held = (
            decision
            for decision in ordered
            if decision.state == "holds" or (decision.state == "overruled" and decision.who == who)
            if who in (None, decision.who)
        )
        super().__init__(
            (decision.decision, decision.verdict, key) for decision in held for key in decision.keys
        )

    def of_document(self, key: str) -> Verdict | None:
        """The decision about a document."""
        return self.of_key.get(key) or ("different" if key in self._groups else None)

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


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A document that one reviewer drops, and that stays by another's decision."""

    key: str
    a: str
    a_verdict: Verdict
    b: str
    b_verdict: Verdict


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two reviewers agree whether documents go or stay.

    Attributes:
        a, b: the reviewers.
        documents: how many both decided about.
        agreed: about how many of them they agree.
        kappa: (p - e) / (1 - e) for the share p of these and the share e that two would agree on by
            chance who drop as many each (Cohen, Educational and Psychological Measurement 20,
            1960); None if e is 1.
    """

    a: str
    b: str
    documents: int
    agreed: int
    kappa: float | None


def agreements(decisions: Sequence[Decision]) -> tuple[list[Agreement], list[Disagreement]]:
    """How far each two reviewers agree, and the documents about which they do not."""
    of = {who: Verdicts(decisions, who) for who in sorted({decision.who for decision in decisions})}
    agreements_of_pairs: list[Agreement] = []
    apart: list[Disagreement] = []
    for a, b in itertools.combinations(of, 2):
        keys = sorted(of[a].decided() & of[b].decided())
        verdicts = [(key, of[a].of_document(key), of[b].of_document(key)) for key in keys]
        pairs = [(a_verdict == "drop", b_verdict == "drop") for _, a_verdict, b_verdict in verdicts]
        if not pairs:
            continue
        agreed = sum(a_verdict == b_verdict for a_verdict, b_verdict in pairs)
        p, (a_share, b_share) = agreed / len(pairs), np.mean(pairs, axis=0).tolist()
        chance = a_share * b_share + (1 - a_share) * (1 - b_share)
        kappa = None if chance == 1 else (p - chance) / (1 - chance)
        agreements_of_pairs.append(Agreement(a, b, len(pairs), agreed, kappa))
        apart += [
            Disagreement(key, a, cast(Verdict, a_verdict), b, cast(Verdict, b_verdict))
            for key, a_verdict, b_verdict in verdicts
            if (a_verdict == "drop") != (b_verdict == "drop")
        ]
    return agreements_of_pairs, apart


class Decided(_InForce[int]):
    """The decisions about documents of a join, by their numbers.

    Attributes:
        different: int64[k], those that are marked different from others, ascending.
    """

    def __init__(self, doc_ids: arrays.IntArray, rows: arrays.IntArray) -> None:
        """Take the rows about the documents int64[m], ascending, from StoreReader.decided."""
        rows = rows[np.isin(rows[:, 2], doc_ids)]
        numbers = np.searchsorted(doc_ids, rows[:, 2]).tolist()
        verdicts = (_VERDICTS[code] for code in rows[:, 1].tolist())
        super().__init__(zip(rows[:, 0].tolist(), verdicts, numbers, strict=True))
        self.different = arrays.int_array(sorted(self._groups))
        self._grouped = np.zeros(len(doc_ids), dtype=np.bool_)
        self._grouped[self.different] = True

    def pairs_apart(self, a: arrays.IntArray, b: arrays.IntArray) -> arrays.Mask:
        """Whether the pairs int64[c] are marked different, bool[c]."""
        apart: arrays.Mask = self._grouped[a] & self._grouped[b]
        (grouped,) = apart.nonzero()
        apart[grouped] = [*map(self.apart, a[grouped].tolist(), b[grouped].tolist())]
        return apart
