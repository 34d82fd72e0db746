"""A stream of queries: read and signed like added documents, and answered in batches."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain

from lshdb import errors
from lshdb.model import Failure, Match
from lshdb.options import QueryManyOptions
from lshdb.search.cut_notes import queries_cut
from lshdb.search.query import answers, best
from lshdb.sketch.settings import plain_settings
from lshdb.store.store import Store
from lshdb.text.content import cleaned
from lshdb.write import batches, writing


def answer_many(
    stores: Sequence[Store],
    items: Iterable[batches.Addable],
    query: QueryManyOptions,
    *,
    on_failure: Callable[[Failure], None] | None = None,
) -> Iterator[tuple[str, list[Match]]]:
    """The keys of documents, and their matches in several files; see Database.query_many.

    Each batch of queries is answered from one state of each file.

    Args:
        stores: files of the same settings.
        items: documents, or blocks of rows.
        query: the options for each document; its own document does not matter.
        on_failure: called with each line and row that gives no document.
    """
    shingling = stores[0].settings.shingling
    cleaned(() if shingling.of_sets else "", shingling)  # refuses signatures made elsewhere
    condition = query.ranking.similar.condition
    if condition.where is not None:
        with stores[0].snapshot(condition):
            pass  # errors in it are raised before anything is read
    return _answered(stores, items, query, on_failure)


def _answered(
    stores: Sequence[Store],
    items: Iterable[batches.Addable],
    query: QueryManyOptions,
    on_failure: Callable[[Failure], None] | None,
) -> Generator[tuple[str, list[Match]]]:
    settings = plain_settings(stores[0].settings)
    ranking, condition = query.ranking, query.ranking.similar.condition
    cut = 0
    limits = stores[0].limits
    job = batches.Job(stores[0], query.workers, on_failure)
    with batches.signed(job, items, settings) as stream:
        for batch in stream:
            parts = [part for part in batch if part.keys]
            with ExitStack() as stack:
                by_store: list[Iterator[tuple[list[Match], list[errors.Cut]]]] = []
                for store in stores if parts else ():
                    reader, keep = stack.enter_context(store.snapshot(condition))
                    documents = writing.joined(parts, plain_settings(reader.settings))
                    queries = writing.query_batch(documents)
                    by_store.append(answers(reader, ranking, queries, keep))
                keys = chain.from_iterable(part.keys for part in parts)
                for key, *answered in zip(keys, *by_store, strict=True) if by_store else ():
                    results = [matches for matches, _ in answered]
                    cut += sum(bool(cuts) for _, cuts in answered)
                    is_joined = len(results) > 1
                    yield key, best(chain(*results), ranking) if is_joined else results[0]
            del parts
        if cut:
            errors.warn_of_limit(
                queries_cut(cut, max(limits.query_first, (ranking.similar.top or 0) + 1))
            )
