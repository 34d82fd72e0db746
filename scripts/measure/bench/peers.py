"""peers: lshdb beside four libraries that keep their index in memory. Half an hour.

Signatures alone on one core, then adding, one query and all pairs, and how long a command takes to
start. The time of `lshdb add` is that of the whole command, the time of a peer that of indexing
documents which are in memory already. Half of the queries are near duplicates of a stored document.
Matches and pairs of lshdb are verified; those of peers are all documents that share a bucket.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Final

from measure.common.commands import lshdb
from measure.harness import corpora, engines
from measure.harness.corpora import HOT, Corpus
from measure.harness.figures import OWN, P50, P99, PEAK, RATE, SECONDS, SPEED, Values
from measure.harness.lab import SIZE, Job, Lab, bytes_on_disk, with_peak

_SPEED: Final = {"char:5": 80.0, "word:3": 100.0}
"""Wanted MB/s of signatures of ASCII documents of 3 KB; half of it for other sizes."""
_ONE_CORE: Final = dict.fromkeys(
    ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"
)


def run(lab: Lab) -> None:
    """Each part names its figures."""
    for name, part in PARTS.items():
        lab.benchmark = name
        part(lab)


def _kernels(lab: Lab) -> None:
    """Speed is in bytes of UTF-8. Quick: of one size."""
    options = lab.options
    total = 1_000_000 if options.quick else 4_000_000
    jobs: list[Job] = []
    for shingle in options.shingles():
        for size in (SIZE,) if options.quick else (SIZE, 200, 200_000):
            maximum = max(1, total // size)
            corpus = lab.corpus(min(maximum, options.documents or maximum), size)
            case = f"{shingle}, {corpus.what}"
            for engine in options.engines:
                limit = engines.enough(engine, corpus.documents)
                sketch = partial(_sketch, lab, engine, shingle, corpus.path, limit)
                jobs.append(Job(case, limit, sketch, engine))
            if shingle in _SPEED:
                lab.aim(case, SPEED, _SPEED[shingle] / (1 if size == SIZE else 2))
    lab.measure(jobs)


def _sketch(lab: Lab, engine: str, shingle: str, path: Path, limit: int) -> Values:
    seconds = 0.05 if lab.options.quick else 0.5
    given: dict[str, Any] = {"shingle": shingle, "path": path, "limit": limit, "seconds": seconds}
    return lab.task("kernels", variables=_ONE_CORE, engine=engine, **given).result


def _ingest(lab: Lab) -> None:
    """By words and by characters, which take longer."""
    corpus = lab.corpus(lab.count(100_000, quick=20_000))
    for shingle in lab.options.shingles():
        case = f"{shingle}, {corpus.what}"
        jobs: list[Job] = []
        for engine in lab.options.engines:
            limit = engines.enough(engine, corpus.documents)
            add = (
                partial(_add, lab, corpus, shingle)
                if engine == OWN
                else partial(_index, lab, corpus, shingle, engine, limit)
            )
            jobs.append(Job(case, limit, add, engine))
        lab.measure(jobs)
        lab.aim(case, PEAK, 500)
        lab.aim(case, RATE, 2, over="rensa")
        if shingle == "word:3":
            lab.aim(case, RATE, 28_000)
            lab.aim(case, RATE, 0.8, over="gaoya")
        elif shingle == "char:5":
            lab.aim(case, RATE, 20_000)
            lab.aim(case, RATE, 2, over="gaoya")


def _add(lab: Lab, corpus: Corpus, shingle: str) -> Values:
    database = lab.init(shingle)
    measured = lab.add(database, corpus)
    size = bytes_on_disk(database)
    database.unlink()
    rates = {
        RATE: corpus.documents / measured.seconds,
        SPEED: corpus.bytes / 1e6 / measured.seconds,
        "disk bytes/document": size / corpus.documents,
    }
    return with_peak(rates, measured)


def _index(lab: Lab, corpus: Corpus, shingle: str, engine: str, limit: int) -> Values:
    done = lab.task("index", engine=engine, shingle=shingle, path=corpus.path, limit=limit)
    seconds = done.result[SECONDS]
    rates = {RATE: limit / seconds, SPEED: done.result["bytes"] / 1e6 / seconds}
    return with_peak(rates, done.measured)


def _query(lab: Lab) -> None:
    """Among few and among many documents; peers among few, for they take long to index many."""
    options = lab.options
    counts = dict.fromkeys((lab.count(10_000, quick=5_000), lab.count(100_000, quick=20_000)))
    for count in counts:
        corpus = lab.corpus(count)
        case = f"{lab.shingle}, {corpus.what}, among {corpus.documents:,}"
        _each(lab, case, corpus, options.engines if count == min(counts) else (OWN,))
        lab.aim(case, P50, 1)
        lab.aim(case, P99, 5)
    for kind in HOT:
        _hot(lab, kind, max(counts))


def _each(lab: Lab, case: str, corpus: Corpus, names: Any) -> None:
    queries, database = lab.queries(corpus), lab.database(corpus)
    jobs = [
        Job(case, corpus.documents, partial(ask, lab, corpus, queries, database, engine), engine)
        for engine in names
    ]
    lab.measure(jobs)
    database.unlink()


def ask(
    lab: Lab,
    corpus: Corpus,
    queries: Path,
    database: Path,
    engine: str = OWN,
    group: Path | None = None,
) -> Values:
    """Ask an engine for all queries; lshdb has indexed the documents in a file."""
    done = lab.task(
        "query",
        queries=queries,
        group=group,
        **_indexed(lab, corpus, engine, database),
    )
    return with_peak(done.result, done.measured)


def _indexed(lab: Lab, corpus: Corpus, engine: str, database: Path) -> dict[str, Any]:
    """What a task of an engine needs; peers index the documents first."""
    return {
        "engine": engine,
        "shingle": lab.shingle,
        "path": corpus.path,
        "limit": corpus.documents,
        "database": database if engine == OWN else None,
    }


def _hot(lab: Lab, kind: str, count: int) -> None:
    """The ten best matches in a bucket that holds all documents."""
    corpus = corpora.write_hot(lab.fresh(".jsonl"), kind, count, SIZE)
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


def _join(lab: Lab) -> None:
    """All pairs of near duplicates, once the documents are indexed."""
    corpus = lab.corpus(lab.count(10_000, quick=2_000))
    database = lab.database(corpus)

    def join(engine: str) -> Values:
        done = lab.task("join", **_indexed(lab, corpus, engine, database))
        return with_peak(done.result, done.measured)

    lab.measure(
        [
            Job(lab.describe(corpus), corpus.documents, partial(join, engine), engine)
            for engine in lab.options.engines
        ]
    )


def _startup(lab: Lab) -> None:
    """Commands on a small file, warm: once unmeasured, then 15 times (quick: twice)."""
    corpus = lab.corpus(lab.count(1000, quick=1000))
    database, document = lab.database(corpus), lab.fresh(".txt")
    document.write_text(corpora.read_texts(corpus.path, 1)[0], "utf-8")

    def start(*arguments: str | Path) -> Values:
        return {SECONDS: lshdb(*arguments, sample=False).seconds}

    query = partial(start, "query", "-d", database, document)
    jobs = [
        Job("lshdb query FILE", corpus.documents, query),
        Job("lshdb --help", corpus.documents, partial(start, "--help")),
    ]
    for job in jobs:
        job.run()
    lab.measure(jobs, 2 if lab.options.quick else 15)
    lab.aim("lshdb query FILE", SECONDS, 0.2)
    lab.aim("lshdb --help", SECONDS, 0.15)


PARTS: Final = {
    "kernels": _kernels,
    "ingest": _ingest,
    "query": _query,
    "join": _join,
    "startup": _startup,
}
"""The parts, by the names of their figures."""
