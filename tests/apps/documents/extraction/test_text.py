"""Pages to one comparable text: what is left out, joined and replaced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import documents
import pytest
from helpers import Command

import lshdb
from lshdb.apps.documents.extraction.text import normalized
from lshdb.read import metadata


@pytest.mark.extra("documents")
@pytest.mark.parametrize(
    "pair",
    [
        ([["Receipt", "450"]], [["Receipt", "900"]]),
        ([["Law", "Civil"]], [["Law", "Ill"]]),
        ([["i", "one"], ["x", "two"]], [["c", "one"], ["m", "two"]]),
        # Sums at the edges of pages count no pages, and a header is there once.
        ([[f"Total {n}", f"a{n}"] for n in (450, 20, 7)],
         [[f"Total {n}", f"a{n}"] for n in (900, 20, 7)]),
        ([[f"Invoice 1001, page {n}", f"a{n}"] for n in (1, 2, 3)],
         [[f"Invoice 1002, page {n}", f"a{n}"] for n in (1, 2, 3)]),
        # What is on the edges of pages far apart is no header.
        ([["Paid", f"a{n}"] if n % 3 == 0 else [f"a{n}"] for n in range(9)],
         [["Paid", f"a{n}"] if n == 0 else [f"a{n}"] for n in range(9)]),
        ([["007"]] * 3, [["7"]] * 3),
    ],
)  # fmt: skip
def test_what_is_left_out_of_paper_makes_no_two_documents_equal(
    pair: tuple[list[list[str]], list[list[str]]],
) -> None:
    one, other = (normalized(["\n".join(page) for page in pages], of_paper=True) for pages in pair)
    assert one != other


@pytest.mark.extra("documents")
def test_numbers_that_count_pages_are_left_out() -> None:
    for numbers in (["1", "2", "3"], ["Page 7 of 9", "Page 8 of 9", "- 9 -"]):
        pages = [f"words {['ab', 'cd', 'ef'][n]}\n{own}" for n, own in enumerate(numbers)]
        assert normalized(pages, of_paper=True) == "words ab\n\fwords cd\n\fwords ef"
    assert "2" in normalized(["a\n1", "b\n2"], of_paper=True)


@pytest.mark.extra("documents")
def test_words_that_ends_of_pages_cut_are_joined() -> None:
    pages = ["one har-\n7", "bour, and a well-\n8", "known well-known word\n9"]
    assert normalized(pages, of_paper=True).split("\n\f") == [
        "one harbour,",
        "and a well-known",
        "well-known word",
    ]
    assert normalized(["of a-", "b\ufffec\ufffed e"], of_paper=True) == "of abcd\n\fe"


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
    """Future-House/paper-qa#1258, run-llama/llama_index#1764, ThalesGroup/fred#2261: one PDF ended
    the indexing of all.
    """
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


def test_a_line_of_one_word_takes_no_time() -> None:
    normal = normalized(["a" * 1_000_000 + "\nwell-known"], of_paper=True)
    assert normal.endswith("a\nwell-known")
