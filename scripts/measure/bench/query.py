"""query: one document against many, from Python. Ten minutes, most of it to index for peers.

Half of the queries are near duplicates of a stored document. The matches of lshdb are verified;
those of peers are all documents that share a bucket.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from measure.harness import corpora
from measure.harness.corpora import HOT, Corpus
from measure.harness.figures import OWN, P50, P99, Values
from measure.harness.lab import SIZE, Job, Lab, with_peak


def run(lab: Lab) -> None:
    """Among few and among many documents; peers among few, for they take long to index many."""
    options = lab.options
    counts = [lab.count(10_000, quick=5_000), lab.count(100_000, quick=20_000)]
    tried: list[int] = []
    for count in counts:
        corpus = lab.corpus(count)
        if corpus.documents in tried:
            break  # as many as were asked for, or as the user's file has
        tried.append(corpus.documents)
        case = f"{lab.shingle}, {corpus.what}, among {corpus.documents:,}"
        names = options.engines if len(tried) == 1 else [n for n in options.engines if n == OWN]
        _queries(lab, case, corpus, names)
        lab.aim(case, P50, 1)
        lab.aim(case, P99, 5)
    if OWN in options.engines:
        for kind in HOT:
            _hot(lab, kind, counts[-1])


def _queries(lab: Lab, case: str, corpus: Corpus, names: Any) -> None:
    queries = lab.queries(corpus)
    database = lab.database(corpus) if OWN in names else None
    jobs = [
        Job(case, corpus.documents, partial(ask, lab, corpus, queries, database, engine), engine)
        for engine in names
    ]
    lab.measure(jobs)
    if database is not None:
        database.unlink()


def ask(
    lab: Lab,
    corpus: Corpus,
    queries: Path,
    database: Path | None,
    engine: str = OWN,
    group: Path | None = None,
) -> Values:
    """Ask an engine for all queries; lshdb has indexed the documents in a file."""
    done = lab.task(
        "query",
        engine=engine,
        shingle=lab.shingle,
        path=corpus.path,
        limit=corpus.documents,
        queries=queries,
        database=database if engine == OWN else None,
        group=group,
    )
    return with_peak(done.result, done.measured)


def _hot(lab: Lab, kind: str, count: int) -> None:
    """The ten best matches in a bucket that holds all documents."""
    corpus = corpora.write_hot(lab.fresh(".jsonl"), kind, count, lab.options.size or SIZE)
    database = lab.database(corpus)
    case = f"{lab.shingle}, {corpus.what}, top 10, among {count:,} {kind}"
    repeat = 10 if lab.options.quick else 50

    def best() -> Values:
        done = lab.task("hot", database=database, path=corpus.path, repeat=repeat)
        return with_peak(done.result, done.measured)

    lab.measure([Job(case, count, best)])
    lab.aim(case, P50, 50)
    database.unlink()
    corpus.path.unlink()
