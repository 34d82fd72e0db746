"""passages: copied passages: adding, a query of 500 words, and all pairs. Half an hour.

Adding is measured with an index of passages of 8 words and without, for documents of 1 KB and of
6 KB. Among the source files, pieces of those of this machine, `passages --all` finds what they
share. Documents with one header: `scripts/bench passages-header`. Copydetect beside it:
`scripts/bench passages --peers`.
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

RUN: Final = 8
_BYTES: Final = "disk bytes/document"
_ADDING: Final = {1000: 0.4, 6000: 0.3}
"""The sizes of documents, and how fast adding should be as a part of adding without the index."""
_SOURCE: Final = 6000
_QUERY: Final = 500


def run(lab: Lab) -> None:
    """Adding and asking, then all pairs where much is shared."""
    count = lab.count(1_000_000, quick=2_000)
    for size, share in _ADDING.items():
        _add(lab, lab.corpus(count if size == 1000 else count // 5, size=size), share)
    _query(lab, lab.corpus(count, size=1000))
    _sources(lab, lab.count(100_000, quick=1_000))


def _add(lab: Lab, corpus: Corpus, share: float) -> None:
    plain, indexed = f"add, {lab.describe(corpus)}", f"add with passages, {lab.describe(corpus)}"
    lab.measure(
        [
            Job(case, corpus.documents, partial(_added, lab, corpus, run))
            for case, run in ((plain, 0), (indexed, RUN))
        ]
    )
    lab.aim(indexed, RATE, share, over_case=plain)
    lab.aim(indexed, _BYTES, 2, over_case=plain, at_most=True)
    lab.aim(indexed, PEAK, 500)


def _added(lab: Lab, corpus: Corpus, run: int) -> Values:
    database = lab.init(passages=run)
    measured = lab.add(database, corpus)
    size = bytes_on_disk(database) / corpus.documents
    shutil.rmtree(database.parent)
    rate = corpus.documents / measured.seconds
    return {RATE: rate, CPU: measured.cpu, _BYTES: size, **taken(measured)}


def _filled(lab: Lab, corpus: Corpus) -> Path:
    database = lab.init(passages=RUN)
    lab.add(database, corpus)
    return database


def _query(lab: Lab, corpus: Corpus) -> None:
    """Texts of 500 words, a quarter of them copied from three documents."""
    database = _filled(lab, corpus)
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


def _sources(lab: Lab, count: int) -> None:
    """All pairs of source files."""
    corpus = corpora.write_pieces(lab.fresh(".jsonl"), count, _SOURCE)
    database = _filled(lab, corpus)
    case = f"all pairs, {lab.describe(corpus)}"
    lab.measure([Job(case, corpus.documents, partial(listed, lab, database))])
    lab.aim(case, SECONDS, 60)
    lab.aim(case, PEAK, 500)
    shutil.rmtree(database.parent)


def listed(lab: Lab, database: Path) -> Values:
    """What `passages --all --passages` takes, and how many passages it writes."""
    output = lab.fresh(".jsonl")
    measured = lshdb("passages", "--all", "--passages", "-d", database, "-o", output)
    values = {CPU: measured.cpu, **taken(measured)}
    with output.open("rb") as lines:
        values["passages"] = sum(1 for _ in lines)
    output.unlink()
    return values
