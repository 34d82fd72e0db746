"""many: many queries at once, `db.query_many`, beside `db.query` one by one. Ten minutes.

Half of the queries are near duplicates of a stored document. Times begin when the file is open and
the queries are in memory; CPU is that of all processes. Both find the same, which is checked.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from measure.harness.figures import Values
from measure.harness.lab import Job, Lab, with_peak

_WAYS: Final[dict[str, dict[str, Any]]] = {
    "query_many": {"at_once": True},
    "query_many, no worker process": {"at_once": True, "workers": 0},
    "query_many, top 10": {"at_once": True, "top": 10},
    "query_many, estimates": {"at_once": True, "estimate": True},
    "query, one by one": {"at_once": False},
}
_AIM: Final = 15_000
_ONE_BY_ONE: Final = 2_000
"""Queries that are asked one by one: some seconds."""


def run(lab: Lab) -> None:
    """A tenth as many queries as there are documents of 1 KB."""
    corpus = lab.corpus(lab.count(1_000_000, quick=5_000), size=1000)
    count = max(100, corpus.documents // 10)
    queries = lab.queries(corpus, count)
    database = lab.database(corpus)

    def ask(given: dict[str, Any]) -> Values:
        done = lab.task("many", database=database, queries=queries, one_by_one=_ONE_BY_ONE, **given)
        return with_peak(done.result, done.measured)

    case = f"{lab.shingle}, {corpus.what}, among {corpus.documents:,}"
    lab.measure(
        [Job(f"{way}, {case}", corpus.documents, partial(ask, how)) for way, how in _WAYS.items()]
    )
    lab.aim(f"query_many, {case}", "queries/s", _AIM)
    database.unlink()
