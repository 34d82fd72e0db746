"""Identical means the same bytes; what has the same text only is named, and goes by a decision."""

from __future__ import annotations

import gzip
import sqlite3
import zipfile
from contextlib import closing
from itertools import combinations

import pytest
from helpers import Command, eventually, served

import lshdb

TEXT = "the ferry leaves the island at noon on all days but Sundays, when it waits for the bus"
MARKED = b"\xef\xbb\xbf" + TEXT.encode()
MESSAGE = "From a@b Thu Jan  1 00:00:00 2026\nMessage-ID: <{}>\n{}\n\n" + TEXT + "\n\n"
SPLIT = "Content-Type: multipart/mixed; boundary=b\n\n--b\n\n" + TEXT + "\n--b\n{}\n--b--\n\n"
ATTACHED = "Content-Type: application/pdf\nContent-Disposition: attachment; filename={}.pdf"
BOX = "".join(
    [
        MESSAGE.format("read@x", "Status: RO\nX-Status: A\nContent-Length: 88"),
        MESSAGE.format("new@x", "Status: O"),
        *(
            MESSAGE.format(f"{name}@x", "Subject: s").partition("\n\n")[0]
            + "\n"
            + SPLIT.format(ATTACHED.format("scan") + f"\n\n{name}")
            for name in "ab"
        ),
    ]
)
BYTES = {
    "d/a.txt": 0,
    "d/b.txt": 0,
    "d/marked.txt": 1,
    "d/packed.txt.gz": 2,
    "d/z.zip/a.txt": 0,
    "d/z.zip/marked.txt": 1,
    "d/box.mbox#<read@x>": 3,
    "d/box.mbox#<new@x>": 3,
    "d/box.mbox#<a@x>": 4,
    "d/box.mbox#<b@x>": 5,
}
"""A number for the bytes of each document; all have the same text."""
FILES = ("d/a.txt", "d/b.txt", "d/marked.txt", "d/packed.txt.gz")


def word(a: str, b: str) -> str:
    return "identical" if BYTES[a] == BYTES[b] else "same text"


@pytest.fixture
def synced(command: Command) -> Command:
    for name in ("d/a.txt", "d/b.txt"):
        command.write(name, TEXT)
    command.path("d/marked.txt").write_bytes(MARKED)
    command.path("d/packed.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    command.write("d/box.mbox", BOX)
    with zipfile.ZipFile(command.path("d/z.zip"), "w") as archive:
        archive.writestr("a.txt", TEXT)
        archive.writestr("marked.txt", MARKED)
    command.done("add", "d", "--archives")
    return command


def test_every_door_says_whose_bytes_are_the_same(synced: Command) -> None:
    assert {*synced.keys()} == {*BYTES}
    for row in synced.done("pairs", "--json").records:
        is_identical = word(row["a"], row["b"]) == "identical"
        assert (row["identical"], row["same_text"]) == (is_identical, True), row
    lines = [line.split("\t") for line in synced.done("pairs", "--threshold", "1").lines]
    assert {frozenset((a, b)): kind for _, kind, a, b in lines} == {
        frozenset(pair): word(*pair) for pair in combinations(synced.keys(), 2)
    }
    for row in synced.done("clusters", "--json").records:
        assert row["identical"] == (word(row["keep"], row["key"]) == "identical"), row
    for name in FILES:
        for line in synced.done("query", name).lines:
            _, kind, key = line.split("\t")
            assert kind == word(name, key), (name, key)
        for other in FILES:
            compared = synced.done("compare", f"./{name}", other, "--json").records[0]
            assert compared["identical"] == (word(name, other) == "identical"), (name, other)
    # A text that is no file has its characters; of files those in UTF-8 have the same bytes.
    for arguments, stdin in ((("--text", TEXT), ""), (("-",), TEXT)):
        kinds = {
            line.split("\t")[2]: line
            for line in synced.done("query", *arguments, stdin=stdin).lines
        }
        assert {key for key, line in kinds.items() if "identical" in line} == {
            key for key in BYTES if BYTES[key] == 0
        }
    with lshdb.open(synced.path("lsh.db")) as db:
        db.add("row", TEXT)
        assert db.compare("row", "d/a.txt").identical
        assert not db.compare("row", "d/marked.txt").identical
        assert db.compare("row", "d/marked.txt").same_text


def test_only_files_with_the_same_bytes_are_named_at_similarity_1(synced: Command) -> None:
    """Whichever stays: the others are of one text, and one is kept of each bytes."""
    named = {"d/b.txt", "d/z.zip/a.txt", "d/z.zip/marked.txt", "d/box.mbox#<new@x>"}
    found = synced.done("clusters", "--threshold", "1", "--drop-list", "--star").lines
    assert {*found} == {key for key in named if BYTES[key] == BYTES[synced.keys()[0]]}
    for options in (
        (),
        ("--rule", "identical"),
        ("--keep", "last"),
        ("--keep-in", "d"),
        ("--drop-all",),
    ):
        how = options if "--rule" in options else ("--threshold", "1", *options)
        rows = synced("dedup", "d", *how, "--json").records
        assert all(word(row["key"], row["kept"]) == "identical" for row in rows), options
        assert all(row["identical"] for row in rows)
        assert len(rows) == (3 if options == ("--drop-all",) else 2), options
    assert len(synced("dedup", "d", "--json").records) == 7, "below 1, all that are similar"
    assert "identical copies are dropped" in synced.done("review", stdin="i\n").out
    for decision in synced.done("decisions", "--json").records:
        if decision["verdict"] == "drop":
            assert BYTES[decision["keys"][0]] == 0
    synced.done("decide", "drop", "d/marked.txt")
    assert "d/marked.txt" in synced("decisions", "--drop", "--files").out, "by a decision"


def test_a_file_whose_digest_is_not_known_has_the_same_text(synced: Command) -> None:
    """As in files that an earlier format left."""
    with closing(sqlite3.connect(synced.path("lsh.db"))) as connection, connection:
        connection.execute("UPDATE files SET file_digest = NULL, extracted = NULL")
    kinds = {line.split("\t")[1] for line in synced.done("pairs").lines}
    assert kinds == {"same text"}
    assert not synced.done("clusters", "--threshold", "1", "--drop-list").lines


@pytest.mark.extra("documents")
def test_what_the_text_does_not_show_is_not_identical(command: Command) -> None:
    """Forms, receipts and mails of the same text: never identical, and never named for deletion."""
    from reportlab.pdfgen.canvas import Canvas

    def ticket(name: str, *, is_return: bool) -> None:
        canvas = Canvas(str(command.path(name)))
        canvas.drawString(72, 700, TEXT)
        canvas.acroForm.checkbox(name="return", checked=is_return, x=72, y=400)
        canvas.save()

    command.path("d").mkdir()
    ticket("d/form a.pdf", is_return=True)
    ticket("d/form b.pdf", is_return=False)
    for number in (1, 2):
        canvas = Canvas(str(command.path(f"d/receipt {number}.pdf")))
        canvas.drawString(72, 700, TEXT)
        canvas.rect(72, 72, 100 * number, 100)  # a picture of the sum
        canvas.save()
        message = MESSAGE.partition("\n")[2].format("m@x", "").partition("\n\n")[0]
        attached = ATTACHED.format("scan") + f"\n\n{number}"
        command.write(f"d/mail {number}.eml", f"{message}\n{SPLIT.format(attached)}")
    command.done("add", "d")
    rows = command.done("pairs", "--threshold", "1", "--json").records
    assert len(rows) == 15
    assert {(row["identical"], row["same_text"]) for row in rows} == {(False, True)}
    assert all(
        row["identical"] == (row["key"] == row["keep"])
        for row in command.done("clusters", "--json").records
    )
    assert not command.done("clusters", "--threshold", "1", "--drop-list", "--files").lines
    assert not command.done("dedup", "d", "--threshold", "1").lines
    assert "0 identical copies" in command.done("review", stdin="i\n").out


@pytest.mark.extra("web")
def test_no_button_drops_files_with_other_bytes_at_similarity_1(synced: Command) -> None:
    with served(synced.directory, "--review", "--who", "ann") as site:
        for threshold, words in (("0.5", "Keep A, drop 9"), ("1", "Keep A, drop 2")):
            page = eventually(site, "cluster", key="d/a.txt", threshold=threshold).text
            assert words in page, threshold
            assert ("same text" in page, "drop all" in page) == (True, False), threshold
