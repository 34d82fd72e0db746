"""startup: how long `lshdb query` and `lshdb --help` take on a small file, warm. Ten seconds."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from measure.common.commands import lshdb
from measure.harness.corpora import read_texts
from measure.harness.figures import SECONDS, Values
from measure.harness.lab import Job, Lab


def run(lab: Lab) -> None:
    """Each command runs once unmeasured, then 15 times (quick: twice)."""
    corpus = lab.corpus(lab.count(1000, quick=1000))
    database = lab.database(corpus)
    document = lab.fresh(".txt")
    document.write_text(read_texts(corpus.path, 1)[0], "utf-8")
    jobs = [
        Job("lshdb query FILE", corpus.documents, partial(_run, "query", "-d", database, document)),
        Job("lshdb --help", corpus.documents, partial(_run, "--help")),
    ]
    for job in jobs:
        job.run()
    lab.measure(jobs, 2 if lab.options.quick else 15)
    lab.aim("lshdb query FILE", SECONDS, 0.2)
    lab.aim("lshdb --help", SECONDS, 0.15)


def _run(*arguments: str | Path) -> Values:
    return {SECONDS: lshdb(*arguments, sample=False).seconds}
