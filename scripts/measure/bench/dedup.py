"""dedup: `lshdb dedup` of JSON lines, Parquet and CSV, and of large buckets. Half an hour."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from measure.bench.hot import WORDS
from measure.bench.inputs import write_csv, write_jsonl, write_parquet
from measure.common.commands import lshdb
from measure.harness import corpora
from measure.harness.corpora import Corpus, flush
from measure.harness.figures import PEAK, RATE, SECONDS, Values
from measure.harness.lab import Job, Lab, taken

_GROUP: Final = 10_000
"""Documents in a row group of Parquet."""
_SHARE: Final = 0.85
"""The part of a document's words that is the header."""


def run(lab: Lab) -> None:
    """Time should grow with the documents in large buckets, not with the square of their number."""
    corpus = lab.corpus(lab.count(1_000_000, quick=20_000), size=1000)
    case = lab.describe(corpus)
    lab.measure([Job(case, corpus.documents, partial(_dedup, lab, corpus))])
    lab.aim(case, RATE, 12_000)
    lab.aim(case, PEAK, 1000)
    formats(lab, case, corpus)
    maximum = lab.count(100_000, quick=5_000)
    for some in (maximum // 2, maximum):
        hot = corpora.write_hot_halves(lab.fresh(".jsonl"), some, WORDS, _SHARE)
        lab.measure([Job(_hot_case(some), hot.documents, partial(_dedup, lab, hot))], repeat=1)
        hot.path.unlink()
    lab.aim(_hot_case(maximum), SECONDS, 2.5, over_case=_hot_case(maximum // 2))
    lab.aim(_hot_case(maximum), PEAK, 1000)


def formats(lab: Lab, case: str, corpus: Corpus, *, csv: bool = True) -> None:
    """Tables in and out, of the same format; each document has a second text."""
    files = {
        "JSON lines": write_jsonl(lab.fresh(".jsonl"), corpus),
        "Parquet": write_parquet(lab.fresh(".parquet"), corpus, _GROUP),
    }
    if csv:
        files["CSV"] = write_csv(lab.fresh(".csv"), corpus)
    jobs = []
    for format, path in files.items():
        flush(path)
        of_format = replace(corpus, path=path)
        name = f"{case} and a title, {format}"
        jobs.append(Job(name, corpus.documents, partial(_dedup, lab, of_format)))
        if format != "JSON lines":
            lab.aim(name, RATE, 0.7, over_case=f"{case} and a title, JSON lines")
        lab.aim(name, PEAK, 500)
    of_parquet = replace(corpus, path=files["Parquet"])
    for more in (("--keep", "longest"), ("--rule", "contained"), ("--rule", "copied:13")):
        name = f"{case} and a title, Parquet, {' '.join(more)}"
        jobs.append(Job(name, corpus.documents, partial(_dedup, lab, of_parquet, more)))
        lab.aim(name, PEAK, 500)
    lab.measure(jobs)
    for path in files.values():
        path.unlink()


def _dedup(lab: Lab, corpus: Corpus, more: tuple[str, ...] = ()) -> Values:
    output = lab.fresh(corpus.path.suffix)
    values = taken(lshdb("dedup", corpus.path, "-o", output, "--shingle", lab.shingle, *more))
    output.unlink()
    return {RATE: corpus.documents / values[SECONDS], **values}


def _hot_case(count: int) -> str:
    return f"{count:,} copies, {count:,} with a header of {_SHARE:.0%}"
