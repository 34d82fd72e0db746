"""Kill processes that change a database, at any statement or moment, and check what is left.

    python scripts/measure torture.crashes [--kill-points 200]

Takes three minutes for 200 kills. A process that adds, updates, removes, reindexes or deduplicates
is killed with SIGKILL: at a statement of SQLite on any connection, or, if it is the installed
command, at some moment. Then the file must open and pass lshdb's own check. Every acknowledged step
must be in it; the batch under way must be there whole (its commit was done, but the process died
before it could say so) or not at all. All similar pairs must be those of a new file with the same
documents, and running the operation again must complete it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import signal
import sqlite3
import subprocess
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import lshdb
from measure.common.commands import lshdb_command, own_script
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
_MANY_TIMES: Final = 3600.0


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
            timed = turn % _TIMED == 1
            for operation in (self._large if timed else self._small).operations:
                if timed:
                    self._at_moment(operation)
                else:
                    self._at_statement(operation)
                yield

    @cached_property
    def _large(self) -> Bench:
        """What commands are killed on; not made where none is."""
        return Bench(self._directory / "large", self._documents)

    def _undisturbed(self, operation: Operation) -> Ended:
        bench = self._small
        path = bench.fresh()
        ended = in_child(operation, path, None)
        assert ended.status == 0, operation.name
        assert sum(ended.acknowledged) == len(operation.steps), operation.name
        self._know(bench, operation, path)
        return ended

    def _timed(self, operation: Operation) -> float:
        path = self._large.fresh()
        begun = time.monotonic()
        subprocess.run(_command(operation, path), check=True, capture_output=True)
        taken = time.monotonic() - begun
        self._know(self._large, operation, path)
        return taken

    def _know(self, bench: Bench, operation: Operation, path: Path) -> None:
        """What an operation comes to that nobody disturbs."""
        after = bench.after[operation.name] = contents(path)
        gone = {key for keys in operation.steps for key in keys}
        expected = {
            "remove": {key: one for key, one in bench.before.items() if key not in gone},
            "reindex": bench.before,
            # What dedup keeps is for other tests to judge.
            "dedup": bench.before | {key: after[key] for key in after.keys() & gone},
        }
        given = bench.given.get(operation.name, {})
        assert after == expected.get(operation.name, bench.before | given), operation.name

    def _at_statement(self, operation: Operation) -> None:
        bench, whole = self._small, self._whole[operation.name]
        kill_at = self._chance.randint(1, whole.statements)
        if whole.commits and self._chance.random() < 0.4:
            kill_at = self._chance.choice(whole.commits) + self._chance.choice((0, 1))
        path = bench.fresh()
        ended = in_child(operation, path, kill_at)
        where = f"{operation.name} at statement {kill_at} of seed {self._seed}"
        self._count(ended.status, where)
        done = sum(ended.acknowledged)
        boundaries = [0, *itertools.accumulate(whole.acknowledged)]
        batches = [done, *(end for end in boundaries if end > done)][:2]
        if done not in boundaries:
            self._wrong(f"{where}: acknowledged {done} steps")
        found = self._judge(bench, operation, path, done, batches, where)
        if found is not None:
            with lshdb.open(path, mode="read") as db:
                threshold = db.settings.threshold
                if pairs(db) != bench.pairs(found, threshold):
                    self._wrong(f"{where}: other pairs")
        self.tally.operations += 1
        try:
            operation.run(path, lambda _: None)
        except Exception:
            self._broken(f"{where}, again: {traceback.format_exc(limit=-4)}")
        self._judge_end(bench, operation, path, where)

    def _at_moment(self, operation: Operation) -> None:
        bench = self._large
        if operation.name not in self._seconds:
            self._seconds[operation.name] = self._timed(operation)
        path = bench.fresh()
        share = self._chance.random()
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
        every = range(done, len(operation.steps) + 1)
        self._judge(bench, operation, path, done, every, where)
        again = subprocess.run(
            _command(operation, path), capture_output=True, text=True, check=False
        )
        self.tally.operations += 1
        if again.returncode not in (0, operation.again) or "Traceback" in again.stderr:
            self._broken(f"{where}, again: {again.stderr}")
        self._judge_end(bench, operation, path, where)

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
            self._wrong(f"{where}: threshold {threshold}")
        if not set(possible).isdisjoint(bench.steps_done(operation, found)):
            return found
        self._wrong(f"{where}: neither what was before a batch, nor what was after it")
        return None

    def _judge_end(self, bench: Bench, operation: Operation, path: Path, where: str) -> None:
        """See that all is done."""
        threshold = self._check(path, where, deep=bench is self._small)
        if contents(path) != bench.after[operation.name]:
            self._wrong(f"{where}: doing it again did not complete it")
        with lshdb.open(path, mode="read") as db:
            if db.info().unindexed:
                self._wrong(f"{where}: doing it again left band rows to be written")
        if threshold != (LOWER if operation.name == "reindex" else THRESHOLD):
            self._wrong(f"{where}: threshold {threshold} in the end")

    def _check(self, path: Path, where: str, *, deep: bool) -> float | None:
        """Open a file and have it checked: its threshold."""
        try:
            report = lshdb.check(path, deep=deep)
            if not report.ok:
                self._wrong(f"{where}: {report.problems}")
            with lshdb.open(path) as db:
                return db.settings.threshold
        except Exception:
            self._broken(f"{where}: {traceback.format_exc(limit=-4)}")
            return None

    def _count(self, status: int, where: str) -> None:
        self.tally.operations += 1
        if status == -signal.SIGKILL:
            self.tally.faults += 1
        elif status:
            self._broken(f"{where}: status {status}")

    def _wrong(self, note: str) -> None:
        self.tally.wrong += 1
        self.tally.notes.append(note)

    def _broken(self, note: str) -> None:
        self.tally.tracebacks += 1
        self.tally.notes.append(note)


def _command(operation: Operation, path: Path) -> list[str]:
    name, *arguments = operation.command
    return [*map(str, lshdb_command()), name, "-d", str(path), *arguments]


def sweep(kill_points: int, seconds: float, seed: int, documents: int = _LARGE) -> Tally:
    """Kill until the number or the time is reached; in this process, which forks."""
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="lshdb-crashes-") as directory:
        swept = Sweep(Path(directory), seed, documents)
        for _ in swept.kills():
            if swept.tally.faults >= kill_points or time.monotonic() > end:
                return swept.tally
    raise AssertionError("kills have no end")


def run(
    kill_points: int = 200,
    seconds: float = _MANY_TIMES,
    seed: int = 1,
    documents: int = _LARGE,
) -> dict[str, Any]:
    """The figures of a sweep, which is done in a separate process.

    Args:
        kill_points: how many processes are killed.
        seconds: after which it ends all the same.
        seed: of the choice of statements and moments.
        documents: in the file whose commands are killed at a moment.

    Returns:
        operations, faults (processes killed), lost (acknowledged documents), wrong (answers, or
        states of a file), tracebacks, and notes on each of the last three.
    """
    options = ["--kill-points", str(kill_points), "--seconds", str(seconds), "--seed", str(seed)]
    options += ["--documents", str(documents)]
    done = subprocess.run(
        own_script("torture.crashes", "--json", *options),
        stdout=subprocess.PIPE,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kill-points", type=int, default=200, metavar="N")
    parser.add_argument("--seconds", type=float, default=_MANY_TIMES, help="maximum")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--documents",
        type=int,
        default=_LARGE,
        metavar="N",
        help="in the file whose commands are killed at a moment (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    tally = sweep(given.kill_points, given.seconds, given.seed, given.documents)
    if given.json:
        print(json.dumps(asdict(tally)))
        return 0
    for name, value in asdict(tally).items():
        if name != "notes":
            print(f"{name:<11}{value:>6}")
    for note in tally.notes:
        print(note)
    return int(bool(tally.notes))
