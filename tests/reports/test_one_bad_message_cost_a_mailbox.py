"""Messages that cannot be read, or kill or stop the process that reads them, cost themselves only.

Charsets that a sender made up ended the fetching of a whole folder of mail, and everything newer
was never reached: vbuterin/messaging-daemon#6, NousResearch/hermes-agent#55383, pazz/alot#107.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import Command

import lshdb
from lshdb.apps.documents.extracting import PROGRAM
from lshdb.apps.documents.extraction import mail, process

PARSER = """
import os, time
class LexborHTMLParser:
    def __init__(self, data):
        if b"CRASH" in data:
            os.abort()
        if b"SLOW" in data:
            time.sleep(30)
        self.root = self.text = None
    def css_first(self, _):
        return None
    def css(self, _):
        return []
"""
"""Stands in for selectolax, which does not crash or hang on demand."""


def message(number: int, head: str = "", body: str = "", *, name: str | None = None) -> bytes:
    """A message of a mailbox, with an id unless `name` is empty."""
    own = f"Message-ID: <m{number}@example.org>\n" if name is None else name
    text = body or f"The words of message {number} are about w{number} and x{number * 7} only."
    return (
        f"From ann@example.org Mon Jan  5 10:00:00 2026\nFrom: Ann <ann@example.org>\n"
        f"Subject: {number}\n{own}{head}\n{text}\n\n"
    ).encode("utf-8", "surrogateescape")


def box(path: Path, messages: list[bytes], age: int = 1_000) -> None:
    """A mailbox of this age in seconds, so that a change of it is seen by its time."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join(messages))
    os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))


def failed(said: str) -> dict[str, str]:
    """The reasons of failures by the names of messages."""
    lines = [line.partition("#")[2] for line in said.splitlines() if "lshdb: d/in.mbox#" in line]
    return {name: why for name, _, why in (line.partition(": ") for line in lines)}


def test_each_message_fails_alone_and_is_not_gone(command: Command) -> None:
    whole = [message(number) for number in range(30)]
    box(command.path("d/in.mbox"), whole)
    command.done("sync", "d")
    changed = list(whole)
    changed[10] = message(10, "Content-Type: text/plain; charset=x-unheard-of\n")
    changed[20] = message(20, "Content-Type: text/plain; charset=base64\n")
    del changed[29]
    box(command.path("d/in.mbox"), changed, 900)
    for arguments in (["sync", "d", "-n"], ["sync", "d"], ["sync", "d"], ["query", "d/in.mbox"]):
        done = command(*arguments)
        assert done.status == 1
        reasons = failed(done.err)
        assert reasons.keys() == {"<m10@example.org>", "<m20@example.org>"}
        reason = "message 11: no mail that can be read (unknown encoding: x-unheard-of)"
        assert reasons["<m10@example.org>"] == reason
    assert len(command.keys()) == 29
    # What is no mailbox any more, such as a packed or damaged one, has not lost its messages.
    box(command.path("d/in.mbox"), [b"\0" * 4_096, *changed], 850)
    done = command("sync", "d")
    assert "lshdb: d/in.mbox: no mailbox: it does not begin with a line 'From ...'" in done.err
    assert (done.status, len(command.keys())) == (1, 29)
    # An emptied mailbox has none of its messages any more.
    box(command.path("d/in.mbox"), [], 800)
    assert " removed 29, " in command.done("sync", "d", "--remove-most").err


@pytest.mark.parametrize(
    "head",
    [
        f"To: {'a b ' * 50_000}\n",
        f"To: {'(' * 50_000}\n",
        f"Cc: {'x@y.z, ' * 50_000}\n",
        f"From: {'=?utf-8?q?a?= ' * 50_000}\n",
        f"Subject: {'=?a?q?x' * 50_000}\n",
        f"Content-Type: text/plain{'; a=b' * 20_000}\n",
        f"Content-Disposition: inline; {'x ' * 50_000}\n",
        f"Date: {'1 ' * 50_000}\n",
        f"Message-ID: {'<' * 900}\n",
        "To: " + '"' * 1_900 + "\n",
        "Subject: =?x-nope?B?SGVsbG8=?= =?utf-8?B?!?=\n",
    ],
)
def test_a_header_that_python_takes_minutes_for_is_read(head: str) -> None:
    about: dict[str, object] = {}
    assert "w7" in mail.text_of(message(7, head).partition(b"\n")[2], about)
    assert about["subject"] == "7" or "Subject" in head


def test_a_crash_and_a_slow_message_cost_one_each(command: Command) -> None:
    library = command.path("library/selectolax")
    library.mkdir(parents=True)
    (library / "__init__.py").touch()
    (library / "lexbor.py").write_text(PARSER)
    page = "Content-Type: text/html\n"
    messages = [message(number) for number in range(9)]
    messages[5] = message(5, page, "SLOW")
    messages[7] = message(7, page, "CRASH")
    messages[8] = message(7, page, "CRASH")  # the id of the one before
    box(command.path("d/in.mbox"), messages)
    limited = Command(command.directory, {"PYTHONPATH": str(library.parent)})
    done = limited("sync", "d", "--extract-timeout", "1")
    died = "the library that reads it crashed, or took too much memory"
    assert failed(done.err) == {
        "<m5@example.org>": "message 6: reading it takes more than 1 seconds (--extract-timeout)",
        "<m7@example.org>": f"message 8: {died}",
        "<m7@example.org> 2": f"message 9: {died}",
    }
    assert "added 6, " in done.err
    assert done.status == 1


def test_the_limit_is_of_a_message_not_of_a_mailbox(tmp_path: Path) -> None:
    # An alarm of the process itself, of some seconds more, began with the mailbox.
    box(tmp_path / "d/in.mbox", [message(number) for number in range(3)])
    program = (
        "import runpy, signal, sys\n"
        "armed = []\n"
        "signal.alarm = armed.append\n"
        f"runpy.run_path({PROGRAM!r}, run_name='__main__')\n"
        "print(armed, file=sys.stderr)\n"
    )
    job = (
        b'{"path": "%s", "kind": "mbox", "quotes": true, "seconds": 9, "largest": 999, "start": 0}'
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=job % str(tmp_path / "d/in.mbox").encode(),
        capture_output=True,
        check=True,
    )
    # It runs while the process reads, and not while it waits for its reader.
    assert done.stderr.decode().strip() == str([14, 0] * 7)
    assert done.stdout.count(b'"text"') == 3


def test_a_message_that_is_too_large_costs_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = [message(1), message(2, body="many words " * 200_000), message(3)]
    box(tmp_path / "d/in.mbox", messages)
    limits = lshdb.Limits(largest_document=10_000)
    with lshdb.open(tmp_path / "lsh.db", limits=limits) as db, pytest.warns(lshdb.FailureWarning):
        report = db.add_files([str(tmp_path / "d/in.mbox")])
    (failure,) = report.failures
    assert (report.added, failure.where) == (2, f"{tmp_path}/d/in.mbox#<m2@example.org>")
    assert "message 2: its text is larger than 4,000 bytes" in failure.reason
    monkeypatch.setattr(mail, "LARGEST_MESSAGE", 4_000)
    job = {"path": str(tmp_path / "d/in.mbox"), "kind": "mbox", "quotes": True}
    answers = [*process.answers({**job, "largest": 9_999, "start": 0})]
    read = [one for one in answers if "message" not in one]
    assert ["text" in one for one in read] == [True, False, True]
    assert read[1]["refused"] == "larger than 4,000 bytes, the limit of a message"
    again = [*process.answers({**job, "largest": 9_999, "start": answers[0]["after"]})]
    assert again == answers[2:]


NAMES = {
    "none": "",
    "nul": "Message-ID: <a\0b@x>\n",
    "number": "Message-ID: <abc#2>\n",
    "plain": "Message-ID: <abc>\n",
    "twice": "Message-ID: <abc>\n",
    "like the second": "Message-ID: <abc> 2\n",
    "long": f"Message-ID: <{'i' * 3_000}@x>\n",
    "folded": "Message-ID:\n <folded@x>\n",
    "in two lines": "Message-ID: <a\n b@x>\n",
    "bare": "Message-ID: bare#<x\n",
    "of a folder": "Message-ID: <a/../b.mbox#<c@x>>\n",
    "bytes": "Message-ID: <\udcff\udcfe@x>\n",
    "surrogate": "Message-ID: <\udced\udca0\udc80@x>\n",
    "blank": "Message-ID:  \n",
    "a number": "Message-ID: 7\n",
}


def test_the_keys_of_messages_are_valid_stable_and_apart(command: Command) -> None:
    named = [message(n, name=NAMES[name], body=name) for n, name in enumerate(NAMES)]
    same = message(90, name="", body="the same")
    messages = [*named, same, same]
    count = len(messages)
    box(command.path("d/in.mbox"), messages)
    command.done("sync", "d")
    keys = command.keys()
    assert len(keys) == count
    names = ("<abc#2>", "<abc>", "<abc> 2", "<folded@x>")
    assert {f"d/in.mbox#{name}" for name in names} < {*keys}
    assert not [key for key in keys if "\0" in key or "\n" in key or len(key) > 1_000]

    # One comes to the front and one goes, and no other message changes its name.
    box(command.path("d/in.mbox"), [message(99, name=""), *messages[1:]], 800)
    one_each = f"added 1, updated 0, moved 0, removed 1, unchanged {count - 1}, failed 0\n"
    command.done("sync", "d", says=one_each)
