"""Adding only documents that are not similar to a stored or an earlier one."""

from collections.abc import Iterable, Iterator
from itertools import chain

from lshdb.deduplication.collection import Collection
from lshdb.deduplication.deciding import Plan, decided
from lshdb.deduplication.rules import SimilarRule
from lshdb.ingest.add import Select
from lshdb.ingest.batches import Addable, Job
from lshdb.ingest.locations import Locations
from lshdb.model import AddReport
from lshdb.options import AddManyOptions


def selecting(options: AddManyOptions) -> Select | None:
    """A function that adds documents unless a kept one is similar; None if options want all."""
    if options.on_similar != "skip":
        return None

    def select(job: Job, items: Iterable[Addable]) -> Iterator[AddReport]:
        stored = Collection(job.store, Locations(job.store.last_doc_id() + 1))
        plan = Plan(SimilarRule(), stored=stored, kept=stored, replaces=True)
        for report, batches in decided(job, items, plan):
            for row in chain.from_iterable(batch.dropped for batch in batches):
                if row is not None and row.kept != row.key and options.on_skip is not None:
                    options.on_skip(row)
            yield report

    return select
