"""Signing in other processes: the same as here, also when one dies or cannot be started."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from helpers import signed_elsewhere

import lshdb
from lshdb import workers as workers_module
from lshdb.ingest.parts import Part, SignedPart, Signing
from lshdb.model import Content, Settings
from lshdb.settings import SettingsRequest
from lshdb.shingling.content import cleaned
from lshdb.sources.records import Failure, Lines, RecordParser
from lshdb.tuning.resolve import resolve
from lshdb.workers import Pending, Workers

TEXTS: list[Content] = [
    "the fox and the grapes",
    "",
    "\u72d0\u72f8\u3068\u8461\u8404",
    "a" * 300,
    "na\u00efve fox",
]
SETS: list[Content] = [["a", "b"], [], [2, 1, -3], [5, "\u00e9"]]
LINES = b"""{"id": "a", "text": "the fox and the grapes"}

{"id": "b\\u00e9", "text": ""}
not JSON
{"id": 7, "text": "na\\u00efve \xff fox"}
{"text": "no key"}
{"id": "z", "text": "\xe7\x8b\x90\xe7\x8b\xb8"}"""
PARSER = RecordParser(False, "id", "text", "set", False, False)


def same(one: SignedPart, other: SignedPart) -> bool:
    if one.signed is None or other.signed is None:
        assert one.signed is None
        assert other.signed is None
    else:
        assert np.array_equal(one.signed.signatures, other.signed.signatures)
        assert np.array_equal(one.signed.shingles, other.signed.shingles)
        assert np.array_equal(one.signed.bucket_keys, other.signed.bucket_keys)
    names = ("keys", "stored", "digests", "failures", "replaced")
    return all(getattr(one, name) == getattr(other, name) for name in names)


def pids(workers: Workers[Part, SignedPart]) -> list[int]:
    return [process.pid for process in workers._processes]


def start(workers: Workers[Part, SignedPart]) -> None:
    """Have each process sign something."""
    for pending in [workers.submit(Part([("k", "text")])) for _ in range(2 + workers.count)]:
        assert workers.result(pending).digests
    assert len(pids(workers)) == workers.count


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def parts_of(settings: Settings, contents: list[Content]) -> list[Part]:
    documents = [(f"k{i}", cleaned(c, settings.shingling)) for i, c in enumerate(contents)]
    parts = [Part(documents), Part(documents[:1]), Part(), Part(documents, sign=False)]
    if not settings.shingling.of_sets:
        parts += [Part(block=Lines("x.jsonl", 5, 7, LINES), sign=sign) for sign in (True, False)]
    return parts


@pytest.mark.parametrize(
    ("request_", "contents"),
    [
        (SettingsRequest(), TEXTS),
        (SettingsRequest(shingle="char:5", sketch="minhash", seed=7, permutations=100), TEXTS),
        (SettingsRequest(content=False), TEXTS),
        (SettingsRequest(shingle="set", threshold=0.5), SETS),
    ],
)
@pytest.mark.parametrize("count", [1, 2])
def test_workers_sign_as_this_process_does(
    request_: SettingsRequest, contents: list[Content], count: int
) -> None:
    settings = resolve(request_)
    parts = parts_of(settings, contents)
    with Workers(Signing(settings, PARSER), count) as workers, signed_elsewhere():
        first = [workers.submit(Part()) for _ in range(2)]  # these are signed here
        submitted = [workers.submit(part) for part in parts]
        for pending in first:
            assert not workers.result(pending).digests
        for part, pending in zip(parts, submitted, strict=True):
            assert pending.future is not None
            assert same(workers.result(pending), Signing(settings, PARSER).run(part))
        assert len(pids(workers)) == count


def test_lines_become_documents_and_failures() -> None:
    part = Signing(resolve(SettingsRequest()), PARSER).run(
        Part(block=Lines("x.jsonl", 5, 7, LINES))
    )
    assert part.keys == ["a", "b\u00e9", "7", "z"]
    assert part.stored[2] == "na\u00efve \ufffd fox"
    assert part.replaced == 1
    assert [failure.where for failure in part.failures] == ["x.jsonl:8", "x.jsonl:10"]
    assert PARSER.replaced == 0, "a parser may be at work in several threads"


def test_processes_end_with_the_work() -> None:
    with Workers(Signing(resolve(SettingsRequest()), None), 2) as workers, signed_elsewhere():
        start(workers)
        started = pids(workers)
    assert all(map(gone, started))


def test_processes_end_in_the_middle_of_the_work() -> None:
    """Parts that nobody waits for are not signed first."""
    part = Part([(f"k{i}", f"the fox and {i} grapes " * 1000) for i in range(1000)])
    with Workers(Signing(resolve(SettingsRequest()), None), 1) as workers:
        with signed_elsewhere():
            start(workers)
        for _ in range(10):
            workers.submit(part)
        begun = time.monotonic()
        started = pids(workers)
    assert time.monotonic() - begun < 5
    assert all(map(gone, started))


def test_modules_of_the_current_directory_are_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("lshdb.py", "numpy.py", "json.py", "pickle.py", "sitecustomize.py"):
        (tmp_path / name).write_text("open('run', 'w')")
    monkeypatch.chdir(tmp_path)
    with Workers(Signing(resolve(SettingsRequest()), None), 1) as workers, signed_elsewhere():
        start(workers)
    assert not (tmp_path / "run").exists()


def test_a_small_job_starts_no_process() -> None:
    with Workers(Signing(resolve(SettingsRequest()), None), 2) as workers:
        for _ in range(2):
            assert workers.submit(Part([("k", "text")])).done is not None
        assert not pids(workers)


SCRIPT = """
import sys, lshdb
print("run")
with lshdb.open(sys.argv[1]) as db:
    texts = ((f"k{i}", f"the fox and {i} grapes") for i in range(9000))
    print(db.add_many(texts, workers=2).added)
"""


@pytest.mark.parametrize("how", ["script", "interactive", "thread"])
def test_it_works_wherever_it_is_called_from(tmp_path: Path, how: str) -> None:
    """In a script without a main guard, which is run once; interactively; in a thread."""
    program = SCRIPT
    if how == "thread":
        program = (
            f"import threading\nthread = threading.Thread(target=exec, args=({SCRIPT!r}, {{}}))"
        )
        program += "\nthread.start()\nthread.join()\n"
    (tmp_path / "script.py").write_text(program)
    command = [sys.executable, "-"] if how == "interactive" else [sys.executable, "script.py"]
    done = subprocess.run(
        [*command, "x.db"],
        input=program if how == "interactive" else "",
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("run\n9000\n", "")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are found by /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_process_that_is_ended_leaves_none_behind(tmp_path: Path, number: int) -> None:
    program = SCRIPT.replace("range(9000)", "range(300_000)")
    process = subprocess.Popen(
        [sys.executable, "-c", program, "x.db"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    found: list[int] = []
    children = Path(f"/proc/{process.pid}/task")
    limit = time.monotonic() + 60
    while not found:
        assert time.monotonic() < limit
        time.sleep(0.05)
        texts = [(task / "children").read_text() for task in children.iterdir()]
        found = [int(pid) for text in texts for pid in text.split()]
    process.send_signal(number)
    _, error = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in error or number == signal.SIGKILL
    assert error.count("Traceback") <= 1, "workers say nothing"
    while not all(map(gone, found)):
        assert time.monotonic() < limit
        time.sleep(0.05)


def test_what_a_dead_worker_was_asked_is_signed_here(tmp_path: Path) -> None:
    """The worker is killed while documents are read; another one takes its place."""
    documents = [(f"k{i}", f"the fox and {i} grapes") for i in range(16_000)]
    started: list[int] = []
    own = Workers._started

    def noting(workers: Workers[Part, SignedPart]) -> subprocess.Popen[bytes]:
        process = own(workers)
        started.append(process.pid)
        return process

    def stream() -> Iterator[tuple[str, str]]:
        for number, document in enumerate(documents):
            if number == 12_000:
                limit = time.monotonic() + 60
                while not started:
                    assert time.monotonic() < limit
                    time.sleep(0.01)
                os.kill(started[0], signal.SIGKILL)
            yield document

    with mock.patch.object(Workers, "_started", noting), lshdb.open(tmp_path / "killed.db") as db:
        with signed_elsewhere():
            assert db.add_many(stream(), workers=1).added == len(documents)
        got = list(db.sql("select * from bands order by 1, 2, 3"))
    assert len(started) == 2
    with lshdb.open(tmp_path / "alone.db") as db:
        db.add_many(documents, workers=0)
        assert got == list(db.sql("select * from bands order by 1, 2, 3"))


def test_workers_that_always_die_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = resolve(SettingsRequest())
    monkeypatch.setattr(workers_module, "_PROGRAM", "import os; os._exit(1)")
    part = Part([(f"k{i}", text) for i, text in enumerate(TEXTS)])
    with Workers(Signing(settings, None), 1) as workers, signed_elsewhere():
        submitted = [workers.submit(part) for _ in range(10)]
        for pending in submitted:
            assert same(workers.result(pending), Signing(settings, None).run(part))
        assert 1 <= len(pids(workers)) <= 3


def test_the_writing_thread_signs_what_no_worker_has_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While it waits, and each part once."""
    settings = resolve(SettingsRequest())
    released, here = threading.Event(), list[str]()
    own = Signing.run
    job = Signing(settings, None)

    def slowly(_: object, pending: Pending[Part, SignedPart]) -> bytes:
        released.wait(60)
        return pickle.dumps(own(job, pending.item))

    def noting(job: Signing, part: Part) -> SignedPart:
        here.append(part.documents[0][0])
        if len(here) == 5:
            released.set()
        return own(job, part)

    monkeypatch.setattr(Workers, "_elsewhere", slowly)
    monkeypatch.setattr(Signing, "run", noting)
    with Workers(job, 1) as workers:
        submitted = [workers.submit(Part([(f"k{i}", "text")])) for i in range(8)]
        found = [workers.result(pending).keys for pending in submitted]
    assert found == [[f"k{i}"] for i in range(8)]
    assert here[:5] == ["k0", "k1", "k3", "k4", "k5"]
    assert len(here) == len(set(here))


def test_what_a_process_cannot_be_asked_is_signed_here() -> None:
    settings = resolve(SettingsRequest())
    broken = Part(block=Lines("x.jsonl", 5, lambda: 7, LINES))  # type: ignore[arg-type]
    with Workers(Signing(settings, PARSER), 1) as workers, signed_elsewhere():
        start(workers)
        assert same(workers.result(workers.submit(broken)), Signing(settings, PARSER).run(broken))
        start(workers)


class Unknown(str):
    """Of a class that a worker cannot import."""

    __slots__ = ()


def test_what_a_process_does_not_understand_is_signed_here() -> None:
    settings = resolve(SettingsRequest())
    Unknown.__module__ = "nowhere"
    try:
        part = Part([("k", Unknown("the fox and the grapes"))])
        with Workers(Signing(settings, None), 1) as workers, signed_elsewhere():
            start(workers)
            assert same(workers.result(workers.submit(part)), Signing(settings, None).run(part))
            start(workers)
    finally:
        Unknown.__module__ = __name__


@pytest.mark.parametrize("program", ["/usr/sbin/uwsgi", "", "/nowhere/python3"])
def test_without_a_python_to_start_signing_is_done_here(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = resolve(SettingsRequest())
    monkeypatch.setattr(sys, "executable", program)
    part = Part([(f"k{i}", text) for i, text in enumerate(TEXTS)])
    with Workers(Signing(settings, None), 2) as workers:
        for _ in range(4):
            assert same(workers.result(workers.submit(part)), Signing(settings, None).run(part))
        assert not pids(workers)


def test_a_failure_stands_between_documents(tmp_path: Path) -> None:
    """Files that cannot be read are reported in their place and counted."""
    (tmp_path / "a.jsonl").write_bytes(LINES)
    failures: list[Failure] = []
    with lshdb.open(tmp_path / "x.db") as db:
        paths = [str(tmp_path / "nosuch"), str(tmp_path / "a.jsonl"), str(tmp_path / "gone")]
        report = db.add_files(paths, on_failure=failures.append)
    assert (report.added, report.failed, report.empty, report.replaced) == (4, 4, 1, 1)
    assert [Path(failure.where).name for failure in failures] == [
        "nosuch",
        "a.jsonl:4",
        "a.jsonl:6",
        "gone",
    ]
