"""Windows and macOS, as far as that can be simulated, or for real where this runs on them.

Imports nothing of the other tests, which use what only POSIX has.
"""

from __future__ import annotations

import json
import ntpath
import os
import posixpath
import subprocess
import sys
from pathlib import Path

import pytest

from lshdb.sources.paths import key_of

LACKING = """
import os, signal, sys
if os.name == "posix":
    for name in ("fcntl", "grp", "pty", "pwd", "resource", "termios"):
        sys.modules[name] = None
    for name in ("fork", "forkpty", "geteuid", "getuid", "register_at_fork", "sched_getaffinity"):
        vars(os).pop(name, None)
    for name in ("SIGALRM", "SIGPIPE", "alarm", "setitimer"):
        vars(signal).pop(name, None)
"""
"""Takes from a Python, when it starts, what Windows does not have."""
TEXT = "whisk the flour with the eggs and the milk and rest the batter for an hour "


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    """Variables by which a Python and those that it starts lack that."""
    (own := tmp_path / "own").mkdir()
    (own / "sitecustomize.py").write_text(LACKING, "utf-8")
    path = os.pathsep.join([str(own), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "LOGNAME": "ada", "PYTHONUTF8": "0"}


def run(directory: Path, variables: dict[str, str], *arguments: str, stdin: bytes = b"") -> bytes:
    done = subprocess.run(
        [sys.executable, "-m", "lshdb", *arguments],
        cwd=directory,
        env=variables,
        input=stdin,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_commands_do_without_what_only_posix_has(variables: dict[str, str], tmp_path: Path) -> None:
    """Adding in worker processes, dedup to a file, sync, query, backup, check, decisions."""
    lines = [
        json.dumps({"id": f"é{i}", "text": " ".join([TEXT, str(i // 2)] * 40)})
        for i in range(2_000)
    ]
    (tmp_path / "in.jsonl").write_text("\n".join(lines), "utf-8")
    run(tmp_path, variables, "add", "in.jsonl")
    found = run(tmp_path, variables, "query", "--key", "é7", "--threshold", "0.99", "--json")
    assert [json.loads(line)["key"] for line in found.splitlines()] == ["é6"]
    run(tmp_path, variables, "dedup", "in.jsonl", "-o", "out.jsonl", "--threshold", "0.99")
    assert (tmp_path / "out.jsonl").read_bytes().count(b"\n") == 1_000
    (tmp_path / "notes" / "deep").mkdir(parents=True)
    for name in ("a.txt", "deep/b.txt", "deep/c.log"):
        (tmp_path / "notes" / name).write_text(TEXT * 3, "utf-8")
    (tmp_path / "notes" / ".gitignore").write_text("deep/*.log\n", "utf-8")
    for _ in range(2):
        run(tmp_path, variables, "sync", "-d", "notes.db", "notes")
    listed = run(tmp_path, variables, "pairs", "-d", "notes.db", "--json").splitlines()
    assert [(one["a"], one["b"]) for one in map(json.loads, listed)] == [
        ("notes/a.txt", "notes/deep/b.txt")
    ]
    run(tmp_path, variables, "decide", "-d", "notes.db", "drop", "notes/a.txt")
    assert b"ada" in run(tmp_path, variables, "decisions", "-d", "notes.db", "--json")
    run(tmp_path, variables, "backup", "-d", "notes.db", "copy.db")
    run(tmp_path, variables, "check", "-d", "copy.db", "--deep")
    assert not [*tmp_path.glob("*.partial")]


@pytest.mark.parametrize(
    ("path", "root", "key"),
    [
        (r"C:\data\src\A.txt", r"C:\data", "src/A.txt"),
        ("C:/data/./src//A.txt", r"C:\data", "src/A.txt"),
        (r"c:\DATA\src\A.txt", r"C:\data", "src/A.txt"),
        (r"C:\data\x\..\src\A.txt", r"C:\data", "src/A.txt"),
        (r"C:\data", r"C:\data", ""),
        (r"C:\database\a.txt", r"C:\data", "C:/database/a.txt"),
        (r"D:\data\a.txt", r"C:\data", "D:/data/a.txt"),
        (r"\\server\share\a.txt", r"C:\data", "//server/share/a.txt"),
    ],
)
def test_keys_of_paths_of_windows_have_slashes(path: str, root: str, key: str) -> None:
    """So a database can move between systems; a drive's letter may have any case."""
    assert key_of(path, root, ntpath) == key


@pytest.mark.skipif(os.name != "posix", reason="a backslash is no part of a name there")
def test_a_backslash_stays_in_a_key_elsewhere() -> None:
    assert key_of("/data/src/a\\b.txt", "/data", posixpath) == "src/a\\b.txt"
    assert key_of("/Data/a.txt", "/data", posixpath) == "/Data/a.txt"


def test_output_is_utf8_with_newlines_where_the_console_is_not(variables: dict[str, str]) -> None:
    code = (
        "from lshdb.cli.running import open_streams; open_streams('nt'); print('é ☃', flush=True)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**variables, "PYTHONIOENCODING": "cp1252"},
        capture_output=True,
        check=True,
    )
    assert done.stdout == "é ☃\n".encode()
