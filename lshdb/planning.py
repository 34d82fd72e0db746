"""What tells how to index: the constructions worth having, and what the index finds as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lshdb.construction import Construction
from lshdb.model import Settings
from lshdb.store import Store

if TYPE_CHECKING:
    from lshdb.measuring import Measured
    from lshdb.tuning import Tuned


class Planning:
    """The part of `Database` that judges constructions."""

    _store: Store

    @property
    def settings(self) -> Settings:
        """What the database was made with, or reindexed to since, here or by another process."""
        with self._store.reading():
            return self._store.settings

    def tune(
        self,
        *,
        threshold: float | None = None,
        recall: float | None = None,
        permutations: int | None = None,
        documents: int | None = None,
        construction: str | None = None,
        seed: int = 1,
    ) -> list[Tuned]:
        """The constructions worth having for what the database holds, best first.

        A sample of its signatures tells how similar documents are, and so how many candidates a
        query will have; without a database see `lshdb.tune`.

        Args:
            threshold: a Jaccard similarity; None for the database's own.
            recall: wanted there; None for the database's own.
            permutations: lanes of a signature; None for as many as the database has, or the
                named construction takes.
            documents: how many a query is put to; None for as many as there are.
            construction: one to be judged too; last, unless it is among those worth having.
            seed: of the sample; the same file and seed give the same result.

        Raises:
            UsageError: numbers out of range, or a construction of more lanes than `permutations`.
            SettingsError: no construction of so many lanes reaches the recall.

        Warns:
            LimitWarning: buckets were too large to be read whole.
        """
        from lshdb.sampling import distribution_of
        from lshdb.tuning import tune

        own = self.settings
        if permutations is None:
            lanes = 0 if construction is None else Construction.parse(construction).lanes
            permutations = max(own.permutations, lanes)
        count, distribution = distribution_of(self._store, seed)
        return tune(
            own.threshold if threshold is None else threshold,
            own.recall if recall is None else recall,
            permutations,
            distribution,
            count if documents is None else documents,
            construction=construction,
        )

    def measure(
        self,
        *,
        threshold: float | None = None,
        sample: int | None = None,
        seed: int = 1,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> Measured:
        """What the index finds and costs, measured: brute force for a sample of the documents.

        Args:
            threshold: from which on pairs are similar; None for the database's own.
            sample: how many documents are compared with all; None for what takes some seconds.
            seed: of the sample; the same file and seed give the same result.
            on_progress: told from time to time how many comparisons are done, and of how many.

        Raises:
            UsageError: numbers out of range.

        >>> import lshdb
        >>> with lshdb.open("fables.db", threshold=0.5) as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     report += db.add("ant", "The fox and the grapes and the ant")
        ...     measured = db.measure()
        >>> measured.recall.pairs, measured.recall.recall, measured.candidates
        (1, 1.0, 1.0)
        """
        from lshdb.measuring import measure

        least = self.settings.threshold if threshold is None else threshold
        return measure(self._store, least, sample, seed, on_progress)
