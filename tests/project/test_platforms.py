"""Windows and macOS, as far as that can be simulated, or for real where this runs on them.

Imports nothing of the other tests, which use what only POSIX has.
"""

from __future__ import annotations

import io
import json
import ntpath
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace

import pytest

from lshdb.cli import running
from lshdb.read import paths

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


RUN = """
import sys
from lshdb.cli.app import main
if __name__ == "__main__":
    for line in sys.argv.pop().splitlines():
        sys.argv[1:] = line.split()
        try:
            main()
        except SystemExit as ended:
            assert not ended.code, line
"""
COMMANDS = """add in.jsonl
query --key é7 --threshold 0.99 --json
dedup in.jsonl -o out.jsonl --threshold 0.99
sync -d notes.db notes
sync -d notes.db notes
pairs -d notes.db --json
decide -d notes.db drop notes/a.txt
decisions -d notes.db --json
backup -d notes.db copy.db
check -d copy.db --deep"""


def test_commands_do_without_what_only_posix_has(tmp_path: Path) -> None:
    """Among them adding in worker processes, which lack it, too.

    In Python of its own: it loses what it lacks when it starts.
    """
    made = {"sitecustomize.py": LACKING, "run.py": RUN, "notes/.gitignore": "deep/*.log\n"}
    made |= dict.fromkeys(("notes/a.txt", "notes/deep/b.txt", "notes/deep/c.log"), TEXT * 3)
    rows = [{"id": f"é{i}", "text": " ".join([TEXT, str(i // 2)] * 40)} for i in range(1_000)]
    made["in.jsonl"] = "\n".join(map(json.dumps, rows))
    (tmp_path / "notes" / "deep").mkdir(parents=True)
    for name, text in made.items():
        (tmp_path / name).write_text(text, "utf-8")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "run.py", COMMANDS],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path, "LOGNAME": "ada", "PYTHONIOENCODING": "cp1252"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    match, pair, decision = map(json.loads, done.stdout.splitlines())
    assert match["key"] == "é6", "output is UTF-8"
    assert (pair["a"], pair["b"]) == ("notes/a.txt", "notes/deep/b.txt")
    assert decision["who"] == "ada"
    assert (tmp_path / "out.jsonl").read_bytes().count(b"\n") == 500
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
def test_keys_of_paths_of_windows_have_slashes(
    path: str, root: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a database can move between systems; a drive's letter may have any case."""
    windows = SimpleNamespace(**(vars(os) | {"path": ntpath, "sep": ntpath.sep}))
    monkeypatch.setattr(paths, "os", windows)
    assert paths.key_of(path, root) == key


@pytest.mark.skipif(os.name != "posix", reason="a backslash is no part of a name there")
def test_a_backslash_stays_in_a_key_elsewhere() -> None:
    assert paths.key_of("/data/src/a\\b.txt", "/data") == "src/a\\b.txt"
    assert paths.key_of("/Data/a.txt", "/data") == "/Data/a.txt"


def test_output_has_newlines_on_windows() -> None:
    written = io.BytesIO()
    with (
        redirect_stdout(io.TextIOWrapper(written, "cp1252", newline="\r\n")),
        redirect_stderr(io.StringIO()),
    ):
        running.open_streams("nt")
        print("é ☃", flush=True)
        assert written.getvalue() == "é ☃\n".encode()
