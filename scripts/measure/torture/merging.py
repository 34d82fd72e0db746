"""Kill merges of another database at any moment, while another process writes to the same file.

    python scripts/measure torture.merging [--kill-points 100] [--seed 1]

Takes six minutes for 100 kills. Each time a process that merges is killed with SIGKILL, and the
process that adds documents of its own goes on. The file must then be whole (check --deep), with
each acknowledged document of the writer. The same merge again must complete it: all documents of
the other database are there, and no other than these, the first ones and the writer's.
"""

from __future__ import annotations

import argparse
import itertools
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import lshdb
from measure.common.commands import own_script
from measure.torture import operations
from measure.torture.trial import Tally

_DOCUMENTS: Final = 3_000
_CHANGED: Final = 300
"""Documents that both databases have, with other elements."""
_LIMITS: Final = lshdb.Limits(batch_documents=150, reindex_rows=3_000)
_LATE: Final = lshdb.Limits(batch_documents=150, reindex_rows=3_000, late_from=1_000)


def documents(first: int, count: int, version: int = 0) -> list[tuple[str, list[int]]]:
    """Sets with their keys."""
    return [(f"d{i}", operations.elements(i, version)) for i in range(first, first + count)]


def write_until_killed(path: str) -> None:
    """Add documents, a few at a time, and print how many there are after each commit."""
    with lshdb.open(path) as db:
        for number in itertools.count(0, 5):
            some = documents(100_000 + number, 5)
            db.add_many(some, workers=0)
            print(number + 5, flush=True)
            time.sleep(0.002)


def merge_into(path: str, other: str, *, late: bool) -> None:
    """Merge another database in many small transactions."""
    with lshdb.open(path, limits=_LATE if late else _LIMITS) as db:
        db.add_files([other], on_batch=lambda report: print(report.documents, flush=True))


@contextmanager
def writer(path: Path, written: list[int]) -> Iterator[None]:
    """A process that writes meanwhile; at its end it is killed, too, and `written` says how far."""
    process = subprocess.Popen(
        own_script("torture.merging", "--write", str(path)), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        process.stdout.readline()
        yield
    finally:
        process.kill()
        rest, _ = process.communicate()
        written.append(int(rest.split()[-1]) if rest.split() else 5)


def sweep(directory: Path, kill_points: int, seed: int) -> tuple[Tally, int]:
    """Kill merges, and judge what each leaves; also how many were killed when a part was done."""
    chance, tally, amid = random.Random(seed), Tally(), 0
    base, other, path = (directory / name for name in ("base.db", "other.db", "lsh.db"))
    with lshdb.open(base, shingle="set", permutations=64) as db:
        db.add_many(documents(0, _DOCUMENTS))
    with lshdb.open(other, shingle="set", permutations=64) as db:
        db.add_many(documents(_DOCUMENTS - _CHANGED, _DOCUMENTS, version=1))
    expected = operations.contents(base) | operations.contents(other)
    while tally.faults < kill_points:
        for end in ("", "-wal", "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)
        shutil.copy(base, path)
        late = chance.random() < 0.5
        command = own_script("torture.merging", "--merge", str(path), str(other))
        command += ["--late"] * late
        where = f"fault {tally.faults}, seed {seed}, late {late}"
        written: list[int] = []
        tally.operations += 1
        transactions = chance.randint(0, _DOCUMENTS // _LIMITS.batch_documents)
        with (
            writer(path, written),
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process,
        ):
            assert process.stdout is not None
            for _ in range(transactions):
                process.stdout.readline()
            time.sleep(chance.uniform(0, 0.05))
            process.kill()
        tally.faults += process.returncode < 0
        amid += judge(tally, path, expected, written[0], where, whole=False)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            tally.tracebacks += 1
            tally.notes.append(f"{where}, again: {done.stderr}")
        judge(tally, path, expected, written[0], where, whole=True)
    return tally, amid


def judge(
    tally: Tally, path: Path, expected: operations.State, written: int, where: str, *, whole: bool
) -> bool:
    """See whether a file is whole, and has what it should have; all of it, if `whole`.

    Returns:
        Whether a part of the merge is done.
    """
    report = lshdb.check(path, deep=True)
    if not report.ok:
        tally.wrong += 1
        tally.notes.append(f"{where}: {report.problems}")
    found = operations.contents(path)
    theirs = {key: frozenset(one) for key, one in documents(100_000, written)}
    lost = sum(found.get(key) != one for key, one in theirs.items())
    for key in [key for key in found if int(key[1:]) >= 100_000]:
        del found[key]  # what was written and not printed is there, too
    with closing(lshdb.open(path)) as db:
        unindexed = db.info().unindexed
    if whole:
        lost += found != expected or unindexed > 0
    else:
        first = {key: frozenset(one) for key, one in documents(0, _DOCUMENTS)}
        lost += not first.keys() <= found.keys()
        lost += any(one not in (first.get(key), expected.get(key)) for key, one in found.items())
    if lost:
        tally.lost += lost
        tally.notes.append(f"{where}: {lost} lost or wrong, whole {whole}")
    added = len(found) - _DOCUMENTS
    return unindexed > 0 or 0 < added < len(expected) - _DOCUMENTS


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kill-points", type=int, default=100, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--late", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--write", help=argparse.SUPPRESS)
    parser.add_argument("--merge", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write:
        write_until_killed(given.write)
    if given.merge:
        merge_into(*given.merge, late=given.late)
        return 0
    with tempfile.TemporaryDirectory(prefix="lshdb-merging-") as directory:
        tally, amid = sweep(Path(directory), given.kill_points, given.seed)
    print(
        f"{tally.faults} killed of {tally.operations}, {amid} of them with a part done; "
        f"{tally.lost} lost, {tally.wrong} wrong, {tally.tracebacks} tracebacks",
        *tally.notes,
        sep="\n",
    )
    return int(bool(tally.notes))
