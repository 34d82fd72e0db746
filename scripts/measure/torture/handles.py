"""Many handles of one process: threads that open, query and close one file, beside a writer.

    python scripts/measure torture.handles [--threads 8] [--rounds 500]

Takes half a minute; prints what was refused, and exits with 1 if anything was. The last handle to
close deletes the log, which must not look to another thread as if somebody else had.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
from pathlib import Path

import lshdb

TEXT = "the fox and the grapes that hang above number "


def run(path: Path, threads: int, rounds: int, *, writer: bool) -> list[str]:
    """What was refused; the file is made."""
    with lshdb.open(path) as db:
        db.add_many((f"k{i}", TEXT + str(i)) for i in range(20))
    refused: list[str] = []
    over = threading.Event()

    def read() -> None:
        for _ in range(rounds):
            try:
                with lshdb.open(path, mode="read") as db:
                    if [match.key for match in db.query(TEXT + "7", top=1)] != ["k7"]:
                        refused.append("another answer")
            except lshdb.LshdbError as error:
                refused.append(str(error))

    def write() -> None:
        number = 0
        while not over.is_set():
            try:
                with lshdb.open(path) as db:
                    db.add(f"new {number}", f"something else {number}")
            except lshdb.LshdbError as error:
                refused.append(str(error))
            number += 1

    beside = threading.Thread(target=write)
    readers = [threading.Thread(target=read) for _ in range(threads)]
    if writer:
        beside.start()
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    over.set()
    if writer:
        beside.join()
    return refused


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=500)
    options = parser.parse_args()
    refused = []
    for threads in (2, options.threads):
        for writer in (False, True):
            with tempfile.TemporaryDirectory() as directory:
                path = Path(directory) / "lsh.db"
                some = run(path, threads, options.rounds, writer=writer)
            print(f"{threads} threads{' and a writer' if writer else ''}: {len(some)} refused")
            refused += some
    if refused:
        raise SystemExit("\n".join(sorted(set(refused))))


if __name__ == "__main__":
    main()
