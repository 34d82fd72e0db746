"""The process that extracts: it ends with lshdb, and leaves nothing."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import documents
import pytest
from helpers import Command, forked, is_running, status_of, until

from lshdb.apps.documents.extraction.kinds import Refused
from lshdb.apps.documents.extraction.process import restrict
from lshdb.apps.documents.reader import PROGRAM


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
@pytest.mark.extra("documents")
def test_the_process_that_extracts_ends_with_lshdb(command: Command) -> None:
    library = command.path("library/selectolax")
    library.mkdir(parents=True)
    (library / "__init__.py").touch()
    (library / "lexbor.py").write_text(
        "import os, re\nopen('pid', 'w').write(str(os.getpid()))\n"
        "re.match('(a+)+$', 'a' * 60 + 'b')\n"
    )
    command.path("d").mkdir()
    with zipfile.ZipFile(command.path("d/a.zip"), "w") as archive:
        archive.writestr("a.html", "<p>words")
    temporary = command.path("temporary")
    temporary.mkdir()
    directory = {"TMPDIR": str(temporary)}
    slow = Command(command.directory, {"PYTHONPATH": str(library.parent), **directory})
    process = slow.forked("add", "d", "--archives")
    noted = command.path("pid")
    pid = int(until(lambda: noted.read_text() if noted.exists() else ""))
    process.kill()
    assert status_of(process) == -signal.SIGKILL
    until(lambda: not is_running(pid))  # and not after the 60 seconds of --extract-timeout
    # A copy of a member that a killed run left is deleted by the next one.
    Command(command.directory, directory).done("add", "d", "--archives")
    assert not [*temporary.iterdir()]


TEXTS = documents.paragraphs(30)


def test_memory_ends_at_a_limit(tmp_path: Path) -> None:
    """Of the program itself, as lshdb starts it."""
    small, large = tmp_path / "small.docx", tmp_path / "large.docx"
    documents.docx(small, TEXTS[:2])
    documents.many_elements(large, 1_500_000)
    options = {"kind": "docx", "quotes": True, "seconds": 60, "largest": 1 << 30}
    jobs = b""
    for path in (large, small):
        jobs += json.dumps({"path": str(path), **options}).encode() + b"\n"
    # The shell's limit is lower than the process's own, which cannot raise it.
    program = f'ulimit -v 250000; exec "{sys.executable}" -P "{PROGRAM}"'
    done = subprocess.run(["sh", "-c", program], input=jobs, capture_output=True, check=True)
    assert b"refused" in done.stdout.partition(b"extracted")[0]
    assert TEXTS[0][:50].encode() in done.stdout, "the next document is read"


def test_a_file_that_takes_too_long_is_left(command: Command, folder: Path) -> None:
    documents.pdf(folder / "a.pdf", documents.paragraphs(300), paper=False)
    (folder / "b.txt").write_text("A text.")
    done = command("add", "d", "--extract-timeout", "0.001")
    assert done.status == 1
    assert done.err.startswith("lshdb: d/a.pdf: reading it takes more than 0.001 seconds")
    assert "added 1, updated 0, unchanged 0, failed 1" in done.err
    command.done("add", "d", says="added 1, updated 0, unchanged 1, failed 0\n")


def test_a_crash_costs_one_file(command: Command, folder: Path) -> None:
    # The libraries that there are do not crash on demand: one that does stands in for them.
    documents.html(folder / "a.html", TEXTS)
    documents.docx(folder / "b.docx", TEXTS)
    crashing = documents.broken_library(command, "selectolax", "lexbor", "import os\nos.abort()\n")
    done = crashing("add", "d")
    assert "d/a.html: the library that reads it crashed" in done.err
    assert "added 1, updated 0, unchanged 0, failed 1" in done.err


def test_the_process_has_neither_lshdb_nor_numpy_and_runs_nothing() -> None:
    """The program itself, as lshdb starts it."""
    program = [sys.executable, "-P", "-X", "importtime", PROGRAM]
    done = subprocess.run(program, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    loaded = re.findall(r"\| +(\S+)$", done.stderr.decode(), re.MULTILINE)
    ours = {name for name in loaded if name.startswith("lshdb") and "extraction" not in name}
    assert ours <= {
        "lshdb.apps", "lshdb.apps.documents", "lshdb.read", "lshdb.read.encodings",
        "lshdb.read.kinds",
    }  # fmt: skip
    assert "numpy" not in loaded

    def run(use: Callable[[], object]) -> None:
        restrict()
        with pytest.raises(Refused, match="it wants to run a program or use the network"):
            use()

    for use in (partial(os.system, "true"), socket.socket):
        assert status_of(forked(run, use)) == 0
