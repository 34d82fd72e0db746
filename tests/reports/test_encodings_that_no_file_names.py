"""Texts that are not UTF-8 and do not say what they are; mailboxes whose names do not say it."""

from __future__ import annotations

import os

import documents
from helpers import Command

MESSAGE = "From {}\nMessage-ID: <{}@x>\nSubject: s\n\nThe words of message {}.\n\n"


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


def test_a_page_that_is_damaged_is_named(command: Command) -> None:
    documents.long_pdf(command.path("a.pdf"), 3)
    data = command.path("a.pdf").read_bytes()
    second = data.index(b"/Type/Page/", data.index(b"/Type/Page/") + 1)
    command.path("a.pdf").write_bytes(data[:second] + b"/Type/Pagx/" + data[second + 11 :])
    done = command.done("add", "a.pdf", "--list-skipped")
    assert "a.pdf: read without 1 damaged: page 2: " in done.err
    assert "read without a page or part that is damaged: 1" in done.err
    columns = "metadata ->> '$.damaged[0]', content"
    ((damaged, content),) = command.rows(f"SELECT {columns} FROM documents")
    assert str(damaged).startswith("page 2: ")
    assert [bool(page.strip()) for page in str(content).split("\f")] == [True, False, True]
