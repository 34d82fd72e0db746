"""passages-header: documents under one header: adding, a query, and all pairs. Ten minutes.

Half of each document is a header that all have. A run in so many documents costs no more than
others: half as many documents are measured first, and twice as many may take twice the time.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Final

from measure.bench.hot import WORDS
from measure.bench.passages import RUN, listed
from measure.common.commands import Measured, lshdb
from measure.harness import corpora
from measure.harness.figures import CPU, PEAK, SECONDS, Values
from measure.harness.lab import Job, Lab, taken

_SHARE: Final = 0.5
"""The part of a document's words that is the header."""


def run(lab: Lab) -> None:
    """Half as many documents, then all."""
    maximum = lab.count(100_000, quick=1_000)
    for some in (maximum // 2, maximum):
        _measure(lab, some)
    for command in ("add", "query", "all"):
        lab.aim(_case(command, maximum), SECONDS, 2.5, over_case=_case(command, maximum // 2))
    lab.aim(_case("all", maximum), PEAK, 500)


def _measure(lab: Lab, count: int) -> None:
    corpus = corpora.write_headed(lab.fresh(".jsonl"), count, WORDS, _SHARE)
    text = lab.fresh(".txt")
    text.write_text(corpora.read_texts(corpus.path, 1)[0], "utf-8")
    database = lab.init(passages=RUN)
    runs: dict[str, Callable[[], Values]] = {
        "add": lambda: _taken(lab.add(database, corpus)),
        "query": lambda: _taken(lshdb("passages", "-d", database, text)),
        "all": lambda: listed(lab, database),
    }
    for command, one in runs.items():
        lab.measure([Job(_case(command, count), count, one)], repeat=1)
    shutil.rmtree(database.parent)
    corpus.path.unlink()


def _taken(measured: Measured) -> Values:
    return {CPU: measured.cpu, **taken(measured)}


def _case(command: str, count: int) -> str:
    name = "all pairs" if command == "all" else command
    return f"{name}, {count:,} documents with a header of {_SHARE:.0%}"
