"""Pairs that share passages as results, of Database.passage_pairs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any

from lshdb.apps.passages.model import (
    PAIR_TOTALS,
    PASSAGE,
    CommonPassage,
    PassagePair,
    passage_values,
)
from lshdb.apps.passages.options import PassagePairsOptions
from lshdb.apps.passages.passage_pairs import Noted, passage_pairs, passage_totals
from lshdb.search.result_tables import Results, finding
from lshdb.store.store import Store


class PassageResults(Results[PassagePair]):
    """Pairs that share passages as results; a row of the table is a passage.

    Attributes:
        common: all runs of words that do not count because too many documents have them, the
            longest first, each with the key of such a document; empty before the first pair or row.
        totals: gives a row for each pair, with the columns of PAIR_TOTALS, in the requested order;
            by default the largest share first.
    """

    common: list[tuple[str, CommonPassage]]
    totals: Callable[[], Iterable[Sequence[Any]]]


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

    find = finding(passage_pairs, store, options, options.group_by, noted)
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
