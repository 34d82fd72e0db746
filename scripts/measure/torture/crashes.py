"""Kill processes that change a database, at any statement or moment, and check what is left.

A part of scripts/torture. A process that adds, updates, removes, reindexes or deduplicates
is killed with SIGKILL: at a statement of SQLite on any connection, or, if it is the installed
command, at some moment. Then the file must open and pass lshdb's own check. Every acknowledged step
must be in it; the batch under way must be there whole (its commit was done, but the process died
before it could say so) or not at all. All similar pairs must be those of a new file with the same
documents, and running the operation again must complete it.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import sqlite3
import subprocess
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import lshdb
from measure.common.commands import lshdb_command
from measure.torture.operations import (
    LOWER,
    THRESHOLD,
    Bench,
    Operation,
    State,
    contents,
    pairs,
)
from measure.torture.trial import Tally

_SMALL: Final = 90
"""Documents of a file whose statements are counted."""
_LARGE: Final = 6_000
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
            _counting(operation, path, kill_at, writing)
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


def _counting(operation: Operation, path: Path, kill_at: int | None, pipe: int) -> None:
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
    operation.run(path, lambda steps: _write_line(pipe, str(steps)))
    os.write(pipe, json.dumps({"statements": last, "commits": commits}).encode() + b"\n")


def _write_line(pipe: int, text: str) -> None:
    os.write(pipe, text.encode() + b"\n")


class Sweep:
    """Kills, and judges what is left."""

    def __init__(self, directory: Path, seed: int, documents: int) -> None:
        self.tally = Tally()
        self._documents = documents
        self._seed = seed
        self._chance = random.Random(seed)
        self._small = Bench(directory / "small", _SMALL)
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

    def _timed(self, operation: Operation) -> float:
        path = self._large.fresh()
        begun = time.monotonic()
        subprocess.run(_command(operation, path), check=True, capture_output=True)
        taken = time.monotonic() - begun
        self._large.know(operation, path)
        return taken

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
        if operation.name not in self._seconds:
            self._seconds[operation.name] = self._timed(operation)
        share, path = self._chance.random(), self._large.fresh()
        where = f"lshdb {operation.name} after {share:.3f} of its time, seed {self._seed}"
        process = subprocess.Popen(
            _command(operation, path), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
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
        again = subprocess.run(
            _command(operation, path), capture_output=True, text=True, check=False
        )
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


def _command(operation: Operation, path: Path) -> list[str]:
    name, *arguments = operation.command
    return [*map(str, lshdb_command()), name, "-d", str(path), *arguments]


def work(
    number: int,
    seconds: float,
    directory: str,
    kill_points: int = 1 << 60,
    documents: int = _LARGE,
) -> Tally:
    """Kill for some seconds, or up to a number of processes; in this process, which forks.

    Args:
        number: the seed of the choice of statements and moments.
        seconds: after which it ends.
        directory: where files are made.
        kill_points: the maximum number of killed processes.
        documents: in the file whose commands are killed at a moment.
    """
    end = time.monotonic() + seconds
    sweep = Sweep(Path(directory), number, documents)
    for _ in sweep.kills():
        if sweep.tally.faults >= kill_points or time.monotonic() > end:
            break
    return sweep.tally
