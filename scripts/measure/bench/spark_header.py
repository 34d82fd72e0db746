"""spark-header: copied passages on Spark where all documents have one header. Ten minutes.

Time should grow with the number of documents, not with its square: half as many are measured too.
Not part of `all`, for it needs Java and PySpark.
"""

from __future__ import annotations

from typing import Final

from measure.bench.hot import WORDS
from measure.bench.spark import run_task
from measure.harness import corpora
from measure.harness.figures import CPU, SECONDS
from measure.harness.lab import Lab

_RUN: Final = 8
_SHARE: Final = 0.5
"""The part of a document's words that is the header."""


def run(lab: Lab) -> None:
    """All pairs of the rows of a header, of half as many and of all; once each."""
    count = lab.count(100_000, quick=2_000)
    for some in (count // 2, count):
        lab.say(f"spark-header: {_case(some)}")
        corpus = corpora.write_headed(lab.fresh(".jsonl"), some, WORDS, _SHARE)
        printed, _ = run_task(lab, "passages", corpus.path, passages=_RUN)
        values = {
            SECONDS: printed["pairs seconds"],
            CPU: printed["pairs CPU seconds"],
            "pairs": printed["pairs"],
            "shuffled bytes a document": printed["pairs shuffled bytes"] / some,
        }
        lab.keep(_case(some), some, [values])
        corpus.path.unlink()
    for measure in (SECONDS, CPU):
        lab.aim(_case(count), measure, 2.5, over_case=_case(count // 2))


def _case(count: int) -> str:
    return f"{count:,} documents of {WORDS} words, a header of {_SHARE:.0%}"
