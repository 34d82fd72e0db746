"""Signing in other processes: the same as here, also when one dies or cannot be started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import inspection
import pytest
from extras import if_there
from helpers import forked, is_running, signed_elsewhere, status_of, until

import lshdb
from lshdb.model import Failure

TEXTS = ["the fox and the grapes", "", "\u72d0\u72f8\u3068\u8461\u8404", "a" * 300, "na\u00efve"]
MANY = 900
LIMITS = lshdb.Limits(batch_bytes=4_000_000, block_bytes=8_192)
"""With parts so small that for so many documents processes are started."""
needs_proc = pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are found by /proc")


def documents(count: int = MANY) -> Iterator[tuple[str, str]]:
    return ((f"k{i}", f"the fox and {i} grapes") for i in range(count))


def added(path: Path, given: Any, workers: int) -> dict[str, list[inspection.Row]]:
    """What is in a new file to which these documents are added."""
    with lshdb.open(path, limits=LIMITS) as db:
        db.add_many(given, workers=workers)
    return inspection.contents(path)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[inspection.Row]]:
    """What documents() make without other processes."""
    return added(tmp_path_factory.mktemp("expected") / "lsh.db", documents(), 0)


def children(process: int) -> set[int]:
    texts = [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/children")]
    return {int(pid) for text in texts for pid in text.split()}


def started(process: int, before: set[int]) -> set[int]:
    """Wait for processes that it starts."""
    return until(lambda: children(process) - before)


def wait_until_gone(processes: set[int]) -> None:
    until(lambda: not any(map(is_running, processes)))


@pytest.mark.parametrize(
    "settings",
    [
        {
            "shingle": "char:5",
            "seed": 7,
            "permutations": 100,
            **if_there("signatures", sketch="minhash"),
        },
        {"shingle": "set", "threshold": 0.5, "content": False},
        {"base": {"task": TEXTS[0]}, **if_there("passages", passages=3)},
    ],
    ids=str,
)
def test_workers_make_the_same_file(tmp_path: Path, settings: dict[str, Any]) -> None:
    """Of lines with and without other fields, and of some that are reported."""
    lines = []
    for i in range(MANY):
        row: dict[str, Any] = {"id": i, "text": f"{TEXTS[i % 5]} {i}", "set": [i, f"\u00e9{i % 7}"]}
        lines.append(json.dumps(row | ({"n": i} if i % 3 else {}), ensure_ascii=False).encode())
    lines[7::100] = [b"not JSON"] * 9
    lines[8] = b'{"id": "torn", "text": "\xff fox", "set": ["\xff"]}'
    (tmp_path / "in.jsonl").write_bytes(b"\n\n".join(lines))
    found = []
    for workers in (0, 2):
        failures: list[Failure] = []
        path = tmp_path / f"{workers}.db"
        with lshdb.open(path, limits=LIMITS, **settings) as db, signed_elsewhere():
            report = db.add_files(
                [str(tmp_path / "in.jsonl")], workers=workers, on_failure=failures.append
            )
        found.append((report, failures, inspection.contents(path)))
        assert (report.added, report.failed, report.replaced) == (MANY - 9, 9, 1)
    assert found[0] == found[1]
    metadata = [row[4] for row in found[0][2]["documents"]]
    assert ['"n":' in (one or "") for one in metadata[:3]] == [False, True, True]


@pytest.mark.parametrize("program", ["", "/nowhere/python3", "dies/python3"])
def test_without_a_python_to_start_signing_is_done_here(
    tmp_path: Path, expected: object, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if program == "dies/python3":
        (tmp_path / "dies").mkdir()
        (tmp_path / program).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / program).chmod(0o700)
        program = str(tmp_path / program)
    monkeypatch.setattr(sys, "executable", program)
    assert added(tmp_path / "lsh.db", documents(), 2) == expected


@needs_proc
@pytest.mark.parametrize("end", ["killed", "failed", "done"])
def test_what_a_dead_worker_leaves_is_done_here_and_all_end_with_the_work(
    tmp_path: Path, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor do they run modules of the current directory."""
    for name in ("lshdb.py", "numpy.py", "json.py", "pickle.py", "sitecustomize.py"):
        (tmp_path / name).write_text("open('run', 'w')")
    monkeypatch.chdir(tmp_path)
    before, seen = children(os.getpid()), set[int]()

    def stream() -> Iterator[tuple[str, str]]:
        for number, document in enumerate(documents(1_600)):
            if number == 1_200:
                seen.update(started(os.getpid(), before))
                if end == "killed":
                    os.kill(min(seen), signal.SIGKILL)
                if end == "failed":
                    raise OSError("unplugged")
            yield document

    if end == "failed":
        with pytest.raises(OSError, match="unplugged"):
            added(tmp_path / "lsh.db", stream(), 1)
    else:
        with signed_elsewhere():
            found = added(tmp_path / "lsh.db", stream(), 1)
        assert found == added(tmp_path / "alone.db", documents(1_600), 0)
    assert seen
    assert children(os.getpid()) <= before
    assert not (tmp_path / "run").exists()


SCRIPT = """
import sys, lshdb
print("run")
with lshdb.open(sys.argv[-1]) as db:
    texts = ((f"k{i}", f"the fox and {i} grapes") for i in range(9000))
    print(db.add_many(texts, workers=1).added)
"""


def test_it_works_wherever_it_is_called_from(tmp_path: Path) -> None:
    """Interactively, by a script without a main guard, which is run once, and in a thread.

    In Python of its own: the tests are none of these.
    """
    (tmp_path / "script.py").write_text(SCRIPT)
    program = (
        "import runpy, threading\n"
        "run = lambda: runpy.run_path('script.py', run_name='__main__')\n"
        "run()\nthread = threading.Thread(target=run)\nthread.start()\nthread.join()\n"
    )
    done = subprocess.run(
        [sys.executable, "-", "x.db"],
        input=program,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("run\n9000\nrun\n0\n", "")


@needs_proc
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_process_that_is_ended_leaves_none_behind(tmp_path: Path, number: int) -> None:
    with TemporaryFile() as said:

        def add() -> None:
            os.dup2(said.fileno(), 2)
            with lshdb.open(tmp_path / "x.db") as db:
                db.add_many(documents(300_000), workers=1)

        process = forked(add)
        assert process.pid is not None
        found = started(process.pid, set())
        os.kill(process.pid, number)
        assert status_of(process) == (1 if number == signal.SIGINT else -number)
        wait_until_gone(found)
        said.seek(0)
        assert said.read() == b"", "workers say nothing"
