"""gate: `lshdb gate` on 100 MB of sources, first and again, beside jscpd. Ten minutes.

A repository of 10,000 files of Python sources is made and committed. lshdb makes its index (first
run), and reads only what has changed (warm); both compare what has changed since HEAD, which is
nothing. jscpd has no index and compares all. Both are asked for passages of 50 tokens, on however
many lines, in files of up to 1 MB, and by the same tokens: comments are none, and all names are the
same, as are all literals. jscpd is measured if it is on the PATH (`npm install -g jscpd`).
"""

import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from measure.common.commands import lshdb, measure
from measure.harness import corpora
from measure.harness.figures import Values
from measure.harness.lab import Lab, taken

PEER: Final = "jscpd"
_ASKED: Final = (
    *("--min-tokens", "50", "--min-lines", "1", "--max-lines", "1000000", "--max-size", "1mb"),
    *("--skip-comments", "--ignore-identifiers", "--ignore-literals"),
    *("--reporters", "silent", "--silent"),
)
_IDENTITY: Final = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")


def run(lab: Lab) -> None:
    """First and warm in turn with jscpd, three times (quick: twice, with 200 files)."""
    count = lab.count(10_000, quick=200)
    repository = lab.fresh()
    repository.mkdir()
    corpus = corpora.write_pieces(lab.fresh(".jsonl"), count, 10_000)
    for number, text in enumerate(corpora.read_texts(corpus.path)):
        (repository / f"{number}.py").write_text(text, "utf-8")
    for arguments in (("init", "-q"), ("add", "-A"), (*_IDENTITY, "commit", "-q", "-m", "All")):
        subprocess.run(["git", *arguments], cwd=repository, check=True)
    first, warm = f"first run, {count:,} source files", f"warm, {count:,} source files"
    runs: dict[Any, Callable[[], Values]] = {
        first: partial(_gate, repository, first=True),
        warm: partial(_gate, repository, first=False),
    }
    if peer := shutil.which(PEER):
        command = partial(measure, [peer, *_ASKED, "."], directory=repository)
        runs[first, PEER] = lambda: taken(command())
    lab.measure(count, runs, lab.scaled(3, quick=2))


def _gate(repository: Path, *, first: bool) -> Values:
    if first:
        shutil.rmtree(repository / ".git" / "lshdb", ignore_errors=True)
    return taken(lshdb("gate", "--since", "HEAD", "--quiet", directory=repository))
