"""The report of a class: submissions in a directory, compared without a database."""

from __future__ import annotations

import random
import re
import shutil
from html.parser import HTMLParser

import pytest
from helpers import Command

pytest.importorskip("starlette", reason="the extra `web` is not installed")


TEMPLATE = """import java.util.Scanner;
class Main { public static void main(String[] args) {
    Scanner in = new Scanner(System.in); System.out.println(Util.run(in.nextInt(), 7, "go"));
} }
"""
SORT = """static int run(int n, int k, String s) { int[] a = new int[n];
    for (int i = 0; i < n; i++) { a[i] = (i * k + s.length()) % 13; }
    for (int i = 1; i < n; i++) for (int j = i; j > 0 && a[j] < a[j - 1]; j--) swap(a, j, j - 1);
    return a[n / 2] - a[0]; }
"""
PRIMES = """static int run(int n, int k, String s) { boolean[] no = new boolean[n + 1]; int c = 0;
    for (int i = 2; i <= n; i++)
        if (!no[i]) { c++; for (int j = i + i; j <= n; j += i) no[j] = true; }
    return c; }
"""
GCD = (
    "static int run(int n, int k, String s) { return k == 0 ? n : run(k, n % k, s + s.trim()); }\n"
)


@pytest.fixture
def submissions(command: Command) -> Command:
    """Four submissions, three of folders; ben has anna's file under another name."""
    files = {
        "hw/anna_lee/Main.java": TEMPLATE,
        "hw/anna_lee/src/AnnaUtil.java": SORT,
        "hw/ben/Main.java": TEMPLATE,
        "hw/ben/Helper.java": SORT.replace("swap", "flip").replace("int k", "int by"),
        "hw/Caro.java": TEMPLATE + PRIMES,
        "hw/dora/Main.java": TEMPLATE,
        "hw/dora/Gcd.java": GCD,
        "template/Main.java": TEMPLATE,
    }
    for name, text in files.items():
        command.path(name).parent.mkdir(parents=True, exist_ok=True)
        command.write(name, text)
    return command


PAIR = re.compile(r'"#pair-1"><bdi class="key">(.*?)</bdi>, <bdi class="key">(.*?)<', re.DOTALL)
ASKED = ("report", "hw", "--for", "programs", "-o", "out.html")


def first_pair(text: str) -> tuple[str, ...]:
    found = PAIR.search(text)
    assert found is not None
    return found.groups()


def test_copies_come_first_and_are_marked(submissions: Command) -> None:
    before = {path.name for path in submissions.directory.iterdir()}
    submissions.done(*ASKED, "--base", "template", says="wrote out.html\n")
    text = submissions.path("out.html").read_text("utf-8")
    assert {path.name for path in submissions.directory.iterdir()} == before | {"out.html"}
    figures = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", text))
    assert (figures["submissions"], figures["in these pairs"]) == ("4", "2")
    assert first_pair(text) == ("anna_lee", "ben")
    article = text.partition("<article")[2].partition("</article>")[0]
    marked = re.findall(r'<span class="([\w -]+)">(.*?)</span>', article, re.DOTALL)
    files = {name for kind, name in marked if kind == "file"}
    assert files == {"Main.java", "Helper.java", "src/AnnaUtil.java"}
    copied = "".join(name for kind, name in marked if "run" in kind.split())
    assert "swap(a, j, j - 1)" in copied
    assert "flip(a, j, j - 1)" in copied
    assert "Scanner" not in copied, "the template is not copied"
    assert 'id="decisions"' not in text
    submissions.done(*ASKED, "--threshold", "0.2")
    text = submissions.path("out.html").read_text("utf-8")
    assert "in these pairs</dt><dd>4<" in text, "without the base the template counts"


def test_a_class_of_archives_is_the_class_unpacked(submissions: Command) -> None:
    def found(database: str, base: str) -> str:
        submissions.done(*ASKED, "--base", base, says="wrote out.html\n")
        page = submissions.path("out.html").read_text("utf-8")
        submissions.done("init", "-d", database, "--for", "programs", "--passages", "12")
        submissions.done("add", "-d", database, "hw", "--archives")
        grouped = ("--group-by", "folder", "--threshold", "0.1", "--json")
        pairs = submissions.done("pairs", "-d", database, *grouped).out
        return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC|\.zip|\.tar\.gz", "", page + pairs)

    unpacked = found("a.db", "template")
    assert '"hw/ben"' in unpacked
    for folder, kind in {"hw/anna_lee": "zip", "hw/ben": "gztar", "template": "zip"}.items():
        shutil.make_archive(str(submissions.path(folder)), kind, submissions.path(folder))
        shutil.rmtree(submissions.path(folder))
    assert found("b.db", "template.zip") == unpacked


def test_a_copy_within_a_large_program_is_shown(submissions: Command) -> None:
    rng = random.Random(1)
    own = ["".join(rng.choices(["x", " + 7", "(", ")", "[i]", "; ", " -= "], k=900)) for _ in "abc"]
    submissions.write("hw/eve.java", own[0] + GCD * 3 + PRIMES + own[1])
    submissions.write("hw/fay.java", own[2] + "class Other {}")
    submissions.done(*ASKED, "--base", "template")
    text = submissions.path("out.html").read_text("utf-8")
    listed = [one for one in text.split("<article")[1:] if ">eve.java<" in one]
    (shown,) = [one for one in listed if ">Caro.java<" in one]
    assert "no[j] = true" in shown
    first = next(one for one in listed if ">fay.java<" in one)
    assert listed.index(shown) < listed.index(first), "a chance run of tokens is rarer"


class Links(HTMLParser):
    """Where the links of a page lead, and what opens where they lead."""

    def __init__(self) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.opening: set[str] = set()
        self._inside: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self._inside += [tag] if tag in ("details", "summary") else []
        if tag == "a":
            self.links.add(given["href"].removeprefix("#"))
        if "id" in given and self._inside == ["details"]:
            self.opening.add(given["id"])

    def handle_endtag(self, tag: str) -> None:
        if tag in ("details", "summary"):
            self._inside.pop()


def _programs(count: int, rng: random.Random) -> list[str]:
    """Programs of 80 lines that have nothing in common."""
    signs = ["x", " + 7", "(", ")", "[i]", "; ", " -= ", "!", "<", "y.z", ">>", "? 1 :"]
    return ["\n".join("".join(rng.choices(signs, k=9)) for _ in range(80)) for _ in range(count)]


def test_copies_of_one_program_stand_once_and_links_open_them(command: Command) -> None:
    shared, *others = _programs(12, random.Random(5))
    names = ["adams", "baker", "clark", "davis", "evans", "frank", "ghosh", "hills"]
    texts = dict(zip(names, others, strict=False))
    ring = ["patel", "quinn", "rossi", "zhao"]
    for name in ring:
        texts[name] = shared.replace("x", name).replace("\n", f" /* {name} */\n", 3)
    texts["adams"] += others[2][:300]  # connected to clark, by less
    for name, text in texts.items():
        command.write(f"hw/{name}.java", text)
    command.done(*ASKED)
    text = command.path("out.html").read_text("utf-8")
    finding = " ".join(re.sub("<[^>]+>", "", text.partition('"finding"')[2]).split())
    assert finding.startswith(
        ">6 pairs stand apart. patel.java, quinn.java, rossi.java, zhao.java: one program 1.00"
    )
    figures = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", text))
    assert list(figures.values()) == ["12", "6", "4", "1"]
    rows = text.partition('id="by-score"')[2].partition("</table>")[0].split("<tr")[2:]
    (row,) = [row for row in rows if "patel" in row and "quinn" in row]
    assert all(name in row for name in ring)
    assert row.count("<li>") == 6
    page = Links()
    page.feed(text)
    pairs = {link for link in page.links if link.startswith("pair-")}
    assert len(pairs) > 6
    assert pairs <= page.opening
    command.done(*ASKED, "--threshold", "0.9")
    assert "6 pairs of similarity 0.9 or more." in command.path("out.html").read_text("utf-8")


def test_rows_that_are_left_out_are_in_the_page(command: Command) -> None:
    same, b, c = _programs(3, random.Random(6))
    command.write("hw/ann.java", f"{b}\n{same}")
    command.write("hw/ben.java", f"{c}\n{same}")
    command.done(*ASKED)
    text = command.path("out.html").read_text("utf-8")
    folded = re.findall(r'<td colspan="4"><details><summary>(\d+) more lines<', text)
    inside = text.partition('<td colspan="4"><details>')[2].partition("</details>")[0]
    assert inside.count("<tr") == 1 + int(folded[0])


def test_a_database_of_files_is_grouped(submissions: Command) -> None:
    submissions.done("init", "--for", "programs")
    submissions.done("add", "hw")
    assert submissions("serve", "--group-by", "folder", "--review").status == 2
    submissions.done("report", "-o", "out.html", "--group-by", "folder", says="wrote out.html\n")
    text = submissions.path("out.html").read_text("utf-8")
    assert "<dt>submissions</dt><dd>4<" in text
    assert "Util.java</bdi>" not in text
    assert re.search(r'<span class="renamed">flip</span>', text)
    assert re.search(r"names? changed in step: [^<]*\u2192flip \d+ times?", text)
    submissions.done("decide", "different", "hw/Caro.java", "hw/dora/Gcd.java", says=None)
    submissions.done("report", "-o", "out.html", says="wrote out.html\n")
    text = submissions.path("out.html").read_text("utf-8")
    assert text.count('<span class="verdict different">not copied</span>') == 2


def test_what_cannot_be_compared(submissions: Command) -> None:
    submissions.path("empty").mkdir()
    submissions.path("alone/ann").mkdir(parents=True)
    submissions.write("alone/ann/A.java", SORT)
    submissions.write("alone/ann/B.java", GCD)
    for asked, says in {
        ("hw", "--base", "nowhere"): "nowhere",
        ("hw", "--base", "empty"): "no text is there",
        ("empty",): "empty: no text is in it",
        ("alone",): "alone: one submission alone",
        ("missing",): "missing: no such directory",
    }.items():
        found = submissions.fails("report", *asked, "-o", "out.html")
        assert says in found
        assert not submissions.path("out.html").exists()
    assert "one submission alone" in submissions.fails("report", "hw/Caro.java", "-o", "out.html")
    submissions.done("init")
    assert "are for INPUT" in submissions.fails(
        "report", "--for", "programs", "-o", "o.html", status=2
    )
