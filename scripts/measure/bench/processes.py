"""processes: what worker processes save: `add` without any, with one, with two. Two minutes.

Documents go into a new file by the library, in a separate process. If the process that writes is
the bottleneck, a second worker saves nothing.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from measure.harness.corpora import Corpus
from measure.harness.figures import CPU, RATE, SECONDS, Values
from measure.harness.lab import Job, Lab, with_peak

_WORKERS: Final = (0, 1, 2)


def run(lab: Lab) -> None:
    """Seconds are those of the whole process, its start and the closing of the file included."""
    corpus = lab.corpus(lab.count(50_000, quick=10_000))
    lab.measure(
        [
            Job(
                f"workers={n}, {lab.describe(corpus)}",
                corpus.documents,
                partial(_add, lab, corpus, n),
            )
            for n in _WORKERS
        ]
    )


def _add(lab: Lab, corpus: Corpus, workers: int) -> Values:
    database = lab.fresh(".db")
    done = lab.task(
        "add", database=database, path=corpus.path, shingle=lab.shingle, workers=workers
    ).measured
    database.unlink()
    values = {
        SECONDS: done.seconds,
        CPU: done.cpu,
        RATE: corpus.documents / done.seconds,
    }
    return with_peak(values, done)
