"""A PDF and a web page of one text were marked all over, because their lines break elsewhere."""

from __future__ import annotations

import random
import re
import textwrap
from pathlib import Path

import documents
import pytest
from oracles import longest_common

import lshdb
from lshdb.apps.compare.differences import differences

pytestmark = pytest.mark.extra("documents")
WORDS = [
    "harbour",
    "boats",
    "tide",
    "gulls",
    "roofs",
    "evening",
    "letter",
    "office",
    "waffle",
    "winter",
    "meadow",
    "infinite",
]


def sentences(rng: random.Random) -> list[str]:
    """Paragraphs of three sentences each."""
    return [
        " ".join(
            " ".join(f"{rng.choice(WORDS)}{rng.choice('abcdefgh')}" for _ in range(14)).capitalize()
            + "."
            for _ in range(3)
        )
        for _ in range(12)
    ]


def edited(rng: random.Random, paragraphs: list[str]) -> list[str]:
    """The paragraphs with some other words, one paragraph less and a new one."""
    words = [paragraph.split() for paragraph in paragraphs]
    for paragraph in rng.sample(words, 4):
        paragraph[rng.randrange(len(paragraph))] = "changed"
    del words[rng.randrange(len(words))]
    words.insert(rng.randrange(len(words)), ["This", "sentence", "is", "new."])
    return [" ".join(paragraph) for paragraph in words]


def wrapped(path: Path, paragraphs: list[str], width: int) -> None:
    lines = [line for text in paragraphs for line in [*textwrap.wrap(text, width), ""]]
    text = "\n".join(lines)
    # A long word at the end of a line is broken, as by a program that reads pictures of pages.
    path.write_text(re.sub(r"\b(\w{4})(\w{4,})\n(?=\w)", r"\1-\n\2 ", text))


def test_what_is_marked_between_formats_is_what_changed(tmp_path: Path) -> None:
    rng = random.Random(7)
    paragraphs = sentences(rng)
    documents.html(tmp_path / "page.html", paragraphs)
    documents.pdf(tmp_path / "paper.pdf", edited(rng, paragraphs))
    documents.docx(tmp_path / "w.docx", edited(rng, paragraphs))
    wrapped(tmp_path / "scanned.txt", edited(rng, paragraphs), 40)
    with lshdb.open(tmp_path / "lsh.db") as db:
        db.add_files([str(tmp_path)])
        texts = {Path(key).name.partition("#")[0]: str(db.get(key).content) for key in db}
    page = texts.pop("page.html")
    for name, text in texts.items():
        rows = differences(page, text)
        lines = [line for row in rows for line in (row.a, row.b) if line]
        marks = [piece.text for line in lines for piece in line.pieces if piece.kind != "same"]
        a, b = (re.findall(r"\w+", each) for each in (page, text))
        fewest = len(a) + len(b) - 2 * longest_common(a, b)
        marked = len(re.findall(r"\w+", " ".join(marks)))
        assert marked <= 1.2 * fewest, name
        assert fewest > 40, "a paragraph went, another came"
        assert sum(row.kind != "same" for row in rows) <= 12, name
        assert sum(row.a is not None and row.b is not None for row in rows) >= 20, name
    assert len(texts) == 3
