"""passages: copied passages: adding with the index and without, and all pairs. Half an hour.

The index has passages of 8 words. Pieces of the Python sources of this machine share much; of
documents of which half is one header, twice as many may take twice the time.
"""

import shutil
from functools import partial
from typing import Final

from measure.common.commands import lshdb
from measure.harness import corpora
from measure.harness.corpora import Corpus
from measure.harness.figures import RATE, Values
from measure.harness.lab import Lab, bytes_on_disk, taken

_RUN: Final = 8


def run(lab: Lab) -> None:
    """Adding, then all pairs where much is shared."""
    corpus = lab.corpus(lab.count(1_000_000, quick=2_000), size=1000)
    what = lab.describe(corpus)
    adding = {
        "add": partial(_add, lab, corpus, 0),
        "add with passages": partial(_add, lab, corpus, _RUN),
    }
    lab.measure(corpus.documents, {f"{case}, {what}": run for case, run in adding.items()})
    maximum = lab.count(100_000, quick=1_000)
    pieces = corpora.write_pieces(lab.fresh(".jsonl"), maximum, 6000)
    _all_pairs(lab, lab.describe(pieces), pieces)
    for count in (maximum // 2, maximum):
        headed = corpora.write_alike(lab.fresh(".jsonl"), 0, count, 150, 0.5)
        _all_pairs(lab, f"{count:,} documents with a header of 50%", headed)


def _add(lab: Lab, corpus: Corpus, run: int) -> Values:
    database, done = lab.add(corpus, passages=run)
    size = bytes_on_disk(database) / corpus.documents
    shutil.rmtree(database.parent)
    return {RATE: corpus.documents / done.seconds, "disk bytes/document": size, **taken(done)}


def _all_pairs(lab: Lab, what: str, corpus: Corpus) -> None:
    """Measure all pairs that share passages."""
    database, _ = lab.add(corpus, passages=_RUN)

    def listed() -> Values:
        output = lab.fresh(".jsonl")
        done = lshdb("passages", "--all", "--passages", "-d", database, "-o", output)
        with output.open("rb") as lines:
            count = sum(1 for _ in lines)
        output.unlink()
        return {**taken(done), "passages": count}

    lab.measure(corpus.documents, {f"all pairs, {what}": listed})
    shutil.rmtree(database.parent)
