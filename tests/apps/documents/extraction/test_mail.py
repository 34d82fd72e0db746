"""Messages and mailboxes: their text, and each fails alone."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from unittest import mock

import pytest
from documents import answer, refused, text_of
from helpers import Command, forked, status_of

import lshdb
from lshdb.apps.documents.extraction import mail, process
from lshdb.read.kinds import kind_of


@pytest.mark.extra("documents")
def test_mail_without_a_charset_or_with_a_wrong_one_is_read(tmp_path: Path) -> None:
    words = "Die Fähre über den Fluß fährt im Mai täglich."
    labels = (
        "",
        "; charset=us-ascii",
        '; charset="',
        "; charset=unknown-8bit",
        "; charset=us-ascii (Plain)",
    )
    for head in ("", *(f"Content-Type: text/plain{label}\n" for label in labels)):
        assert text_of(tmp_path / "a.eml", f"{head}\n{words}".encode()) == words
    assert text_of(tmp_path / "a.eml", f"\n{words}".encode("latin-1")) == words
    said = answer(tmp_path / "a.eml", b"Subject: =?unknown-8bit?q?K=C3=B6ln?=\n\nwords")
    assert said["metadata"]["subject"] == "Köln"


MIXED = "Content-Type: multipart/{}; boundary=b\n\n{}--b--\n"


def part(head: str, body: str) -> str:
    return f"--b\n{head}\n\n{body}\n"


PICTURE = part("Content-Type: image/png\nContent-Disposition: inline", "x")
PLAIN, HTML = "Content-Type: text/plain", "Content-Type: text/html"


@pytest.mark.extra("documents")
@pytest.mark.parametrize(
    ("kind", "parts", "words"),
    [
        ("related", PICTURE + part(HTML, "<p>the page"), ["the page"]),

        ("mixed", PICTURE + part(PLAIN, "words"), ["words"]),
        ("alternative", part(PLAIN, " ") + part(HTML, "<p>the page"), ["the page"]),
        ("mixed", part(PLAIN + "\nContent-Disposition: attachment", "words"), ["words"]),

        ("mixed", part(PLAIN, "see") + part("Content-Type: text/x-patch", "-old"), ["see", "-old"]),
        ("alternative", part(PLAIN, "Online: https://x.org/" + "y" * 99)
         + part(HTML, "<p>Your receipt of 450"), ["Your receipt of 450"]),

        ("report", part(PLAIN, "failed") + part("Content-Type: message/delivery-status", "To: bob"),
         ["failed"]),
        ("mixed", part(HTML, "<p>the page") + part(PLAIN, "list"), ["the page", "list"]),
        ("mixed", part(PLAIN, "see") + part("Content-Type: message/rfc822", "Subject: s\n\nsent"),
         ["see", "s", "sent"]),
    ],
)  # fmt: skip
def test_the_text_of_a_message_is_found(
    tmp_path: Path, kind: str, parts: str, words: list[str]
) -> None:
    data = MIXED.format(kind, parts).encode()
    assert text_of(tmp_path / "a.eml", data).split("\n") == words


@pytest.mark.extra("documents")
def test_a_part_of_an_unknown_charset_costs_itself(tmp_path: Path) -> None:
    unknown = part(f"{PLAIN}; charset=x-martian", "caf\xe9")
    data = MIXED.format("mixed", part(PLAIN, "the words") + unknown).encode("latin-1")
    said = answer(tmp_path / "a.eml", data)
    assert said["text"].split("\n")[0] == "the words"
    assert said["metadata"]["damaged"] == ["part: unknown encoding: x-martian"]
    both = MIXED.format("alternative", unknown + part(HTML, "<p>the page")).encode("latin-1")
    assert text_of(tmp_path / "a.eml", both).split("\n")[0] == "the page"
    assert "x-martian" in refused(tmp_path / "a.eml", MIXED.format("mixed", unknown).encode())


@pytest.mark.extra("documents")
def test_lines_that_flow_are_joined_if_their_last_blank_is_none_of_the_text(tmp_path: Path) -> None:
    lines = "渡し船は \r\n正午に  \r\n出ます。\n> quo \n> ted \n>> deeper \n> line\n-- \nAnn"
    for delsp, shown in (
        ("yes", "渡し船は正午に 出ます。\n> quoted\n>> deeper\n> line\n--\nAnn"),
        ("no", "渡し船は\n正午に\n出ます。\n> quo\n> ted\n>> deeper\n> line\n--\nAnn"),
    ):
        head = f"{PLAIN}; charset=utf-8; format=flowed; delsp={delsp}\n\n"
        assert text_of(tmp_path / "a.eml", (head + lines).encode()) == shown


@pytest.mark.extra("documents")
def test_a_saved_page_is_mail_and_its_text_that_of_the_page(tmp_path: Path) -> None:
    page = "<html><p>The ferry leaves at noon</p></html>"
    data = MIXED.format("related", part(f"{HTML}\nContent-Location: https://x.org/", page))
    for name in ("a.mht", "a.mhtml"):
        (tmp_path / name).write_text(f"From: <Saved by Blink>\nMIME-Version: 1.0\n{data}")
        assert kind_of(name) == "eml"
        assert text_of(tmp_path / name, kind="eml") == "The ferry leaves at noon"


@pytest.mark.extra("documents")
def test_parts_within_too_many_parts_are_named(tmp_path: Path) -> None:
    data = f"{PLAIN}\n\nthe deep words"
    for depth in range(31):
        if depth == 30:
            assert text_of(tmp_path / "a.eml", data.encode()) == "the deep words"
        data = f"Content-Type: multipart/mixed; boundary=b{depth}\n\n--b{depth}\n{data}"
    deep = answer(tmp_path / "a.eml", data.encode())
    assert deep["metadata"]["damaged"] == ["part: it is within 30 others, and is not read"]


def messages(path: Path) -> list[str]:
    job = {"path": str(path), "kind": "mbox", "quotes": True, "largest": 1 << 30, "start": 0}
    return [str(said["text"]) for said in process.answers(job) if "text" in said]


@pytest.mark.extra("documents")
def test_only_a_date_and_a_header_begin_a_message(tmp_path: Path) -> None:
    box = (
        b"From - Mon Jan 05 10:00:00 2026\nSubject: 1\n\nHello,\n\nFrom the first of May\n"
        b"it leaves.\n\nFrom ann@x Mon Jan  5 10:00:00 2026 she\nwaits.\n>From now\n>>From then\n\n"
        b"From \r\nSubject: 2\r\n\r\ntwo\r\n\r\n"
        b"From a@b Tue, 6 Jan 2026 10:00 +0100\nSubject: 3\n\nthree\n"
    )
    (tmp_path / "in").write_bytes(box)
    first, second, third = messages(tmp_path / "in")
    lines = ["From ann@x Mon Jan 5 10:00:00 2026 she", "waits.", "From now", ">From then"]
    assert first.split("\n")[-4:] == lines
    assert "From the first of May\nit leaves." in first
    assert (second, third) == ("two", "three")


@pytest.mark.extra("documents")
def test_headers_that_cannot_be_parsed_cost_themselves(tmp_path: Path) -> None:
    data = b"Message-ID: <[abc]>\nTo: x <\nSubject: s\n\nwords"
    about = answer(tmp_path / "a.eml", data)["metadata"]
    assert (about["message-id"], about["to"], about["subject"]) == ("<[abc]>", "x <", "s")


@pytest.mark.extra("documents")
def test_a_file_of_apple_mail_is_its_message(tmp_path: Path) -> None:
    own = b"Subject: s\n\nthe words\n"
    data = b"%d     \n%s<?xml version='1.0'?><plist>flags</plist>" % (len(own), own)
    assert text_of(tmp_path / "a.emlx", data, "eml") == "the words"


MESSAGE = "From {}\nMessage-ID: <{}@x>\nSubject: s\n\nThe words of message {}.\n\n"


@pytest.mark.extra("documents")
def test_mailboxes_are_known_by_their_first_bytes(command: Command) -> None:
    box = "".join(MESSAGE.format("- Mon Jan 05 10:00:00 2026", n, n) for n in range(3))
    names = ("Inbox", "Archive.2024", "Sent.mbox/mbox", "January.txt")
    for name in names:
        command.write(f"d/{name}", box.encode())
    command.write("d/letter.txt", b"From the first of May\nNote: it leaves.\n")
    for name in (*names, "letter.txt"):
        os.utime(command.path(f"d/{name}"), (1, 1))
    said = "added {}, updated 0, moved 0, removed {}, unchanged {}, failed 0\n"
    command.done("sync", "d", says=said.format(13, 0, 0))
    assert command.keys()[:3] == [f"d/Archive.2024#<{n}@x>" for n in range(3)]
    command.done("sync", "d", says=said.format(0, 0, 13))
    command.path("d/Inbox").write_bytes(box[: box.index("From ", 5)].encode())
    command.done("sync", "d", says=said.format(0, 2, 11))


# a mailbox


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


def whole_message(number: int, head: str = "", body: str = "", *, name: str | None = None) -> bytes:
    """A message of a mailbox, with an id unless `name` is empty."""
    own = f"Message-ID: <m{number}@example.org>\n" if name is None else name
    text_of = body or f"The words of message {number} are about w{number} and x{number * 7} only."
    return (
        f"From ann@example.org Mon Jan  5 10:00:00 2026\nFrom: Ann <ann@example.org>\n"
        f"Subject: {number}\n{own}{head}\n{text_of}\n\n"
    ).encode("utf-8", "surrogateescape")


def box(path: Path, given: list[bytes], age: int = 1_000) -> None:
    """A mailbox of this age in seconds, so that a change of it is seen by its time."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join(given))
    os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))


def failed(said: str) -> dict[str, str]:
    """The reasons of failures by the names of messages."""
    lines = [line.partition("#")[2] for line in said.splitlines() if "lshdb: d/in.mbox#" in line]
    return {name: why for name, _, why in (line.partition(": ") for line in lines)}


def test_each_message_fails_alone_and_is_not_gone(command: Command) -> None:
    """vbuterin/messaging-daemon#6, NousResearch/hermes-agent#55383, pazz/alot#107: a made-up
    charset ended the fetching of a folder.
    """
    whole = [whole_message(number) for number in range(30)]
    box(command.path("d/in.mbox"), whole)
    command.done("sync", "d")
    changed = list(whole)
    changed[10] = whole_message(10, "Content-Type: text/plain; charset=x-unheard-of\n")
    changed[20] = whole_message(20, "Content-Type: text/plain; charset=base64\n")
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
    assert "w7" in mail.text_of(whole_message(7, head).partition(b"\n")[2], about)
    assert about["subject"] == "7" or "Subject" in head


def test_a_crash_and_a_slow_message_cost_one_each(command: Command) -> None:
    library = command.path("library/selectolax")
    library.mkdir(parents=True)
    (library / "__init__.py").touch()
    (library / "lexbor.py").write_text(PARSER)
    page = "Content-Type: text/html\n"
    given = [whole_message(number) for number in range(9)]
    given[5] = whole_message(5, page, "SLOW")
    given[7] = whole_message(7, page, "CRASH")
    given[8] = whole_message(7, page, "CRASH")  # the id of the one before
    box(command.path("d/in.mbox"), given)
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
    box(tmp_path / "d/in.mbox", [whole_message(number) for number in range(3)])
    job = (
        b'{"path": "%s", "kind": "mbox", "quotes": true, "seconds": 9, "largest": 999, "start": 0}'
    )
    (tmp_path / "job").write_bytes(job % str(tmp_path / "d/in.mbox").encode())

    def run() -> None:
        armed: list[int] = []
        os.dup2(os.open(tmp_path / "out", os.O_CREAT | os.O_WRONLY), 1)
        sys.argv[1:] = [str(os.open(tmp_path / "job", os.O_RDONLY))]
        with mock.patch.object(signal, "alarm", armed.append):
            process.main()
        # It runs while the process reads, and not while it waits for its reader.
        assert armed == [14, 0] * 7

    assert status_of(forked(run)) == 0
    assert (tmp_path / "out").read_bytes().count(b'"text"') == 3


def test_a_message_that_is_too_large_costs_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [whole_message(1), whole_message(2, body="many words " * 200_000), whole_message(3)]
    box(tmp_path / "d/in.mbox", given)
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


IDS = {
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
    named = [whole_message(n, name=IDS[name], body=name) for n, name in enumerate(IDS)]
    same = whole_message(90, name="", body="the same")
    given = [*named, same, same]
    count = len(given)
    box(command.path("d/in.mbox"), given)
    command.done("sync", "d")
    keys = command.keys()
    assert len(keys) == count
    names = ("<abc#2>", "<abc>", "<abc> 2", "<folded@x>")
    assert {f"d/in.mbox#{name}" for name in names} < {*keys}
    assert not [key for key in keys if "\0" in key or "\n" in key or len(key) > 1_000]

    # One comes to the front and one goes, and no other message changes its name.
    box(command.path("d/in.mbox"), [whole_message(99, name=""), *given[1:]], 800)
    one_each = f"added 1, updated 0, moved 0, removed 1, unchanged {count - 1}, failed 0\n"
    command.done("sync", "d", says=one_each)
