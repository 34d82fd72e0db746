"""against: this checkout beside an earlier version, whole commands in turn. A quarter of an hour.

Both versions are in separate environments with the same dependencies; that of the earlier one stays
in --directory (or the user's cache). Each version queries a file that it wrote itself. Ratios are
of neighbouring runs, the checkout over the earlier version.
"""

import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from measure.common.commands import Measured, measure
from measure.harness.corpora import Corpus, flush, read_texts, write_pieces
from measure.harness.figures import OWN, Values
from measure.harness.lab import Lab, environment, install, taken

_PROJECT: Final = Path(__file__).resolve().parents[3]
_QUERIES: Final = """
import json, sys, lshdb
with open(sys.argv[2], encoding="utf-8") as lines, lshdb.open(sys.argv[1], mode="read") as db:
    print(sum(len(db.query(json.loads(line)["text"])) for line in lines), "matches")
"""
_STARTS: Final = 5
"""A start is short: it is measured this many times as often as the other jobs."""


def run(lab: Lab) -> None:
    """Documents of 3 KB, of which a tenth are near duplicates; programs are pieces of sources."""
    versions = _installed(lab)
    corpus = lab.corpus(lab.count(100_000, quick=2_000))
    programs = write_pieces(lab.fresh(".jsonl"), lab.count(20_000, quick=500), 3000)
    queries = lab.queries(corpus, 500)
    jobs = {
        name: _jobs(lab, python, corpus, programs, queries) for name, python in versions.items()
    }
    # By job, so that the two versions run side by side.
    for case in jobs[OWN]:
        times = _STARTS if case.startswith("start") else 1
        pair = {(case, name): jobs[name][case] for name in versions}
        new, old = lab.measure(corpus.documents, pair, times * lab.options.repeat)
        runs = zip(new, old, strict=True)
        ratios = [{name: a[name] / b[name] for name in a} for a, b in runs]
        lab.keep(case, corpus.documents, ratios, "ratio")


def _jobs(
    lab: Lab, python: Path, corpus: Corpus, programs: Corpus, queries: Path
) -> dict[str, Callable[[], Values]]:
    """What is measured of a version."""

    def command(program: str, *arguments: str | Path) -> Measured:
        # Not in the directory of this checkout: `python -c` would import its lshdb.
        words: list[str | Path] = [python.with_name(program), *arguments]
        return measure(words, directory=python.parent)

    def once(*words: str | Path, suffix: str = "", copy: Path | None = None) -> Values:
        """Run a command; its last argument is a new file with a suffix, or a copy of another."""
        new = lab.fresh(suffix)
        if copy is not None:
            shutil.copy(copy, new)
            flush(new)
        done = command(*map(str, words), *([new] if suffix else []))
        shutil.rmtree(new.parent)
        return taken(done)

    def empty(*settings: str) -> Path:
        """A new file with settings."""
        new = lab.fresh(".db")
        command("lshdb", "init", "-d", new, *settings)
        return new

    database, few, some = lab.fresh(".db"), lab.fresh(".db"), lab.fresh(".jsonl")
    with corpus.path.open(encoding="utf-8") as lines:
        some.write_text("".join(islice(lines, 1000)), "utf-8")
    command("lshdb", "add", "-q", "-d", database, corpus.path)
    command("lshdb", "add", "-q", "-d", few, some)
    text = read_texts(corpus.path, 1)[0]
    reindex = ("lshdb", "reindex", "--threshold", "0.7", "-d")
    add = partial(once, "lshdb", "add", "-q", suffix=".db")
    with_passages, of_programs = empty("--passages", "8"), empty("--for", "programs")
    return {
        "add": partial(add, corpus.path, "-d"),
        "add --passages 8": partial(add, corpus.path, "-d", copy=with_passages),
        "add --for programs": partial(add, programs.path, "-d", copy=of_programs),
        "query": partial(once, "python", "-c", _QUERIES, database, queries),
        "pairs": partial(once, "lshdb", "pairs", "--json", "-d", database),
        "clusters": partial(once, "lshdb", "clusters", "--json", "-d", database),
        "dedup": partial(once, "lshdb", "dedup", corpus.path, "-o", suffix=".jsonl"),
        "reindex": partial(once, *reindex, suffix=".db", copy=database),
        "start: query --text": partial(once, "lshdb", "query", "--text", text, "-d", few),
        "start: --help": partial(once, "lshdb", "--help"),
    }


def _installed(lab: Lab) -> dict[str, Path]:
    """The Python of each version's environment; the checkout gets the other's dependencies."""
    revision = f"{lab.options.revision}^{{commit}}"
    found = subprocess.run(
        ["git", "-C", _PROJECT, "rev-parse", "--verify", revision],
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode:
        raise SystemExit(f"scripts/bench: {found.stderr.strip()}")
    commit = found.stdout.strip()
    old = environment(lab, f"lshdb {commit[:12]}", [f"git+{_PROJECT.as_uri()}@{commit}"])
    constraints = lab.fresh(".txt")
    freeze: list[str | Path] = [old, "-m", "pip", "freeze", "--exclude", "lshdb"]
    constraints.write_text(measure(freeze, directory=old.parent).out, "utf-8")
    lab.say("against: installing this checkout")
    new = install(lab.fresh(), ["-c", constraints, _PROJECT])
    return {OWN: new, commit[:7]: old}
