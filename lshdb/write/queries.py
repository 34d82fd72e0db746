"""A stream of queries: read and signed like added documents, and answered in batches."""

from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import chain

from lshdb import errors
from lshdb.model import Failure, Match
from lshdb.options import QueryManyOptions
from lshdb.search.cut_notes import queries_cut
from lshdb.search.query import answers
from lshdb.sketch.settings import plain_settings
from lshdb.store.store import Store
from lshdb.text.content import cleaned
from lshdb.write import batches, writing


def answer_many(
    store: Store,
    items: Iterable[batches.Addable],
    query: QueryManyOptions,
    *,
    on_failure: Callable[[Failure], None] | None = None,
) -> Iterator[tuple[str, list[Match]]]:
    """The keys of documents, and their matches; see Database.query_many.

    Each batch of queries is answered from one state of the file.

    Args:
        store: the file.
        items: documents, or blocks of rows.
        query: the options for each document; its own document does not matter.
        on_failure: called with each line and row that gives no document.
    """
    shingling = store.settings.shingling
    cleaned(() if shingling.of_sets else "", shingling)  # refuses signatures made elsewhere
    ranking, condition = query.ranking, query.ranking.similar.condition
    if condition.where is not None:
        with store.snapshot(condition):
            pass  # errors in it are raised before anything is read

    def answered_batches() -> Generator[tuple[str, list[Match]]]:
        cut = 0
        job = batches.Job(store, query.workers, on_failure)
        with batches.signed(job, items, plain_settings(store.settings)) as stream:
            for batch in stream:
                parts = [part for part in batch if part.keys]
                if not parts:
                    continue
                with store.snapshot(condition) as (reader, keep):
                    documents = writing.joined(parts, plain_settings(reader.settings))
                    answered = answers(reader, ranking, writing.query_batch(documents), keep)
                    keys = chain.from_iterable(part.keys for part in parts)
                    for key, (matches, cuts) in zip(keys, answered, strict=True):
                        cut += bool(cuts)
                        yield key, matches
                del parts, documents, answered
            if cut:
                first = max(store.limits.query_first, (ranking.similar.top or 0) + 1)
                errors.warn_of_limit(queries_cut(cut, first))

    return answered_batches()
