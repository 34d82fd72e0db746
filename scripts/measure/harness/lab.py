"""One place to measure in: corpora and databases are made once, jobs run in turn, figures kept.

A benchmark makes what it needs, gives the lab jobs to measure and aims to compare them with:

    corpus = lab.corpus(lab.count(1_000_000, quick=10_000), size=1000)
    database = lab.database(corpus)
    lab.measure([Job("lshdb check", corpus.documents, lambda: taken(lshdb("check", ...)))])
    lab.aim("lshdb check", SECONDS, 120)
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lshdb.opening import open as open_database
from measure.common.commands import Measured, lshdb, measure, own_script
from measure.harness import corpora
from measure.harness.corpora import Corpus
from measure.harness.figures import OWN, PEAK, SECONDS, Aim, Figure, Values, collect

SIZE: Final = 3000
"""Bytes of a document, unless a benchmark says otherwise."""
SHINGLES: Final = ("word:3", "char:5")


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for; None for the benchmark's own.

    Attributes:
        engines: those that are installed.
        documents, shingle: of the corpus.
        input: the user's own documents.
        against: the revision that `against` compares with.
        directory: where files are made; None for a temporary directory.
    """

    engines: tuple[str, ...]
    quick: bool = False
    documents: int | None = None
    shingle: str | None = None
    input: Path | None = None
    repeat: int = 3
    against: str = ""
    directory: Path | None = None

    def shingles(self) -> Sequence[str]:
        """The shinglings to be measured where both are."""
        return (self.shingle,) if self.shingle else SHINGLES


@dataclass(frozen=True, slots=True)
class Job:
    """Something to measure.

    Attributes:
        case: what the engine is asked for.
        documents: how many it is given.
        run: does it once, and returns the measures.
    """

    case: str
    documents: int
    run: Callable[[], Values]
    engine: str = OWN


@dataclass(frozen=True, slots=True)
class Run:
    """What a task printed, and what was measured from outside."""

    result: dict[str, Any]
    measured: Measured


@dataclass
class Lab:
    """A directory for corpora and databases, and the figures and aims of all benchmarks so far."""

    options: Options
    directory: Path
    benchmark: str = ""
    figures: list[Figure] = field(default_factory=list)
    aims: list[Aim] = field(default_factory=list)
    _corpora: dict[tuple[object, ...], Corpus] = field(default_factory=dict)
    _made: int = 0

    # what is asked for

    def count(self, full: int, quick: int) -> int:
        """How many documents: those asked for, or the benchmark's own."""
        return self.options.documents or (quick if self.options.quick else full)

    @property
    def shingle(self) -> str:
        """The shingling where one is measured."""
        return self.options.shingle or SHINGLES[0]

    def describe(self, corpus: Corpus) -> str:
        """A corpus and its shingling, in the name of a case."""
        return f"{self.shingle}, {corpus.what}, {corpus.documents:,} documents"

    # what is made

    def fresh(self, suffix: str) -> Path:
        """A path where nothing is, in its own directory."""
        self._made += 1
        directory = self.directory / str(self._made)
        directory.mkdir()
        return directory / f"bench{suffix}"

    def corpus(self, documents: int, size: int = SIZE, duplicates: float = 0.1) -> Corpus:
        """A corpus of generated documents, or of the first of the user's own."""
        name = (documents, size, duplicates)
        if name not in self._corpora:
            path = self.fresh(".jsonl")
            self._corpora[name] = (
                corpora.write_generated(path, documents, size, duplicates)
                if self.options.input is None
                else corpora.write_copy(path, self.options.input, documents)
            )
        return self._corpora[name]

    def queries(self, corpus: Corpus, count: int = 1000) -> Path:
        """Queries to a corpus, half of them near duplicates of its documents."""
        path = self.fresh(".queries.jsonl")
        corpora.write_queries(path, corpus, count // 5 if self.options.quick else count)
        return path

    def init(self, shingle: str | None = None, passages: int = 0) -> Path:
        """A new, empty database, with an index of passages of a length, or without."""
        path = self.fresh(".db")
        open_database(path, shingle=shingle or self.shingle, passages=passages).close()
        return path

    def add(self, database: Path, corpus: Corpus) -> Measured:
        """`lshdb add` of a corpus."""
        measured = lshdb("add", "--json", "-d", database, corpus.path)
        report = json.loads(measured.out.splitlines()[-1])
        if report["added"] != corpus.documents or report["failed"]:
            raise SystemExit(f"lshdb add did not add {corpus.documents} documents: {report}")
        return measured

    def database(self, corpus: Corpus) -> Path:
        """A new database with the documents of a corpus."""
        path = self.init()
        self.add(path, corpus)
        return path

    # what is measured

    def say(self, message: str) -> None:
        """Show the user what is being done."""
        print(message, file=sys.stderr, flush=True)

    def task(
        self,
        name: str,
        *,
        variables: Mapping[str, str] | None = None,
        group: Path | None = None,
        **given: Any,
    ) -> Run:
        """Run a function of tasks.py in a separate process, in a control group or not."""
        spec = json.dumps({"task": name, **given}, default=str)
        measured = measure(own_script("harness.tasks", spec), variables=variables, group=group)
        return Run(json.loads(measured.out.splitlines()[-1]), measured)

    def measure(self, jobs: Sequence[Job], repeat: int | None = None) -> None:
        """Run all jobs in turn, and again: a change of the machine's speed meets them all."""
        repeat = repeat or self.options.repeat
        done: list[list[Values]] = [[] for _ in jobs]
        for repetition in range(repeat):
            for job, runs in zip(jobs, done, strict=True):
                self.say(f"{self.benchmark}: {job.engine}: {job.case} ({repetition + 1}/{repeat})")
                runs.append(job.run())
        for job, runs in zip(jobs, done, strict=True):
            self.keep(job.case, job.documents, runs, job.engine)

    def keep(self, case: str, documents: int, runs: Sequence[Values], engine: str = OWN) -> None:
        """Keep the figures of all runs of a case."""
        self.figures += collect(self.benchmark, case, engine, documents, runs)

    def aim(self, case: str, measure: str, bound: float, **more: Any) -> None:
        """Say what a figure should be; the user's own documents have no aims."""
        if self.options.input is not None:
            return
        if more.get("over", OWN) in (OWN, *self.options.engines):
            self.aims.append(Aim(self.benchmark, case, measure, bound, **more))


def environment(lab: Lab, name: str, packages: Sequence[str]) -> Path:
    """The Python of an environment with these packages, made if there is none.

    Args:
        lab: its --directory, or the user's cache, has the environments.
        name: of what is installed, with its version.
        packages: for pip.
    """
    cache = lab.options.directory or Path(
        os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"), "lshdb"
    )
    folder = cache.resolve() / name.replace(" ", "-")
    ready = folder / "ready"
    python = folder / "bin" / "python"
    if not ready.exists():
        lab.say(f"{lab.benchmark}: installing {name}")
        measure([sys.executable, "-m", "venv", "--clear", folder], sample=False)
        measure([python, "-m", "pip", "--quiet", "install", *packages], sample=False)
        ready.touch()
    return python


def with_peak(values: Values, measured: Measured) -> Values:
    """Some measures, and the peak of memory where it could be measured."""
    peak = measured.peak
    return values if peak is None else {**values, PEAK: peak / 1e6}


def taken(measured: Measured) -> Values:
    """How long a command took, and its peak of memory."""
    return with_peak({SECONDS: measured.seconds}, measured)


def bytes_on_disk(database: Path) -> int:
    """The size of a database with all the files that SQLite has beside it."""
    return sum(path.stat().st_size for path in database.parent.glob(database.name + "*"))
