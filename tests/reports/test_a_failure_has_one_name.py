"""What cannot be read has the same name and the same reason in every job that meets it.

A user compares the list of one command with that of another, or looks for a name in a log.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator

import pytest
from helpers import Command, in_any_version, unprivileged

NONE, CLOSED, LOCKED = "d/none.md", "d/closed.md", "d/locked"
DOCX, MEMBER, LINE = "d/cut.docx", "d/e.zip/one.md", "d/rows.jsonl:2"
NO_PERMISSION = "permission denied"
REASONS = {
    NONE: "no such file or directory",
    CLOSED: NO_PERMISSION,
    LOCKED: NO_PERMISSION,
    DOCX: "no Word that can be read (File is not a zip file)",
    MEMBER: "damaged, or of an unknown kind (Bad CRC-32 for file 'one.md')",
    LINE: "not JSON: ... at character 1",
}
TABLE = "d/rows.jsonl"
"""A submission that a report leaves out, and says why."""

EVERY = {*REASONS}
JOBS: dict[str, tuple[list[str], set[str]]] = {
    "add": (["d", NONE, "--archives"], EVERY),
    "sync": (["d", "--archives"], EVERY - {NONE, LINE}),
    "query": (["d", NONE], EVERY - {MEMBER}),
    "passages": (["d", NONE], EVERY - {MEMBER}),
    "dedup": (["d", "--db", "kept.db"], {CLOSED, LOCKED, DOCX}),
    "dedup of rows": (["d/rows.jsonl"], {LINE}),
    "dedup of what is not there": ([NONE], {NONE}),
    "report": (["d", "-o", "report.html"], EVERY - {NONE, LINE}),
    "gate": ([], {CLOSED, LOCKED}),
}
"""The arguments of each command, and what it meets: sync and gate read no tables, and so on."""
LIBRARY = """
import json, sys, warnings
import lshdb, lshdb.apps.gate.gate
from lshdb.options import GateOptions
warnings.simplefilter("ignore", lshdb.FailureWarning)
taken = []
with lshdb.open("library.db") as db:
    jobs = {
        "add": db.add_files(["d", "d/none.md"], archives=True).failures,
        "sync": db.sync(["d"], archives=True).failures,
        "dedup": taken,
        "dedup of rows": lshdb.dedup("d/rows.jsonl").failures,
        "gate": lshdb.apps.gate.gate.gate([], GateOptions()).failures,
    }
    for row in db.dedup_files(["d"], format="text", on_failure=taken.append):
        pass
print(json.dumps({job: [[one.where, one.reason] for one in jobs[job]] for job in jobs}))
"""


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    """A repository with a folder of what can and what cannot be read."""
    command = Command(tmp_path_factory.mktemp("repository"))
    folder = command.path("d")
    (folder / "locked").mkdir(parents=True)
    for name in ("a.md", "b.md", "closed.md", "locked/inner.md"):
        (folder / name).write_text(f"Some words of the file {name} that no other file has.")
    subprocess.run(["git", "init", "-q"], cwd=command.directory, check=True)
    subprocess.run(["git", "add", "d"], cwd=command.directory, check=True)
    (folder / "cut.docx").write_bytes(b"PK\3\4 cut")
    with zipfile.ZipFile(folder / "e.zip", "w") as archive:
        archive.writestr("one.md", "The first text.")
        archive.writestr("two.md", "The second text.")
    damaged = (folder / "e.zip").read_bytes().replace(b"first", b"worst")
    (folder / "e.zip").write_bytes(damaged)
    (folder / "rows.jsonl").write_text('{"id": 1, "text": "a row"}\nbroken\n')
    command.done("init", "--passages", "3")
    (folder / "closed.md").chmod(0)
    (folder / "locked").chmod(0)
    yield command
    (folder / "locked").chmod(0o755)


@pytest.mark.extra("web")
@pytest.mark.parametrize("job", JOBS)
def test_a_command_names_it(command: Command, job: str) -> None:
    arguments, expected = JOBS[job]
    done = command(job.partition(" ")[0], *arguments, before=unprivileged)
    lines = [line.split(": ", 2)[1:] for line in done.err.splitlines() if line[:7] == "lshdb: "]
    found = [(name, in_any_version(reason)) for name, reason in lines if name != TABLE]
    assert sorted(found) == sorted((name, REASONS[name]) for name in expected)
    assert done.status == 1
    if job == "report":
        page = command.path("report.html").read_text()
        assert all(name in page for name in expected)


@pytest.mark.extra("documents")
def test_the_library_names_it(command: Command) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIBRARY],
        cwd=command.directory,
        env=command.variables,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=unprivileged,
    )
    assert done.returncode == 0, done.stderr
    for job, failures in json.loads(done.stdout).items():
        found = [(name, in_any_version(reason)) for name, reason in failures]
        assert sorted(found) == sorted((name, REASONS[name]) for name in JOBS[job][1]), job
