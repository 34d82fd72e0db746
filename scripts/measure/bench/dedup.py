"""dedup: `lshdb dedup`, 10% near duplicates, and of large buckets. Ten minutes for a million."""

from __future__ import annotations

from functools import partial
from typing import Final

from measure.bench.hot import WORDS
from measure.common.commands import lshdb
from measure.harness import corpora
from measure.harness.corpora import Corpus
from measure.harness.figures import PEAK, RATE, SECONDS, Values
from measure.harness.lab import Job, Lab, taken

_SHARE: Final = 0.85
"""The part of a document's words that is the header."""


def run(lab: Lab) -> None:
    """Time should grow with the documents in large buckets, not with the square of their number."""
    corpus = lab.corpus(lab.count(1_000_000, quick=20_000), size=1000)
    case = lab.describe(corpus)
    lab.measure([Job(case, corpus.documents, partial(_dedup, lab, corpus))])
    lab.aim(case, RATE, 12_000)
    lab.aim(case, PEAK, 1000)
    most = lab.count(100_000, quick=5_000)
    for some in (most // 2, most):
        hot = corpora.write_hot_halves(lab.fresh(".jsonl"), some, WORDS, _SHARE)
        lab.measure([Job(_hot_case(some), hot.documents, partial(_dedup, lab, hot))], repeat=1)
        hot.path.unlink()
    lab.aim(_hot_case(most), SECONDS, 2.5, over_case=_hot_case(most // 2))
    lab.aim(_hot_case(most), PEAK, 1000)


def _dedup(lab: Lab, corpus: Corpus) -> Values:
    output = lab.fresh(".jsonl")
    values = taken(lshdb("dedup", corpus.path, "-o", output, "--shingle", lab.shingle))
    output.unlink()
    return {RATE: corpus.documents / values[SECONDS], **values}


def _hot_case(count: int) -> str:
    return f"{count:,} copies, {count:,} with a header of {_SHARE:.0%}"
