"""What cannot be read has the same name and the same reason in every job that meets it.

A user compares the list of one command with that of another, or looks for a name in a log.
"""

from __future__ import annotations

import gzip
import subprocess
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from helpers import Command, in_any_version, unprivileged

import lshdb
from lshdb.apps.gate.gate import gate
from lshdb.options import GateOptions

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
    with unprivileged():
        done = command(job.partition(" ")[0], *arguments)
    lines = [line.split(": ", 2)[1:] for line in done.err.splitlines() if line[:7] == "lshdb: "]
    found = [(name, in_any_version(reason)) for name, reason in lines if name != TABLE]
    assert sorted(found) == sorted((name, REASONS[name]) for name in expected)
    assert done.status == 1
    if job == "report":
        page = command.path("report.html").read_text()
        assert all(name in page for name in expected)


@pytest.mark.extra("documents")
@pytest.mark.filterwarnings("ignore::lshdb.FailureWarning")
def test_the_library_names_it(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(command.directory)
    taken: list[lshdb.Failure] = []
    with unprivileged(), lshdb.open("library.db") as db:
        jobs: dict[str, Iterable[lshdb.Failure]] = {
            "add": db.add_files(["d", NONE], archives=True).failures,
            "sync": db.sync(["d"], archives=True).failures,
            "dedup": taken,
            "dedup of rows": lshdb.dedup("d/rows.jsonl").failures,
            "gate": gate([], GateOptions()).failures,
        }
        assert [*db.dedup_files(["d"], format="text", on_failure=taken.append)]
    for job, failures in jobs.items():
        found = [(failure.where, in_any_version(failure.reason)) for failure in failures]
        assert sorted(found) == sorted((name, REASONS[name]) for name in JOBS[job][1]), job


# failures in results of the library


ROWS: list[dict[str, Any]] = [
    {"id": 1, "text": "the fox and the grapes"},
    {"id": 2, "text": None},
    {"id": 3, "text": "an ant carried wheat home"},
    {"id": 4.5, "text": None},
]
LINES = (
    '{"id": 1, "text": "the fox and the grapes"}\n{"id": 2, "text": null}\n'
    '{"id": 3, "text": "an ant carried wheat home"}\nbroken\n'
)
NULL = "field 'text' is null, not a string"


def counted(count: int) -> Any:
    """The warning about this many failures."""
    return pytest.warns(lshdb.FailureWarning, match=f"^{count} rows? or files? gave no document")


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A file with two lines that are no documents."""
    path = tmp_path / "in.jsonl"
    path.write_text(LINES)
    return str(path)


def test_dedup_names_rows_without_a_document(file: str, tmp_path: Path) -> None:
    """apache/texera#6279: rows that could not be parsed were left out, and nobody was told."""
    for data, where in ((ROWS, "row"), (file, file), (pa.Table.from_pylist(ROWS), "row")):
        with counted(2):
            result = lshdb.dedup(data)
        failures = [(one.where, one.reason) for one in result.failures]
        assert failures[0] == (f"{where}:2", NULL)
        assert failures[1][0] == f"{where}:4"
        assert (result.failed, result.kept_count, result.mask.sum()) == (2, 2, 2)
        assert len(result.kept) == 2
    with counted(2):
        of_file = lshdb.dedup(file, keep="last")
    of_file.save(tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text() == "".join(LINES.splitlines(True)[::2])


def test_the_caller_who_takes_failures_gets_no_warning(file: str) -> None:
    taken: list[lshdb.Failure] = []
    result = lshdb.dedup(file, on_failure=taken.append)
    assert [*result.failures] == taken
    assert len(taken) == 2


def test_reports_name_failures(file: str, tmp_path: Path) -> None:
    with lshdb.open(tmp_path / "fables.db") as db:
        with counted(2):
            report = db.add_files([file])
        assert [one.where for one in report.failures] == [f"{file}:2", f"{file}:4"]
        assert (report + report).failures == report.failures * 2
        with counted(2):  # although the caller stops before the end
            next(iter(db.dedup_files([file])))
        with pytest.raises(lshdb.InputError, match=r"2 failed, the first: row:2: field 'text'"):
            lshdb.dedup(ROWS, against=ROWS)
        notes = tmp_path / "notes"
        notes.mkdir()
        (notes / "a.txt").write_bytes(b"\xff\xfe\x00\xd8 ")
        with counted(1):
            synced = db.sync([str(notes)], strict=True)
        assert [failure.where for failure in synced.failures] == [str(notes / "a.txt")]


UNREADABLE = {
    "cut.jsonl.gz": gzip.compress(LINES.encode() * 1_000, mtime=0)[:-20],
    "array.json": b'[{"id": 1, "text": "a"},',
    "in.parquet": b"PAR1",
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_that_cannot_be_read_is_an_error(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(UNREADABLE[name])
    with pytest.raises(lshdb.InputError, match=name):
        lshdb.dedup(str(tmp_path / name), on_failure=lambda _: None)
