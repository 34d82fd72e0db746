"""Programs of `--convert` print as much as is taken, and leave no program behind.

Converters' children outlived the limit of time: new-usemame/Calibre-Web-NextGen#1161,
Tencent/WeKnora#2966, sixty-north/cosmic-ray#603.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
import zipfile
from collections.abc import Callable

import pytest
from helpers import Command, is_running, until


def converting(command: Command, script: str) -> list[str]:
    """Options by which a shell script reads a.odd, and its grandchild is noted in `pids`."""
    command.write("d/a.odd", b"\0")
    command.write("run.sh", f"sleep 60 & echo $! >> pids\necho $$ >> pids\n{script}\n")
    return ["--convert", "odd=sh run.sh {}"]


def all_end(command: Command) -> bool:
    """Whether all noted processes end soon."""
    noted = [int(pid) for pid in command.path("pids").read_text().split()]
    until(lambda: not any(map(is_running, noted)))
    return len(noted) >= 2


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
    process = command.start("add", "d", *options, stderr=subprocess.DEVNULL)
    while (
        len(command.path("pids").read_text().split() if command.path("pids").exists() else "") < 2
    ):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    process.wait(timeout=30)
    assert all_end(command)


@needs_proc
@pytest.mark.extra("documents")
def test_the_process_that_extracts_ends_with_lshdb(command: Command) -> None:
    library = command.path("library/selectolax")
    library.mkdir(parents=True)
    (library / "__init__.py").touch()
    (library / "lexbor.py").write_text(
        "import os, re\nopen('pids', 'w').write(f'{os.getpid()} {os.getpid()}')\n"
        "re.match('(a+)+$', 'a' * 60 + 'b')\n"
    )
    command.path("d").mkdir()
    with zipfile.ZipFile(command.path("d/a.zip"), "w") as archive:
        archive.writestr("a.html", "<p>words")
    temporary = command.path("temporary")
    temporary.mkdir()
    directory = {"TMPDIR": str(temporary)}
    slow = Command(command.directory, {"PYTHONPATH": str(library.parent), **directory})
    process = slow.start("add", "d", "--archives", stderr=subprocess.DEVNULL)
    while not command.path("pids").exists() or not command.path("pids").read_text():
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait(timeout=30)  # and not after the 60 seconds of --extract-timeout
    assert all_end(command)
    # A copy of a member that a killed run left is deleted by the next one.
    again = Command(command.directory, directory).start("add", "d", "--archives")
    assert again.wait(timeout=30) == 0
    assert not [*temporary.iterdir()]


def memory(limit: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def test_memory_is_bounded_and_a_missing_program_named(command: Command) -> None:
    command.write("d/a.odd", b"\0")
    large = ["--convert", "odd=head -c 4000000000 /dev/zero {}"]
    done = command("add", "d", *large, before=memory(3 << 30))
    assert "lshdb: d/a.odd: head prints more than 40,000,000 bytes, the limit" in done.err
    done = command("add", "d", "--convert", "odd=no-such-program {}")
    assert done.err.startswith("lshdb: d/a.odd: no-such-program: no such program\n")
