"""One object for all threads and asyncio: whole steps, on the disk, each as if it came alone."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import inspection
import pytest

import lshdb

FOX = "the quick brown fox jumps over the lazy dog while the band plays on in the old square"


def held(service: lshdb.Service) -> threading.Event:
    """Keep the writer busy until the event is set, so that calls gather."""
    go_on, is_held = threading.Event(), threading.Event()

    def wait(_: lshdb.Database) -> None:
        is_held.set()
        go_on.wait(20)

    threading.Thread(target=service.write, args=(wait,)).start()
    is_held.wait()
    return go_on


def test_what_gathers_is_answered_as_if_each_came_alone(path: Path, tmp_path: Path) -> None:
    rng = random.Random(46)
    texts = [" ".join(rng.choices("abcdef", k=rng.randrange(5))) for _ in range(120)]
    given = [(f"k{rng.randrange(30)}", text, rng.random() < 0.4) for text in texts]
    expected = []
    with lshdb.open(tmp_path / "alone.db", shingle="word:2", threshold=0.5) as alone:
        for key, text, skip in given:
            matches = [match for match in alone.query(text, top=121) if match.key != key][:3]
            if skip and matches:
                outcome = "similar"
            else:
                report = alone.add(key, text)
                (outcome,) = (
                    name for name in ("added", "updated", "unchanged") if getattr(report, name)
                )
            expected.append((key, outcome, [(match.key, match.similarity) for match in matches]))
        keys = sorted(alone.keys())

    async def arrive(service: lshdb.Service) -> list[lshdb.Arrived]:
        go_on = held(service)
        adding = [
            asyncio.create_task(
                service.awaitable(service.add, key, text, find=3, skip_similar=skip)
            )
            for key, text, skip in given
        ]
        cancelled = asyncio.create_task(service.awaitable(service.add, "cancelled", FOX))
        await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.sleep(0.01)
        go_on.set()
        return await asyncio.gather(*adding)

    with lshdb.Service(path, shingle="word:2", threshold=0.5) as service:
        arrived = asyncio.run(arrive(service))
        found = [
            (one.key, one.outcome, [(match.key, match.similarity) for match in one.matches])
            for one in arrived
        ]
        assert found == expected
        assert sorted(service.read(lambda db: db.keys())) == keys
    inspection.check(path)


def test_a_wrong_document_or_function_fails_alone(path: Path) -> None:
    with lshdb.Service(path) as service:
        go_on = held(service)
        with ThreadPoolExecutor(3) as clients:
            good = clients.submit(service.add, "good", FOX)
            wrong = clients.submit(service.write, lambda db: db.remove("absent"))
            with pytest.raises(lshdb.ContentError, match="'set'"):
                service.add("set", ["a"])
            go_on.set()
            assert good.result().outcome == "added"
            with pytest.raises(lshdb.KeyNotFound):
                wrong.result()
        for use in (service.read, service.write):
            with pytest.raises(lshdb.UsageError, match="uses the Database that it is given"):
                use(lambda _: service.query(FOX))
        with pytest.raises(lshdb.UsageError, match="find 1001 is not from 0 to 1,000"):
            service.add("many", FOX, find=1001)
        assert [match.key for match in service.query(FOX, top=3)] == ["good"]
        assert asyncio.run(service.awaitable(service.query, FOX))[0].identical
        assert asyncio.run(service.awaitable(service.write, lambda db: db.remove("good"))) == 1
        assert asyncio.run(service.awaitable(service.read, len)) == 0
        with pytest.raises(lshdb.UsageError, match="a method that reads or writes"):
            asyncio.run(service.awaitable(service.stats))


def test_damage_fails_only_those_that_meet_it(path: Path) -> None:
    with lshdb.open(path) as db:
        db.add("damaged", FOX)
    with inspection.sqlite(path) as connection, connection:
        connection.execute("UPDATE signatures SET signature = x'00'")
    with lshdb.Service(path) as service:
        go_on = held(service)
        texts = [FOX, "an ant and a dove", f"{FOX} again", "a crow with a cheese"]
        with ThreadPoolExecutor(len(texts)) as clients:
            adding = [clients.submit(service.add, text, text) for text in texts]
            while len(clients._threads) < len(texts):
                pass
            go_on.set()
        failed = [type(one.exception()) for one in adding]
    assert failed == [lshdb.DamagedFile, type(None)] * 2


def test_closing_finishes_what_was_asked_for_and_leaves_no_log(path: Path) -> None:
    service = lshdb.Service(path)
    go_on = held(service)
    with ThreadPoolExecutor(9) as clients:
        adding = [clients.submit(service.add, f"k{i}", f"{FOX} {i}") for i in range(8)]
        while len(clients._threads) < 8:
            pass
        go_on.set()
        service.close()
        errors = [each.exception() for each in adding]
    assert {type(error) for error in errors} <= {type(None), lshdb.UsageError}
    service.close()
    with pytest.raises(lshdb.UsageError, match="is closed: open another service"):
        service.query(FOX)
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    with lshdb.open(path) as db:
        assert len(db) == errors.count(None)
    with pytest.raises(lshdb.NotADatabase):
        lshdb.Service(__file__)


LEAVES = """
import os, sys, lshdb
service = lshdb.Service(sys.argv[1])
service.add("kept", "the fox and the grapes")
if sys.argv[2] == "killed":
    os._exit(0)
"""


@pytest.mark.parametrize("how", ["killed", "ended"])
def test_what_was_answered_is_in_the_file_however_the_process_ends(path: Path, how: str) -> None:
    subprocess.run([sys.executable, "-c", LEAVES, path, how], check=True, timeout=60)
    assert (path.parent / f"{path.name}-wal").exists() == (how == "killed")
    with lshdb.open(path, mode="read") as db:
        assert db.keys() == ["kept"]


ADDS = """
import sys, threading, lshdb
from itertools import count
service = lshdb.Service(sys.argv[1])
def client(number):
    for i in count():
        key = f"k{number}-{i}"
        service.add(key, f"the fox and the grapes {key}")
        print(f"{key}\\n", end="", flush=True)
for number in range(32):
    threading.Thread(target=client, args=(number,)).start()
"""


def test_a_process_killed_amid_many_clients_loses_nothing_that_it_answered(path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ADDS, path], stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout:
        answered = [process.stdout.readline() for _ in range(300)]
        process.kill()
        answered += process.stdout.readlines()
    process.wait()
    keys = {line.decode().strip() for line in answered if line.endswith(b"\n")}
    assert len(keys) >= 300
    with lshdb.open(path) as db:
        assert keys <= {*db.keys()}
    inspection.check(path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_is_told_to_open_its_own(path: Path) -> None:
    code = """
import os, sys, lshdb
service = lshdb.Service(sys.argv[1])
service.add("before", "the fox and the grapes")
child = os.fork()
if not child:
    for use in (lambda: service.query("the fox"), lambda: lshdb.Service(sys.argv[1])):
        try:
            use()
        except lshdb.UsageError as error:
            print(str(error).replace(sys.argv[1], "FILE"), flush=True)
    service.close()
    sys.exit()
os.waitpid(child, 0)
print(service.add("after", "the ant and the dove").outcome)
service.close()
child = os.fork()
with lshdb.Service(sys.argv[1]) as service:
    print(service.add(f"both {child > 0}", "the crow and the cheese").outcome, flush=True)
if child:
    os.waitpid(child, 0)
"""
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, path],
        check=True, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert ended.stdout.splitlines() == [
        "FILE was open as a service when this process was forked: open the service after the fork, "
        "in each process",
        "FILE was open when this process was forked, and SQLite's locks do not pass a fork: close "
        "it before, or start processes with spawn",
        "added",
        "added",
        "added",
    ]
    inspection.check(path)
