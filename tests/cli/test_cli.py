"""The command line as scripts depend on it: flags, JSON fields, exit statuses."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pytest
from extras import if_there
from helpers import Command, Result, database_of, finish, status_of, until

import lshdb
from lshdb.cli.app import COMMANDS, make_app

FOX = (
    "A hungry fox saw some fine bunches of grapes hanging from a vine that was trained along a "
    "high trellis, and did his best to reach them by jumping as high as he "
)
FABLES = {"fox": f"{FOX}could", "fox2": f"{FOX}can", "crow": "A crow was sitting on a branch"}
SHINGLES = len(FABLES["fox"].split()) - 2
SIMILARITY = (SHINGLES - 1) / (SHINGLES + 1)
"""Of fox and fox2, which differ in the last of their shingles of three words."""


def jsonl(documents: dict[str, str]) -> str:
    return "".join(json.dumps({"id": key, "text": text}) + "\n" for key, text in documents.items())


@pytest.fixture(scope="module")
def fables_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("fables") / "fables.db"
    database_of(file, FABLES).close()
    return file


@pytest.fixture
def fables(command: Command, fables_file: Path) -> Command:
    """The command, beside a database that holds the fables."""
    shutil.copy(fables_file, command.path("lsh.db"))
    return command


# help, version, and where the file is


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_and_fits_a_screen(name: str, command: Command) -> None:
    help = command.done(name, "--help", says="").out
    assert f"Usage: lshdb {name} " in help
    assert f"\n\n  Example: lshdb {name} " in help
    assert len(help.splitlines()) <= 40
    everything = command.done(name, "--help-all", says="").out
    assert max(map(len, (help + everything).splitlines())) <= 80
    assert not os.listdir(command.directory)
    parameters: Any = make_app().get_command(None, name).params
    options = {flag for each in parameters for flag in each.opts if flag.startswith("-")}
    assert options <= {*re.findall(r"(?<![\w-])--?\w[\w-]*", everything)}
    paragraphs = everything.split("\n\n")
    examples = [text for text in paragraphs if text.startswith("  Example: ")]
    assert [text for text in examples if "\n" in text.rstrip()] == [], "a line to copy"
    assert [text in help for text in examples] == [True] * len(examples)


DEDUP = pytest.param("dedup", marks=pytest.mark.app("dedup"))


@pytest.mark.parametrize("name", ["query", DEDUP])
def test_help_on_a_terminal_is_that_of_a_pipe(name: str, command: Command) -> None:
    command.variables |= {"TERM": "dumb", "LANG": "C"}
    for option in ("--help", "--help-all"):
        piped = command.done(name, option, says="").out
        shown, status = command.on_terminal(name, option, columns=200)
        assert (shown.replace("\r\n", "\n"), status) == (piped, 0)
    narrow, _ = command.on_terminal(name, "--help", columns=60)
    assert narrow.isascii()
    assert max(map(len, narrow.splitlines())) <= 60


def test_help_of_all_names_the_commands(command: Command) -> None:
    help = command.done("-h", says="").out
    assert all(f"\n  {name} " in help for name in COMMANDS)


@pytest.mark.parametrize(
    "line",
    [
        *("query --text a", "pairs", "clusters", "show a"),
        pytest.param("compare a.txt b.txt", marks=pytest.mark.app("compare")),
        pytest.param("measure", marks=pytest.mark.app("measuring")),
        *("info", "tune", "check", "backup copy.db", "remove a", "sql select"),
        "reindex --threshold 0.5",
    ],
)
def test_a_mistyped_database_is_never_made(line: str, command: Command) -> None:
    for name in ("a.txt", "b.txt", "library.db"):
        command.write(name, "a text")
    before = sorted(os.listdir(command.directory))
    for name, advice in (
        ("libary.db", "there is no such file; lshdb init or lshdb add makes one"),
        ("nowhere/x.db", "there is no directory nowhere"),
    ):
        reason = command.fails(*line.split(), "-d", name)
        assert reason == f"no database at {name}: {advice}"
        assert sorted(os.listdir(command.directory)) == before


@pytest.mark.parametrize(
    "line",
    [
        *("nosuch", "add", "add --bogus x", "add --key k file.txt", "init --threshold high"),
        *("query --text a --top 0", "sql --json --csv x", "sql .tables"),
    ],
)
def test_wrong_usage_has_status_2_and_touches_nothing(line: str, command: Command) -> None:
    result = command(*line.split())
    assert (result.status, result.out) == (2, "")
    assert result.err
    assert not os.listdir(command.directory)


def test_the_file_is_the_options_else_the_variables_else_lsh_db(tmp_path: Path) -> None:
    made: list[str] = []
    for name, options in (("variable.db", ["-d", "option.db"]), ("variable.db", []), ("", [])):
        Command(tmp_path, {"LSHDB_PATH": name}).done("init", *options)
        made += {*os.listdir(tmp_path)} - {*made}
    assert made == ["option.db", "variable.db", "lsh.db"]


# init


def test_init_makes_what_is_asked_for_and_info_shows_it(command: Command) -> None:
    settings = {"threshold": "0.6", "recall": "0.9", "shingle": "char:5", "permutations": "64"}
    settings |= {"seed": "7", **if_there("signatures", sketch="minhash")}
    asked = ["--no-content"]
    for name, value in settings.items():
        asked += [f"--{name}", value]
    made = command.done("init", *asked)
    assert made.out == ""
    share = "finds texts that share 60% or more of their runs of 5 characters ("
    assert made.err.startswith(f"lsh.db made: {share}")
    info = command.done("info", "--json", says="").record
    assert {name: str(info[name]) for name in settings} == settings
    bands, rows = info["bands"], info["rows"]
    assert info["construction"] == f"and {rows}, or {bands}"
    assert 1 - (1 - 0.6**rows) ** bands >= 0.9
    assert (info["content"], info["bytes"]) == (False, command.path("lsh.db").stat().st_size)
    # The same settings again, or none, are right; others are not.
    again = command.done("init", *asked).err
    assert again == command.done("init").err == made.err.replace("made", "exists already")


def test_an_index_that_finds_too_little_is_warned_of(command: Command) -> None:
    few = "--bands 50 --rows 50"
    warning = "lshdb: this index finds 0.07% of the pairs at similarity 0.8: take more bands or"
    command.done("init", "-d", "c.db", "--permutations", "2500")
    for line in (f"init -d a.db {few}", f"reindex -d c.db {few}"):
        assert warning in command.done(*line.split(), "--quiet").err, "it is no note"
    assert len(command.done("init", "--bands", "20", "--rows", "5").err.splitlines()) == 1


# add and query


def test_add_and_query_in_a_pipe_with_no_init(command: Command) -> None:
    added = command.done("add", "-", stdin=jsonl(FABLES))
    assert (added.out, added.err) == ("", "added 3, updated 0, unchanged 0, failed 0\n")
    command.write("doc.txt", FABLES["fox"])
    matches = command.done("query", "--json", "-", stdin=FABLES["fox"], says="").records
    assert matches == command.done("query", "--json", "doc.txt").records
    assert [(match["key"], match["similarity"]) for match in matches] == [
        ("fox", 1.0),
        ("fox2", SIMILARITY),
    ]
    assert (matches[0]["estimate"], matches[0]["bands"]) == (1.0, 12)
    assert command.done("query", "--text", FABLES["fox"]).lines == [
        "1.000000\tidentical\tfox",
        f"{SIMILARITY:.6f}\texact\tfox2",
    ]
    text = '{"id": "no"}\nnot JSON lines but a text\n'
    command.done("add", "--key", "note", "-", stdin=text)
    assert command.rows("SELECT content FROM documents WHERE key = 'note'") == [(text,)]


# remove, show, buckets


def test_show_prints_sizes_signature_and_buckets(fables: Command) -> None:
    shown = fables.done("show", "--json", "fox", says="").record
    assert shown["characters"] == shown["bytes"] == len(FABLES["fox"])
    assert shown["shingles"] == SHINGLES
    buckets = shown["buckets"]
    assert (len(shown["signature"]), len(buckets)) == (128, 12)
    with lshdb.open(fables.path("lsh.db"), mode="read") as db:
        assert buckets == [dataclasses.asdict(bucket) for bucket in db.buckets("fox")]
    bands = fables.done("query", "--key", "fox", "--json").record["bands"]
    assert [bucket["documents"] for bucket in buckets].count(2) == bands
    lines = fables.done("show", "fox").lines
    assert lines[0] == "key:        fox"
    assert lines[-12:] == ["\t".join(map(str, bucket.values())) for bucket in buckets]


# sql


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="needs the sqlite3 shell")
def test_sql_prints_what_the_sqlite3_shell_prints(fables: Command) -> None:
    fables.done("add", "-", stdin=jsonl({"ключ　é": "ein Täxt"}))
    for statement in (
        "select key, length(key), documents.content, threshold, null from documents join settings",
        "select 0.1 + 0.2, 1.0, 1e20, 1e14, 3e-7, 1 / 3.0, 9e999, -9e999, -5, '', 'a|b', 1.5e16",
        "select 1 where 0",
    ):
        words = ["sqlite3", "lsh.db", statement]
        shell = subprocess.run(
            words, cwd=fables.directory, env=fables.variables, capture_output=True, check=True
        )
        assert fables.done("sql", statement, says="").out == shell.stdout.decode()
    assert fables.done("sql", "--heading", "select 1 as a, 2 as b").lines == ["a|b", "1|2"]


# pipes and signals


def test_a_reader_that_goes_away_is_no_failure(tmp_path: Path) -> None:
    """As the installed command ends, of 4.5 million pairs that begin at once."""
    documents = ((f"copy {i}", ["a", "b"]) for i in range(3000))
    database_of(tmp_path / "lsh.db", documents, shingle="set").close()
    process = Command(tmp_path).start("pairs", stdout=-1, stderr=-1)
    assert process.stdout is not None
    assert process.stdout.readline() == b"1.000000\tidentical\tcopy 0\tcopy 1\n"
    process.stdout.close()
    process.stdout = None
    assert finish(process) == (0, "")


@pytest.mark.parametrize(
    "words", [("pairs",), ("clusters",), ("query", "rows.jsonl"), ("query", "--key", "0")]
)
def test_a_closed_pipe_leaves_no_log(command: Command, words: tuple[str, ...]) -> None:
    """The database is closed when nothing reads it any more."""
    rows = [{"id": str(number), "text": "one two three four"} for number in range(400)]
    command.write("rows.jsonl", rows)
    command.done("add", "rows.jsonl")
    ours, theirs = os.pipe()
    os.close(ours)
    assert command(*words, streams={1: theirs}) == Result("", "", 0)
    os.close(theirs)
    assert [*command.directory.glob("lsh.db*")] == [command.path("lsh.db")]


def test_interrupted_add_keeps_what_it_says_and_goes_on_when_run_again(command: Command) -> None:
    """A slow pipe, then the same input again.

    Of the installed command: Ctrl-C at a terminal is for its whole process group.
    """
    # As cheap to add as can be: it takes tens of thousands to fill a batch.
    command.done("init", "--shingle", "set", "--permutations", "16", "--bands", "1", "--rows", "16")
    given: list[bytes] = []
    process = command.start("add", "-", stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    while command.rows("SELECT count(*) FROM documents") == [(0,)] and len(given) < 500_000:
        numbers = range(len(given), len(given) + 5_000)
        given += (b'{"id": %d, "set": [%d]}\n' % (i, i) for i in numbers)
        process.stdin.write(b"".join(given[numbers.start :]))
        process.stdin.flush()
    os.killpg(process.pid, signal.SIGINT)
    status, said = finish(process)
    kept = len(command.keys())
    assert 0 < kept <= len(given)
    assert (status, said.splitlines()) == (
        130,
        [
            f"added {kept:,}, updated 0, unchanged 0, failed 0",
            "lshdb: interrupted; what is counted above is in the file",
        ],
    )
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    again = command.done("add", "--json", "-", stdin=b"".join(given)).record
    assert (again["added"], again["unchanged"]) == (len(given) - kept, kept)


def test_an_endless_statement_can_be_interrupted(fables: Command) -> None:
    statement = "with recursive c(x) as (select 0 union all select x from c) select max(x) from c"
    process = fables.forked("sql", statement)
    assert process.pid is not None
    times = Path("/proc", str(process.pid), "stat")
    # Nothing before the statement takes a second of the processor.
    until(lambda: int(times.read_text().rpartition(")")[2].split()[11]) > os.sysconf("SC_CLK_TCK"))
    os.kill(process.pid, signal.SIGINT)
    assert status_of(process) == -signal.SIGINT


def test_interrupted_it_leaves_no_file(fables: Command) -> None:
    endless = "with recursive c(x) as (select 0 union all select x + 1 from c) select x from c"
    with TemporaryFile() as said:
        process = fables.forked("sql", endless, "-o", "x.csv", streams={2: said.fileno()})
        # It has rows, so that the command is past making the file.
        until(lambda: any(file.stat().st_size for file in fables.directory.glob("x.csv.*")))
        assert process.pid is not None
        os.kill(process.pid, signal.SIGINT)
        assert status_of(process) == 130
        said.seek(0)
        assert said.read() == b"lshdb: interrupted\n"
    assert not list(fables.directory.glob("x.csv*"))


def open_files(pid: int | None) -> list[str]:
    if not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc")
    try:
        return [os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["querry"], "No such command 'querry'; did you mean 'query'?"),
        pytest.param(
            *(["spark_dedup"], "did you mean 'spark-dedup'?"), marks=pytest.mark.app("spark")
        ),
        (["xyzzy"], "No such command 'xyzzy'."),
        (["help"], "No such command 'help'; try lshdb --help, or lshdb COMMAND --help"),
        (["list"], "No such command 'list'; try lshdb sql"),
        (["find", "a"], "No such command 'find'; try lshdb query FILE"),
        (["delete", "a"], "No such command 'delete'; try lshdb remove KEY"),
        (["merge", "x.db"], "No such command 'merge'; try lshdb add -d ALL.db ONE.db TWO.db"),
        (["stats"], "No such command 'stats'; try lshdb info"),
        (["buckets"], "No such command 'buckets'; try lshdb sql"),
        (["info", "x.db"], "x.db is a database: give it as -d x.db"),
        (["pairs", "-d", "x.db", "x.db"], "x.db is a database: give it as -d x.db"),
    ],
)
def test_a_name_that_is_nearly_right(command: Command, arguments: list[str], says: str) -> None:
    command.done("init", "-d", "x.db")
    done = command(*arguments)
    assert done.status == 2
    assert says in " ".join(done.err.split())


# options given twice, and by variables


FERRY = "the ferry to the islands runs"


def test_of_an_option_given_twice_the_last_value_counts(command: Command) -> None:
    """As everywhere, so that an alias or a script sets defaults; flags and lists may repeat."""
    rows = [{"id": key, "text": FERRY, "n": 1} for key in ("a", "b")]
    command.write("a.jsonl", rows)
    command.done("add", "a.jsonl", "-d", "none.db", "--db", "x.db", "--quiet", "-q")
    assert not command.path("none.db").exists()
    where = ["--where", "key <> ? and key <> ?", "-p", "x", "-p", "y"]
    asked = ["--top", "1", "--top", "2", "--fields", "n", "--json", "--json"]
    done = command.done("query", "--text", FERRY, "-d", "x.db", *where, *asked)
    assert len(done.records) == 2


def test_a_variable_is_for_an_alias(command: Command) -> None:
    database_of(command.path("lsh.db"), {"a": "one two three four", "b": "one two three five"})
    command.variables |= {"LSHDB_QUERY_THRESHOLD": "0.3", "LSHDB_VERSION": "1.2"}
    query = ["query", "--text", "one two three four", "--exhaustive"]
    assert len(command.done(*query).lines) == 2
    assert len(command.done(*query, "--threshold", "0.9").lines) == 1
