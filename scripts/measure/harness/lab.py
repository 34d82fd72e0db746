"""One place to measure in: corpora are made once, functions run in turn, figures are kept."""

import json
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lshdb.database import open as open_database
from measure.common.commands import Measured, lshdb, measure, own_script
from measure.harness.corpora import Corpus, write_generated, write_queries
from measure.harness.figures import CPU, OWN, PEAK, SECONDS, Figure, Values

SIZE: Final = 3000
"""Bytes of a document, unless a benchmark says otherwise."""
SHINGLES: Final = ("word:3", "char:5")


@dataclass
class Lab:
    """A directory for corpora and databases, and the figures of all benchmarks so far.

    Attributes:
        options: of the command line, with the engines that are installed.
        directory: where files are made, which is deleted at the end.
    """

    options: Namespace
    directory: Path
    benchmark: str = ""
    figures: list[Figure] = field(default_factory=list)
    _corpora: dict[tuple[object, ...], Corpus] = field(default_factory=dict)
    _made: int = 0

    # what is asked for

    def count(self, full: int, quick: int) -> int:
        """How many documents: those asked for, or the benchmark's own."""
        return self.options.documents or self.scaled(full, quick)

    def scaled(self, full: int, quick: int) -> int:
        """The number for a run at full size, or with --quick."""
        return quick if self.options.quick else full

    @property
    def shingles(self) -> Sequence[str]:
        """The shinglings to be measured where several are; the first where one is."""
        return [self.options.shingle] if self.options.shingle else SHINGLES

    def describe(self, corpus: Corpus) -> str:
        """A corpus and its shingling, in the name of a case."""
        return f"{self.shingles[0]}, {corpus.what}, {corpus.documents:,} documents"

    # what is made

    def fresh(self, suffix: str = "") -> Path:
        """A path where nothing is, in its own directory."""
        self._made += 1
        directory = self.directory / str(self._made)
        directory.mkdir()
        return directory / f"bench{suffix}"

    def corpus(self, documents: int, size: int = SIZE, duplicates: float = 0.1) -> Corpus:
        """A corpus of generated documents, made once."""
        name = (documents, size, duplicates)
        if name not in self._corpora:
            self._corpora[name] = write_generated(self.fresh(".jsonl"), *name)
        return self._corpora[name]

    def queries(self, corpus: Corpus, count: int = 1000, block: int = 0) -> Path:
        """Queries to a corpus, half of them near duplicates of its documents: `write_queries`."""
        path = self.fresh(".queries.jsonl")
        write_queries(path, corpus, self.scaled(count, count // 5), block)
        return path

    def add(
        self, corpus: Corpus, shingle: str | None = None, passages: int = 0
    ) -> tuple[Path, Measured]:
        """A new database with an index of passages of a length, or without; `lshdb add` to it."""
        path = self.fresh(".db")
        open_database(path, shingle=shingle or self.shingles[0], passages=passages).close()
        measured = lshdb("add", "--json", "-d", path, corpus.path)
        report = json.loads(measured.out.splitlines()[-1])
        if report["added"] != corpus.documents or report["failed"]:
            raise SystemExit(f"lshdb add did not add {corpus.documents} documents: {report}")
        return path, measured

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
    ) -> tuple[dict[str, Any], Measured]:
        """Run a function of tasks.py in a separate process: its result, with the peak of memory."""
        spec = json.dumps({"task": name, **given}, default=str)
        measured = measure(own_script("harness.tasks", spec), variables=variables, group=group)
        return json.loads(measured.out.splitlines()[-1]) | peak(measured), measured

    def measure(
        self,
        documents: int,
        runs: Mapping[Any, Callable[[], Values]],
        repeat: int | None = None,
    ) -> list[list[Values]]:
        """Run all in turn, and again: a change of the machine's speed meets them all.

        `runs` has by case for lshdb itself, or by case and engine, what does it once and returns
        its measures. Their figures are kept; all values are returned.
        """
        repeat = repeat or self.options.repeat
        named = {(key, OWN) if isinstance(key, str) else key: run for key, run in runs.items()}
        done: list[list[Values]] = [[] for _ in runs]
        for repetition in range(1, repeat + 1):
            for ((case, engine), run), values in zip(named.items(), done, strict=True):
                self.say(f"{self.benchmark}: {engine}: {case} ({repetition}/{repeat})")
                values.append(run())
        for (case, engine), values in zip(named, done, strict=True):
            self.keep(case, documents, values, engine)
        return done

    def keep(self, case: str, documents: int, runs: Sequence[Values], engine: str = OWN) -> None:
        """Keep the figures of all runs of a case; each has the same measures."""
        for name in runs[0]:
            values = tuple(run[name] for run in runs)
            self.figures.append(Figure(self.benchmark, case, engine, name, documents, values))


def environment(lab: Lab, name: str, packages: Sequence[str | Path]) -> Path:
    """The Python of an environment with these packages, made if there is none.

    The option --directory, or the user's cache, has the environments.
    """
    cache = lab.options.directory or Path(
        os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"), "lshdb"
    )
    folder = cache.resolve() / name.replace(" ", "-")
    ready = folder / "ready"
    if not ready.exists():
        lab.say(f"{lab.benchmark}: installing {name}")
        install(folder, packages)
        ready.touch()
    return folder / "bin" / "python"


def install(folder: Path, packages: Sequence[str | Path]) -> Path:
    """The Python of a new environment with these packages."""
    python = folder / "bin" / "python"
    measure([sys.executable, "-m", "venv", "--clear", folder])
    measure([python, "-m", "pip", "--quiet", "install", *packages])
    return python


def peak(measured: Measured) -> Values:
    """The peak of memory, where it could be measured."""
    return {PEAK: measured.peak / 1e6} if measured.peak else {}


def taken(measured: Measured) -> Values:
    """What a command took."""
    return {SECONDS: measured.seconds, CPU: measured.cpu, **peak(measured)}


def bytes_on_disk(database: Path) -> int:
    """The size of a database with all the files that SQLite has beside it."""
    return sum(path.stat().st_size for path in database.parent.glob(database.name + "*"))
