"""Processes that write and read one database at the same time, and what each of them saw.

    python scripts/measure torture.soak [SECONDS]

Takes a minute, or the given seconds. For half of the time one process writes and eight read, for
the other half four write and four read. Writers add, replace and remove batches of documents and
record what was acknowledged; at the end the file must hold exactly that. Readers look at one moment
of the file and check that each batch is whole or absent, and each document in all bands or in none.
All open and close the file again and again, so that the log is often created, copied and deleted.
"""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import lshdb
from lshdb.database import store_of
from lshdb.search.lookup import bucket_members, buckets_of
from measure.common.commands import own_script

BATCH: Final = 20
"""Documents in a batch, which is written in one transaction."""
_REOPEN: Final = 25
"""Operations after which a process closes the file and opens it again."""
_MARGIN: Final = 120.0
"""Seconds that processes have beyond their time before they count as hanging."""

State = dict[str, int]
"""The version of each batch that is in the file, by name; a batch that was removed is absent."""


def run(seconds: float, directory: Path | None = None) -> Counter[str]:
    """Write and read for some seconds, in a new database that is deleted at the end.

    Returns:
        operations: transactions and reads.
        acknowledged: documents written, counted again when they are replaced.
        lost: documents that were acknowledged and are not there, or not as they were, at the end.
        inconsistent: reads that saw a part of a batch, or a document in some bands only.
        locked: errors that the file is locked.
        tracebacks: any other errors.
        damaged: 1 if the file is not sound at the end.
        longest: maximum milliseconds that a write took, with its waiting.
        log: maximum bytes of the log.
    """
    total: Counter[str] = Counter()
    expected: dict[str, State] = {}
    with tempfile.TemporaryDirectory(dir=directory) as folder:
        path = Path(folder) / "soak.db"
        lshdb.open(path, shingle="word:2").close()
        log = path.with_name(path.name + "-wal")
        for phase, roles in enumerate(["w" + 8 * "r", 4 * "w" + 4 * "r"]):
            names = [f"{role}{phase}{number}" for number, role in enumerate(roles)]
            # A process that has loaded lshdb, and forks one for each name.
            command = own_script("torture.soak", "--parts", str(path), str(seconds / 2), *names)
            process = subprocess.Popen(command, start_new_session=True)
            until = time.monotonic() + seconds / 2 + _MARGIN
            while process.poll() is None:
                with suppress(OSError):
                    total["log"] = max(total["log"], log.stat().st_size)
                if time.monotonic() > until:
                    os.killpg(process.pid, signal.SIGKILL)
                time.sleep(0.01)
            for name in names:
                written = path.with_name(name)
                if not written.exists():  # it was killed, or died
                    total["tracebacks"] += 1
                    continue
                result = json.loads(written.read_bytes())
                longest = max(total["longest"], result["counts"].get("longest", 0))
                total.update(result["counts"])
                total["longest"] = longest
                if name[0] == "w":
                    expected[name] = result["state"]
        _compare(path, expected, total)
    return total


def _documents(batch: str, version: int) -> list[tuple[str, str]]:
    draw = random.Random(f"{batch} {version}")
    words = [f"w{draw.randrange(500)}" for _ in range(30)]
    # All of a batch are near duplicates, so that buckets are shared.
    return [(f"{batch}:{n}", f"{' '.join(words)} {version} {n}") for n in range(BATCH)]


def _compare(path: Path, expected: dict[str, State], total: Counter[str]) -> None:
    """Count acknowledged documents that are not in the file, and see whether it is damaged."""
    wanted = {
        key: text
        for state in expected.values()
        for batch, version in state.items()
        for key, text in _documents(batch, version)
    }
    with lshdb.open(path, mode="read") as db:
        stored = {str(row[0]): row[1] for row in db.sql("SELECT key, content FROM documents")}
        # What was removed must not be there either; of a writer that failed nothing is known.
        known = {key: text for key, text in stored.items() if key.split("-")[0] in expected}
        total["lost"] += sum(stored.get(key) != text for key, text in wanted.items())
        total["lost"] += len(known.keys() - wanted.keys())
        whole = _is_whole(db)
    with closing(sqlite3.connect(path)) as connection:
        sound = connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    total["damaged"] += not (sound and whole)


def _is_whole(db: lshdb.Database) -> bool:
    """Whether batches are whole, and documents have their rows, as far as numbers show."""
    ((wrong,),) = db.sql(
        f"""SELECT documents % {BATCH} OR documents <> signatures OR bands <> signatures * ? FROM
            (SELECT (SELECT count(*) FROM documents WHERE shingles > 0) AS documents,
                    (SELECT count(*) FROM signatures) AS signatures,
                    (SELECT count(*) FROM bands) AS bands)""",
        (db.settings.construction.bands,),
    )
    return not wrong


class _Part:
    """One of the processes."""

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self.name = name
        self.counts: Counter[str] = Counter()
        self.state: State = {}
        self.draw = random.Random(name)
        self._made = 0

    def work(self, seconds: float) -> None:
        """Do what this process does, for some seconds, at least once."""
        until = time.monotonic() + seconds
        writes = self.name[0] == "w"
        while True:
            try:
                with lshdb.open(self.path, mode="write" if writes else "read") as db:
                    for _ in range(_REOPEN):
                        (self.write if writes else self.read)(db)
                        self.counts["operations"] += 1
                        if time.monotonic() >= until:
                            return
            except lshdb.Busy:
                self.counts["locked"] += 1
            except Exception:
                self.counts["tracebacks"] += 1
                traceback.print_exc()
            if time.monotonic() >= until:
                return

    def write(self, db: lshdb.Database) -> None:
        """Add, replace or remove a batch."""
        begun = time.monotonic()
        choice = self.draw.random()
        batch = self.draw.choice(list(self.state)) if self.state and choice > 0.5 else None
        if batch is None:
            batch = f"{self.name}-{self._made}"
            self._made += 1
            db.add_many(_documents(batch, 0), workers=0)
            self.state[batch] = 0
        elif choice > 0.75:
            db.remove([key for key, _ in _documents(batch, self.state[batch])])
            del self.state[batch]
        else:
            version = self.state[batch] + 1
            db.add_many(_documents(batch, version), workers=0)
            self.state[batch] = version
        if batch in self.state:
            self.counts["acknowledged"] += BATCH
        taken = round(1000 * (time.monotonic() - begun))
        self.counts["longest"] = max(self.counts["longest"], taken)

    def read(self, db: lshdb.Database) -> None:
        """Look at one moment of the file."""
        choice = self.draw.random()
        if choice < 0.02:
            pairs = Counter(pair.a.split(":")[0] for pair in db.pairs(threshold=0.5))
            # The pairs of a batch with itself, all of them.
            of_batch = BATCH * (BATCH - 1) // 2
            self.counts["inconsistent"] += sum(count % of_batch != 0 for count in pairs.values())
            return
        if choice < 0.1:
            self.counts["inconsistent"] += not _is_whole(db)
            return
        keys = db.keys()
        if not keys:
            return
        key = self.draw.choice(keys)
        store = store_of(db)
        with store.reading():
            row = store.document(key)
            if row is None or row.signature is None:
                return
            found = bucket_members(store, buckets_of(store, row.signature).reshape(1, -1))
            in_bands = int((found.doc_ids == row.doc_id).sum())
        self.counts["inconsistent"] += in_bands != db.settings.construction.bands


def _fork(path: Path, seconds: float, names: list[str]) -> None:
    """Have a process for each name work, and write what it saw in a file beside the database."""
    for name in names:
        if os.fork() == 0:
            part = _Part(path, name)
            try:
                part.work(seconds)
                result = {"counts": part.counts, "state": part.state}
                path.with_name(name).write_text(json.dumps(result), "utf-8")
            finally:
                os._exit(0)
    for _ in names:
        os.wait()


def main() -> None:
    """Run from the command line."""
    if sys.argv[1:2] == ["--parts"]:
        path, seconds, *names = sys.argv[2:]
        _fork(Path(path), float(seconds), names)
        return
    for name, value in run(float(sys.argv[1]) if sys.argv[1:] else 60.0).items():
        print(f"{name:14} {value:,}")
