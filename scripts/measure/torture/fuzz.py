"""Hostile input: random bytes, texts, JSON lines, keys, settings, options and SQL.

A part of scripts/torture. Commands run in this process (trial.run); one in 200 is the installed one
in a separate process; and calls go to the library. Nothing may end with a traceback or hang,
output may not act on a terminal, SQL may not change the file, and acknowledged documents must be in
it, as they were given.
"""

import json
import os
import random
import shlex
import sqlite3
import time
import traceback
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import lshdb
from measure.torture.trial import Hang, Tally, limited, run, run_installed

_INSTALLED: Final = 200
"""One command in this many is started as a separate process."""
_LONGEST_ARGUMENT: Final = 100_000
"""Bytes; a system takes no more, at least of some."""
_PIECES: Final = (
    "a", "word ", "the fox ", " ", "\n", "\r\n", "\t", "\0", "\x1b[31m", "\x1b]0;t\x07", "\x7f",
    "\x9b", "[red]x[/red]", "'; DROP TABLE documents; --", '"', "\\", "\\u0000", "%s", "{}",
    "$(id)", "`id`", "\u202e", "\u200b", "\u2028", "\ufeff", "\ufffd", "\ud800", "\U0010ffff",
    "\u0300" * 20, "ﷺ" * 9, "ß", "İ", "漢字", "한", "ด", "🏳️‍🌈", "../../etc/passwd", "-", "--",
    "-d", "0", "1e999", "=1+1",
)  # fmt: skip
_JSON: Final = (
    "{", "}", "[", "]", ":", ",", '"', "null", "true", "NaN", "-Infinity", "1", "-0", "1e400",
    "1" * 400, '"id"', '"text"', '"set"', '"\\ud800"', '"\\u0000"', '"a"', " ", "\n", "\\",
    "\x00", "\ufeff", "1.5",
)  # fmt: skip
_SQL: Final = (
    "SELECT", "FROM", "WHERE", "documents", "bands", "settings", "signatures", "buckets", "*",
    "key", "content", "doc_id", "count(*)", "GROUP BY", "ORDER BY", "LIMIT 5", "JOIN",
    "USING (doc_id)", "(", ")", ",", "'x'", "x'00ff'", "1", "-1", "9223372036854775808", "1e999",
    "NULL", "=", "||", "LIKE '%a%'", "GLOB '*'", "json_each(content)", "hex(signature)",
    "zeroblob(1000000000)", "printf('%.*c', 99, 'x')", "randomblob(99)", "char(27)",
    "INSERT INTO bands VALUES (1, 1, 1)", "DELETE", "DROP TABLE bands", "ATTACH 'other.db' AS o",
    "PRAGMA", "writable_schema = ON", "query_only = OFF", "table_info(bands)",
    "load_extension('x')", "fts3_tokenizer('simple')",
    "fts3_tokenizer('simple', x'0000000000000000')", "CREATE", "TEMP", "TABLE", "VIEW", "TRIGGER",
    "VIRTUAL TABLE x USING fts5(y)", "x", "AS", "UNION ALL",
    "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 99) SELECT n FROM c",
    ";", "--", "/*", "EXPLAIN", "QUERY PLAN", "VACUUM INTO 'copy.db'", "BEGIN", "COMMIT", "?",
    ":a", "\0", "\ud800", "sqlite_schema", "pragma_function_list", "CASE WHEN 1 THEN 2 END",
    "OVER ()", "COLLATE nocase",
)  # fmt: skip
_SETTINGS: Final = {
    "--threshold": ("0", "1", "0.5", "1e-9", "nan", "inf", "-1", "x", "1.0000001", "1e400", ""),
    "--recall": ("0.9", "1", "0.999999999", "nan", "0", "-inf", "x"),
    "--shingle": (
        "set", "word:3", "char:64", "char:65", "word:0", "word:-1", "word:٣", "x", "", "set ",
    ),
    "--permutations": ("16", "15", "4096", "4097", "-1", "99999999999999999999", "x", "1.5"),
    "--bands": ("1", "0", "-1", "4096", "99999999999", "x"),
    "--rows": ("1", "0", "6", "4096", "x"),
    "--construction": (
        "and 4, or 4, and 4, or 4", "and 0", "and 4," * 50, "and 4096", "or 4096",
        "and 99999999999", "and 2, and 2, or 2", "x", "", "and ٣, or 3", "and 1, " * 500 + "or 1",
    ),
    "--sketch": ("fast", "minhash", "x", ""),
    "--seed": ("0", "random", "-1", "9223372036854775807", "9223372036854775808", "x", "1e3", "٣"),
    "--for": ("baskets", "code", "x", ""),
}  # fmt: skip
_COMMANDS: Final = shlex.split(
    """
    init add query pairs clusters dedup compare remove show buckets sql info tune check backup
    reindex x ''
    """
)
_OPTIONS: Final = shlex.split(
    """
    --json --csv --top --threshold --key --text --estimate --exhaustive --star --containment
    --keep --format --help --version --documents --on-similar skip --auto-key --strict
    --key-field --dropped -o - -- '' 0 1 -1 nan 1e9
    """
)


class Fuzz:
    """One process's share: two databases, and what must be in them."""

    def __init__(self, number: int, directory: Path) -> None:
        self.tally = Tally()
        self._number = number
        self._directory = directory
        self._chance = random.Random()
        self._case = 0
        self._runs = 0
        self._kept: dict[str, dict[str, str]] = {"texts": {}, "sets": {}}
        self._make()
        self._kinds: tuple[Callable[[], None], ...] = (
            self.add_lines, self.add_lines, self.add_text, self.query, self.keys, self.sql,
            self.sql, self.settings, self.options, self.library, self.library, self.dedup,
        )  # fmt: skip

    def _make(self) -> None:
        for name in self._kept:
            self._delete(name)
            shingle = "set" if name == "sets" else "word:2"
            with lshdb.open(self._file(name), shingle=shingle, threshold=0.5) as db:
                db.add("first", ["a", 1] if name == "sets" else "the fox and the grapes")
            self._kept[name] = {}

    def _file(self, name: str) -> Path:
        return self._directory / f"{name}.db"

    def _delete(self, name: str) -> None:
        for file in self._directory.glob(f"{name}.db*"):
            file.unlink()

    def go(self, seconds: float, inputs: int = 1 << 60) -> Tally:
        """Make inputs for some seconds, or up to a number of them."""
        os.chdir(self._directory)
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.tally.faults < inputs:
            self._case += 1
            self._chance = random.Random(f"{self._number}/{self._case}")
            try:
                self._chance.choice(self._kinds)()
            except Hang:
                self._defect("hangs")
            except Exception:
                self._defect(traceback.format_exc(limit=-6))
            if self._case % 200 == 0:
                self.check()
                if self._case % 1000 == 0:
                    self._make()
        self.check()
        return self.tally

    def check(self) -> None:
        """See that the files are whole and have what was acknowledged."""
        for name in self._kept:
            with closing(sqlite3.connect(self._file(name))) as connection:
                if connection.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                    self._defect(f"{name} is corrupted")
                stored = dict(connection.execute("SELECT key, content FROM documents"))
            report = lshdb.check(self._file(name), deep=True)
            if not report.ok:
                self._defect(f"{name} is not whole: {report.problems}")
            for key, content in self._kept[name].items():
                if stored.get(key) != content:
                    self.tally.lost += 1
                    where = f"fuzz {self._number}/{self._case}, {name}"
                    self.tally.notes.append(f"{where}: {key!r} is {stored.get(key)!r:.100}")
            self._kept[name] = {}

    def _defect(self, what: str) -> None:
        self.tally.defect(f"fuzz {self._number}/{self._case}: {what}")

    def _run(self, *arguments: str, stdin: bytes = b"") -> int:
        self.tally.operations += 1
        self._runs += 1
        words = [*map(_argument, arguments)]
        longest = max(len(os.fsencode(word)) for word in words)
        if self._runs % _INSTALLED == 0 and longest < _LONGEST_ARGUMENT:
            self.tally.commands += 1
            ended = run_installed(words, stdin)
        else:
            ended = run(words, stdin)
        if ended.defect:
            self._defect(f"{words!r:.500} < {stdin!r:.500}\n{ended.defect}")
        return ended.status

    # makers of input

    def text(self) -> str:
        """A text of pieces that often do harm, or of any characters."""
        chance = self._chance
        if chance.random() < 0.05:
            return chance.choice(_PIECES) * chance.choice((1000, 30_000))
        if chance.random() < 0.3:
            maximum = chance.choice((0x80, 0x3000, 0x110000))
            return "".join(chr(chance.randrange(maximum)) for _ in range(chance.randrange(20)))
        return "".join(chance.choices(_PIECES, k=chance.randrange(12)))

    def data(self) -> bytes:
        """Any bytes, or a text that may have lone surrogates."""
        if self._chance.random() < 0.5:
            return self._chance.randbytes(self._chance.randrange(60))
        return self.text().encode("utf-8", "surrogatepass")

    def line(self, name: str) -> bytes:
        """A line that may be a document; if it surely is, it is remembered."""
        chance = self._chance
        kind = chance.randrange(4)
        if kind == 0:
            return self.data().replace(b"\n", b"")
        if kind == 1:
            return "".join(chance.choices(_JSON, k=chance.randrange(15))).replace("\n", "").encode()
        key = f"key {chance.randrange(300)}" if kind == 2 else _argument(self.text()[:300])
        words = [chance.choice(("the", "fox", "and", "grapes", "漢", "x")) for _ in range(6)]
        if kind == 3 and not key:
            return b"{}"
        if name == "texts":
            self._kept[name][key] = " ".join(words)
            return json.dumps({"id": key, "text": " ".join(words)}).encode()
        stored = json.dumps(sorted(set(words)), ensure_ascii=False, separators=(",", ":"))
        self._kept[name][key] = stored
        return json.dumps({"id": key, "set": words}).encode()

    def add_lines(self) -> None:
        """JSON lines, some of them documents."""
        name = self._chance.choice(list(self._kept))
        # Never at the start: there random bytes may be a byte order mark of all lines.
        lines = [b"", *(self.line(name) for _ in range(self._chance.randrange(1, 20)))]
        self.tally.faults += len(lines)
        self._run("add", "-", "--format", "jsonl", "--db", f"{name}.db", stdin=b"\n".join(lines))

    def dedup(self) -> None:
        """JSON lines of which the similar ones are dropped."""
        name = self._chance.choice(list(self._kept))
        kept = dict(self._kept[name])
        lines = [self.line(name) for _ in range(self._chance.randrange(1, 8))]
        self._kept[name] = kept
        self.tally.faults += len(lines)
        shingle = ("--shingle", "set") if name == "sets" else ()
        self._run("dedup", "-", "-o", "-", *shingle, stdin=b"\n".join(lines))

    def add_text(self) -> None:
        """A text, of whatever bytes, under whatever key."""
        self.tally.faults += 1
        key = self._chance.choice(("t", "t2", self.text()))
        self._forget("texts", key)
        self._run(
            "add", "-", "--format", "text", f"--key={key}", "-d", "texts.db", stdin=self.data()
        )

    def _forget(self, name: str, key: str) -> None:
        for written in (key, _argument(key), key.replace("\0", "")):
            self._kept[name].pop(written, None)

    def query(self) -> None:
        """Whatever is compared with what is stored."""
        self.tally.faults += 1
        name = self._chance.choice(list(self._kept))
        if self._chance.random() < 0.5:
            self._run("query", "-", "-d", f"{name}.db", "--json", stdin=self.data())
        else:
            self._run("query", f"--text={self.text()}", "-d", f"{name}.db", "--threshold", "0.01")

    def keys(self) -> None:
        """Keys that are there, or not, or no keys at all."""
        self.tally.faults += 1
        chance = self._chance
        name = chance.choice(list(self._kept))
        known = list(self._kept[name])
        key = chance.choice(known) if known and chance.random() < 0.6 else self.text()
        threshold = chance.choice((0.4, 0.5, 0.6))
        commands = (
            ["show", "--", key], ["query", f"--key={key}"], ["remove", "--", key],
            ["compare", "--", key, "first"], ["pairs"], ["clusters"],
            ["show", "--json", "--", key], ["check", "--deep"], ["check", "--repair"],
            ["backup", "--replace", "copy.db"], ["reindex", f"--threshold={threshold}"],
        )  # fmt: skip
        words = chance.choice(commands)
        at = words.index("--") if "--" in words else len(words)
        if words[0] == "remove":
            self._forget(name, key)
        status = self._run(*words[:at], "-d", f"{name}.db", *words[at:])
        if status and words[0] in ("check", "backup", "reindex", "pairs", "clusters"):
            self._defect(f"{words} failed")

    def sql(self) -> None:
        """SQL, most of it nonsense; none may change a file, or make one."""
        self.tally.faults += 1
        statement = " ".join(self._chance.choices(_SQL, k=self._chance.randrange(1, 12)))
        if self._chance.random() < 0.5:
            statement = "SELECT " + statement
        style = self._chance.choice(("--json", "--csv", "--db=texts.db"))
        before = self._state()
        self._run("sql", "-d", "texts.db", style, "--", statement)
        if self._state() != before:
            self._defect(f"the SQL {statement!r} changed the file")

    def _state(self) -> object:
        file = self._file("texts")
        return sorted(os.listdir(self._directory)), file.stat().st_mtime_ns, file.read_bytes()[:100]

    def settings(self) -> None:
        """Settings, mostly impossible ones."""
        self.tally.faults += 1
        names = self._chance.sample(list(_SETTINGS), self._chance.randrange(1, 4))
        given = [f"{name}={self._chance.choice(_SETTINGS[name])}" for name in names]
        status = self._run("init", "-d", "new.db", *given)
        if status == 0:
            self._run("add", "-d", "new.db", "-", stdin=b'{"id": 1, "text": "a b c", "set": [1]}')
            if self._run("info", "-d", "new.db"):
                self._defect(f"{given} made a file that cannot be read")
        self._delete("new")

    def options(self) -> None:
        """Commands with options that may not be theirs."""
        self.tally.faults += 1
        words = self._chance.choices(_OPTIONS, k=self._chance.randrange(6))
        words = [w if w not in ("-o", "--dropped") else "--json" for w in words]
        self._run(
            self._chance.choice(_COMMANDS), "-d", "scratch.db", *words, stdin=self.line("texts")
        )
        self._kept["texts"] = {}
        self._delete("scratch")

    def library(self) -> None:
        """Calls with arguments of any type; only lshdb's own errors may come of them."""
        self.tally.operations += 1
        self.tally.faults += 1
        chance = self._chance

        values: tuple[Any, ...] = (
            "", "a", "first", self.text(), [self.text()],
            None, 0, 1, -1, 0.5, float("nan"), float("inf"), 2**70, True,
            b"a", [], ["a", 1], ["a", None], {"a": 1}, {1, "a"}, (1.5,), [[1]], [2**70],
        )  # fmt: skip

        def anything() -> Any:
            return chance.choice(values)

        def unknown() -> str:
            key = self.text()
            self._forget(name, key)
            return key

        name = chance.choice(list(self._kept))
        with limited(), lshdb.open(self._file(name)) as db:
            calls: tuple[Callable[[], object], ...] = (
                lambda: db.query(anything(), top=chance.choice((None, 1, 0, -1, 2**70))),
                lambda: db.add(f"lib {chance.randrange(9)}", anything()),
                lambda: db.compare(anything(), anything()),
                lambda: [*db.pairs(threshold=chance.choice((None, 0.1, 0, 2, float("nan"))))],
                lambda: db.add(unknown(), "text" if name == "texts" else ["a"]),
                lambda: db.remove(unknown()),
            )
            try:
                chance.choice(calls)()
            except lshdb.LshdbError as error:
                if len(str(error).splitlines()) > 1:
                    self._defect(f"an error of several lines: {error}")


def _argument(text: str) -> str:
    """A text as a process's argument, which holds no NUL and no surrogates."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def work(number: int, seconds: float, directory: str, inputs: int = 1 << 60) -> Tally:
    """Make inputs for some seconds, or up to a number of them."""
    before = Path.cwd()
    try:
        return Fuzz(number, Path(directory).resolve()).go(seconds, inputs)
    finally:
        os.chdir(before)


def share(first: int, number: int, seconds: float, directory: str) -> Tally:
    """The same with other inputs for each first number, which notes repeat."""
    return work(first + number, seconds, directory)
