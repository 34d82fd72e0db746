"""What the benchmarks share: options, a directory with corpora and databases, measured runs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import corpora
from corpora import Corpus
from figures import PEAK
from processes import Measured, lshdb_command, measure

SIZE: Final = 3000
"""Bytes of a document, unless a benchmark says otherwise."""
SHINGLES: Final = ("word:3", "char:5")
_RUNS: Final = Path(__file__).with_name("runs.py")


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for; None for the benchmark's own.

    Attributes:
        engines: that are installed, lshdb among them or not.
        documents, size, shingle: of the corpus.
        input: the user's own documents.
        sets: how many sets `scale` adds; 0 for none.
    """

    engines: tuple[str, ...]
    quick: bool = False
    documents: int | None = None
    size: int | None = None
    shingle: str | None = None
    input: Path | None = None
    sets: int = 0
    repeat: int = 3

    def count(self, full: int, quick: int) -> int:
        """How many documents: those asked for, or the benchmark's own."""
        return self.documents or (quick if self.quick else full)

    def shingles(self) -> Sequence[str]:
        """The shinglings to be measured where both are."""
        return (self.shingle,) if self.shingle else SHINGLES

    def peers(self) -> list[str]:
        """The engines beside lshdb."""
        return [name for name in self.engines if name != "lshdb"]

    def as_asked(self, size: int = SIZE) -> bool:
        """Whether the documents are those that the aims speak of."""
        return self.input is None and self.size in (None, size)

    def what(self, size: int = SIZE) -> str:
        """What the documents are, in the name of a case."""
        if self.input is not None:
            return self.input.name
        return size_name(self.size or size)


def size_name(size: int) -> str:
    """3 KB for 3000."""
    return f"{size / 1000:g} KB" if size >= 1000 else f"{size} B"


@dataclass
class Lab:
    """A directory in which corpora and databases are made once, and processes are measured."""

    options: Options
    directory: Path
    _corpora: dict[tuple[int, int, str], Corpus] = field(default_factory=dict)
    _made: int = 0

    def say(self, message: str) -> None:
        """Tell the user what is being done."""
        print(message, file=sys.stderr, flush=True)

    def fresh(self, suffix: str) -> Path:
        """A path in the directory where nothing is, in a directory of its own."""
        self._made += 1
        directory = self.directory / str(self._made)
        directory.mkdir()
        return directory / f"bench{suffix}"

    def corpus(self, documents: int, size: int, alphabet: str = "ASCII") -> Corpus:
        """A corpus of generated documents, or of the first of the user's own."""
        name = (documents, size, alphabet)
        if name not in self._corpora:
            path = self.fresh(".jsonl")
            if self.options.input is not None:
                made = corpora.write_copy(path, self.options.input, documents)
                if not made.documents:
                    raise SystemExit(f"{self.options.input}: no documents")
            else:
                made = corpora.write_generated(path, documents, size, alphabet)
            self._corpora[name] = made
            flush(path)
        return self._corpora[name]

    def hot_corpus(self, kind: str, documents: int, size: int) -> Corpus:
        """A corpus of documents that share their buckets, of one of the kinds of corpora.HOT."""
        path = self.fresh(".jsonl")
        corpus = corpora.write_hot(path, kind, documents, size)
        flush(path)
        return corpus

    def queries(self, corpus: Corpus, count: int) -> Path:
        """Queries to a corpus, half of them near duplicates of its documents."""
        path = self.fresh(".queries.jsonl")
        corpora.write_queries(path, corpus, count)
        return path

    def init(self, shingle: str) -> Path:
        """A new, empty database."""
        path = self.fresh(".db")
        measure([*lshdb_command(), "init", "-d", path, "--shingle", shingle], sample=False)
        return path

    def add(self, database: Path, corpus: Corpus) -> Measured:
        """`lshdb add` of a corpus, from its start to its end."""
        measured = measure([*lshdb_command(), "add", "--json", "-d", database, corpus.path])
        report = json.loads(measured.out.splitlines()[-1])
        if report["added"] != corpus.documents or report["failed"]:
            raise SystemExit(f"lshdb add did not add {corpus.documents} documents: {report}")
        return measured

    def database(self, corpus: Corpus, shingle: str) -> Path:
        """A new database with the documents of a corpus."""
        path = self.init(shingle)
        self.add(path, corpus)
        return path

    def run(self, *, variables: Mapping[str, str] | None = None, **spec: Any) -> Run:
        """A task (see runs.py) in a process of its own."""
        command: list[str | Path] = [sys.executable, _RUNS, json.dumps(spec, default=str)]
        measured = measure(command, variables=variables)
        return Run(json.loads(measured.out.splitlines()[-1]), measured)

    def alternate(
        self, engines: Sequence[str], run: Callable[[str], dict[str, float]]
    ) -> dict[str, list[dict[str, float]]]:
        """Run every engine, and again, so that a change of the machine's pace meets them all."""
        done: dict[str, list[dict[str, float]]] = {engine: [] for engine in engines}
        for repetition in range(self.options.repeat):
            for engine in engines:
                self.say(f"  {engine} ({repetition + 1} of {self.options.repeat})")
                done[engine].append(run(engine))
        return done


@dataclass(frozen=True, slots=True)
class Run:
    """What a task printed, and what was measured from outside."""

    result: dict[str, Any]
    measured: Measured


def with_peak(values: dict[str, float], measured: Measured) -> dict[str, float]:
    """Some measures, and the peak of memory where it could be measured."""
    peak = measured.peak
    return values if peak is None else {**values, PEAK: peak / 1e6}


def bytes_on_disk(database: Path) -> int:
    """The size of a database with all the files that SQLite has beside it."""
    return sum(path.stat().st_size for path in database.parent.glob(database.name + "*"))


def flush(path: Path) -> None:
    """Bring a file to the disk, so that writing it does not slow down what is measured."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
