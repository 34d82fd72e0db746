"""Decisions about documents: all of them, those that hold by key, and those for a join."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import cast

import numpy as np
import numpy.typing as npt

from lshdb.model import Cluster, Decision, DecisionState, Verdict
from lshdb.shingling.arrays import IntArray
from lshdb.store.lookups import DecisionRow, StoreReader

_KEEP = 0
_DROP = 1
_DIFFERENT = 2


def read_decisions(reader: StoreReader) -> list[Decision]:
    """All decisions, in the order in which they were stored, and whether they hold.

    Of two about the same content a later `keep` or `drop` overrules an earlier one, and a later
    `different` an earlier `drop`: what is no duplicate must not go as one.
    """
    rows = reader.decisions()
    last = _last(rows)
    return [_decision(list(some), last) for _, some in groupby(rows, key=lambda row: row.decision)]


def dropped_contents(reader: StoreReader) -> set[tuple[str, bytes]]:
    """The keys and digests whose last decision is to drop them, whether still stored or not."""
    last = _last(reader.decisions())
    return {document for document, row in last.items() if row.verdict == "drop"}


def _last(rows: Iterable[DecisionRow]) -> dict[tuple[str, bytes], DecisionRow]:
    """The `keep` or `drop` in force, by key and digest."""
    last: dict[tuple[str, bytes], DecisionRow] = {}
    for row in sorted(rows, key=lambda row: (row.decided, row.decision)):
        document = row.key, row.digest
        if row.verdict != "different":
            last[document] = row
        elif document in last and last[document].verdict == "drop":
            del last[document]
    return last


def _decision(rows: list[DecisionRow], last: dict[tuple[str, bytes], DecisionRow]) -> Decision:
    first = rows[0]
    present = [row for row in rows if row.digest == row.present]
    state: DecisionState = "holds"
    if len(present) < min(len(rows), 2):
        state = "missing" if any(row.present is None for row in rows) else "changed"
    elif first.verdict != "different" and last.get((first.key, first.digest)) is not first:
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


class Verdicts:
    """The decisions that hold, by documents."""

    def __init__(self, decisions: list[Decision]) -> None:
        self.of_key: dict[str, Verdict] = {}
        self._groups: dict[str, set[int]] = {}
        for one in sorted(decisions, key=lambda each: (each.decided, each.decision)):
            if one.state != "holds":
                continue
            for key in one.keys:
                if one.verdict == "different":
                    self._groups.setdefault(key, set()).add(one.decision)
                else:
                    self.of_key[key] = one.verdict

    def apart(self, a: str, b: str) -> bool:
        """Whether two documents are marked different."""
        one, other = self._groups.get(a), self._groups.get(b)
        return a != b and one is not None and other is not None and not one.isdisjoint(other)

    def of_pair(self, a: str, b: str) -> bool:
        """Whether nothing is left to decide about a pair."""
        one, other = self.of_key.get(a), self.of_key.get(b)
        return self.apart(a, b) or "drop" in (one, other) or one == other == "keep"

    def of_cluster(self, one: Cluster) -> bool:
        """Whether nothing is left to decide about a cluster.

        Each member is kept or dropped, or marked different from all members that are not dropped.
        """
        open_ = [key for key in one.members if key not in self.of_key]
        if not open_:
            return True
        left = [key for key in one.members if self.of_key.get(key) != "drop"]
        return all(self.apart(key, other) for key in open_ for other in left if other != key)

    def of_member(self, key: str, one: Cluster) -> Verdict | None:
        """The decision about a member of a cluster."""
        return self.of_key.get(key) or ("different" if self.apart(key, one.keep) else None)

    def decided(self) -> set[str]:
        """All documents with a decision."""
        return self.of_key.keys() | self._groups.keys()


class Decided:
    """The decisions about some documents, by their indices.

    Attributes:
        keep: bool[m], those to keep.
        drop: bool[m], those to drop.
        different: int64[k], the indices of those that are marked different from others.
    """

    def __init__(self, doc_ids: IntArray, rows: IntArray) -> None:
        """Take the rows about the documents int64[m], ascending, from StoreReader.decided.

        A later row overrules an earlier one as in `read_decisions`.
        """
        self.keep = np.zeros(len(doc_ids), dtype=np.bool_)
        self.drop = np.zeros(len(doc_ids), dtype=np.bool_)
        rows = rows[np.isin(rows[:, 2], doc_ids)]
        self._any = len(rows) > 0
        indices = np.searchsorted(doc_ids, rows[:, 2])
        groups: defaultdict[int, set[int]] = defaultdict(set)
        for (decision, verdict, _), index in zip(rows.tolist(), indices.tolist(), strict=True):
            if verdict == _DIFFERENT:
                groups[index].add(decision)
                self.drop[index] = False
            else:
                self.keep[index] = verdict == _KEEP
                self.drop[index] = verdict == _DROP
        self._groups = dict(groups)
        self.different = np.array(sorted(groups), dtype=np.int64)
        self._grouped = np.zeros(len(doc_ids), dtype=np.bool_)
        self._grouped[self.different] = True

    def apart(self, one: IntArray, other: IntArray) -> npt.NDArray[np.bool_]:
        """Whether the pairs int64[c] are marked different, bool[c]."""
        if not self._groups:
            return np.zeros(len(one), dtype=np.bool_)
        found: npt.NDArray[np.bool_] = self._grouped[one] & self._grouped[other] & (one != other)
        some = np.flatnonzero(found)
        if len(some):
            pairs = zip(one[some].tolist(), other[some].tolist(), strict=True)
            found[some] = [not self._groups[a].isdisjoint(self._groups[b]) for a, b in pairs]
        return found

    def verdicts(self, members: IntArray, kept: int) -> tuple[Verdict | None, ...]:
        """The decisions about the members int64[n] of a cluster whose kept one is `kept`."""
        if not self._any:
            return (None,) * len(members)
        verdicts: Sequence[Verdict | None] = (None, "keep", "drop", "different")
        apart = self.apart(members, np.full(len(members), kept))
        codes = np.select([self.drop[members], self.keep[members], apart], [2, 1, 3])
        return tuple(verdicts[code] for code in codes.tolist())
