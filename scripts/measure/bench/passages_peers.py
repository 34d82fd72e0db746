"""passages --peers: all pairs of source files, beside copydetect. Ten minutes.

Both are given the same files in a directory. lshdb adds them to a new file, with passages of 8
words, and lists all pairs; copydetect, as its users call it, compares all pairs in memory, with a
guarantee of 30 characters. It is installed in a separate environment, which stays in
--directory (or the user's cache).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from measure.bench.passages import RUN
from measure.common.commands import lshdb, measure
from measure.harness import corpora
from measure.harness.figures import CPU, SECONDS, Values
from measure.harness.lab import Job, Lab, environment, with_peak

PEER: Final = "copydetect"
_SIZE: Final = 6000
_RUNNER: Final = """
import sys
from copydetect import CopyDetector
detector = CopyDetector(
    test_dirs=[sys.argv[1]], extensions=["py"], noise_t=20, guarantee_t=30, silent=True
)
detector.run()
print(len(detector.get_copied_code_list()), "pairs")
"""


def run(lab: Lab) -> None:
    """Two sizes, for the time that copydetect takes grows faster than their number."""
    python = environment(lab, "copydetect 0.5.0", ["copydetect==0.5.0"])
    maximum = lab.count(2_000, quick=200)
    for count in (maximum // 2, maximum):
        corpus = corpora.write_pieces(lab.fresh(".jsonl"), count, _SIZE)
        files = lab.fresh("").with_name("files")
        files.mkdir()
        for number, text in enumerate(corpora.read_texts(corpus.path)):
            (files / f"{number}.py").write_text(text, "utf-8")
        case = f"all pairs of {count:,} source files"
        lab.measure(
            [
                Job(case, count, partial(_own, lab, files)),
                Job(case, count, partial(_peer, python, files), PEER),
            ]
        )


def _own(lab: Lab, files: Path) -> Values:
    database = lab.init(passages=RUN)
    added = lshdb("add", "-q", "-d", database, files)
    listed = lshdb("passages", "--all", "--passages", "-d", database, "-o", lab.fresh(".jsonl"))
    values = {SECONDS: added.seconds + listed.seconds, CPU: added.cpu + listed.cpu}
    return with_peak(values, max(added, listed, key=lambda one: one.peak or 0))


def _peer(python: Path, files: Path) -> Values:
    done = measure([python, "-c", _RUNNER, files])
    return with_peak({SECONDS: done.seconds, CPU: done.cpu}, done)
