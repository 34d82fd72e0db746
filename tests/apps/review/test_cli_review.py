"""The review command, driven by lines of a pipe and by answers at a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from helpers import TIMEOUT, Command, database_of, finish

import lshdb

WORDS = "The quick brown fox jumps over the lazy dog while the band plays in the old square"
TEXT = "\n".join(f"{n}. {WORDS} of town {n}." for n in range(9))
OTHER = "Fry the onions slowly, add stock and thyme, simmer for half an hour, serve with bread"
HOSTILE = "x\x1b]0;evil\x07\u202e"
PROMPT = "help [?]: "
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3|4|9|10)\d")
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """The command, beside a database with a cluster of three documents and one of two."""
    database_of(
        tmp_path / "lsh.db",
        [
            ("b/one", OTHER),
            (HOSTILE, OTHER),
            ("essays/anna", TEXT),
            ("essays/ben", TEXT.replace("lazy dog", "sleepy cat", 1)),
            ("essays/cora", f"{TEXT}\n\x1b[31mred\x9b2J {HOSTILE}\nno \x1b[2J more"),
        ],
    ).close()
    return Command(tmp_path)


def verdicts(command: Command) -> list[tuple[str, ...]]:
    rows = command("decisions", "--json").records
    return [(row["verdict"], *row["keys"]) for row in rows]


def test_a_review_through_a_pipe_goes_on_where_it_ended(command: Command) -> None:
    ann = ("review", "--who", "ann")
    first = command.done(*ann, stdin="d\nq\n")
    decided, listed = first.err.splitlines()
    assert decided == "0 of 2 clusters decided"
    assert listed.endswith("lists them with --dry-run")
    assert "3 documents" in first.lines[1], "the largest cluster is the first"
    assert verdicts(command) == [("keep", "essays/anna"), ("drop", "essays/ben")]
    assert "- 0. " in first.out
    assert "[-lazy dog-]" in first.out
    assert "{+sleepy cat+}" in first.out
    again = command.done(*ann, stdin="n\n")
    assert "essays/ben" not in again.lines[2], "it is decided"
    assert verdicts(command)[2:] == [("different", "essays/anna", "essays/cora")]
    assert "1 of 2 clusters decided" in again.err
    assert "Identical" in again.out, "the next cluster follows"
    last = command.done("review", stdin="k\nu\nx\n")
    assert verdicts(command)[3:] == [("keep", HOSTILE), ("drop", "b/one")]
    assert "2 of 2 clusters decided" in last.err
    assert command("review", stdin="d\n").lines == ["no cluster is left to decide"]
    assert command("remove", "--decided", "--dry-run").lines == ["b/one", "essays/ben"]
    assert {row["who"] for row in command("decisions", "--json").records[:3]} == {"ann"}


def test_decisions_are_undone_one_by_one(command: Command) -> None:
    result = command.done("review", stdin="d\nc\nk\nu\nu\nu\n")
    assert "undone: drop essays/ben" in result.out
    assert "there is nothing to undo" in result.out
    assert verdicts(command) == []
    assert "1 identical copies are dropped" in command.done("review", stdin="i\n").out
    assert verdicts(command) == [("keep", "b/one"), ("drop", HOSTILE)]
    assert "0 identical copies" in command.done("review", stdin="i\n").out
    command.done("review", stdin="d\nd\n")
    assert verdicts(command)[2::2] == [("keep", "essays/anna"), ("drop", "essays/cora")], (
        "kept once"
    )


def test_all_that_are_similar_go_at_once_but_not_those_below(tmp_path: Path) -> None:
    numbers = [*range(10)]
    documents = {"a": numbers, "b": numbers[2:], "c": numbers[1:], "d": numbers[5:9]}
    with database_of(tmp_path / "lsh.db", documents, shingle="set", threshold=0.5) as db:
        Command(tmp_path).done("review", stdin="a\n")
        made = {decision.keys: decision.verdict for decision in db.decisions()}
    assert made == {("a",): "keep", ("b",): "drop", ("c",): "drop"}


def test_what_is_no_answer_decides_nothing(command: Command) -> None:
    command.variables["PYTHONIOENCODING"] = "utf-8:strict"
    shown = command.done("review", stdin=b"\xff\n\x1b[2J\nz\n?\n")
    assert shown.out.count("is not an answer; ? lists them") == 3
    assert (r"'\udcff'" in shown.out, r"'\x1b[2J'" in shown.out) == (True, True)
    assert "  undo your last decision\n" in shown.out
    assert verdicts(command) == []


def test_what_others_change_or_take_meanwhile(command: Command) -> None:
    path = command.path("lsh.db")
    with session(command, "review") as screen, lshdb.open(path) as db:
        screen.wait()
        db.add("essays/ben", TEXT.replace("brown fox", "grey hen", 1))
        screen.type("d")
        assert screen.shown.count("grey hen") == 1, "it is asked about again"
        db.remove("essays/cora")
        screen.type("d")
        assert "'essays/cora' no longer exists; it is skipped" in screen.shown
        states = [made.state for made in db.decisions() if "essays/ben" in made.keys]
        assert states == ["changed", "holds"]
        screen.type("q")


def test_what_others_undo_meanwhile(command: Command) -> None:
    with session(command, "review") as screen, lshdb.open(command.path("lsh.db")) as db:
        screen.type("n")
        (made,) = db.decisions()
        db.undo_decision(made.decision)
        screen.type("u")
        assert "there is nothing to undo" in screen.shown
        screen.type("q")


def test_long_lists_are_cut(command: Command) -> None:
    lines = [f"{number}. {WORDS}" for number in range(900)]
    changed = [line.replace("fox", "hen") if n % 10 == 5 else line for n, line in enumerate(lines)]
    texts = {"a": "\n".join(lines), "b": "\n".join(changed)}
    texts |= {f"copy {number}": OTHER for number in range(40)}
    for name, kept in (("long.db", True), ("bare.db", False)):
        database_of(command.path(name), texts, content=kept, threshold=0.7).close()
    done = command("review", "-d", "long.db", stdin="c\nq\n")
    assert re.search(r"  and \d+ more", done.out.partition(PROMPT)[0])
    assert re.findall(r"- (\d+)\. ", done.out) == [f"{number}5" for number in ["", *range(1, 8)]]
    assert "more differences: lshdb serve shows them all" in done.out
    bare = command("review", "-d", "bare.db", "--key", "a", stdin="q\n").out
    assert "The database does not keep contents" in bare


def test_which_clusters_are_reviewed(command: Command) -> None:
    assert "b/one" in command("review", "--order", "highest", stdin="").out.partition(PROMPT)[0]
    assert "1 of 1" in command("review", "--key", "b/one", stdin="").lines[0]
    essays = ("review", "--where", "key LIKE ?", "-p", "essays/%")
    assert re.search(r"kept +essays/cora", command(*essays, "--keep", "last", stdin="").out)
    nothing = "no two documents are similar: nothing to review\n"
    command.done(*essays, "--threshold", "0.999", says=nothing)


def test_the_informative_order_begins_nearest_the_threshold(command: Command) -> None:
    texts = {
        f"{n:02} {side}": " ".join(
            f"w{n}{'x' if side and w % 40 < n % 20 else 'y'}{w}" for w in range(400)
        )
        for n in range(40)
        for side in (0, 1)
    }
    with database_of(command.path("many.db"), texts, shingle="word:1", threshold=0.3) as db:
        nearest = min(db.pairs(threshold=0.45), key=lambda pair: pair.similarity)
    words = ("review", "-d", "many.db", "--threshold", "0.45", "--order", "informative")
    assert nearest.a in command(*words, stdin="").out


def test_a_review_at_a_terminal_shows_no_control_characters_and_ends_by_interrupt(
    command: Command,
) -> None:
    """By the installed command: the process of the tests reads lines by another library."""
    with session(command, "review", at_terminal=True) as screen:
        for keys in ("s", "\x1b[A", "kkk", "u", "n"):
            screen.type(keys)
        screen.interrupt()
    assert screen.status == 130
    assert "interrupted" in screen.shown
    plain = ESCAPES.sub("", screen.shown)
    assert COLOUR.search(screen.shown)
    assert screen.shown.count("is not an answer; ? lists them") == 2
    assert not {letter for letter in plain if not letter.isprintable()} - {"\n"}
    assert r"\x1b[2J" in plain
    assert ("\x1b[2J" in screen.shown, "\x1b]0;" in screen.shown) == (False, False)
    assert "{+" in plain, "signs mark the words"
    assert max(len(line) for line in plain.split("\n") if PROMPT not in line) <= 80
    assert verdicts(command) == [("different", "essays/anna", "essays/cora")], "the one answer"


def test_a_review_does_without_colours(command: Command) -> None:
    command.variables["NO_COLOR"] = "1"
    shown, _ = command.on_terminal("review", typed=b"s\nq\n", columns=80)
    assert not COLOUR.search(shown)
    assert "{+" in shown, "signs mark the words"


class Session:
    """A command that gets a line when it asks for one."""

    def __init__(self, ours: int, process: BaseProcess | subprocess.Popen[bytes]) -> None:
        self._ours = ours
        self.process = process
        self.shown = ""
        self.status = -1

    def wait(self) -> None:
        """Wait until it asks, once more than before."""
        self.read(until=self.shown.count(PROMPT) + 1)

    def type(self, keys: str) -> None:
        """Type a line, and wait for the next question, if it comes."""
        if not self.shown:
            self.wait()
        wanted = self.shown.count(PROMPT) + 1
        os.write(self._ours, f"{keys}\n".encode())
        if keys != "q":
            self.read(until=wanted)

    def interrupt(self) -> None:
        """Send Ctrl-C: Python's input() clears one that comes while it flushes standard error."""
        while isinstance(self.process, subprocess.Popen) and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(0.5)

    def read(self, until: int | None = None) -> None:
        """Read until a number of questions have come, or to the end."""
        piece = b""
        with suppress(OSError):
            while until is None or self.shown.count(PROMPT) < until:
                assert select.select([self._ours], [], [], TIMEOUT)[0], self.shown
                piece = os.read(self._ours, 65536)
                if not piece:
                    return
                self.shown += piece.decode().replace("\r\n", "\n")


@contextmanager
def session(command: Command, *arguments: str, at_terminal: bool = False) -> Iterator[Session]:
    """A command in another process: a terminal of 80 columns, or a socket, is its streams."""
    process: BaseProcess | subprocess.Popen[bytes]
    if at_terminal:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
        process = command.start(*arguments, stdin=theirs, stdout=theirs, stderr=theirs)
    else:
        ours, theirs = (end.detach() for end in socket.socketpair())
        process = command.forked(*arguments, streams=dict.fromkeys(range(3), theirs))
    screen = Session(ours, process)
    try:
        yield screen
        os.close(theirs)
        screen.read()
        if isinstance(process, subprocess.Popen):
            screen.status = finish(process)[0]
    finally:
        os.close(ours)
        process.kill()
        if isinstance(process, subprocess.Popen):
            process.wait()
