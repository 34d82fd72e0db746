"""passages: copied passages: adding, a query of 500 words, and all pairs. Half an hour.

Adding is measured with an index of passages of 8 words and without. Pieces of the Python sources of
this machine share much; of documents of which half is one header, twice as many may take twice the
time.
"""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Final

from measure.common.commands import lshdb
from measure.harness import corpora
from measure.harness.corpora import Corpus
from measure.harness.figures import CPU, P50, P99, PEAK, RATE, SECONDS, Values
from measure.harness.lab import Job, Lab, bytes_on_disk, taken, with_peak

_RUN: Final = 8
_BYTES: Final = "disk bytes/document"
_SOURCE: Final = 6000
_QUERY: Final = 500
_HEADED: Final = 150
"""Words of a document of which half is a header."""


def run(lab: Lab) -> None:
    """Adding and asking, then all pairs where much is shared."""
    corpus = lab.corpus(lab.count(1_000_000, quick=2_000), size=1000)
    _add(lab, corpus)
    _query(lab, corpus)
    pieces = corpora.write_pieces(lab.fresh(".jsonl"), lab.count(100_000, quick=1_000), _SOURCE)
    case = _all_pairs(lab, lab.describe(pieces), pieces)
    lab.aim(case, SECONDS, 60)
    lab.aim(case, PEAK, 500)
    maximum = lab.count(100_000, quick=1_000)
    half, case = (_headed(lab, count) for count in (maximum // 2, maximum))
    lab.aim(case, SECONDS, 2.5, over_case=half)
    lab.aim(case, PEAK, 500)


def _add(lab: Lab, corpus: Corpus) -> None:
    plain, indexed = f"add, {lab.describe(corpus)}", f"add with passages, {lab.describe(corpus)}"
    lab.measure(
        [
            Job(case, corpus.documents, partial(_added, lab, corpus, run))
            for case, run in ((plain, 0), (indexed, _RUN))
        ]
    )
    lab.aim(indexed, RATE, 0.4, over_case=plain)
    lab.aim(indexed, _BYTES, 2, over_case=plain, at_most=True)
    lab.aim(indexed, PEAK, 500)


def _added(lab: Lab, corpus: Corpus, run: int) -> Values:
    database = lab.init(passages=run)
    measured = lab.add(database, corpus)
    size = bytes_on_disk(database) / corpus.documents
    shutil.rmtree(database.parent)
    rate = corpus.documents / measured.seconds
    return {RATE: rate, CPU: measured.cpu, _BYTES: size, **taken(measured)}


def _query(lab: Lab, corpus: Corpus) -> None:
    """Texts of 500 words, a quarter of them copied from three documents."""
    database = lab.init(passages=_RUN)
    lab.add(database, corpus)
    queries = lab.fresh(".queries.jsonl")
    corpora.write_patched(queries, corpus, 100 if lab.options.quick else 1000, _QUERY)
    case = f"query of {_QUERY} words, {lab.describe(corpus)}"

    def ask() -> Values:
        done = lab.task("passages", database=database, queries=queries)
        return with_peak(done.result, done.measured)

    lab.measure([Job(case, corpus.documents, ask)])
    lab.aim(case, P50, 5)
    lab.aim(case, P99, 20)
    shutil.rmtree(database.parent)


def _headed(lab: Lab, count: int) -> str:
    corpus = corpora.write_headed(lab.fresh(".jsonl"), count, _HEADED, 0.5)
    return _all_pairs(lab, f"{count:,} documents with a header of 50%", corpus)


def _all_pairs(lab: Lab, what: str, corpus: Corpus) -> str:
    """Measure all pairs that share passages, and return the case."""
    database, case = lab.init(passages=_RUN), f"all pairs, {what}"
    lab.add(database, corpus)
    lab.measure([Job(case, corpus.documents, partial(_listed, lab, database))])
    shutil.rmtree(database.parent)
    return case


def _listed(lab: Lab, database: Path) -> Values:
    output = lab.fresh(".jsonl")
    measured = lshdb("passages", "--all", "--passages", "-d", database, "-o", output)
    values = {CPU: measured.cpu, **taken(measured)}
    with output.open("rb") as lines:
        values["passages"] = sum(1 for _ in lines)
    output.unlink()
    return values
