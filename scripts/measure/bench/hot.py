"""hot: large buckets: copies of one document, and documents with one header. Ten minutes.

Time should grow with the number of documents, not with its square: half as many are measured too.
"""

from __future__ import annotations

import subprocess
import time
from functools import partial
from pathlib import Path
from typing import Final

from measure.common.commands import lshdb, lshdb_command
from measure.harness import corpora
from measure.harness.corpora import Corpus
from measure.harness.figures import PEAK, SECONDS, Values
from measure.harness.lab import Job, Lab, taken

WORDS: Final = 150
_SHARES: Final = (0.5, 0.85)
"""The part of a document's words that is the header."""
COMMANDS: Final = ("add", "clusters", "clusters --star", "pairs, the first")


def run(lab: Lab) -> None:
    """`lshdb add`, then what reads the whole file, and the first pair that `pairs` prints.

    Quick: with the shorter header only.
    """
    count = lab.count(100_000, quick=5_000)
    for share in _SHARES[:1] if lab.options.quick else _SHARES:
        for some in (count // 2, count):
            corpus = corpora.write_hot_halves(lab.fresh(".jsonl"), some, WORDS, share)
            database = lab.init()
            lab.measure(
                [Job(_case("add", some, share), 2 * some, partial(_add, lab, database, corpus))], 1
            )
            lab.measure(
                [
                    Job(_case(command, some, share), 2 * some, partial(_read, command, database))
                    for command in COMMANDS[1:]
                ]
            )
            corpus.path.unlink()
            database.unlink()
        for command in COMMANDS:
            case, half = _case(command, count, share), _case(command, count // 2, share)
            lab.aim(case, SECONDS, 2.5, over_case=half)
            if not command.startswith("pairs"):
                lab.aim(case, PEAK, 1000)


def _case(command: str, count: int, share: float) -> str:
    return f"lshdb {command}: {count:,} copies, {count:,} with a header of {share:.0%}"


def _add(lab: Lab, database: Path, corpus: Corpus) -> Values:
    return taken(lab.add(database, corpus))


def _read(command: str, database: Path) -> Values:
    if command.startswith("pairs"):
        return {SECONDS: _first_pair(database)}
    return taken(lshdb(*command.split(), "--json", "-d", database))


def _first_pair(database: Path) -> float:
    """Seconds until `lshdb pairs` prints something; then it is stopped."""
    begun = time.perf_counter()
    command = [*map(str, lshdb_command()), "pairs", "-d", str(database)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        return time.perf_counter() - begun
