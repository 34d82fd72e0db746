"""gate: `lshdb gate` on 100 MB of sources, first and again, beside jscpd. Ten minutes.

A repository of 10,000 files of Python sources is made and committed. lshdb makes its index (first
run), and reads only what has changed (warm); both compare what has changed since HEAD, which is
nothing. jscpd has no index and compares all. Both are asked for passages of 50 tokens, on however
many lines, in files of up to 1 MB, and by the same tokens: comments are none, and all names are the
same, as are all literals. jscpd is measured if it is on the PATH (`npm install -g jscpd`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import Final

from measure.common.commands import lshdb_command, measure
from measure.harness import corpora
from measure.harness.figures import CPU, SECONDS, Values
from measure.harness.lab import Job, Lab, with_peak

PEER: Final = "jscpd"
_FILES: Final = 10_000
_SIZE: Final = 10_000
_ASKED: Final = (
    *("--min-tokens", "50", "--min-lines", "1", "--max-lines", "1000000", "--max-size", "1mb"),
    *("--skip-comments", "--ignore-identifiers", "--ignore-literals"),
    *("--reporters", "silent", "--silent"),
)
_IDENTITY: Final = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")


def run(lab: Lab) -> None:
    """First and warm in turn with jscpd, three times (quick: twice, with 200 files)."""
    count = lab.count(_FILES, quick=200)
    repository = _repository(lab, count)
    first, warm = f"first run, {count:,} source files", f"warm, {count:,} source files"
    jobs = [
        Job(first, count, partial(_gate, repository, first=True)),
        Job(warm, count, partial(_gate, repository, first=False)),
    ]
    if peer := shutil.which(PEER):
        jobs.append(Job(first, count, partial(_peer, peer, repository), PEER))
    lab.measure(jobs, 2 if lab.options.quick else 3)


def _repository(lab: Lab, count: int) -> Path:
    corpus = corpora.write_pieces(lab.fresh(".jsonl"), count, _SIZE)
    repository = lab.fresh("").with_name("repository")
    repository.mkdir()
    for number, text in enumerate(corpora.read_texts(corpus.path)):
        (repository / f"{number}.py").write_text(text, "utf-8")
    for arguments in (("init", "-q"), ("add", "-A"), (*_IDENTITY, "commit", "-q", "-m", "All")):
        subprocess.run(["git", *arguments], cwd=repository, check=True)
    return repository


def _gate(repository: Path, *, first: bool) -> Values:
    if first:
        shutil.rmtree(repository / ".git" / "lshdb", ignore_errors=True)
    command = [*lshdb_command(), "gate", "--since", "HEAD", "--quiet"]
    done = measure(command, directory=repository)
    return with_peak({SECONDS: done.seconds, CPU: done.cpu}, done)


def _peer(peer: str, repository: Path) -> Values:
    done = measure([peer, *_ASKED, os.curdir], directory=repository)
    return with_peak({SECONDS: done.seconds, CPU: done.cpu}, done)
