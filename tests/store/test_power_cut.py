"""What was acknowledged survives a power cut: a disk that forgets what was not synced.

A process that changes a database runs under strace, which records each write to a file, each sync
and each acknowledgement, in order. From the record the disk is rebuilt as a power cut at some
moment may leave it: what was synced is there; of what was written since, all, nothing, or any
sectors. An acknowledgement has the state of the database then; afterwards the file has this state,
or more or all of the next one.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import pytest
from helpers import unmeasured

import lshdb
from lshdb.offers import is_there

SECTOR: Final = 512
CALLS: Final = "openat,pwrite64,write,fsync,fdatasync,ftruncate,unlink,rename"

PROGRAMS: Final = {
    "one by one": """
for i in range(12):
    db.add(f"k{i}", text(i))
    acknowledge()
db.remove("k7")
acknowledge()
""",
    "in batches": """
db.add_many(
    ((f"k{i}", text(i)) for i in range(120)), on_batch=lambda _: acknowledge(), workers=0
)
db.reindex(threshold=0.5)
acknowledge()
""",
    "sync": """
for i in range(60):
    (texts / f"{i}.txt").write_text(text(i))
db.sync([str(texts)], on_batch=lambda _: acknowledge(), workers=0)
acknowledge()
for i in range(20):
    (texts / f"{i}.txt").unlink()
    (texts / f"{i + 20}.txt").write_text(text(i + 100))
    (texts / f"{i + 40}.txt").unlink()  # it is moved
    (texts / f"{i}.md").write_text(text(i + 40))
db.sync([str(texts)], on_batch=lambda _: acknowledge(), workers=0)
acknowledge()
""",
    "decisions": """
db.add_many((f"k{i}", text(i)) for i in range(12))
acknowledge()
for i in range(0, 10, 2):
    db.decide("keep", [f"k{i}"])
    acknowledge()
    db.decide("different", [f"k{i}", f"k{i + 1}"])
    acknowledge()
for number in (2, 4):
    db.undo_decision(number)
    acknowledge()
""",
    "repair": """
db.add_many((f"k{i}", text(i)) for i in range(60))
acknowledge()
for damage in ("DELETE FROM bands", "DELETE FROM signatures WHERE doc_id > 20"):
    with contextlib.closing(sqlite3.connect("lsh.db", isolation_level=None)) as other:
        other.execute(damage)
    acknowledge()
    assert lshdb.check(db.path, repair=True).ok
    acknowledge()
""",
    "dedup": """
rows = [{"id": f"k{i}", "text": text(i % 90)} for i in range(120)]
(texts / "rows.jsonl").write_text("\\n".join(map(json.dumps, rows)))
acknowledge()
assert list(db.dedup_files([str(texts / "rows.jsonl")], workers=0))
acknowledge()
""",
}
FEWEST: Final = {
    "one by one": 140,
    "in batches": 100,
    "sync": 100,
    "decisions": 110,
    "repair": 90,
    "dedup": 60,
}
"""States of the disk that are tried: 600 in all."""
HEAD: Final = """
import contextlib, json, os, pathlib, sqlite3
import lshdb
from lshdb.offers import is_there
# So that the log begins again within the test.
limits = lshdb.Limits(batch_documents=40, checkpoint_pages=20)
texts = pathlib.Path("../texts")
def text(i):
    return " ".join(f"{i * i % 97} word{j * i}" for j in range(60))
def acknowledge():
    state = {
        "keys": db.keys(), "decisions": decisions(db),
        "threshold": [db.settings.threshold],
        "whole": [] if lshdb.check(db.path).ok else ["damaged"],
    }
    os.write(1, f"{json.dumps(state)}\\n".encode())
def decisions(db):
    return [one.decision for one in db.decisions()] if is_there("review") else []
db = lshdb.open("lsh.db", threshold=0.7, limits=limits)
acknowledge()
"""
TAIL: Final = """
db.close()
with lshdb.open("lsh.db", limits=limits) as db:
    db.add("late", text(12))
    acknowledge()
"""


@dataclass(slots=True)
class File:
    """A file's bytes on the disk, and what was written and not synced since."""

    synced: bytearray = field(default_factory=bytearray)
    since: list[tuple[int, bytes] | int] = field(default_factory=list)
    """Writes (place, bytes), and sizes that it was cut to."""


Leaving: TypeAlias = Literal["nothing", "everything", "some"]


class Disk:
    """Files of one directory, and their names, of which new ones need a sync of the directory."""

    def __init__(self) -> None:
        self.names: dict[str, File] = {}
        self.synced_names: dict[str, File] = {}

    def apply(self, call: str, path: str, arguments: list[str]) -> None:
        """What a system call does to the disk."""
        if call == "openat":
            self.names.setdefault(path, File())
        elif call == "unlink":
            self.names.pop(path, None)
        elif call == "pwrite64":
            self.names[path].since.append((int(arguments[2]), _bytes(arguments[0])))
        elif call == "ftruncate":
            self.names[path].since.append(int(arguments[0]))
        elif path in self.names:  # a sync
            file = self.names[path]
            file.synced, file.since = _written(file, "everything", random.Random(1)), []
        else:  # of the directory
            self.synced_names = dict(self.names)

    def after_power_cut(self, leaving: Leaving, seed: int) -> dict[str, bytes]:
        """The files that may be there afterwards."""
        chance = random.Random(seed)
        names = self.synced_names if leaving == "nothing" else self.names
        if leaving == "some":
            every = {**self.synced_names, **self.names}
            names = {
                name: file
                for name, file in every.items()
                if (name in self.names) == (name in self.synced_names) or chance.random() < 0.5
            }
        return {name: bytes(_written(file, leaving, chance)) for name, file in names.items()}


def _written(file: File, leaving: Leaving, chance: random.Random) -> bytearray:
    """A file with all, none or some of what was written to it since it was synced."""
    content = bytearray(file.synced)
    for change in file.since if leaving != "nothing" else []:
        if isinstance(change, int):
            if leaving == "everything" or chance.random() < 0.5:
                del content[change:]
                content += bytes(change - len(content))
            continue
        place, data = change
        for start in range(0, len(data), SECTOR):
            if leaving == "everything" or chance.random() < 0.5:
                begin, sector = place + start, data[start : start + SECTOR]
                content += bytes(max(0, begin - len(content)))
                content[begin : begin + len(sector)] = sector
    return content


def _bytes(quoted: str) -> bytes:
    return bytes.fromhex(quoted.strip('"').replace("\\x", ""))


def recorded(program: str, directory: Path) -> Iterator[tuple[str, str, list[str]]]:
    """The system calls of a program, on files in a directory and on standard output, in order."""
    trace = directory.with_suffix(".trace")
    options = [
        "-f",
        "--seccomp-bpf",
        "-y",
        "-xx",
        "-s",
        "10000000",
        "-e",
        f"trace={CALLS}",
        "-e",
        "signal=none",
    ]
    done = subprocess.run(
        ["strace", *options, "-o", trace, sys.executable, "-c", program],
        cwd=directory,
        # Nor may Python write what it compiles.
        env={**unmeasured(), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if "ptrace" in done.stderr:
        pytest.skip("this system lets no process be traced")
    assert done.returncode == 0, done.stderr
    inside = str(directory)
    for line in trace.read_text("ascii").splitlines():
        call, _, rest = line.partition(" ")[2].lstrip().partition("(")
        rest, _, result = rest.rpartition(" = ")
        assert "unfinished" not in line, "one thread does it all"
        if result.startswith("-1") or call not in CALLS.split(","):
            continue
        arguments = rest.rstrip(" )").split(", ")
        if call == "openat":
            path = _path(result)
            if "O_CREAT" in rest and path.startswith(f"{inside}/"):
                yield call, path, []
        elif call == "unlink":
            yield call, _bytes(arguments[0]).decode(), []
        elif call == "write":
            if arguments[0].startswith("1<"):
                yield call, "", [_bytes(arguments[1]).decode()]
        else:
            assert call != "rename"
            path = _path(arguments[0])
            if path.startswith(inside) and not path.endswith("-shm"):
                yield call, path, arguments[1:2] + arguments[2:]


def _path(descriptor: str) -> str:
    found = re.search("<(.*)>", descriptor)
    return "" if found is None else _bytes(found[1]).decode("utf-8", "replace")


def lost(program: str, directory: Path) -> tuple[int, int]:
    """How many power cuts there were, and how many cost something that was acknowledged."""
    directory.mkdir()
    directory.with_name("texts").mkdir()
    calls = list(recorded(program, directory))
    states = [json.loads(arguments[0]) for call, _, arguments in calls if call == "write"]
    disk, cuts, costly, acknowledged = Disk(), 0, 0, -1
    after = directory.with_name("after")
    judged: dict[Any, bool] = {}  # right after a sync, for one, all that a cut may leave is equal
    for number, (call, path, arguments) in enumerate(calls):
        if call == "write":
            acknowledged += 1
        else:
            disk.apply(call, path, arguments)
        if call not in ("write", "fsync", "fdatasync") and number % 10:
            continue
        for leaving in ("nothing", "everything", "some"):
            files = disk.after_power_cut(leaving, number)
            if not any(path.endswith("lsh.db") and data for path, data in files.items()):
                assert acknowledged < 0
                continue
            cuts += 1
            if acknowledged < 0:  # the tables may not be there yet
                continue
            left = (acknowledged, *((name, sha256(data).digest()) for name, data in files.items()))
            if left not in judged:
                shutil.rmtree(after, ignore_errors=True)
                after.mkdir()
                for name, data in files.items():
                    (after / Path(name).name).write_bytes(data)
                judged[left] = is_between(after / "lsh.db", states[acknowledged:][:2])
            costly += not judged[left]
    return cuts, costly


def decisions(db: lshdb.Database) -> list[int]:
    """The numbers of the decisions in a file."""
    return [one.decision for one in db.decisions()] if is_there("review") else []


def is_between(path: Path, states: list[dict[str, list[Any]]]) -> bool:
    """Whether a file has what the two states have, nothing that neither has, and no damage."""
    try:
        with lshdb.open(path, mode="write") as db:
            found: dict[str, list[Any]] = {
                "keys": db.keys(),
                "decisions": decisions(db),
                "threshold": [db.settings.threshold],
            }
        found["whole"] = [] if lshdb.check(path).ok else ["damaged"]
    except lshdb.LshdbError:
        return False
    return all(
        set.intersection(*(set(state[name]) for state in states))
        <= set(values)
        <= set.union(*(set(state[name]) for state in states))
        for name, values in found.items()
    )


needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


OF_APPS: Final = {"sync": "folders", "decisions": "review", "repair": "repair", "dedup": "dedup"}


@needs_strace
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.app(OF_APPS.get(name, ""))) for name in PROGRAMS],
)
def test_what_was_acknowledged_survives_a_power_cut(name: str, tmp_path: Path) -> None:
    cuts, costly = lost(HEAD + PROGRAMS[name] + TAIL, tmp_path / "disk")
    assert cuts >= FEWEST[name]
    assert costly == 0
