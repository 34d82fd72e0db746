"""The operations that crashes.py kills, and what a file holds after each of their steps."""

from __future__ import annotations

import itertools
import json
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

import lshdb
from lshdb.errors import KeyNotFound

THRESHOLD: Final = 0.7
LOWER: Final = 0.5
"""The thresholds of a file, and after reindexing."""
SMALL: Final = lshdb.Limits(
    batch_documents=15, documents_read=20, reindex_bytes=4_000, reindex_rows=10, late_from=15
)
"""Small batches, so that there are many moments between them; most band rows come late."""

Elements: TypeAlias = frozenset[int]
State: TypeAlias = dict[str, Elements]
Documents: TypeAlias = Sequence[tuple[str, list[int]]]
Acknowledge: TypeAlias = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Operation:
    """A change to a file, done in steps that are acknowledged.

    Attributes:
        run: does it to a file, and acknowledges each number of steps as they are done.
        steps: the keys whose documents each step changes.
        command: what does the same on the command line, after the name of the file.
        expected: what the file holds at the end; None for dedup, which other tests judge.
        again: the exit status that the command may have when all was done before.
    """

    name: str
    run: Callable[[Path, Acknowledge], None]
    steps: list[list[str]]
    command: list[str]
    expected: State | None
    again: int = 0


def elements(number: int, version: int = 0) -> list[int]:
    """Sets of which three in a row are near duplicates."""
    return [*range(number // 3 * 9, number // 3 * 9 + 8), -number * 9 - version]


class Bench:
    """A file, the operations on it, and what the file holds after each step of them."""

    def __init__(self, directory: Path, documents: int) -> None:
        directory.mkdir()
        self.directory = directory
        self.base = directory / "base.db"
        self.copy = directory / "copy" / "lsh.db"
        old = [(f"d{i}", elements(i)) for i in range(documents)]
        new = [(f"n{i}", elements(documents + i)) for i in range(documents * 2 // 3)]
        changed = [(key, elements(i, 1)) for i, (key, _) in enumerate(old[: documents // 2])]
        # Of three lines in a row one is kept, or none if the base has such documents.
        lines = [(f"l{i}", elements(i + documents // 2, 2)) for i in range(documents)]
        with lshdb.open(self.base, shingle="set", threshold=THRESHOLD, permutations=64) as db:
            db.add_many(old)
        files = _write(directory / "lines", lines, 6)
        other = directory / "merged.db"
        both = [*changed[:20], *new]
        with lshdb.open(other, shingle="set", threshold=THRESHOLD, permutations=64) as db:
            db.add_many(both)
        gone = [[key for key, _ in old[i : i + 5]] for i in range(0, documents // 3, 5)]
        self.before = contents(self.base)
        assert len(self.before) == documents
        removed = {*itertools.chain.from_iterable(gone)}

        def adding(
            name: str, documents: Documents, run: Callable[..., None], paths: list[str]
        ) -> Operation:
            expected = self.before | {key: frozenset(one) for key, one in documents}
            steps = [[key] for key, _ in documents]
            return Operation(name, run, steps, ["add", *paths], expected)

        self.operations = [
            adding("add", new, partial(_add, new), _write(directory / "new", new, 3)),
            adding(
                "update", changed, partial(_add, changed), _write(directory / "changed", changed, 3)
            ),
            Operation(
                "remove",
                partial(_remove, gone),
                gone,
                ["remove", *removed],
                {key: one for key, one in self.before.items() if key not in removed},
                again=1,
            ),
            adding("merge", both, partial(_merge, other), [str(other)]),
            Operation(
                "reindex", _reindex, [[]], ["reindex", "--threshold", str(LOWER)], self.before
            ),
            Operation(
                "dedup",
                partial(_dedup, files),
                [[key] for key, _ in lines],
                ["dedup", *files, "-o", str(directory / "kept.jsonl")],
                None,
            ),
        ]
        self.after: dict[str, State] = {}
        self._pairs: dict[object, set[tuple[str, str, float]]] = {}

    def know(self, operation: Operation, path: Path) -> None:
        """See what an operation comes to that nobody disturbs."""
        after = self.after[operation.name] = contents(path)
        expected = operation.expected
        if expected is None:
            gone = {key for keys in operation.steps for key in keys}
            expected = self.before | {key: after[key] for key in after.keys() & gone}
        assert after == expected, operation.name

    def fresh(self) -> Path:
        """The file as it is before an operation."""
        shutil.rmtree(self.copy.parent, ignore_errors=True)
        self.copy.parent.mkdir()
        shutil.copy(self.base, self.copy)
        return self.copy

    def state(self, operation: Operation, done: int) -> State:
        """What the file holds after some number of steps."""
        state = dict(self.before)
        for key in itertools.chain.from_iterable(operation.steps[:done]):
            state.pop(key, None)
            if key in self.after[operation.name]:
                state[key] = self.after[operation.name][key]
        return state

    def steps_done(self, operation: Operation, found: State) -> range:
        """The numbers of steps after which a file holds just this; none if it never does."""
        after = self.after[operation.name]
        # Some steps change nothing: a line that is dropped, all of reindexing.
        changing = [
            number
            for number, keys in enumerate(operation.steps)
            if any(self.before.get(key) != after.get(key) for key in keys)
        ]
        done = sum(
            all(found.get(key) == after.get(key) for key in operation.steps[number])
            for number in changing
        )
        first = changing[done - 1] + 1 if done else 0
        last = changing[done] if done < len(changing) else len(operation.steps)
        return range(first, last + 1) if found == self.state(operation, first) else range(0)

    def pairs(self, state: State, threshold: float) -> set[tuple[str, str, float]]:
        """The similar pairs of a file that is made with these documents at once."""
        name = (frozenset(state.items()), threshold)
        if name not in self._pairs:
            other = self.directory / "other.db"
            with lshdb.open(other, shingle="set", threshold=threshold, permutations=64) as db:
                db.add_many((key, list(one)) for key, one in state.items())
                self._pairs[name] = pairs(db)
            other.unlink()
        return self._pairs[name]


def _write(name: Path, documents: Documents, files: int) -> list[str]:
    """Write JSON lines, in several files: each is a batch of its own where these are small."""
    share = -(-len(documents) // files)
    paths = []
    for start in range(0, len(documents), share):
        path = name.with_name(f"{name.name}{start}.jsonl")
        some = documents[start : start + share]
        path.write_text("".join(json.dumps({"id": k, "set": one}) + "\n" for k, one in some))
        paths.append(str(path))
    return paths


def _add(documents: Documents, path: Path, acknowledge: Acknowledge) -> None:
    with lshdb.open(path, limits=SMALL) as db:
        db.add_many(documents, workers=0, on_batch=lambda report: acknowledge(report.documents))


def _merge(other: Path, path: Path, acknowledge: Acknowledge) -> None:
    with lshdb.open(path, limits=SMALL) as db:
        db.add_files([str(other)], on_batch=lambda report: acknowledge(report.documents))


def _remove(groups: list[list[str]], path: Path, acknowledge: Acknowledge) -> None:
    with lshdb.open(path, limits=SMALL) as db:
        for keys in groups:
            with suppress(KeyNotFound):  # the second time some are gone
                db.remove(keys)
            acknowledge(1)


def _reindex(path: Path, acknowledge: Acknowledge) -> None:
    with lshdb.open(path, limits=SMALL) as db:
        db.reindex(threshold=LOWER, recall=0.99)
        acknowledge(1)


def _dedup(files: list[str], path: Path, acknowledge: Acknowledge) -> None:
    with lshdb.open(path, limits=SMALL) as db:
        rows = db.dedup_files(
            files, workers=0, on_batch=lambda report: acknowledge(report.documents)
        )
        for _ in rows:
            pass


def contents(path: Path) -> State:
    """The documents of a file, read past lshdb."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT key, content FROM documents").fetchall()
    return {key: frozenset(json.loads(content)) for key, content in rows}


def pairs(db: lshdb.Database) -> set[tuple[str, str, float]]:
    """All similar pairs, whatever the order of addition."""
    return {(*sorted((pair.a, pair.b)), pair.similarity) for pair in db.pairs()}  # type: ignore[misc]
