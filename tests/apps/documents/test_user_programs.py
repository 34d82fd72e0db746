"""Programs of --convert print as much as is taken, and leave no program behind."""

from __future__ import annotations

import json
import os
import resource
import signal
from pathlib import Path

import documents
import pytest
from helpers import Command, is_running, limited, status_of, until


def converting(command: Command, script: str) -> list[str]:
    """Options by which a shell script reads a.odd, and its grandchild is noted in `pids`."""
    command.write("d/a.odd", b"\0")
    command.write("run.sh", f"sleep 60 & echo $! >> pids\necho $$ >> pids\n{script}\n")
    return ["--convert", "odd=sh run.sh {}"]


def pids(command: Command) -> list[int]:
    """The processes that are noted so far."""
    noted = command.path("pids")
    return [*map(int, noted.read_text().split())] if noted.exists() else []


def all_end(command: Command) -> bool:
    """Whether all noted processes end soon."""
    until(lambda: not any(map(is_running, pids(command))))
    return len(pids(command)) == 2


needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
CASES = {
    "wait": "sh timed out after 0.3 seconds (--extract-timeout)",
    "echo bad >&2; echo 'no \033 x' >&2; exit 3": "sh returned non-zero exit status 3: no \\x1b x",
    "head -c 10000000 /dev/zero >&2; exit 4": "sh returned non-zero exit status 4",
    "head -c 50000000 /dev/zero; sleep 60": "sh prints more than 40,000,000 bytes, the limit",
    "echo some text": "",
}


@needs_proc
@pytest.mark.parametrize("script", CASES)
def test_a_program_ends_with_all_that_it_started(command: Command, script: str) -> None:
    """new-usemame/Calibre-Web-NextGen#1161, Tencent/WeKnora#2966, sixty-north/cosmic-ray#603:
    children outlived the limit of time.
    """
    options = converting(command, script)
    limit = ["--extract-timeout", "0.3"] if script == "wait" else []
    done = command("add", "d", *options, *limit)
    if CASES[script]:
        assert done.err.startswith(f"lshdb: d/a.odd: {CASES[script]}")
        assert len(done.err) < 1_000
        assert done.status == 1
    else:
        assert command.rows("SELECT content FROM documents") == [("some text",)]
    assert all_end(command)


@needs_proc
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_programs_end_with_lshdb(command: Command, number: signal.Signals) -> None:
    options = converting(command, "wait")
    process = command.forked("add", "d", *options)
    until(lambda: len(pids(command)) == 2)
    assert process.pid is not None
    os.kill(process.pid, number)
    status_of(process)
    assert all_end(command)


@needs_proc
def test_memory_is_bounded_and_a_missing_program_named(command: Command) -> None:
    command.write("d/a.odd", b"\0")
    large = ["--convert", "odd=head -c 4000000000 /dev/zero {}"]
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    with limited(resource.RLIMIT_AS, pages * resource.getpagesize() + (1 << 30)):
        done = command("add", "d", *large)
    assert "lshdb: d/a.odd: head prints more than 40,000,000 bytes, the limit" in done.err
    done = command("add", "d", "--convert", "odd=no-such-program {}")
    assert done.err.startswith("lshdb: d/a.odd: no-such-program: no such program\n")


def test_a_program_of_the_user_reads_a_suffix(command: Command, folder: Path) -> None:
    (folder / "a.scan").write_bytes(b"\0binary")
    convert = ("add", "d", "--convert")
    added = "added 1, updated 0, unchanged 0, failed 0\n"
    command.done(*convert, "scan=sh -c 'echo the text of $0' {}", says=added)
    assert documents.stored(command, "content")["a.scan"] == f"the text of {folder / 'a.scan'}"
    assert "sh -c" in json.loads(documents.stored(command, "extracted")["a.scan"])["by"]
    for wrong in ("scan=cat", "=cat {}", "scan='cat {}"):
        assert "is not 'SUFFIX=COMMAND {}'" in command.fails(*convert, wrong, status=2)
    assert "returned non-zero exit status 1" in command(*convert, "scan=false {}").err
    slow = ("scan=sh -c 'exec sleep 100' {}", "--extract-timeout", "0.1")
    assert "timed out" in command(*convert, *slow).err
