"""join: all pairs of near duplicates, once the documents are indexed. A minute with all peers.

The pairs of lshdb are verified; those of peers are all that share a bucket.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from measure.harness.corpora import Corpus
from measure.harness.figures import OWN, Values
from measure.harness.lab import Job, Lab, with_peak


def run(lab: Lab) -> None:
    """All engines on the same documents."""
    corpus = lab.corpus(lab.count(10_000, quick=2_000))
    database = lab.database(corpus) if OWN in lab.options.engines else None
    lab.measure(
        [
            Job(
                lab.describe(corpus),
                corpus.documents,
                partial(_join, lab, corpus, engine, database if engine == OWN else None),
                engine,
            )
            for engine in lab.options.engines
        ]
    )


def _join(lab: Lab, corpus: Corpus, engine: str, database: Path | None) -> Values:
    done = lab.task(
        "join",
        engine=engine,
        shingle=lab.shingle,
        path=corpus.path,
        limit=corpus.documents,
        database=database,
    )
    return with_peak(done.result, done.measured)
