"""Which kept record each of a batch resembles: rarity is counted among all rows of the run."""

from collections.abc import Set

from lshdb.apps.dedup.collection import DropReason
from lshdb.apps.dedup.matching import Matcher
from lshdb.options import RankingOptions, SimilarOptions
from lshdb.search.query import QueryBatch, measure_of
from lshdb.store.lookups import StoreReader


class RecordMatcher(Matcher):
    """See Matcher.

    Args:
        reader: of the file that rows are compared with.
        batch: the rows.
        threshold: the minimum similarity.
        first: how many rows came before these.
        kept: the documents that are kept, by their doc_ids in the file; None if all are.
    """

    def __init__(
        self,
        reader: StoreReader,
        batch: QueryBatch,
        threshold: float | None,
        first: int,
        kept: dict[int, int] | None,
    ) -> None:
        ranking = RankingOptions(similar=SimilarOptions(threshold=threshold))
        pairs, _ = measure_of(reader).matches(ranking, batch, None)
        self._similar: list[list[tuple[int, float]]] = [[] for _ in range(len(batch))]
        doc_ids = pairs.doc_ids[pairs.document].tolist()
        columns = pairs.query.tolist(), doc_ids, pairs.similarities.tolist()
        for row, doc_id, similarity in zip(*columns, strict=True):
            self._similar[row].append((doc_id, similarity))
        self._first, self._kept = first, kept

    def matches(self, row: int) -> dict[int, float]:
        """See Matcher."""
        similar = self._similar[row]
        if self._kept is None:
            return dict(similar)
        return {
            self._kept[number]: similarity for number, similarity in similar if number in self._kept
        }

    def reason(self, row: int, without: Set[int]) -> DropReason | None:
        """See Matcher."""
        for doc_id, similarity in self.matches(row).items():
            if doc_id not in without:
                return DropReason(doc_id, similarity, True)
        return None

    def keep(self, row: int, doc_id: int, *, replaces: bool) -> None:
        """See Matcher."""
        if self._kept is None:
            return
        if replaces:
            for number in [number for number, old in self._kept.items() if old == doc_id]:
                del self._kept[number]
        self._kept[self._first + row + 1] = doc_id
