"""Signing in other processes: the same as here, also when a process dies or cannot be started."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import lshdb
from lshdb import worker
from lshdb.settings import SettingsRequest
from lshdb.worker import SignedBatch, Signers, sign_here

TEXTS = [
    "the fox and the grapes",
    "",
    "\u72d0\u72f8\u3068\u8461\u8404",
    "a" * 300,
    "na\u00efve fox",
]
SETS = ['["a","b"]', "[]", "[1,2,-3]", '[5,"\u00e9"]']


def same(one: SignedBatch, other: SignedBatch) -> bool:
    return (
        np.array_equal(one.signed.signatures, other.signed.signatures)
        and np.array_equal(one.signed.shingles, other.signed.shingles)
        and np.array_equal(one.signed.bucket_keys, other.signed.bucket_keys)
        and one.digests == other.digests
    )


def pids(signers: Signers) -> list[int]:
    return [process._process.pid for process in signers._processes if process is not None]


@pytest.mark.parametrize(
    ("request_", "stored"),
    [
        (SettingsRequest(), TEXTS),
        (SettingsRequest(shingle="char:5", sketch="minhash", seed=7, permutations=100), TEXTS),
        (SettingsRequest(shingle="set", threshold=0.5), SETS),
    ],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_workers_sign_as_this_process_does(
    request_: SettingsRequest, stored: list[str], workers: int
) -> None:
    settings = request_.resolve()
    with Signers(settings, workers) as signers:
        signers.submit([], alone=False)
        futures = [signers.submit(part, alone=False) for part in (stored, stored[:1], [], stored)]
        assert len(pids(signers)) == workers
        for part, future in zip((stored, stored[:1], [], stored), futures, strict=True):
            assert same(future.result(), sign_here(part, settings))


def test_processes_end_with_the_work() -> None:
    with Signers(SettingsRequest().resolve(), 2) as signers:
        signers.submit([], alone=False)
        started = pids(signers)
        assert signers.submit(TEXTS, alone=False).result().digests
    for pid in started:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_one_batch_alone_starts_no_process() -> None:
    with Signers(SettingsRequest().resolve(), 2) as signers:
        signers.submit(TEXTS, alone=True)
        assert not pids(signers)


def test_what_a_dead_worker_was_asked_is_signed_here(tmp_path: Path) -> None:
    """The worker is killed while documents are read, so that later ones find it gone."""
    documents = [(f"k{i}", f"the fox and {i} grapes " * 40) for i in range(12_000)]
    killed: list[int] = []

    def stream() -> Iterator[tuple[str, str]]:
        for number, document in enumerate(documents):
            if number == 9_000:
                killed.extend(started)
                for pid in started:
                    os.kill(pid, signal.SIGKILL)
            yield document

    started: list[int] = []
    begin = worker._start

    def noting(settings: lshdb.Settings) -> worker._Process | None:
        process = begin(settings)
        assert process is not None
        started.append(process._process.pid)
        return process

    with pytest.MonkeyPatch.context() as patch, lshdb.open(tmp_path / "killed.db") as db:
        patch.setattr(worker, "_start", noting)
        assert db.add_many(stream(), workers=1).added == len(documents)
        assert killed
        got = list(db.sql("select * from bands order by 1, 2, 3")[1])
    with lshdb.open(tmp_path / "alone.db") as db:
        db.add_many(documents, workers=0)
        assert got == list(db.sql("select * from bands order by 1, 2, 3")[1])


@pytest.mark.parametrize("program", ["/usr/sbin/uwsgi", "", "/nowhere/python3"])
def test_without_a_python_to_start_signing_is_done_here(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = SettingsRequest().resolve()
    monkeypatch.setattr(sys, "executable", program)
    with Signers(settings, 2) as signers:
        signers.submit([], alone=False)
        assert same(signers.submit(TEXTS, alone=False).result(), sign_here(TEXTS, settings))
        assert not pids(signers)
