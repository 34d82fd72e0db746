"""Does what each command and method is for, on two small files, where some apps are missing.

Usage: python tests/smoke.py [APP...]
       python tests/smoke.py --deletions
       python tests/smoke.py --block

APP are the apps that are missing: commands of these and of the apps that need them must name one,
and the others must work. --deletions deletes the folder of each app in a copy of the package, with
those that need it, or alone, and then all. With --block they are there, but cannot be imported:
each time in a copy (fork) of this process, which has done all of it before, and so loaded other
packages. Prints what goes wrong; the exit status is 1 then.
"""

from __future__ import annotations

import gc
import importlib.abc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any
from unittest import mock

WORDS = "the fox saw that the grapes hang high upon the old wall, so they must be sour and are not"
TEXTS = f"{WORDS} worth the climb today", f"{WORDS} worth the climb now"
ASKED = """\
{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",\
"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
"""
COMMANDS = (
    ("init -d passages.db --passages 4", "passages", "passages.db made"),
    ("add -d passages.db texts", "", "added 2"),
    ("passages -d passages.db texts/a.txt", "passages", "texts/b.txt"),
    ("init -d records.db --for records", "records", "records.db made"),
    ("add -d records.db texts", "", "added 2"),
    ("init -d base.db --base texts/a.txt", "passages", "base.db made"),
    ("init -d marks.db --ignore marks", "characters", "marks.db made"),
    ("add -d marks.db texts", "", "added 2"),
    ("init -d textbook.db --sketch minhash", "signatures", "textbook.db made"),
    ("add -d textbook.db texts", "", "added 2"),
    ("init -d code.db --shingle code:5", "programs", "code.db made"),
    ("add -d code.db texts", "", "added 2"),
    ("init -d sets.db --for baskets", "", "sets.db made"),
    ("add -d sets.db --set-key id --set-item text rows.jsonl", "long_tables", "added 2"),
    ("add -d latin.db --encoding latin-1 rows.jsonl", "documents", "added 2"),
    ("add -d tabs.db rows.tsv", "", "added 1"),
    ("init", "", "lsh.db made"),
    ("add texts", "", "added 2"),
    ("add texts --exclude none", "ignoring", "unchanged 2"),
    ("query texts/a.txt", "", "texts/b.txt"),
    ("query --containment texts/a.txt", "passages", "texts/b.txt"),
    ("pairs", "", "texts/a.txt\ttexts/b.txt"),
    ("pairs --distinguish numbers", "numbers", "texts/a.txt\ttexts/b.txt"),
    ("pairs --sample 1", "review", "1 of the 1 pair that match"),
    ("pairs -o pairs.parquet", "tables", "pairs.parquet: 1 pair"),
    ("pairs --group-by folder", "folders", "texts/a.txt\ttexts/b.txt"),
    ("clusters", "", "member\ttexts/b.txt"),
    ("clusters --keep last", "keeping", "member\ttexts/a.txt"),
    ("clusters --drop-list", "review", "texts/b.txt"),
    ("clusters --star", "keeping", "member\ttexts/b.txt"),
    ("info", "", "stored"),
    ("show texts/a.txt", "", "shingles:"),
    ("sql SELECT+count(*)+FROM+documents", "", "2\n"),
    ("tune", "", "and "),
    ("measure", "measuring", "recall"),
    ("check", "", "is whole: 2 documents"),
    ("check --repair", "repair", "is whole: 2 documents"),
    ("backup copy.db", "", "copy.db made"),
    ("backup --restore copy.db", "repair", "restored from copy.db"),
    ("reindex --threshold 0.6", "", "reindexed: finds texts that share 60%"),
    ("compare texts/a.txt texts/b.txt", "compare", "similarity"),
    ("dedup rows.jsonl -o kept.jsonl", "dedup", "kept 1, dropped 1"),
    ("dedup rows.jsonl --cut 4 --cuts cuts.jsonl -o cut.jsonl", "dedup", "kept"),
    ("sync texts", "folders", "unchanged 2"),
    ("report -o report.html", "report", "wrote report.html"),
    ("decide drop texts/b.txt", "review", "drop: 1 document"),
    ("decisions", "review", "holds"),
    ("review", "review", "no cluster is left to decide"),
    ("trash --yes", "folders", "moved 1"),
    ("serve --port 0", "web", "<title>lsh"),
    ("mcp", "mcp", "serverInfo"),
    ("gate", "gate", "copied passages 0"),
    ("spark-dedup --help", "spark", "Usage: lshdb spark-dedup"),
    ("spark-passages --help", "spark", "Usage: lshdb spark-passages"),
    ("remove texts/a.txt", "", "removed 1"),
)
"""Commands in their order, with + for blanks in a word; the app of each, and what it prints."""


_AT_ONCE = 2
"""Copies of the process that run at once."""
OFFERED = {
    line
    for line, app, _ in COMMANDS
    if app and line.startswith(("init", "add", "query", "pairs", "clusters", "check", "backup"))
}
"""Commands of the core with what an app offers."""


class Blocked(importlib.abc.MetaPathFinder):
    """Finds no module of some apps."""

    def __init__(self, apps: Sequence[str]) -> None:
        self.names = [f"lshdb.apps.{app}" for app in apps]

    def find_spec(self, name: str, *_: object) -> None:
        """ModuleNotFoundError for a module of these apps, as if its folder were not there."""
        if any(name == app or name.startswith(f"{app}.") for app in self.names):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def run(*words: str) -> str:
    """What a command of this process prints on both streams, and its exit status."""
    from lshdb.cli import app

    files: list[Any] = [tempfile.TemporaryFile("w+", encoding="utf-8") for _ in range(2)]  # noqa: SIM115
    given, printed = files
    given.write(ASKED if words[0] == "mcp" else "")
    given.seek(0)
    kept = os.dup(printed.fileno())  # a command may close its streams
    streams = {"stdin": given, "stdout": printed, "stderr": printed}
    with mock.patch.multiple(sys, **streams, argv=["lshdb", *words]):
        if words[0] == "serve":
            Thread(target=visit, args=(kept,), daemon=True).start()
        status: object = None
        try:
            app.main()
        except SystemExit as done:
            status = done.code
        if not printed.closed:
            printed.flush()
    return f"{os.pread(kept, 1 << 20, 0).decode()}\nstatus {status}"


def visit(printed: int) -> None:
    """Read the page of pairs at the address that a command has printed, and end the command."""
    while b"\n" not in (said := os.pread(printed, 4096, 0)):
        time.sleep(0.01)
    if said.startswith(b"http"):
        address = said.partition(b"\n")[0].decode()
        try:
            with urllib.request.urlopen(address) as page:
                os.write(printed, page.read())
        finally:
            os.kill(os.getpid(), signal.SIGINT)


def check_library() -> None:
    """The core as a library."""
    import lshdb

    with lshdb.open("library.db") as db:
        assert db.add("a", TEXTS[0])
        assert db.add_many([("b", TEXTS[1])]).added == 1
        assert [match.key for match in db.query(TEXTS[0])] == ["a", "b"]
        [pair] = db.pairs()
        [cluster] = db.clusters()
        assert (pair.a, pair.b) == tuple(cluster.members) == ("a", "b")
        assert db.info().documents == 2
        assert db.get("b").content == TEXTS[1]
        assert [*db.sql("SELECT key FROM documents")] == [("a",), ("b",)]
        assert db.tune()
        assert not db.check().problems
        db.backup("library-copy.db")
        db.reindex(threshold=0.5)
        db.remove("b")
        assert "b" not in db


def failures(missing: Sequence[str]) -> list[str]:
    """What goes wrong without some apps, in an empty directory."""
    Path("texts").mkdir()
    for name, text in zip("ab", TEXTS, strict=True):
        Path(f"texts/{name}.txt").write_text(text)
    rows = [
        f'{{"id": "{name}", "text": "{text}"}}\n' for name, text in zip("ab", TEXTS, strict=True)
    ]
    Path("rows.jsonl").write_text("".join(rows))
    Path("rows.tsv").write_text("id\ttext\na\tthe fox\n")
    subprocess.run("git init -q && git add texts", shell=True, check=True)
    wrong, gone = [], {app for name in missing for app in with_needing(name)}

    def attempt(what: str, step: Callable[[], object]) -> None:
        try:
            step()
        except Exception:
            wrong.append(f"{what}\n{traceback.format_exc()}")

    def try_command(words: Sequence[str], app: str, says: str) -> None:
        printed = run(*words)
        if app in gone:  # which may need another that is missing, too
            named = any(f"the app {name!r}, which is not" in printed for name in missing)
            assert named, printed
            assert printed.endswith("status 2"), printed
        else:
            assert "pip install" in printed or says in printed, printed

    for line, app, says in COMMANDS:
        words = [word.replace("+", " ") for word in line.split()]
        attempt(f"lshdb {line}", lambda: try_command(words, app, says))  # noqa: B023
    attempt("library", check_library)

    def check_help() -> None:
        page = run("--help")
        for line, app, _ in COMMANDS:
            name = line.split()[0]
            if line not in OFFERED:
                assert (f"\n  {name} " in page) == (app not in gone), name

    attempt("lshdb --help", check_help)
    return wrong


def with_needing(app: str) -> list[str]:
    """An app and those that need it, from the ground up."""
    from project.test_architecture import APPS

    gone = [app]
    for name, needed in APPS.items():
        if not needed.isdisjoint(gone):
            gone.append(name)
    return gone


def tried(gone: Sequence[str]) -> bool:
    """Whether something goes wrong without some apps; prints what."""
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        found = failures(gone)
    for what in found:
        print(f"without {', '.join(gone)}: {what}", flush=True)
    return bool(found)


def compile_templates_once() -> None:
    """Compile each template for all copies of this process: that takes half of their time."""
    with suppress(ImportError):
        from jinja2 import Environment

        made: dict[object, Any] = {}
        compiled: Any = Environment.compile

        def compile_once(*source: Any) -> Any:
            return made.get(source[1:]) or made.setdefault(source[1:], compiled(*source))

        mock.patch.object(Environment, "compile", compile_once).start()


def blocked(cases: Mapping[str, Sequence[str]]) -> int:
    """Block the imports of apps in copies of this process; how many copies fail."""
    compile_templates_once()
    failed = int(tried([]))  # which also loads what the copies use
    gc.freeze()  # copies do not search what is loaded for garbage
    running = 0
    for name, gone in cases.items():
        if running == _AT_ONCE:
            failed += os.wait()[1] != 0
            running -= 1
        running += 1
        if not os.fork():
            for module in [name for name in sys.modules if name.partition(".")[0] == "lshdb"]:
                del sys.modules[module]
            sys.meta_path.insert(0, Blocked(gone))
            status = 1
            try:
                print(f"without {name}:", flush=True)
                status = int(tried(gone))
            finally:
                os._exit(status)
    return failed + sum(os.wait()[1] != 0 for _ in range(running))


def deletions(cases: Mapping[str, Sequence[str]]) -> int:
    """Delete apps in copies of the package; how many copies fail."""
    from project.test_architecture import APPS, PACKAGE

    failed = 0
    for name, gone in cases.items():
        with tempfile.TemporaryDirectory() as copy:
            package = Path(copy, "lshdb")
            shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
            for app in gone:
                shutil.rmtree(package / "apps" / app)
            if len(gone) == len(APPS):
                shutil.rmtree(package / "apps")
            command = [sys.executable, "-P", __file__, *gone]
            paths = os.pathsep.join((copy, os.path.dirname(os.path.abspath(__file__))))
            done = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths})
        print(
            f"without {name} ({len(gone)}): {'fails' if done.returncode else 'works'}", flush=True
        )
        failed += done.returncode > 0
    return failed


if __name__ == "__main__":
    if sys.argv[1:] in (["--deletions"], ["--block"]):
        from project.test_architecture import APPS

        cases = {app: with_needing(app) for app in APPS} | {"all apps": [*APPS]}
        needed = ["programs"] if "--block" in sys.argv else set[str]().union(*APPS.values())
        cases |= {f"{app} alone": [app] for app in needed}
        sys.exit((blocked if "--block" in sys.argv else deletions)(cases) > 0)
    sys.exit(tried(sys.argv[1:]))
