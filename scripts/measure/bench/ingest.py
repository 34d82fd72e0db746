"""ingest: `lshdb add` of JSON lines, beside peers in memory. Ten minutes with all peers.

The time of lshdb is that of the whole command; the time of a peer is that of indexing documents
which are in memory already.
"""

from __future__ import annotations

from functools import partial

from measure.harness import engines
from measure.harness.corpora import Corpus
from measure.harness.figures import OWN, PEAK, RATE, SECONDS, SPEED, Values
from measure.harness.lab import Job, Lab, bytes_on_disk, with_peak


def run(lab: Lab) -> None:
    """By words and by characters, which take longer."""
    options = lab.options
    corpus = lab.corpus(lab.count(100_000, quick=20_000))
    for shingle in options.shingles():
        case = f"{shingle}, {corpus.what}"
        jobs: list[Job] = []
        for engine in options.engines:
            limit = engines.enough(engine, corpus.documents)
            one = (
                partial(_add, lab, corpus, shingle)
                if engine == OWN
                else partial(_index, lab, corpus, shingle, engine, limit)
            )
            jobs.append(Job(case, limit, one, engine))
        lab.measure(jobs)
        lab.aim(case, PEAK, 500)
        lab.aim(case, RATE, 2, over="rensa")
        if shingle == "word:3":
            lab.aim(case, RATE, 28_000)
            lab.aim(case, RATE, 8, over="datasketch")
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
