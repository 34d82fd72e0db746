"""The command remove: which documents go, all of them or none, and when a person is asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import Command, database_of

import lshdb
from lshdb.cli import messages

ODD_KEYS = ["a", "b\nc", " spaced ", "-", "*.txt", "été", "\x1b[31m", "b"]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    database_of(
        tmp_path / "lsh.db",
        (
            lshdb.Document(key, [*range(index, index + 5)], {"place": index})
            for index, key in enumerate(ODD_KEYS)
        ),
        shingle="set",
        threshold=0.5,
    ).close()
    return Command(tmp_path)


def keys(command: Command) -> list[str]:
    with lshdb.open(command.path("lsh.db"), mode="read") as db:
        assert lshdb.check(db.path, deep=True).problems == ()
        return db.keys()


def test_by_a_condition(command: Command) -> None:
    asked = ("remove", "--where", "metadata ->> '$.place' < ?", "-p", "3")
    dry = command.done(*asked, "--dry-run", says="would remove 3\n")
    assert dry.lines == ["a", r"b\nc", " spaced "]
    records = command.done(*asked, "--dry-run", "--json", says="would remove 3\n").records
    assert [one["key"] for one in records] == ODD_KEYS[:3]
    assert keys(command) == ODD_KEYS
    command.done(*asked, says="removing 3 documents\nremoved 3\n")
    assert keys(command) == ODD_KEYS[3:]
    command.done(*asked, says="removing 0 documents\nremoved 0\n")
    command.done(*asked[:-1], "3:text", "--quiet", says="")
    assert keys(command) == [], "each number is less than any text"


def test_by_a_list(command: Command) -> None:
    command.write("list", b"b\n\n-\n*.txt\n\xc3\xa9t\xc3\xa9\nb")
    dry = command.done("remove", "--from", "list", "--dry-run", says="would remove 4\n")
    assert dry.lines == ["b", "-", "*.txt", "été"]
    command.done("remove", "--from", "list", says="removed 4\n")
    command.done("remove", "--from", "-", "-0", stdin="b\nc\0\x1b[31m\0", says="removed 2\n")
    for options in ([], ["--dry-run"]):
        reason = command.fails("remove", "--from", "-", *options, stdin="a\nx\n")
        assert reason == "no document has the key 'x'"
    assert keys(command) == ["a", " spaced "]


def test_a_wrong_condition_removes_nothing(command: Command) -> None:
    for where in ("nothing", "1) OR (1", "1; DELETE FROM documents"):
        assert command.fails("remove", "--where", where).startswith("where: ")
    # An error that shows late, when most documents have matched.
    where = "CASE WHEN key = 'b' THEN abs(-9223372036854775808) ELSE 1 END"
    assert "integer overflow" in command.fails("remove", "--where", where)
    assert keys(command) == ODD_KEYS


def test_a_person_is_asked_for_the_number(tmp_path: Path) -> None:
    def fill() -> None:
        with lshdb.open(tmp_path / "lsh.db", shingle="set", bands=1, rows=1) as db:
            db.add_many((str(number), [number]) for number in range(1_100))

    fill()
    command = Command(tmp_path)
    many = ("remove", "--where", "CAST(key AS INTEGER) > 9")
    for typed in (b"y\n", b"\x04"):
        shown, status = command.on_terminal(*many, typed=typed)
        assert status == 1
        assert "1,090 of 1,100 documents would be removed. Type their number" in shown
    assert command.on_terminal("remove", "0", "1") == ("removed 2\n", 0), "no question for keys"
    few = ("remove", "--where", "CAST(key AS INTEGER) < 10")
    shown, status = command.on_terminal(*few, typed=b"10\n")
    assert (shown.splitlines()[-1], status) == ("lshdb: nothing is removed", 1)
    shown, status = command.on_terminal(*few, typed=b"8\n")
    assert (shown.splitlines()[-1], status) == ("removed 8", 0)
    assert command.on_terminal(*many, "--dry-run")[1] == 0
    shown, status = command.on_terminal(*many, typed=b"1,090\n")
    assert (status, shown.splitlines()[-1]) == (0, "removed 1,090")
    fill()
    told = "removing 1,090 documents\nremoved 1,090\n"
    assert command.on_terminal(*many, "--yes") == (told, 0)
    fill()
    command.done(*many, says=told)  # no person, no question
    fill()
    command.write("list", "\n".join(map(str, range(1_100))))
    assert "1,100 of 1,100" in command.on_terminal("remove", "--from", "list", typed=b"y\n")[0]


def test_what_was_not_confirmed_is_not_removed(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    warn = messages.warn

    def add_another(text: str) -> None:
        if "3 of 8 documents would be removed" in text:
            with lshdb.open(command.path("lsh.db")) as db:
                db.add("new", [1, 2], {"place": 0})
        warn(text)

    monkeypatch.setattr(messages, "warn", add_another)
    words = ("remove", "--where", "metadata ->> '$.place' < ?", "-p", "3")
    shown, status = command.on_terminal(*words, typed=b"3\n")
    told = "lshdb: the documents changed meanwhile: nothing is removed; run it again"
    assert (status, shown.splitlines()[-1]) == (1, told)
    assert keys(command) == [*ODD_KEYS, "new"]


def test_keys_without_a_document_are_counted_or_refused(command: Command) -> None:
    command.write("gone.txt", "b\nabsent\nabsent\nother\n")
    assert "no document has the key 'absent'" in command.fails("remove", "--from", "gone.txt")
    says = "removed 1; 2 keys without a document\n"
    command.done("remove", "--from", "gone.txt", "--missing-ok", says=says)
    assert keys(command) == ODD_KEYS[:-1]
