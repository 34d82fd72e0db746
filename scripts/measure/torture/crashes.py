"""Kill processes that change a database, at any statement or moment, and check what is left.

A part of scripts/torture. A process that adds, updates, removes, reindexes or deduplicates
is killed with SIGKILL: at a statement of SQLite on any connection, or, if it is the installed
command, at some moment. Then the file must open and pass lshdb's own check. Every acknowledged step
must be in it; the batch under way must be there whole (its commit was done, but the process died
before it could say so) or not at all. All similar pairs must be those of a new file with the same
documents, and running the operation again must complete it.
"""

import itertools
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, TextIO, TypeAlias

import lshdb
from lshdb.database import store_of
from lshdb.errors import KeyNotFound
from lshdb.options import AddManyOptions
from lshdb.write.add import add_documents
from measure.common.commands import lshdb_command
from measure.torture.trial import Tally

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
        options = AddManyOptions(workers=0, on_batch=lambda report: acknowledge(report.documents))
        add_documents(store_of(db), documents, options, late_bands=True)


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


# the sweep

_FEW: Final = 90
"""Documents of a file whose statements are counted."""
_MANY: Final = 6_000
"""Documents of a file whose command is killed at some moment; a batch has 4,000."""
_TIMED: Final = 5
"""One kill in this many is at a moment, not at a statement."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended: its status, the steps that it acknowledged, the statements it ran."""

    status: int
    acknowledged: list[int]
    statements: int
    commits: list[int]


def in_child(operation: Operation, path: Path, kill_at: int | None) -> Ended:
    """Do an operation in a separate process, which dies at a statement."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(reading)
            with open(writing, "w") as pipe:
                _counting(operation, path, kill_at, pipe)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writing)
    with open(reading, "rb") as pipe:
        lines = pipe.read().splitlines()
    _, status = os.waitpid(pid, 0)
    printed = [json.loads(line) for line in lines]
    counted = printed.pop() if printed and isinstance(printed[-1], dict) else None
    statements, commits = (counted["statements"], counted["commits"]) if counted else (0, [])
    return Ended(os.waitstatus_to_exitcode(status), printed, statements, commits)


def _counting(operation: Operation, path: Path, kill_at: int | None, pipe: TextIO) -> None:
    """Do an operation and count the statements of all connections; in the child."""
    numbers = itertools.count(1)
    commits: list[int] = []
    last = 0

    def trace(statement: str) -> None:
        nonlocal last
        last = next(numbers)
        if last == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if statement == "COMMIT":
            commits.append(last)

    def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = own(*arguments, **options)
        connection.set_trace_callback(trace)
        return connection

    own, sqlite3.connect = sqlite3.connect, connect  # type: ignore[assignment]
    operation.run(path, lambda steps: print(steps, file=pipe, flush=True))
    print(json.dumps({"statements": last, "commits": commits}), file=pipe, flush=True)


class Sweep:
    """Kills, and judges what is left."""

    def __init__(self, directory: Path, seed: int, documents: int) -> None:
        self.tally = Tally()
        self._documents = documents
        self._seed = seed
        self._chance = random.Random(seed)
        self._small = Bench(directory / "small", _FEW)
        self._whole = {one.name: self._undisturbed(one) for one in self._small.operations}
        self._directory = directory
        self._seconds: dict[str, float] = {}

    def kills(self) -> Iterator[None]:
        """Kill each operation in turn, without end."""
        for turn in itertools.count():
            is_timed = turn % _TIMED == 1
            for operation in (self._large if is_timed else self._small).operations:
                (self._at_moment if is_timed else self._at_statement)(operation)
                yield

    @cached_property
    def _large(self) -> Bench:
        """What commands are killed on; not made where none is."""
        return Bench(self._directory / "large", self._documents)

    def _undisturbed(self, operation: Operation) -> Ended:
        path = self._small.fresh()
        ended = in_child(operation, path, None)
        assert ended.status == 0, operation.name
        assert sum(ended.acknowledged) == len(operation.steps), operation.name
        self._small.know(operation, path)
        return ended

    def _at_statement(self, operation: Operation) -> None:
        whole, path = self._whole[operation.name], self._small.fresh()
        kill_at = self._chance.randint(1, whole.statements)
        if whole.commits and self._chance.random() < 0.4:
            kill_at = self._chance.choice(whole.commits) + self._chance.choice((0, 1))
        where = f"{operation.name} at statement {kill_at} of seed {self._seed}"
        ended = in_child(operation, path, kill_at)
        self._count(ended.status, where)
        done = sum(ended.acknowledged)
        boundaries = [0, *itertools.accumulate(whole.acknowledged)]
        batches = [done, *(end for end in boundaries if end > done)][:2]
        if done not in boundaries:
            self.tally.error(f"{where}: acknowledged {done} steps")
        found = self._judge(self._small, operation, path, done, batches, where)
        if found is not None:
            with lshdb.open(path, mode="read") as db:
                if pairs(db) != self._small.pairs(found, db.settings.threshold):
                    self.tally.error(f"{where}: other pairs")
        try:
            operation.run(path, lambda _: None)
        except Exception:
            self.tally.defect(f"{where}, again: {traceback.format_exc(limit=-4)}")
        self._judge_end(self._small, operation, path, where)

    def _at_moment(self, operation: Operation) -> None:
        name, *arguments = operation.command
        command = [*map(str, lshdb_command()), name, "-d", str(self._large.copy), *arguments]
        if operation.name not in self._seconds:
            path, begun = self._large.fresh(), time.monotonic()
            subprocess.run(command, check=True, capture_output=True)
            self._seconds[operation.name] = time.monotonic() - begun
            self._large.know(operation, path)
        share, path = self._chance.random(), self._large.fresh()
        where = f"lshdb {operation.name} after {share:.3f} of its time, seed {self._seed}"
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        begun = time.monotonic()
        log = path.with_name(path.name + "-wal")
        # Before it opens the file there is nothing to break.
        while not log.exists() and process.poll() is None:
            time.sleep(0.001)
        left = self._seconds[operation.name] - (time.monotonic() - begun)
        time.sleep(max(0.0, share * left))
        process.kill()
        process.communicate()
        self._count(process.returncode, where)
        done = 0 if process.returncode else len(operation.steps)
        possible = range(done, len(operation.steps) + 1)
        self._judge(self._large, operation, path, done, possible, where)
        again = subprocess.run(command, capture_output=True, text=True, check=False)
        if again.returncode not in (0, operation.again) or "Traceback" in again.stderr:
            self.tally.defect(f"{where}, again: {again.stderr}")
        self._judge_end(self._large, operation, path, where)

    def _judge(
        self,
        bench: Bench,
        operation: Operation,
        path: Path,
        done: int,
        possible: Sequence[int],
        where: str,
    ) -> State | None:
        """See what a killed process left; the state that the file is in, if it is a right one."""
        threshold = self._check(path, where, deep=bench is self._small)
        found = contents(path)
        acknowledged = bench.state(operation, done)
        keys = {key for step in operation.steps[:done] for key in step}
        # The batch after it may have changed a key again, but no operation here does.
        lost = sum(found.get(key) != acknowledged.get(key) for key in keys)
        if operation.name == "reindex" and done and threshold != LOWER:
            lost += 1
        if lost:
            self.tally.lost += lost
            self.tally.notes.append(f"{where}: {lost} lost")
        if threshold not in ((THRESHOLD, LOWER) if operation.name == "reindex" else (THRESHOLD,)):
            self.tally.error(f"{where}: threshold {threshold}")
        if not set(possible).isdisjoint(bench.steps_done(operation, found)):
            return found
        self.tally.error(f"{where}: neither what was before a batch, nor what was after it")
        return None

    def _judge_end(self, bench: Bench, operation: Operation, path: Path, where: str) -> None:
        """See that all is done, after the operation was repeated."""
        self.tally.operations += 1
        threshold = self._check(path, where, deep=bench is self._small)
        if contents(path) != bench.after[operation.name]:
            self.tally.error(f"{where}: doing it again did not complete it")
        with lshdb.open(path, mode="read") as db:
            if db.info().unindexed:
                self.tally.error(f"{where}: doing it again left band rows to be written")
        if threshold != (LOWER if operation.name == "reindex" else THRESHOLD):
            self.tally.error(f"{where}: threshold {threshold} in the end")

    def _check(self, path: Path, where: str, *, deep: bool) -> float | None:
        """Open a file and have it checked: its threshold."""
        try:
            report = lshdb.check(path, deep=deep)
            if not report.ok:
                self.tally.error(f"{where}: {report.problems}")
            with lshdb.open(path) as db:
                return db.settings.threshold
        except Exception:
            self.tally.defect(f"{where}: {traceback.format_exc(limit=-4)}")
            return None

    def _count(self, status: int, where: str) -> None:
        self.tally.operations += 1
        if status == -signal.SIGKILL:
            self.tally.faults += 1
        elif status:
            self.tally.defect(f"{where}: status {status}")


def work(
    number: int,
    seconds: float,
    directory: str,
    kill_points: int = 1 << 60,
    documents: int = _MANY,
) -> Tally:
    """Kill for some seconds, or up to a number of processes; in this process, which forks.

    `documents` are in the file whose commands are killed at a moment.
    """
    end = time.monotonic() + seconds
    sweep = Sweep(Path(directory), number, documents)
    for _ in sweep.kills():
        if sweep.tally.faults >= kill_points or time.monotonic() > end:
            break
    return sweep.tally
