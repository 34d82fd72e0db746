"""dedup-tables: `lshdb dedup`, JSON lines and Parquet in turn, in and out. Ten minutes.

Of each the documents per second, the seconds and the peak memory of all processes together, and the
rate of Parquet to that of JSON lines; also with --keep longest, which reads the input twice.
"""

from __future__ import annotations

from measure.bench.dedup import formats
from measure.harness.lab import Lab


def run(lab: Lab) -> None:
    """A million rows of 1 KB, each with a second text."""
    corpus = lab.corpus(lab.count(1_000_000, quick=20_000), size=1000)
    formats(lab, lab.describe(corpus), corpus, csv=False)
