"""passages: copied passages: adding, a query of 500 words, and all pairs. Half an hour.

Adding is measured with an index of passages of 8 words and without, for documents of 1 KB and of
6 KB. Among the source files, pieces of those of this machine, `passages --all` finds what they
share. Documents with one header show that a run in very many of them costs no more than others:
half as many are measured too. Copydetect beside it: `scripts/bench passages --peers`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from measure.bench.hot import WORDS
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
_SHARE: Final = 0.5
"""The part of a document's words that is the header."""


def run(lab: Lab) -> None:
    """Adding and asking, then the two collections in which much is shared."""
    count = lab.count(1_000_000, quick=2_000)
    for size, share in _ADDING.items():
        _add(lab, lab.corpus(count if size == 1000 else count // 5, size=size), share)
    _query(lab, lab.corpus(count, size=1000))
    most = lab.count(100_000, quick=1_000)
    _sources(lab, most)
    for some in (most // 2, most):
        _header(lab, some)
    for command in ("add", "query", "all"):
        case = _header_case(command, most)
        lab.aim(case, SECONDS, 2.5, over_case=_header_case(command, most // 2))
    lab.aim(_header_case("all", most), PEAK, 500)


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
    lab.measure([Job(case, corpus.documents, partial(_all, lab, database))])
    lab.aim(case, SECONDS, 60)
    lab.aim(case, PEAK, 500)
    shutil.rmtree(database.parent)


def _all(lab: Lab, database: Path) -> Values:
    output = lab.fresh(".jsonl")
    values = taken(lshdb("passages", "--all", "-d", database, "-o", output))
    with output.open("rb") as lines:
        values["passages"] = sum(1 for _ in lines)
    output.unlink()
    return values


def _header(lab: Lab, count: int) -> None:
    corpus = corpora.write_headed(lab.fresh(".jsonl"), count, WORDS, _SHARE)
    text = lab.fresh(".txt")
    text.write_text(corpora.read_texts(corpus.path, 1)[0], "utf-8")
    database = lab.init(passages=RUN)
    runs: dict[str, Callable[[], Values]] = {
        "add": lambda: taken(lab.add(database, corpus)),
        "query": lambda: taken(lshdb("passages", "-d", database, text)),
        "all": lambda: _all(lab, database),
    }
    for command, one in runs.items():
        lab.measure([Job(_header_case(command, count), count, one)], repeat=1)
    shutil.rmtree(database.parent)
    corpus.path.unlink()


def _header_case(command: str, count: int) -> str:
    name = "all pairs" if command == "all" else command
    return f"{name}, {count:,} documents with a header of {_SHARE:.0%}"
