"""What comes out of a document follows the rules for rows: halves of surrogate pairs, NUL, sizes.

One PDF with half of a surrogate pair ended the indexing of all: Future-House/paper-qa#1258,
run-llama/llama_index#1764, ThalesGroup/fred#2261.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import documents
import pytest
from helpers import Command

import lshdb
from lshdb.apps.documents.extraction import text, web
from lshdb.read import metadata

HALF = b"+2D0-"
"""Half of a pair in UTF-7."""


def mail(body: bytes, charset: str = "utf-7", kind: str = "plain") -> bytes:
    head = f"Subject: half\nContent-Type: text/{kind}; charset={charset}\n\n"
    return head.encode() + body


@pytest.fixture
def folder(command: Command) -> Command:
    """Documents with halves of pairs, and one without."""
    files = {
        "a.rtf": rb"{\rtf1\ansi one half \u-10240? and words}",
        "pair.rtf": rb"{\rtf1\ansi a face \u-10179?\u-8704? and words}",
        "b.eml": mail(b"one half " + HALF + b" and words"),
        "in.mbox": b"From x\nMessage-ID: <1@x>\n" + mail(b"one half " + HALF + b" of a box"),
        "page.html": b"<meta charset=utf-7><title>A " + HALF + b"</title><p>half " + HALF,
        "title.eml": b"Subject: =?utf-7?q?" + HALF + b"?= and\0 NUL\n\nwords\0 of it",
        "c.txt": b"some words of a text",
    }
    for name, data in files.items():
        command.write(f"d/{name}", data)
    documents.pdf(command.path("d/whole.pdf"), documents.paragraphs(2))
    return command


def test_halves_of_pairs_are_replaced_and_counted(folder: Command) -> None:
    command = folder
    for arguments in (["add", "d"], ["dedup", "d"]):
        assert "not UTF-8: 3, bad bytes replaced" in command.done(*arguments).err
    stored: dict[Any, Any] = dict(command.rows("SELECT key, content FROM documents"))
    assert stored["d/a.rtf"] == "one half \ufffd and words"
    assert stored["d/pair.rtf"] == "a face \U0001f600 and words"
    assert stored["d/b.eml"] == "one half \ufffd and words"
    assert stored["d/in.mbox#<1@x>"] == "one half \ufffd of a box"
    assert stored["d/title.eml"] == "words of it"
    kept: dict[Any, Any] = dict(command.rows("SELECT key, metadata FROM documents"))
    assert "\ud83d" not in json.loads(kept["d/title.eml"])["subject"]
    strict = command("add", "-d", "c.db", "d", "--strict")
    named = ("d/a.rtf", "d/b.eml", "d/in.mbox#<1@x>")
    assert all(f"lshdb: {name}: " in strict.err for name in named)
    assert strict.err.count("lone surrogate") == 3
    assert (strict.status, "added 5, " in strict.err) == (1, True)


@pytest.mark.extra("documents")
def test_metadata_that_is_too_large_costs_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "LARGEST", 100)
    for name, title in {"large": "t" * 200, "small": "t"}.items():
        (tmp_path / f"{name}.html").write_text(f"<title>{title}</title><p>words")
    with lshdb.open(tmp_path / "lsh.db") as db, pytest.warns(lshdb.FailureWarning):
        report = db.add_files([str(tmp_path)], include=["*.html"])
    (failure,) = report.failures
    assert (report.added, failure.where) == (1, str(tmp_path / "large.html"))
    assert failure.reason.startswith("metadata has 2")


def test_a_page_in_a_codec_of_another_kind_is_read(tmp_path: Path) -> None:
    for name in (b"punycode", b"undefined", b"rot13", b"nosuch", b"utf-7"):
        data = b"<meta charset=%b><p>caf\xe9 and words" % name
        (tmp_path / "a.html").write_bytes(data)
        assert "words" in "".join(web.pages(str(tmp_path / "a.html"), {}))


def test_a_line_of_one_word_takes_no_time() -> None:
    normal = text.normalized(["a" * 1_000_000 + "\nwell-known"], of_paper=True)
    assert normal.endswith("a\nwell-known")
