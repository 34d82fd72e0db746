"""Signing in other processes: the same as here, also when a process dies or cannot be started."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elsewhere import signed_elsewhere

import lshdb
from lshdb import processes
from lshdb.ingest import workers as signers_module
from lshdb.ingest.parts import Part, SignedPart, sign_part
from lshdb.ingest.workers import Signers
from lshdb.model import Content, Settings
from lshdb.pending import Pending
from lshdb.settings import SettingsRequest
from lshdb.shingling.content import cleaned
from lshdb.sources.records import Failure, Lines, RecordParser
from lshdb.tuning.resolve import resolve

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


def pids(signers: Signers) -> list[int]:
    return [process.pid for process in signers._processes]


def result(signers: Signers, pending: Pending) -> SignedPart:
    """What became of a part; parts are to be asked for in order."""
    (signed,) = signers.results(pending)
    return signed


def wait_until_ready(signers: Signers, parts: int = 3) -> None:
    """Start the processes, with empty parts, and wait for them."""
    submitted = [signers.submit(Part()) for _ in range(parts)]
    limit = time.monotonic() + 60
    while not all(process.is_ready() for process in signers._processes):
        assert time.monotonic() < limit
        time.sleep(0.01)
    for pending in submitted:
        result(signers, pending)


def parts_of(settings: Settings, contents: list[Content]) -> list[Part]:
    documents = [(f"k{i}", cleaned(c, settings.shingling)) for i, c in enumerate(contents)]
    parts = [Part(documents), Part(documents[:1]), Part(), Part(documents, sign=False)]
    if not settings.shingling.of_sets:
        parts += [Part(lines=Lines("x.jsonl", 5, 7, LINES), sign=sign) for sign in (True, False)]
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
@pytest.mark.parametrize("workers", [1, 2])
def test_workers_sign_as_this_process_does(
    request_: SettingsRequest, contents: list[Content], workers: int
) -> None:
    settings = resolve(request_)
    parts = parts_of(settings, contents)
    with Signers(settings, PARSER, workers) as signers, signed_elsewhere():
        wait_until_ready(signers)
        submitted = [signers.submit(part) for part in parts]
        assert len(pids(signers)) == workers
        for part, pending in zip(parts, submitted, strict=True):
            assert same(result(signers, pending), sign_part(part, settings, PARSER))


def test_lines_become_documents_and_failures() -> None:
    part = sign_part(Part(lines=Lines("x.jsonl", 5, 7, LINES)), resolve(SettingsRequest()), PARSER)
    assert part.keys == ["a", "b\u00e9", "7", "z"]
    assert part.stored[2] == "na\u00efve \ufffd fox"
    assert part.replaced == 1
    assert [failure.where for failure in part.failures] == ["x.jsonl:8", "x.jsonl:10"]
    assert PARSER.replaced == 0, "a parser may be at work in several threads"


def test_processes_end_with_the_work() -> None:
    with Signers(resolve(SettingsRequest()), None, 2) as signers, signed_elsewhere():
        wait_until_ready(signers)
        started = pids(signers)
        assert result(signers, signers.submit(Part([("k", "text")]))).digests
    for pid in started:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_modules_of_the_current_directory_are_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("lshdb.py", "numpy.py", "json.py", "sitecustomize.py"):
        (tmp_path / name).write_text("open('run', 'w')")
    monkeypatch.chdir(tmp_path)
    with Signers(resolve(SettingsRequest()), None, 1) as signers, signed_elsewhere():
        wait_until_ready(signers)
        assert result(signers, signers.submit(Part([("k", "text")]))).digests
    assert not (tmp_path / "run").exists()


def test_a_small_job_starts_no_process() -> None:
    with Signers(resolve(SettingsRequest()), None, 2) as signers:
        for _ in range(2):
            assert signers.submit(Part([("k", "text")])).answer is not None
        assert not pids(signers)


def test_what_a_dead_worker_was_asked_is_signed_here(tmp_path: Path) -> None:
    """The worker is killed while documents are read, so that later ones find it gone."""
    documents = [(f"k{i}", f"the fox and {i} grapes " * 40) for i in range(12_000)]
    killed: list[int] = []
    started: list[signers_module._Process] = []

    def stream() -> Iterator[tuple[str, str]]:
        for number, document in enumerate(documents):
            if number == 5_000:
                limit = time.monotonic() + 60
                while not started[0].is_ready():
                    assert time.monotonic() < limit
                    time.sleep(0.01)
            if number == 9_000:
                killed.append(started[0].pid)
                os.kill(started[0].pid, signal.SIGKILL)
            yield document

    class Noting(signers_module._Process):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            started.append(self)

    with pytest.MonkeyPatch.context() as patch, lshdb.open(tmp_path / "killed.db") as db:
        patch.setattr(signers_module, "_Process", Noting)
        assert db.add_many(stream(), workers=1).added == len(documents)
        assert killed
        got = list(db.sql("select * from bands order by 1, 2, 3")[1])
    with lshdb.open(tmp_path / "alone.db") as db:
        db.add_many(documents, workers=0)
        assert got == list(db.sql("select * from bands order by 1, 2, 3")[1])


@pytest.mark.parametrize("made", [True, False])
def test_processes_that_make_kernels_take_the_place_of_others(
    monkeypatch: pytest.MonkeyPatch, made: bool
) -> None:
    settings = resolve(SettingsRequest())
    part = Part([(f"k{i}", text) for i, text in enumerate(TEXTS)])
    expected = sign_part(part, settings, None)
    monkeypatch.setattr(signers_module, "_BEFORE_KERNELS", 6)
    monkeypatch.setattr(signers_module, "can_make_kernels", lambda: made)
    monkeypatch.setattr(signers_module._Process, "lacks_kernels", lambda _: True)
    with Signers(settings, None, 2) as signers:
        wait_until_ready(signers)
        first = pids(signers)
        submitted = [signers.submit(part) for _ in range(3)]
        assert len(signers._faster) == 2 * made
        limit = time.monotonic() + 60
        while not all(process.is_ready() for process in signers._faster):
            assert time.monotonic() < limit
            time.sleep(0.01)
        for pending in submitted:
            assert same(result(signers, pending), expected)
        pending = signers.submit(part)
        assert (first == pids(signers)) is not made
        assert same(result(signers, pending), expected)
        for pid in first if made else []:
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)


def test_parts_wait_for_those_before_them_to_be_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = resolve(SettingsRequest())
    part = Part([(f"k{i}", f"the fox and {i} grapes") for i in range(50)])
    monkeypatch.setattr(signers_module, "_AHEAD", 250)
    with Signers(settings, None, 2) as signers, signed_elsewhere():
        wait_until_ready(signers)
        submitted = [signers.submit(part, 100) for _ in range(7)]
        limit = time.monotonic() + 60
        while submitted[0].answer is None:
            assert time.monotonic() < limit
            time.sleep(0.01)
        time.sleep(0.1)
        # Two at the most have room, and the next one to be taken is let through in any case.
        assert sum(pending.answer is not None for pending in submitted) <= 3
        signers.submit(part, 1_000)  # larger than all that may be ahead
        for pending in submitted:
            assert len(result(signers, pending).keys) == 50
        for _ in range(3):
            signers.submit(part, 300)  # nobody takes them


def test_what_a_process_cannot_be_asked_is_signed_here() -> None:
    settings = resolve(SettingsRequest())
    broken = Part(lines=Lines("x.jsonl", 5, object(), LINES))  # type: ignore[arg-type]
    with Signers(settings, PARSER, 1) as signers:
        wait_until_ready(signers)
        assert same(result(signers, signers.submit(broken)), sign_part(broken, settings, PARSER))


@pytest.mark.parametrize("program", ["/usr/sbin/uwsgi", "", "/nowhere/python3"])
def test_without_a_python_to_start_signing_is_done_here(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = resolve(SettingsRequest())
    monkeypatch.setattr(sys, "executable", program)
    part = Part([(f"k{i}", text) for i, text in enumerate(TEXTS)])
    with Signers(settings, None, 2) as signers:
        for _ in range(4):
            assert same(result(signers, signers.submit(part)), sign_part(part, settings, None))
        assert not pids(signers)


def test_a_failure_stands_between_documents(tmp_path: Path) -> None:
    """Files that cannot be read are told in their place and counted."""
    (tmp_path / "a.jsonl").write_bytes(LINES)
    told: list[Failure] = []
    with lshdb.open(tmp_path / "x.db") as db:
        paths = [str(tmp_path / "nosuch"), str(tmp_path / "a.jsonl"), str(tmp_path / "gone")]
        report = db.add_files(paths, on_failure=told.append)
    assert (report.added, report.failed, report.empty, report.replaced) == (4, 4, 1, 1)
    assert [Path(failure.where).name for failure in told] == [
        "nosuch",
        "a.jsonl:4",
        "a.jsonl:6",
        "gone",
    ]


def test_processes_are_started_ahead_of_large_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "default_workers", lambda: 2)
    (tmp_path / "small").write_bytes(b"x")
    with open(tmp_path / "large", "wb") as file:
        file.truncate(processes.LARGE)
    with processes.started_ahead([str(tmp_path), "nosuch", "a\0b", str(tmp_path / "small")]):
        assert not processes._ahead
    with processes.started_ahead([str(tmp_path / "large")]):
        taken, left = (process.pid for process in reversed(processes._ahead))
        with Signers(resolve(SettingsRequest()), None, 1) as signers:
            wait_until_ready(signers)
            assert pids(signers) == [taken]
            assert result(signers, signers.submit(Part([("k", "text")]))).digests
    for pid in (taken, left):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
