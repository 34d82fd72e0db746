"""Disks that are full, files that may not be written, files that vanish: a clear error, no loss."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import product
from multiprocessing.synchronize import Barrier
from pathlib import Path

import inspection
import pytest
from helpers import (
    Command,
    barrier,
    database_of,
    forked,
    mount,
    status_of,
    unprivileged,
    with_own_mounts,
)

import lshdb
from lshdb.errors import StoreError

HERE = Path(__file__).resolve().parent


def lines(count: int, name: str) -> str:
    """JSON lines of documents that are not alike."""
    draw = random.Random(name)
    texts = [" ".join(f"w{draw.randrange(5000)}" for _ in range(60)) for _ in range(count)]
    return "".join(json.dumps({"id": f"{name}{n}", "text": t}) + "\n" for n, t in enumerate(texts))


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """With 40 documents in lsh.db."""
    command = Command(tmp_path)
    database_of(
        tmp_path / "lsh.db", ((f"d{i}", f"the fox and the grapes {i // 2}") for i in range(40))
    ).close()
    return command


# full disks


def _fill(path: Path, leave: int = 0) -> None:
    """Make a file that takes the room of the disk."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"\0" * 4096):
            pass
    os.truncate(path, max(0, path.stat().st_size - leave))


def _on_full_disk(here: Path) -> None:
    mount("tmpfs", here, options="size=1500k")
    command = Command(here)
    command.done("add", "-", stdin=lines(60, "s"))
    before = inspection.contents(here / "lsh.db")
    more = lines(1800, "n")
    full = (
        "a disk is full, its own or that of temporary files (the variable TMPDIR names another "
        "directory for these); nothing of the last batch was written"
    )

    def unchanged() -> None:
        assert inspection.contents(here / "lsh.db") == before
        inspection.check(here / "lsh.db")

    # While there is some room left.
    result = command("add", "-", stdin=more)
    assert (result.status, result.err.splitlines()) == (
        1,
        ["added 0, updated 0, unchanged 0, failed 0", f"lshdb: lsh.db: {full}"],
    )
    unchanged()
    message = command.fails("dedup", "-", "-o", "out", stdin=more)
    assert full in message
    assert message.endswith("(it is temporary: the variable TMPDIR names another directory for it)")
    assert [path.name for path in here.iterdir()] == ["lsh.db"]
    # When there is none at all.
    _fill(here / "filler")
    for arguments in (["add", "-"], ["remove", "s1", "s2"], ["pairs"]):
        reason = command.fails(*arguments, stdin=lines(10, "m"))
        assert reason.startswith("lsh.db: ")
        assert "disk is full" in reason or "a disk that is full" in reason
    (here / "filler").unlink()
    unchanged()
    # When there is room for the temporary database, elsewhere, but not for the output.
    _fill(here / "filler", leave=200_000)
    command.variables["TMPDIR"] = str(here.parent)
    message = command.fails("dedup", "-", "-o", "out", stdin=more)
    assert message == "out: no space left on device"
    (here / "filler").unlink()
    assert [path.name for path in here.iterdir()] == ["lsh.db"]
    updates = lines(60, "t").replace('"id": "t', '"id": "s')
    assert command.done("add", "-", stdin=updates).err.startswith("added 0, updated 60")
    inspection.check(here / "lsh.db")


@pytest.mark.app("dedup")
def test_a_full_disk_is_reported_and_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    (index := tmp_path / "disk").mkdir()
    with_own_mounts(lambda: _on_full_disk(index))
    assert list(tmp_path.iterdir()) == [index]


# failing disks


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_reads_and_writes_that_fail_are_reported_and_lose_nothing(command: Command) -> None:
    """From the n-th call on; the last ones copy the log into the file.

    Of Python that strace starts: it makes the calls fail.
    """
    path, pristine = command.path("lsh.db"), command.path("lsh.db").read_bytes()
    reindex = [sys.executable, "-m", "lshdb", "reindex", "--threshold", "0.5", "-d", str(path)]
    trace = command.path("trace")

    def run(calls: str, *inject: str) -> subprocess.CompletedProcess[str]:
        for suffix in ("-wal", "-shm"):
            path.with_name(f"lsh.db{suffix}").unlink(missing_ok=True)
        path.write_bytes(pristine)
        options = [
            "-f",
            "--seccomp-bpf",
            "-e",
            f"trace={calls}",
            "-P",
            str(path),
            "-P",
            f"{path}-wal",
            *inject,
        ]
        traced = ["strace", *options, "-o", str(trace), *reindex]
        return subprocess.run(traced, capture_output=True, text=True, check=False)

    calls = ("pwrite64", "fdatasync")
    assert run(",".join(calls)).returncode == 0
    count = {call: trace.read_text().count(f" {call}(") for call in calls}
    for call, number in product(calls, (lambda n: n // 2, lambda n: n - 2)):
        done = run(call, "-e", f"inject={call}:error=EIO:when={number(count[call])}+")
        assert done.returncode == 1
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"lshdb: {path}"), line
        assert lshdb.check(path, deep=True).ok
        with lshdb.open(path) as db:
            assert len(db) == 40
            assert ("safe in its log" in line) <= (db.settings.threshold == 0.5)


@pytest.mark.app("passages")
def test_pages_of_an_index_in_each_other_s_place_give_answers_or_a_clear_error(path: Path) -> None:
    draw = random.Random(1)
    words = [f"w{i}" for i in range(200)]
    with lshdb.open(path, passages=3) as db:
        texts = (" ".join(draw.choices(words, k=80)) for _ in range(110))
        db.add_many((f"k{i}", f"one common header {text}") for i, text in enumerate(texts))
        root = "SELECT rootpage FROM sqlite_schema WHERE name = 'fingerprints'"
        (page,) = next(iter(db.sql(root)))
    data, size = path.read_bytes(), 16384
    # The root: how many cells, in byte 4, and where, from byte 12 on; each begins with a page.
    tree = data[(page - 1) * size : page * size]
    cells = [int.from_bytes(tree[at : at + 2]) for at in range(12, 12 + 2 * tree[4], 2)]
    pages = [slice((n - 1) * size, n * size) for n in (int.from_bytes(tree[c:][:4]) for c in cells)]
    assert len(pages) > 4
    for one, other in itertools.combinations(pages, 2):
        damaged = bytearray(data)
        damaged[one], damaged[other] = data[other], data[one]
        path.write_bytes(damaged)
        with suppress(lshdb.LshdbError), lshdb.open(path, mode="read") as db:
            list(db.passage_pairs())


# permissions


@contextmanager
def read_only(directory: Path) -> Iterator[None]:
    """Let nobody write to a directory."""
    directory.chmod(0o500)
    try:
        yield
    finally:
        directory.chmod(0o700)


needs_modes = pytest.mark.skipif(
    os.geteuid() == 0 and sys.platform != "linux", reason="root may read everything"
)


@needs_modes
def test_a_file_in_a_directory_that_may_not_be_written_is_read(command: Command) -> None:
    root, file = command.directory, command.path("lsh.db")
    with read_only(root):
        before = inspection.files(root)
        for arguments in (
            ["info"],
            ["sql", "SELECT count(*) FROM documents"],
            ["query", "--key", "d1"],
        ):
            with unprivileged():
                result = command.done(*arguments, says="")
            assert result.out
        assert result.out == "1.000000\tidentical\td0\n"
        for arguments in (["add", "-"], ["remove", "d1"], ["init"]):
            with unprivileged():
                reason = command.fails(*arguments, stdin=lines(1, "n"))
            assert reason == "lsh.db cannot be written: the file or its directory is read-only"
        assert inspection.files(root) == before
    inspection.check(file)


@needs_modes
def test_a_file_that_changes_while_it_is_read_without_locks_is_noticed(command: Command) -> None:
    root, path = command.directory, command.path("lsh.db")
    other = forked(add, path, step := barrier())
    with read_only(root), unprivileged(), lshdb.open(path, mode="read") as db:
        assert len(db) == 40
        step.wait()  # somebody who may writes meanwhile
        assert status_of(other) == 0
        reads: list[Callable[[], object]] = [db.keys, db.info, lambda: db.query("the fox")]
        for read in reads:
            with pytest.raises(StoreError, match="another process, and could not be locked"):
                read()
        with lshdb.open(path, mode="read") as again:
            assert len(again) == 41


def add(path: Path, step: Barrier) -> None:
    step.wait()
    with lshdb.open(path) as db:
        db.add("new", "text")


# files that vanish


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_file_that_is_gone_is_not_written_to(tmp_path: Path, path: Path, how: str) -> None:
    database_of(path, {"fox": "the fox and the grapes"}).close()
    other = tmp_path / "other.db"
    shutil.copy(path, other)
    db = lshdb.open(path)
    db.add("more", "the fox and the ant")
    if how == "deleted":
        path.unlink()
    else:
        other.replace(path)
    uses: list[Callable[[], object]] = [
        lambda: db.add("new", "text"),
        lambda: db.query("the fox"),
        lambda: list(db.pairs()),
    ]
    for use in uses:
        with pytest.raises(StoreError, match="was deleted or replaced while the database was open"):
            use()
    db.close()
    if how == "replaced":
        with lshdb.open(path, mode="write") as db:
            assert db.keys() == ["fox"]
            assert db.add("new", "text").added == 1
        inspection.check(path)


def test_a_log_that_is_anothers_is_left_to_it(path: Path) -> None:
    """The last to close a file copies its log into it: here that would undo what others wrote."""
    database_of(path, {"fox": "the fox and the grapes"}).close()

    def leave(step: Barrier) -> None:
        db = lshdb.open(path)
        db.add("late", "the fox and the ant")
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink()
        step.wait()
        step.wait()
        db.close()
        with pytest.raises(StoreError, match="cannot be opened again in this process"):
            lshdb.open(path)

    first = forked(leave, step := barrier())
    step.wait()
    with database_of(path, ((f"new{i}", f"a text {i}") for i in range(50))) as db:
        step.wait()
        assert status_of(first) == 0
        assert len(db) == 51
    inspection.check(path)
    assert len(inspection.rows(path, "SELECT 1 FROM documents")) == 51
