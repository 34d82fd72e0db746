"""The report: one file of HTML that opens anywhere, shows what there is, and runs nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers import Command, Parsed, database_of

import lshdb

pytest.importorskip("jinja2", reason="the extra `web` is not installed")

TEXT = "The quick brown fox jumps over the lazy dog while the band plays on in the old square"
HOSTILE = '"><script src="https://evil.example/x.js"></script><img src=//evil.example> \x1b\u202e'
BAD = f"{TEXT} </td></style><link rel=stylesheet href=http://evil.example/a.css> {HOSTILE}"


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """The command, beside a database with pairs, copies and decisions, some of them hostile."""
    with database_of(
        tmp_path / "lsh.db",
        [
            ("essays/2026/anna", TEXT),
            ("essays/2026/ben", TEXT.replace("fox", "hen")),
            (HOSTILE, BAD),
            ("k" * 3_000, f"{BAD} and so on"),
            ("x", BAD),
        ],
        threshold=0.5,
    ) as db:
        db.decide("drop", [HOSTILE], note=HOSTILE, who=HOSTILE)
    return Command(tmp_path)


def written(command: Command, *options: str) -> tuple[Parsed, str]:
    """A report: what a parser sees in it, and its text."""
    command.done("report", "-o", "out.html", *options, says="wrote out.html\n")
    text = command.path("out.html").read_bytes().decode()
    page = Parsed()
    page.feed(text)
    page.close()
    return page, text


def test_it_shows_what_there_is_and_no_document_gets_out_of_its_place(command: Command) -> None:
    page, text = written(command, "--title", HOSTILE)
    figures = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", text))
    shown = [figures[name] for name in ("documents", "duplicated", "can be removed")]
    assert shown == ["5", "5", "3"]
    assert "2 clusters, 3 documents can be removed." in text
    assert "stands apart" not in text
    assert text.index("<article") < text.index("The score of a pair is")
    assert "<del>fox</del>" in text
    assert "<ins>hen</ins>" in text
    assert text.count(">identical; similar<") == 3, "three copies, in three orders of the pairs"
    assert text.count(">identical<") == 1, "in a cluster"
    assert 'class="verdict drop"' in text
    assert "https://evil.example" in text, "as text"
    assert not re.search(r"<(script|img|link|iframe|base|object|form)\b", text)
    assert not set(text) & {"\x1b", "\u202e"}
    addresses = [*page.values("href"), *page.values("src"), *page.values("action")]
    assert addresses
    assert all(address.startswith("#") for address in addresses)
    assert not re.search(r"url\(|@import", text.partition("</style>")[0])
    assert "default-src 'none'; style-src 'sha256-" in text


def test_it_has_no_more_than_10_mb_and_says_what_is_left_out(tmp_path: Path) -> None:
    controls = "\x1f" * 450 + "end"  # each takes four bytes in a page
    with lshdb.open(tmp_path / "lsh.db", threshold=0.5) as db:
        for n in range(5):
            lines = (
                f"{n if i % 3 == 0 else i} w{i} of x{i} in y{i} {controls}" for i in range(198)
            )
            db.add(f'"{n}"' * 1_000, "\n".join(lines))
    _, text = written(Command(tmp_path), "--pairs", "1000")
    assert 5_000_000 < len(text.encode()) < 10_000_000
    assert "more would make this file too large" in text


def test_of_one_large_cluster_not_all_pairs_are_shown(tmp_path: Path) -> None:
    with database_of(
        tmp_path / "lsh.db", ((f"many {n}", f"{TEXT} {n}") for n in range(9)), threshold=0.5
    ) as db:
        db.add_many([("a", "one two three four five six"), ("b", "one two three four five seven")])
    _, text = written(Command(tmp_path), "--pairs", "4")
    listed = text.partition('id="pairs"')[2].partition("</table>")[0]
    assert '<bdi class="key">a</bdi><br><bdi class="key">b</bdi>' in listed


def test_sets_signatures_and_nothing(tmp_path: Path) -> None:
    command = Command(tmp_path)
    database_of(
        tmp_path / "sets.db",
        [("a", ["milk", "<b>", 7]), ("b", ["milk", "<b>", 8])],
        shingle="set",
        threshold=0.3,
    ).close()
    assert "Only in the first: 1" in written(command, "-d", "sets.db")[1]
    database_of(tmp_path / "bare.db", [("a", TEXT), ("b", f"{TEXT} 1")], content=False).close()
    assert "would be freed" not in written(command, "-d", "bare.db")[1]
    lshdb.open(tmp_path / "empty.db").close()
    assert "Nothing connects two documents" in written(command, "-d", "empty.db")[1]


def test_which_documents_it_is_about(command: Command) -> None:
    text = written(command, "--where", "key LIKE ?", "-p", "essays%", "--threshold", "0.6")[1]
    assert "1 pair of similarity 0.6 or more." in text
    assert "in these pairs</dt><dd>2<" in text
    assert "evil.example" not in text.partition('id="decisions"')[0]


def test_it_has_its_name_when_it_is_whole(command: Command) -> None:
    old = command.path("out.html")
    old.write_text("old")
    assert "no such column" in command.fails("report", "-o", "out.html", "--where", "none = 1")
    assert old.read_text() == "old"
    assert [path.name for path in command.directory.glob("out*")] == ["out.html"]
    assert "must end in .html" in command.fails("report", "-o", "out.txt", status=2)
    assert "<h1>" in command.done("report", "-o", "-", says="").out


def test_without_the_extra_it_says_what_to_install(command: Command) -> None:
    says = command.without("jinja2", "report", "-o", "out.html")
    needs = "lshdb report needs jinja2"
    assert says == f"lshdb: {needs}: pip install '.[web]' in a clone of lshdb\n"
