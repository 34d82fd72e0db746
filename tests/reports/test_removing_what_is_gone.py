"""A key without a document can be passed over, as where a request to remove comes twice.

typesense/typesense-python issue 65 asks for such an option, as removing otherwise raises.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from direct_command import command as command
from helpers import Command

import lshdb

FOX = "the quick brown fox jumps over the lazy dog while the band plays on in the old square"


def test_a_missing_key_is_an_error_or_passed_over(path: Path) -> None:
    with lshdb.Service(path) as service:
        for key in "abcd":
            service.add(key, f"{FOX} {key}")
        with pytest.raises(lshdb.KeyNotFound):
            service.remove(["a", "absent"])
        assert service.remove(["a", "absent", "a"], missing_ok=True) == 1
        assert service.remove("a", missing_ok=True) == 0
        assert asyncio.run(service.awaitable(service.remove, "b")) == 1
        assert asyncio.run(service.awaitable(service.remove, "b", missing_ok=True)) == 0
        with pytest.raises(lshdb.UsageError, match="missing_ok"):
            service.remove(where="shingles > 0", missing_ok=True)
    with lshdb.open(path) as db:
        assert db.remove(["c", "absent"], missing_ok=True, dry_run=True) == 1
        assert db.keys() == ["c", "d"]


def test_the_command_counts_what_it_passes_over(command: Command) -> None:
    command.write("in.jsonl", [{"id": key, "text": FOX} for key in "abc"])
    command.done("add", "in.jsonl")
    command.write("gone.txt", "b\nabsent\nabsent\nother\n")
    assert "no document has the key 'absent'" in command.fails("remove", "--from", "gone.txt")
    says = "removed 1; 2 keys without a document\n"
    command.done("remove", "--from", "gone.txt", "--missing-ok", says=says)

    assert command.keys() == ["a", "c"]


def test_a_service_says_how_busy_it_is(path: Path) -> None:
    go_on, is_held = threading.Event(), threading.Event()

    def hold(_: lshdb.Database) -> None:
        is_held.set()
        go_on.wait(20)

    with lshdb.Service(path) as service, ThreadPoolExecutor(2) as threads:
        assert service.stats() == lshdb.ServiceStats(0, 0, 0, 0, None)
        threads.submit(service.write, hold)
        is_held.wait(20)
        gone = threads.submit(service.remove, "absent")
        while service.stats().queued < 2:
            pass
        assert service.stats() == lshdb.ServiceStats(2, 0, 0, 0, None)
        go_on.set()
        assert isinstance(gone.exception(), lshdb.KeyNotFound)
        assert service.stats() == lshdb.ServiceStats(0, 2, 1, 0, None)
