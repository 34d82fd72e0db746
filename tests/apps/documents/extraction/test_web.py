"""The text of web pages: XHTML and HTML, blocks, charsets as browsers read them."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents import XHTML, text_of

from lshdb.apps.documents.extraction.web import pages


@pytest.mark.extra("documents")
def test_empty_elements_of_xhtml_end_where_they_begin(tmp_path: Path) -> None:
    body = "<body><iframe/><p>the ferry&nbsp;leaves</p><p>at noon</p></body></html>"
    lines = "the ferry leaves\nat noon"
    for start, name in (("<?xml version='1.0'?>", "a.html"), ("\n", "a.xhtml"), ("", "a.html")):
        assert text_of(tmp_path / name, f"{start}{XHTML}{body}".encode()) == lines
    # What is no XML is read by HTML's rules, and a page of HTML by its own.
    broken = f"{XHTML}{body.replace('<p>', '<p>a & b <br>', 1)}".encode()
    assert text_of(tmp_path / "a.xhtml", broken) == f"a & b\n{lines}"
    assert (
        text_of(tmp_path / "a.html", b"<title>t</title><p>one<script>x<p>two</p></script>") == "one"
    )


@pytest.mark.extra("documents")
def test_blocks_do_not_run_together(tmp_path: Path) -> None:
    page = b"<h1>Progress</h1>Home <nav><a href=a>About</a><a href=b>Us</a></nav><b>b</b>old"
    assert text_of(tmp_path / "a.html", page).split() == ["Progress", "Home", "About", "Us", "bold"]
    assert (
        text_of(tmp_path / "a.html", b"<input type=text value='450 euros'><p>due")
        == "450 euros\ndue"
    )


@pytest.mark.extra("documents")
@pytest.mark.parametrize(
    ("label", "encoding", "words"),
    [
        ("gb2312", "gb18030", "朱镕基"),
        ("x-sjis", "cp932", "①髙橋"),
        ("iso-8859-8-i", "iso8859-8", "שלום"),
        ("iso-8859-1", "cp1252", "it’s 5 €"),
        ("x-nonsense", "utf-8", "Größe"),
        ("euc-kr", "cp949", "똠방각하"),
    ],
)
def test_labels_are_those_of_browsers(
    tmp_path: Path, label: str, encoding: str, words: str
) -> None:
    raw = words.encode(encoding)
    page = b"<p>" + raw + b"</p>"
    assert text_of(tmp_path / "a.html", f"<meta charset={label}>".encode() + page) == words
    # One bad byte costs itself; UTF-8 with one stays UTF-8.
    bad = text_of(tmp_path / "a.html", f"<meta charset={label}>".encode() + page + b"<p>\xff z")
    assert words in bad
    assert bad.endswith("z")
    head = f"<?xml version='1.0' encoding='{label}'?>".encode()
    body = b"<html xmlns='http://www.w3.org/1999/xhtml'><title/><body>" + page + b"</body></html>"
    assert text_of(tmp_path / "a.xhtml", head + body) == words
    mail = f"Content-Type: text/plain; charset={label}\n\n".encode() + raw
    if label != "x-nonsense":
        assert text_of(tmp_path / "a.eml", mail) == words


def test_a_page_in_a_codec_of_another_kind_is_read(tmp_path: Path) -> None:
    for name in (b"punycode", b"undefined", b"rot13", b"nosuch", b"utf-7"):
        data = b"<meta charset=%b><p>caf\xe9 and words" % name
        (tmp_path / "a.html").write_bytes(data)
        assert "words" in "".join(pages(str(tmp_path / "a.html"), {}))
