"""Pairs that share passages as results, of Database.passage_pairs."""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any

from lshdb.apps.passages.passage_pairs import Noted, passage_pairs, passage_totals
from lshdb.columns import PAIR_TOTALS, PASSAGE, passage_values
from lshdb.options import PassagePairsOptions
from lshdb.search.result_tables import PassageResults, finding
from lshdb.store.store import Store


def passage_results(store: Store, options: PassagePairsOptions) -> PassageResults:
    """The results of `Database.passage_pairs`."""
    noted: Noted = []

    def totals() -> Iterable[Sequence[Any]]:
        if options.group_by is None:
            return passage_totals(store, options, noted)
        pairs: Iterable[Any] = find()
        if not options.weighted.sort and options.top is None:  # else they are in order
            pairs = sorted(pairs, key=attrgetter("share"), reverse=True)
        return ((*of_pair(pair), len(pair.passages)) for pair in pairs)

    find = finding(passage_pairs, store, options, noted)
    of_pair = attrgetter(*(name for name in PAIR_TOTALS if name != "passages"))

    def rows() -> Iterator[Sequence[Any]]:
        for pair in find():
            row = of_pair(pair)
            yield from ((*row, *passage_values(passage)) for passage in pair.passages)

    columns = {**PAIR_TOTALS, **PASSAGE}
    del columns["passages"]
    results = PassageResults("passages", columns, find, rows)
    results.common, results.totals = noted, totals
    return results
