"""Submissions that nothing could be read of are named in the report and on standard error."""

from __future__ import annotations

import re
import zipfile

import documents
import pytest
from helpers import Command

PROGRAM = "for i in range(10):\n    print(i * {}, i + {}, [i, {}])\n"
REASONS = {
    "hw/dan.rar": "a binary file (RAR)",
    "hw/deep": "empty: no text is in this folder",
    "hw/eve.zip": "it has no files",
    "hw/fay.py": "empty: no text is in this file",
    "hw/gus.pdf": "no PDF that can be read (Failed to load document (PDFium: Data format error).)",
    "hw/ida": "nothing of it could be read (src/a.pdf: no PDF that can be read (Failed to load "
    "document (PDFium: Data format error).))",
    "hw/jan.zip": "nothing of it could be read (in.rar: a binary file (RAR), and 1 more)",
    "hw/kim": "nothing of it could be read (p.png: a binary file (PNG))",
    "hw/lea.csv": "a table by its suffix, and only texts are read",
    "hw/max.pdf": "a PDF of pictures: it has no text",
    "hw/ned": "empty: no text is in this folder",
    "hw/odd \x1b[1m.gif": "a binary file (GIF)",
    "hw/pia": "a link to a directory",
}


@pytest.fixture
def submissions(command: Command) -> Command:
    for name, number in {"ann/a.py": 3, "ben.py": 3, "cleo/c.py": 7}.items():
        command.write(f"hw/{name}", PROGRAM.format(number, number, number))
    command.write("hw/cleo/broken.pdf", b"%PDF-1.4 garbage")
    command.write("hw/dan.rar", b"Rar!\x1a\7\0")
    command.path("hw/deep/deeper").mkdir(parents=True)
    zipfile.ZipFile(command.path("hw/eve.zip"), "w").close()
    command.write("hw/fay.py", b"")
    command.write("hw/gus.pdf", b"%PDF-1.4 garbage")
    command.write("hw/ida/src/a.pdf", b"%PDF-1.4 garbage")
    with zipfile.ZipFile(command.path("hw/jan.zip"), "w") as archive:
        archive.writestr("in.rar", b"Rar!\x1a\7\0")
        archive.writestr("in.zip", b"PK\3\4")
    command.write("hw/kim/p.png", b"\x89PNG\r\n\x1a\n")
    command.write("hw/lea.csv", "a,b\n1,2\n")
    documents.scanned(command.path("hw/max.pdf"))
    command.write("hw/ned/__init__.py", b" \n")
    command.write("hw/odd \x1b[1m.gif", b"GIF89a")
    command.path("hw/pia").symlink_to("ann")
    command.write("hw/.DS_Store", b"\0")
    command.write("hw/.lshdbignore", "left.py\n")
    command.write("hw/left.py", "left out by the teacher")
    return command


def test_each_is_named_with_its_reason(submissions: Command) -> None:
    """jplag/JPlag#54, jplag/JPlag#2382, jplag/JPlag#2286: teachers asked for names and reasons."""
    done = submissions("report", "hw", "--for", "programs", "-o", "out.html")
    assert done.status == 1
    named = dict(re.findall("(?m)^lshdb: (.*?): (.*)$", done.err))
    broken = named.pop("hw/cleo/broken.pdf"), named.pop("hw/ida/src/a.pdf")
    assert set(broken) == {REASONS["hw/gus.pdf"]}
    expected = {name.replace("\x1b", "\\x1b"): why for name, why in REASONS.items()}
    assert named == expected
    page = submissions.path("out.html").read_text("utf-8")
    listed = dict(re.findall('<li><bdi class="key">(.*?)</bdi>: (.*?)</li>', page))
    assert {listed.pop("hw/cleo/broken.pdf"), listed.pop("hw/ida/src/a.pdf")} == {*broken}
    assert listed == expected
    assert "Not compared: 13 submissions" in page
    assert "<dt>submissions</dt><dd>3<" in page


def test_what_is_read_and_too_short_is_named_and_no_failure(command: Command) -> None:
    command.write("template/t.py", PROGRAM.format(1, 1, 1))
    for name, number in {"ann.py": 1, "ben.py": 2, "cleo.py": 3}.items():
        command.write(f"hw/{name}", PROGRAM.format(number, number, number) * number)
    done = command.done("report", "hw", "--for", "programs", "--base", "template", "-o", "out.html")
    short = "hw/ann.py: nothing in it to compare: it is too short, or has only what --base has"
    assert f"lshdb: {short}\n" in done.err
    assert "hw/ann.py</bdi>: nothing in it" in command.path("out.html").read_text("utf-8")


def test_without_names_no_page_has_one(submissions: Command) -> None:
    submissions("report", "hw", "--for", "programs", "-o", "out.html", "--anonymous")
    page = submissions.path("out.html").read_text("utf-8").partition("</style>")[2]
    assert '<bdi class="key">submission-16</bdi>' in page
    assert not [name for name in (*REASONS, "broken") if name.removeprefix("hw/") in page]
