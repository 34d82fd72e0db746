"""The pages of `lshdb serve`: what they show is the library's, and what they refuse."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import signal
import socket
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from threading import Event
from time import sleep
from typing import Any
from urllib.parse import parse_qsl, quote_plus, urlencode

import inspection
import pytest
from helpers import (
    Answer,
    Command,
    Site,
    database_of,
    eventually,
    served,
    text_families,
    unprivileged,
)

import lshdb

pytest.importorskip("starlette", reason="the extra `web` is not installed")

from web_pages import (
    HOSTILE,
    PAGES,
    TEXT,
    check,
    check_sites,
    direct,
    facts,
    follow,
    json_lines,
)

from lshdb.apps.review.cli import review
from lshdb.apps.web import page_file, rendering, views
from lshdb.apps.web.computing import ResultCache
from lshdb.progress import Progress


@pytest.fixture(scope="module")
def site(directory: Path) -> Iterator[Site]:
    """`lshdb serve` of the database of texts."""
    with served(directory, "-d", "texts.db") as site:
        yield site


def test_the_overview_counts_what_the_library_finds(directory: Path, site: Site) -> None:
    context = facts(check(eventually(site, "")))
    with lshdb.open(directory / "texts.db", mode="read") as db:
        clusters = [cluster.members for cluster in db.clusters()]
        expected = {"Documents": len(db), "clusters": len(clusters)}
    expected["duplicated"] = sum(map(len, clusters))
    expected["can be removed"] = expected["duplicated"] - len(clusters)
    assert {name: context[name] for name in expected} == {n: str(c) for n, c in expected.items()}
    assert [context[name] for name in ("Shingle", "Bands", "Rows")] == ["word:3", "35", "3"]


@pytest.mark.parametrize("key", HOSTILE, ids=ascii)
def test_a_document_of_any_key_is_found_by_its_links(site: Site, key: str) -> None:
    of_fox = check(site.get("document", key="fox"))
    (link, *_) = [
        link for link in of_fox.page.values("href", HOSTILE[key]) if "compare" not in link
    ]
    answer = site.ask(link)
    assert answer.status == 200
    check(answer)
    assert answer.page.texts("h1") == [HOSTILE[key]]
    assert HOSTILE[key] in answer.page.texts("title")[0]
    # Its form finds it again, although browsers change line ends in the values of forms.
    (quoted,) = answer.page.values("value", name="key_quoted")
    again = site.get("document", key_quoted=quoted, threshold="1", exhaustive="on")
    assert again.page.texts("h1") == [HOSTILE[key]]
    assert "No other document has similarity 1.0 or more." in again.text
    check(site.get("compare", a="fox", b=key))


def test_what_the_index_may_have_missed_can_be_looked_for(site: Site) -> None:
    none = site.get("document", key="ant", threshold="0.3")
    assert "The index finds no other document" in none.text
    (link,) = {href for href in none.page.values("href") if "exhaustive" in href}
    assert "No other document has similarity 0.3 or more." in site.ask(link).text


def test_matches_are_paged(path: Path) -> None:
    database_of(path, ((f"{number:03}", TEXT) for number in range(120))).close()
    with direct(path) as site:
        found = [as_json(site, "document", key="000", page=page)["query"] for page in (1, 2, 3)]
    assert [query["more"] for query in found] == [True, True, False]
    keys = [match["key"] for query in found for match in query["matches"]]
    assert keys == [f"{number:03}" for number in range(1, 120)]


def test_what_differs_is_marked_side_by_side(path: Path) -> None:
    lines = [f"line {number} of x{number} <b>y{number}</b>" for number in range(40)]
    other = [*lines[:3], lines[3].replace("of", "in"), *lines[4:20], *lines[21:], "\x1b[31m new"]
    texts = {"a": "\n".join(lines), "b": "\n".join(other)}
    database_of(path, texts, threshold=0.3).close()
    with direct(path) as site:
        page = check(eventually(site, "compare", a="a", b="b")).page
        assert page.texts("del") == ["of", lines[20]]
        assert page.texts("ins") == ["in", "\\x1b[31m new"]
        assert page.texts("td", class_="a") == lines
        assert page.texts("td", class_="b") == [*other[:-1], "\\x1b[31m new"]
        # A strip shows where both agree; from each difference to the next one.
        assert page.values("href", tabindex="-1")[:4] == ["#r0", "#r1", "#r2", "#r3"]
        assert page.values("href", **{"aria-label": "Next difference"}) == ["#d2", "#d3"]
        only = check(site.get("compare", a="a", b="b", only=2)).page
        assert only.texts("td", class_="a")[:5] == lines[1:6]
        left_out = only.texts("tr", class_="left-out")
        assert left_out == ["1 equal line", "12 equal lines", "15 equal lines"]
        (there,) = only.values("href", "12 equal lines")
        assert there.endswith("#r6")
        for link in (there, *only.values("href", "More lines around")):
            assert site.ask(link).page.texts("td", class_="a") == lines


def test_what_is_invisible_in_a_text_is_shown(site: Site) -> None:
    answer = check(site.get("document", key="controls"))
    assert answer.page.texts("div", class_="text") == [
        "a\\x00b \\x1b[31m \\u202e c\r\nd\n\n<b>bold</b> {{ 7 * 1234567 }}"
    ]


def test_long_documents_are_cut_and_the_page_says_so(directory: Path, site: Site) -> None:
    answer = check(site.get("document", key="long"))
    (text,) = answer.page.texts("div", class_="text")
    assert len(text) == 50_000
    assert "the first 50,000 of 108,889 characters" in answer.page.texts("p", class_="note")[-1]
    # Two of them, part by part.
    parts: list[list[str]] = [[], []]
    compared = eventually(site, "compare", a="long", b="long 2").page
    while True:
        for side, found in zip("ab", parts, strict=True):
            found += (cells := compared.texts("td", class_=side))
            assert len(cells) <= 500
        links = compared.values("href", rel="next")
        if not links:
            break
        compared = site.ask(links[0]).page
    with lshdb.open(directory / "texts.db", mode="read") as db:
        assert ["".join(found) for found in parts] == [
            db.get(key).content for key in ("long", "long 2")
        ]


def test_a_filter_that_is_none_keeps_the_others(site: Site) -> None:
    """The reason calls it as the form does."""
    answer = check(site.ask("/clusters?min_similarity=abc&part=how&keep=newest"))
    assert "Similarity from 'abc' is not a number." in answer.page.texts("p", class_="key")
    assert answer.page.values("value", name="part") == ["how"]
    assert answer.page.values("value", "the newest file", selected="") == ["newest"]
    none = eventually(site, "pairs", min_similarity=1, max_similarity=0.5)
    assert "No pair matches these filters." in none.text


def test_pages_follow_the_file_also_when_it_is_replaced_or_gone(path: Path) -> None:
    with lshdb.open(path) as db, direct(path) as site:
        empty = check(eventually(site, "")).page
        assert empty.texts("h1") == ["lsh has no documents yet"]
        assert empty.texts("pre")[0] == f"lshdb add -d {path} FOLDER"
        db.add_many((f"{i} {side}", f"pair {i} of two copies") for i in range(45) for side in "ab")
        for page, count in ((1, 20), (2, 20), (3, 5)):
            answer = check(eventually(site, "clusters", page=page))
            assert len(answer.page.texts("h2")) == count
            assert answer.page.texts("h2")[0].startswith(f"{20 * page - 19}:")
        assert site.get("clusters", page=4).status == 404
        db.remove([f"{i} b" for i in range(45)])
        assert "No two documents" in eventually(site, "clusters").text
        db.close()
        other = path.with_name("new.db")
        database_of(other, [("fox", TEXT), ("fox 2", TEXT)]).close()
        other.replace(path)
        assert "fox 2" in eventually(site, "clusters").text
        path.unlink()
        assert site.get("clusters").status == 500


def test_a_pasted_text_finds_what_a_query_finds(directory: Path, site: Site) -> None:
    pasted = f"\n<b>{TEXT}</b>, they say"
    answer = check(follow(site, site.post("query", text=pasted, threshold="0.6")))
    with lshdb.open(directory / "texts.db", mode="read") as db:
        expected = [match.key for match in db.query(pasted, threshold=0.6)]
    assert len(expected) > 5
    assert [text.strip() for text in answer.page.texts("a", class_="key")] == [
        HOSTILE.get(key, key) for key in expected
    ]
    # A browser drops one newline at the beginning, and so does not the parser of this test.
    assert answer.page.texts("textarea") == ["\n" + pasted]
    (link,) = [
        given["href"]
        for _, given, parts in answer.page.elements
        if "compare" in given.get("href", "") and "".join(parts).endswith(f"with {expected[0]}")
    ]
    assert link.endswith("#d1"), "at the first difference"
    assert "".join(check(site.ask(link)).page.texts("td", class_="a")) == pasted.strip()
    quotation = follow(site, site.post("query", text=TEXT[:40], containment="on", threshold="0.9"))
    assert "Containment" in check(quotation).page.texts("tr")[0]
    assert "is not kept any more" in check(site.get("query", pasted="0" * 32)).text


@pytest.mark.parametrize(
    ("form", "status", "says"),
    [
        ({"text": "  \n"}, 400, "paste a document"),
        ({}, 400, "paste a document"),
        ({"text": "x" * 200_001}, 400, "the text has 200,001 characters"),
        ({"text": "x y z", "threshold": "much"}, 400, "threshold 'much' is not a number"),
        ({"text": "x y z", "threshold": "7"}, 400, "threshold 7 is not above 0"),
        ({"text": "x y z", "threshold": "nan"}, 400, "threshold nan is not above 0"),
        ({"text": "x" * 2_100_000}, 413, "2,000,000 bytes"),
        ({"text": "\u72d0 " * 9_000}, 200, "The index finds no document with similarity"),
    ],
    ids=["blank", "none", "long", "word", "high", "nan", "large", "chinese"],
)
def test_forms_that_make_no_sense_are_refused(
    site: Site, form: dict[str, str], status: int, says: str
) -> None:
    answer = site.post("query", **form)
    if answer.status == 303:
        answer = follow(site, answer)
    assert answer.status == status
    assert says.casefold() in answer.page.texts("main")[0].casefold()
    check(answer)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/document?key=no+such+key", 404),
        ("/document?key=%1b%5b31m%3Cb%3E", 404),
        ("/document?key=%ff%00", 404),
        ("/document", 400),
        ("/document?key=fox&threshold=0", 400),
        ("/compare?a=fox", 400),
        ("/compare?a=fox&b=fox+2&only=on", 400),
        ("/compare?a=fox&b=fox+2&page=2", 404),
        ("/compare?a=fox&b=no", 404),
        ("/cluster?key=ant", 404),
        ("/cluster", 400),
        ("/clusters?sort=none", 400),
        ("/clusters?min_similarity=2", 400),
        ("/clusters?format=xml", 400),
        ("/find?q=text&after=x", 400),
        ("/pairs?max_similarity=nan", 400),
        ("/compare?pasted=none&b=fox", 404),
        ("/clusters?page=0", 400),
        ("/document?key=fox&page=1000001", 400),
        ("/clusters?page=1000", 404),
        ("/%3Cscript%3E", 404),
        ("/../none", 404),
    ],
)
def test_unknown_addresses_are_not_found(site: Site, path: str, status: int) -> None:
    eventually(site, "clusters")
    answer = site.ask(site.root + path)
    assert answer.status == status
    check(answer)
    reason = answer.page.texts("main")[0].strip().splitlines()[1]
    assert reason[0].isupper() or not reason[0].isalpha()
    assert answer.page.values("action")  # the box to find another document


def test_forms_say_where_they_come_from_by_their_origin_too(site: Site) -> None:
    for origin, status in (
        (f"http://127.0.0.1:{site.port}", 303),
        ("http://localhost:1", 303),
        ("http://evil.example", 403),
        (f"http://127.0.0.1.evil.example:{site.port}", 403),
        ("null", 403),
        ("http://[::1", 403),
    ):
        headers = {"Origin": origin}
        answer = site.ask(f"{site.root}/query", b"text=a+b+c", headers)
        assert answer.status == status, origin


def test_a_foreign_name_for_this_machine_is_refused(site: Site) -> None:
    for host, status in (
        ("evil.example", 403),
        (f"evil.example:{site.port}", 403),
        ("127.0.0.1.evil.example", 403),
        ("", 403),
        (f"localhost:{site.port}", 200),
        ("127.0.0.1", 200),
    ):
        for path in ("/", "/decisions", "/decisions.json", "/lshdb.css"):
            assert site.ask(path, headers={"Host": host}).status == status


@pytest.mark.parametrize("place", ["cross-site", "same-site"])
def test_other_sites_may_only_link_to_pages(directory: Path, place: str) -> None:
    pages = ["/", "/document?key=fox", "/document.json?key=fox", "/query", "/lshdb.css"]
    with direct(directory / "texts.db") as site:
        check_sites(site, place, pages)


def test_it_is_served_to_this_machine_only(site: Site) -> None:
    assert site.host == "127.0.0.1"
    listening = Path("/proc/net/tcp")
    if not listening.exists():
        pytest.skip("this system does not show who listens in /proc/net/tcp")
    port = f":{site.port:04X}"
    lines = [line.split() for line in listening.read_text().splitlines()[1:]]
    own = {fields[1] for fields in lines if fields[1].endswith(port) and fields[3] == "0A"}
    assert own == {f"0100007F{port}"}


def test_a_served_file_is_open_for_reading_only_and_others_write_to_it(path: Path) -> None:
    database_of(path, {"fox": TEXT}).close()
    opened = Path("/proc/self/fd")
    with page_file.opened(path) as db:
        if opened.exists():
            files = [file.name for file in opened.iterdir() if os.path.realpath(file) == str(path)]
            modes = {fcntl.fcntl(int(file), fcntl.F_GETFL) & os.O_ACCMODE for file in files}
            assert modes == {os.O_RDONLY}
        database_of(path, {"fox 2": TEXT}, mode="write").close()
        assert [match.key for match in db.query(key="fox")] == ["fox 2"]


@pytest.mark.parametrize("writable", [True, False])
def test_serving_changes_nothing_and_leaves_nothing_behind(path: Path, writable: bool) -> None:
    """Also where nobody may write to the directory."""
    database_of(path, [("fox", TEXT), ("fox 2", TEXT)]).close()
    before = inspection.contents(path)
    path.parent.chmod(0o755 if writable else 0o555)
    who = nullcontext() if writable else unprivileged()
    try:
        with who, served(path.parent, end=signal.SIGTERM) as site:
            for page in (*PAGES, "document?key=fox", "compare?a=fox&b=fox+2"):
                assert eventually(site, page).status == 200
            site.post("query", text=TEXT)
    finally:
        path.parent.chmod(0o755)
    assert inspection.contents(path) == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_what_cannot_be_served_is_one_clear_line(directory: Path) -> None:
    run = Command(directory)
    assert "another program's" in run.fails("serve", "-d", "foreign.db")
    assert "no such file" in run.fails("serve", "-d", "none.db")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        says = run.fails("serve", "-d", "texts.db", "--port", str(port))
    assert says == f"port {port} is taken: give another --port, or 0 for any"


def test_a_file_of_any_name_is_served(tmp_path: Path) -> None:
    path = tmp_path / "50%?#<b>.db"
    lshdb.open(path).close()
    with direct(path) as site:
        assert "50%?#<b>" in check(eventually(site, "")).page.texts("h1")[0]


def test_without_the_extra_serve_says_what_to_install(path: Path) -> None:
    lshdb.open(path).close()
    says = Command(path.parent).without("uvicorn", "serve")
    needs = "lshdb serve needs Starlette and jinja2"
    assert says == f"lshdb: {needs}: pip install '.[web]' in a clone of lshdb\n"


def test_the_overview_says_where_sql_is(path: Path) -> None:
    path = path.with_name("the file's.db")
    for contents in ({}, {"fox": TEXT}):
        database_of(path, contents).close()
        with direct(path) as site:
            page = check(eventually(site, "")).page
            assert site.get("sql", sql="select 1").status == 404
        command, datasette = page.texts("code")[-2:]
        assert shlex.split(command)[:4] == ["lshdb", "sql", "-d", str(path)]
        assert shlex.split(datasette) == ["datasette", str(path)]
        run = Command(path.parent).done(*shlex.split(command)[1:])
        assert run.lines == [*contents]


# JSON


@pytest.fixture(scope="module")
def quoted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Site]]:
    """A file with passages, metadata and decisions."""
    path = tmp_path_factory.mktemp("quoted") / "lsh.db"
    with lshdb.open(path, passages=8, threshold=0.5) as db:
        db.add_many([lshdb.Document("fox", TEXT, {"lang": "en"}), ("fox 2", f"{TEXT}, and so on")])
        db.add("ant", "An ant.")
        db.decide("keep", ["fox"], note="older", who="ann")
    with direct(path) as site:
        for page in ("clusters", "pairs", "compare?a=fox&b=fox+2"):
            eventually(site, page)
        yield path, site


def as_json(site: Site, page: str, /, **query: object) -> Any:
    answer = site.get(f"{page}.json", **query)
    assert answer.headers["content-type"] == "application/json"
    assert (answer.status, answer.headers["x-content-type-options"]) == (200, "nosniff")
    return json.loads(answer.text)


def test_json_has_what_the_library_has(quoted: tuple[Path, Site]) -> None:
    path, site = quoted
    with lshdb.open(path, mode="read") as db:
        found = as_json(site, "document", key="fox")
        assert (found["key"], found["content"], found["metadata"]) == ("fox", TEXT, {"lang": "en"})
        assert found["decided"] == "keep"
        (match,) = db.query(key="fox")
        assert found["query"]["matches"] == [asdict(match)]
        copied = asdict(db.passages(key="fox"))
        assert found["passages"] == json.loads(json.dumps(copied))
        page = check(site.get("document", key="fox")).page
        assert TEXT in page.texts("ul", class_="sources")[0]
        compared = as_json(site, "compare", a="fox", b="fox 2")
        both = db.compare("fox", "fox 2")
        for name in ("similarity", "a_in_b", "b_in_a", "estimate", "shared"):
            assert compared["comparison"][name] == getattr(both, name)
        kinds = [piece["kind"] for piece in compared["rows"][0]["b"]["pieces"]]
        assert kinds == ["same", "changed"]  # a run of nearly all is not coloured
        (cluster,) = db.clusters()
        (listed_,) = as_json(site, "clusters")["clusters"]
        alone = as_json(site, "cluster", key="fox 2")["cluster"]
        for shown in (listed_, alone):
            assert (shown["keep"], shown["lowest"]) == (cluster.keep, cluster.lowest)
            members = [(each["key"], each["decided"]) for each in shown["members"]]
            assert members == [("fox", "keep"), ("fox 2", None)]
        assert [each["bytes"] for each in alone["members"]] == [len(TEXT), len(TEXT) + 11]
        (press,) = as_json(site, "decisions")["presses"]
        (made,) = db.decisions()
        assert press.items() >= {"who": "ann", "note": "older", "decided": made.decided}.items()
        assert (press["verdicts"], press["keys"]) == ({"keep": 1}, ["fox"])
        assert as_json(site, "overview")["documents"] == len(db)


def test_json_has_the_fields_that_the_manual_names(quoted: tuple[Path, Site]) -> None:
    _, site = quoted
    pasted = site.post("query", text=TEXT).headers["location"].partition("pasted=")[2]
    values = {
        "key": "fox",
        "a": "fox",
        "b": "fox 2",
        "q": "fo",
        "pasted": pasted,
    }
    manual = (Path(__file__).parents[3] / "docs" / "browser.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)\.json\??([^`]*)` \| (.*) \|$", manual, re.MULTILINE)
    assert {name for name, *_ in rows} == set(views.PAGES) - {"", "decide"} | {"overview"}
    for name, query, text in rows:
        given = {each.rstrip("="): values[each.rstrip("=")] for each in query.split("&") if each}
        names = set(field_names(as_json(site, name, **given)))
        assert {*re.findall("`(\\w+)`", text), "notes", "outdated", "waiting"} <= names, name


def test_names_of_programs_that_changed_in_step_are_named(path: Path) -> None:
    program = "def total(numbers):\n    for x in numbers:\n        print(x, x + 1, numbers)\n"
    texts = {"a": program, "b": program.replace("numbers", "n")}
    database_of(path, texts, purpose="programs").close()
    with direct(path) as site:
        renames = as_json(site, "compare", a="a", b="b")["renames"]
        assert renames == [{"a": "numbers", "b": "n", "times": 3}]
        shown = site.ask("/compare?a=a&b=b").text
        assert "1 name changed in step: numbers\u2192n 3 times" in shown
        assert shown.count('<span class="renamed') == 6 + 1, "and the legend"
    with direct(path, "ann") as site:
        shown = site.ask("/compare?a=a&b=b").text
        assert all(label in shown for label in (">Copied, keep A <", ">Not copied <"))


def field_names(value: Any) -> Iterator[str]:
    """All names in JSON."""
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    for one in value if isinstance(value, list) else ():
        yield from field_names(one)


def test_metadata_as_deep_as_it_may_be_is_shown(path: Path) -> None:
    deep: Any = 1
    for _ in range(199):
        deep = [deep]
    database_of(path, [lshdb.Document("deep", TEXT, {"a": deep})]).close()
    with direct(path) as site:
        assert check(site.get("document", key="deep")).status == 200
        answer = site.get("document.json", key="deep")
        assert answer.status == 400
        assert "nested deeper than 200 levels" in json.loads(answer.text)["reason"]


# deciding


class Reviewer:
    """Presses the buttons of pages of a review."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def go(self, page: str, /, **query: object) -> Answer:
        return check(eventually(self.site, page, **query), review=True)

    def press(self, answer: Answer, button: str, note: str = "", **changed: str) -> Answer:
        """Send the form of a page by the button of this value; the page that follows."""
        name = "undo" if button.startswith("20") else "action"
        fields = {
            given["name"]: given["value"]
            for tag, given, _ in answer.page.elements
            if tag == "input" and given.get("type") == "hidden" and given["name"] != "key_quoted"
        }
        if name == "undo":
            fields.pop("documents", None)
        posted = fields | {name: button, "note": note} | changed
        done = self.site.post("decide", **posted)
        if done.status != 303:
            return done
        return self.site.ask(done.headers["location"])


@pytest.fixture
def reviewed(path: Path) -> Iterator[tuple[Path, Reviewer]]:
    """Three clusters, one of keys of all kinds, and a document alone; in review by ann."""
    with database_of(path, ((f"a{i}", f"{TEXT} {i}") for i in range(3)), threshold=0.5) as db:
        db.add_many((f"b{i}", f"an entirely other text that is here twice {i}") for i in range(2))
        db.add_many((key, f"what keys may be, written down {i}") for i, key in enumerate(HOSTILE))
        db.add("alone", "nothing like it")
    with direct(path, "ann") as site:
        yield path, Reviewer(site)


def decided(path: Path) -> list[tuple[str, tuple[str, ...], str | None, str]]:
    with lshdb.open(path, mode="read") as db:
        return [(one.verdict, one.keys, one.note, one.who) for one in db.decisions()]


def test_a_review_of_all_clusters(reviewed: tuple[Path, Reviewer]) -> None:
    """Each decision leads to the next undecided cluster, and from the last to what would go."""
    path, reviewer = reviewed
    clusters = reviewer.go("clusters", decided="no")
    assert "0 of 3 clusters decided" in clusters.text
    answer = reviewer.go("cluster", key="a1", sort="key")
    answer = check(reviewer.press(answer, "keep 1,drop *", "the newer one"), review=True)
    assert "b0" in answer.page.texts("tr", class_="kept")[0].split()
    assert "1 of 3 clusters decided" in answer.text
    answer = reviewer.press(answer, "different *")
    assert "2 of 3 clusters decided" in answer.text
    for place in range(len(HOSTILE)):
        assert place == 0 or "2 of 3 clusters decided" in answer.text
        answer = check(
            reviewer.press(answer, f"{'drop' if place % 2 else 'keep'} {place}"), review=True
        )
    assert "That was the last undecided cluster" in answer.text
    made = decided(path)
    assert made[:4] == [
        ("keep", ("a1",), "the newer one", "ann"),
        ("drop", ("a0",), "the newer one", "ann"),
        ("drop", ("a2",), "the newer one", "ann"),
        ("different", ("b0", "b1"), None, "ann"),
    ]
    with lshdb.open(path, mode="read") as db:
        assert {key for _, (key, *_), _, _ in made[4:]} == HOSTILE.keys()
        gone = sorted(HOSTILE.get(key, key) for key in db.remove_decided(dry_run=True))
        assert len(db) == 14  # no page removes anything
    assert sorted(answer.page.texts("ul", class_="plain")[0].split("\n"))[-len(gone) :] == gone
    assert f"lshdb remove -d {path} --decided" in answer.page.texts("pre")[0]
    # The kept one is the one decided to be so, and what it is compared with is named.
    kept = reviewer.go("cluster", key="a0")
    assert ["a1" in row.split() for row in kept.page.texts("tr", class_="kept")] == [True]
    assert re.search(r"(\d+) of \1 decided\.", reviewer.go("pairs").text)


def test_all_identical_copies_go_at_once(reviewed: tuple[Path, Reviewer]) -> None:
    """One press is one row, with what it frees; its button there undoes all of it."""
    path, reviewer = reviewed
    assert "identical cop" not in reviewer.go("clusters").text
    with lshdb.open(path) as db:
        db.add_many((f"copy {key}", str(db[key].content)) for key in ("a0", "b0", "alone"))
    answer = reviewer.go("clusters")
    (button,) = answer.page.values("value", name="action")
    reviewer.press(answer, button)
    assert {made[:2] for made in decided(path)} == {
        *(("keep", (key,)) for key in ("a0", "b0", "alone")),
        *(("drop", (f"copy {key}",)) for key in ("a0", "b0", "alone")),
    }
    rows = reviewer.go("decisions")
    (press,) = as_json(reviewer.site, "decisions")["presses"]
    stored = (f"{TEXT} 0", "nothing like it", "an entirely other text that is here twice 0")
    assert (press["verdicts"], press["bytes"]) == ({"drop": 3, "keep": 3}, sum(map(len, stored)))
    (undo,) = rows.page.values("value", name="undo")
    reviewer.press(rows, undo, name="undo")
    assert not decided(path)


def test_what_was_dropped_alone_is_shown_with_what_stays(
    reviewed: tuple[Path, Reviewer],
) -> None:
    """The kept document of its cluster, unless it goes, too."""
    path, reviewer = reviewed
    reviewer.press(reviewer.go("cluster", key="a0"), "drop 1")
    reviewer.press(reviewer.go("cluster", key="b0"), "drop 0")
    presses = as_json(reviewer.site, "decisions")["presses"]
    assert [(press["keys"], press["instead"]) for press in presses] == [
        (["b0"], ["b1"]),
        (["a1"], ["a0"]),
    ]
    (size,) = {press["bytes"] for press in presses if press["keys"] == ["a1"]}
    assert size == len(f"{TEXT} 1")
    with lshdb.open(path) as db:
        db.remove_decided()
    presses = as_json(reviewer.site, "decisions")["presses"]
    assert [(press["state"], press["bytes"]) for press in presses] == [("missing", 0)] * 2


def test_a_cluster_shows_texts_and_leads_from_pair_to_pair(path: Path) -> None:
    """Titles, first lines and differences; undecided members follow each other, then clusters."""
    lines = [f"Line {i} of a text that is {i * i} long." for i in range(12)]
    other = [
        line.replace("text", "book") if i in (3, 6, 9) else line for i, line in enumerate(lines)
    ]
    with lshdb.open(path, threshold=0.3) as db:
        db.add("kept", "\n".join(["# The <b>first</b> line", *lines]))
        db.add("book", "\n".join(["# Another line", *other]))
        fields = {"Title": "A title", "date": 1987, "source": "Reuters"}
        db.add("named", "\n".join(["# The <b>first</b> line", *lines[1:]]), metadata=fields)
        db.add_many([("x", "an entirely other text"), ("y", "an entirely other text")])
    with direct(path, "ann") as site:
        reviewer = Reviewer(site)
        answer = reviewer.go("cluster", key="kept", threshold=0.2)
        rows = answer.page.texts("tr")[1:]
        assert "The <b>first</b> line" in rows[0]
        assert "Line 0 of a text that is 0 long." in rows[0]
        row_of = {key: row for row in rows for key in ("book", "named") if key in row}
        assert "1987, Reuters" in row_of["named"]
        assert "2 more lines differ" in row_of["book"]  # beside the first line, and that with 3
        assert as_json(site, "clusters")["titles"]["named"] == "A title"
        # From the cluster to its pairs, one by one, and then to the next cluster.
        (compare,) = [link for link in answer.page.values("href") if "b=named" in link]
        answer = check(site.ask(compare), review=True)
        seen = ["named"]
        while "Keep A, drop B d" in answer.page.texts("button"):
            assert "b=" + quote_plus(seen[-1]) in answer.page.values("value", name="back")[0]
            answer = check(reviewer.press(answer, "keep 0,drop 1"), review=True)
            back = dict(parse_qsl(answer.page.values("value", name="back")[0]))
            seen.append(back.get("b", back.get("key", "")))
        assert (sorted(seen[:2]), seen[2:]) == (["book", "named"], ["x"])
        said = answer.page.texts("span", class_="last")[0]
        assert "Dropped 1 from cluster 1" in " ".join(said.split())


def test_what_a_cluster_shows_of_a_document_is_what_differs(path: Path) -> None:
    """No end of a cut, all of a line that is shown; and that none differs only where none does."""
    lines = [f"Line {i} of a manual says {i * i} things of {i**3} others." for i in range(240)]
    kept = "\n".join(lines)
    edits = {"Line 9": "Row 9", "says 81 things": "tells 81 things", "of 729 others": "of some"}
    several = kept
    for before, after in edits.items():
        several = several.replace(before, after)
    documents = {
        "kept": kept,
        "one line": kept.replace("Line 20 of", "Line 20 in"),
        "longer": "\n".join([*lines[:20], *(f"A line {i} more." for i in range(400)), *lines[20:]]),
        "several": several,
        "late too": several.replace("Line 230 ", "Row 230 "),
        "blanks": kept.replace("manual says", "manual   says", 1),
    }
    database_of(path, documents, threshold=0.3).close()
    programs = path.with_name("programs.db")
    code = (
        "def mean(values):\n    total = sum(values)\n    return total / len(values) + values[0]\n"
    )
    renamed = {"mean.py": code, "other.py": code.replace("values", "numbers")}
    database_of(programs, renamed, purpose="programs").close()
    with direct(path) as site, direct(programs) as other:
        answer = check(eventually(site, "cluster", key="kept"))
        rows = {key: row for row in answer.page.texts("tr") for key in documents if key in row}
        members = as_json(site, "cluster", key="kept")["cluster"]["members"]
        changes = {member["key"]: member["changes"] for member in members}
        of_program = eventually(other, "cluster", key="mean.py")
    (only,) = changes["one line"]["first"]
    assert [[text for text, differs in side if differs] for side in only] == [["of"], ["in"]]
    assert (changes["one line"]["more"], changes["one line"]["whole"]) == (0, True)
    (shown,) = changes["several"]["first"]
    assert [text for text, differs in shown[1] if differs] == ["Row", "tells", "some"]
    assert changes["longer"]["more"] == 398
    assert changes["late too"]["first"] == [shown]
    assert "The rest is not compared here" in rows["late too"]
    said = [key for key, row in rows.items() if "No word differs." in row]
    assert said == ["blanks"]
    assert of_program.page.texts("ins")[0] == "numbers"


def test_what_differs_of_two_rows_is_not_hidden_by_what_is_copied(path: Path) -> None:
    """Nor by names, or by metadata; and the filled button drops the name of a copy."""
    run = "many words that both of these texts have in a row, Here and there, as they were written"
    own = {side: " ".join(f"{side}{i} of {i * i}." for i in range(60)) for side in "ab"}
    near = "\n".join(f"Line {i} of a text that is {i * i} long." for i in range(400))
    rows: dict[str, tuple[str, dict[str, Any]]] = {
        "list (1).txt": (near, {"price": 12, "city": "LA", "only": None}),
        "list.txt": (near.replace("Line 7 of", "Row 7 of"), {"price": 13, "city": "LA"}),
        "a": (f"{own['a']}\n{run}\n{own['a']}", {}),
        "b": (f"{own['b']}\n{run.replace('Here', 'here')}\n{own['b']}", {}),
        '{"x"': ('{"name": "a b c d", "sizes": [1, 2]}', {}),
        '{"y"': ('{"name": "a b c d", "sizes": [1, 3]}', {}),
    }
    with lshdb.open(path, passages=8, threshold=0.5) as db:
        db.add_many(lshdb.Document(key, text, fields) for key, (text, fields) in rows.items())
    with direct(path, "ann") as site:
        pairs = [("list (1).txt", "list.txt"), ("a", "b"), ('{"x"', '{"y"')]
        lists, copied, objects = (
            check(eventually(site, "compare", a=a, b=b), review=True) for a, b in pairs
        )
    assert lists.page.texts("button", class_="primary") == ["Keep B, drop A x"]
    assert lists.page.texts("tr")[1] == "price1213"
    assert (lists.page.texts("del"), lists.page.texts("span", class_="run run-1")) == (["Line"], [])
    ticks = sorted(map(float, lists.page.values("fill-opacity")))
    assert ticks[0] <= 0.5 < ticks[1] == 1
    assert copied.page.texts("button", class_="primary") == ["Keep A, drop B d"]
    assert "Here" in copied.page.texts("del")
    assert "many words that" in "".join(copied.page.texts("span", class_="run run-1"))
    assert objects.page.texts("tr")[1] == "sizes[1,2][1,3]"


def test_pairs_follow_each_other(reviewed: tuple[Path, Reviewer]) -> None:
    path, reviewer = reviewed
    rows = json_lines(eventually(reviewer.site, "pairs", format="jsonl", part="a"))
    first = rows[0]
    answer = reviewer.go("compare", a=first["a"], b=first["b"], listed="yes", part="a")
    answer = reviewer.press(answer, "different *")
    assert answer.page.texts("bdi", class_="key")[:2] == [rows[1]["a"], rows[1]["b"]]
    assert decided(path) == [("different", (first["a"], first["b"]), None, "ann")]
    reviewer.press(answer, "keep 0 1")
    kept = [("keep", (rows[1][side],), None, "ann") for side in "ab"]
    assert decided(path)[1:] == kept


def test_a_form_is_taken_once(reviewed: tuple[Path, Reviewer]) -> None:
    """A key that is pressed twice decides once, and both lead to the same page."""
    path, reviewer = reviewed
    eventually(reviewer.site, "clusters")
    first = reviewer.go("cluster", key="a0")
    pages = [
        reviewer.press(first, button).page.texts("h1")
        for button in ("keep 1,drop *", "different *")
    ]
    assert pages[0] == pages[1] != first.page.texts("h1")
    made = decided(path)
    assert [one[:2] for one in made] == [("keep", ("a1",)), ("drop", ("a0",)), ("drop", ("a2",))]
    assert reviewer.press(first, "keep 0,drop *", form="").status == 400
    again = reviewer.go("cluster", key="a0")
    (undo,) = again.page.values("value", name="undo")
    for _ in range(2):
        reviewer.press(again, undo)
        assert decided(path) == []


def test_undo_goes_back_as_many_steps_as_there_are(reviewed: tuple[Path, Reviewer]) -> None:
    path, reviewer = reviewed
    for key in ("a0", "a1", "b0"):
        reviewer.press(reviewer.go("document", key=key), "keep 0")
    with lshdb.open(path) as db:
        db.decide("drop", ["b1"], who="ben")
    answer = first = reviewer.go("document", key="alone")
    for left in (3, 2, 1):
        assert len(decided(path)) == left + 1
        (undo,) = answer.page.values("value", name="undo")
        answer = reviewer.press(answer, undo)
    assert answer.page.values("value", name="undo") == []  # what is left is another's
    assert [one[:2] for one in decided(path)] == [("drop", ("b1",))]
    (undo,) = first.page.values("value", name="undo")
    gone = reviewer.press(first, undo, form="another")
    assert (gone.status, "was undone" in gone.text) == (404, True)
    # A row of Decisions undoes that one, whoever decided it.
    rows = reviewer.go("decisions")
    reviewer.press(rows, rows.page.values("value", name="undo")[-1])
    assert decided(path) == []


def test_a_reversal_says_so(reviewed: tuple[Path, Reviewer]) -> None:
    _, reviewer = reviewed
    answer = check(reviewer.press(reviewer.go("document", key="alone"), "drop 0"), review=True)
    assert "reverses" not in answer.text
    answer = reviewer.press(answer, "keep 0")
    assert "this reverses an earlier decision about alone" in " ".join(
        answer.page.texts("span", class_="last")[0].split()
    )


@pytest.mark.parametrize("page", ["compare", "cluster"])
def test_a_list_of_what_is_undecided_comes_round(path: Path, page: str) -> None:
    """Nothing is jumped over: what was skipped follows the last one."""
    with lshdb.open(path, shingle="set", threshold=0.5) as db:
        for i in range(4):
            db.add_many((f"{i}{side}", [f"{i}/{n}" for n in range(4 + i)]) for side in "ab")
    with direct(path, "ann") as site:
        reviewer = Reviewer(site)
        eventually(site, "clusters")
        eventually(site, "pairs")
        query = {"sort": "key", "decided": "no", "only": "2"}
        given = {"key": "0a"} if page == "cluster" else {"a": "0a", "b": "0b", "listed": "yes"}
        seen, answer = [], reviewer.go(page, **query, **given)
        while answer.page.values("value", name="action"):
            seen.append(answer.page.texts("a", class_="key")[0].strip()[:1])
            assert len(seen) < 9
            if len(seen) == 1:  # skipped once
                (link,) = answer.page.values("href", rel="next")
                assert ("only=2" in link) == (page == "compare")
                answer = check(site.ask(link), review=True)
                assert "0 of 4" in answer.text
                assert "1 skipped" in answer.text
            else:
                answer = check(reviewer.press(answer, "different *"), review=True)
        assert seen == ["0", "1", "2", "3", "0"]
        assert "That was the last" in answer.text


def test_the_first_of_a_cluster_stays_and_what_is_shown_and_similar_goes(path: Path) -> None:
    """By one button with its key; all others go by a button without any. Both say how many."""
    a_key = {"data-key": "a"}
    with database_of(
        path, {"first": range(1, 9), "between": range(1, 12)}, shingle="set", threshold=0.5
    ) as db:
        db.add("far", range(4, 12))  # similar to `between` only
        db.add_many((f"copy {i}", [*range(1, 9), f"{i}"]) for i in range(101))
        db.add_many([("b0", ["b"]), ("b1", ["b"])])
    with direct(path, "ann") as site:
        reviewer = Reviewer(site)
        answer = reviewer.go("cluster", key="first")
        (button,) = answer.page.values("value", **a_key)
        labels = answer.page.texts("button")
        assert "Keep A, drop 19 a" in labels
        assert "Keep A, drop all 103 A" in labels
        assert "Keep this, drop 103" in labels
        reviewer.press(answer, button)
        dropped = {key for verdict, (key,), _, _ in decided(path) if verdict == "drop"}
        assert len(dropped) == 19
        assert dropped < {f"copy {i}" for i in range(101)}
        assert decided(path)[0][:2] == ("keep", ("first",))
        # The last page has two more copies, and `between` and `far`.
        answer = reviewer.go("cluster", key="first", page="6")
        assert "Keep A, drop 3 a" in answer.page.texts("button")
        (button,) = answer.page.values("value", **a_key)
        answer = reviewer.press(answer, button)
        assert "far" in answer.page.texts("tr")[-1]  # still on this page
        assert "Keep A, drop all 103 A" in answer.page.texts("button")
        assert not answer.page.values("value", **a_key)
        keeps = answer.page.values("value", **{"data-key": "k"})
        (keep,) = (value for value in keeps if value.endswith(" 103"))
        # The next cluster has no second page.
        answer = reviewer.press(answer, keep, "  two\r\nlines ")
        assert (answer.status, "b0" in answer.text) == (200, True)
        assert decided(path)[-1] == ("keep", ("far",), "two lines", "ann")
        (undo,) = answer.page.values("value", name="undo")
        assert reviewer.press(answer, undo).status == 200
        answer = reviewer.go("cluster", key="first", page="2")
        reviewer.press(answer, "keep 0,drop *")
        assert len([one for one in decided(path) if one[:2] == ("drop", ("far",))]) == 1


def test_pages_and_the_terminal_have_the_same_keys(reviewed: tuple[Path, Reviewer]) -> None:
    """And the manual names them all."""
    _, reviewer = reviewed
    rows = json_lines(eventually(reviewer.site, "pairs", format="jsonl"))
    eventually(reviewer.site, "clusters")
    pages = [
        reviewer.go("compare", a=rows[1]["a"], b=rows[1]["b"], listed="yes"),
        reviewer.press(reviewer.go("cluster", key="a1"), "keep 1"),
        reviewer.go("document", key="a0"),
    ]
    pressed = {key for page in pages for key in page.page.values("data-key")}
    assert {"k", "d", "x", "n", "a", "s", "p", "q", "u", ".", "Enter"} <= pressed
    manual = (Path(__file__).parents[3] / "docs" / "review.md").read_text("utf-8")
    named = set()
    for line in manual.partition("## Keys")[2].partition("## By commands")[0].splitlines():
        named.update(re.findall("`([^`]+)`", line.split("|")[1]) if line.startswith("| `") else [])
    assert pressed | set(review._ANSWERS) | {",", "<", ">", "↑", "↓"} == named


def test_what_changed_since_the_page_was_shown_is_not_decided(
    reviewed: tuple[Path, Reviewer],
) -> None:
    path, reviewer = reviewed
    answer = reviewer.go("cluster", key="b0")
    database_of(path, {"b1": "other content by now"}).close()
    reviewer.press(answer, "keep 0,drop *")
    with lshdb.open(path) as db:
        assert [(one.keys, one.state) for one in db.decisions()] == [
            (("b0",), "holds"),
            (("b1",), "changed"),
        ]


def test_forms_without_the_token_or_from_elsewhere_write_nothing(
    reviewed: tuple[Path, Reviewer],
) -> None:
    path, reviewer = reviewed
    answer = reviewer.go("cluster", key="a0")
    assert reviewer.press(answer, "keep 0,drop *", token="").status == 403
    assert reviewer.press(answer, "keep 0,drop *", token="x" * 32).status == 403
    token = answer.page.values("value", name="token")[0]
    documents = answer.page.values("value", name="documents")[0]
    body = urlencode(
        {"token": token, "documents": documents, "action": "keep 0", "page": "cluster"}
    )
    place = f"{reviewer.site.root}/decide"
    for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert reviewer.site.ask(place, body.encode(), headers).status == 403
    assert reviewer.site.ask(place, body.encode(), {"Host": "evil.example"}).status == 403
    assert reviewer.site.ask(f"{place}?{body}").status == 405
    for action in ("keep 99", "keep -1", "remove 0", "", "keep 0,", "keep 0,drop 0", "different 0"):
        assert reviewer.press(answer, action).status == 400
    deep = "[" * 5_000 + "]" * 5_000
    nested = f'[[{deep}, "00"]]'
    for wrong in ("", "[]", "[1]", deep, nested, "[[1, 2]]", '[["a0", "00"]]', '[["", "00"]]'):
        assert reviewer.press(answer, "keep 0", documents=wrong).status == 400, wrong
    assert reviewer.press(answer, "keep 0", page="query").status == 400
    assert decided(path) == []


def test_without_review_nothing_is_written(site: Site) -> None:
    for page in ("", "clusters", "pairs", "document?key=fox", "compare?a=fox&b=fox+2", "decisions"):
        answer = check(eventually(site, page))
        assert not [g for t, g, _ in answer.page.elements if t == "button" and "value" in g]
    assert site.post("decide", token="", documents="[]", action="keep 0").status == 404
    assert site.get("decide").status == 404


# what is kept between requests


def _wait(go: Event, _: Progress) -> bool:
    return go.wait(10)


def test_a_page_of_what_is_not_ready_yet_asks_again(path: Path) -> None:
    database_of(path, [("fox", TEXT), ("fox 2", TEXT)]).close()
    with lshdb.open(path, mode="read", limits=lshdb.Limits(page_seconds=0.0)) as db:
        for name in ("", "clusters", "pairs", "cluster"):
            results, go = ResultCache(), Event()

            def view(name: str = name, results: ResultCache = results) -> dict[str, Any]:
                visit = views.Visit(db, "lsh", {"key": "fox"}, results=results)
                page = visit.page(name)
                html = rendering.html(page, rendering.Links(""), database="lsh", review=None)
                # It would reload over what somebody types into a form.
                assert ('http-equiv="refresh"' in html) == ("<form" not in html)
                return page.data

            results.get("other", 1, partial(_wait, go), 0)  # is made first
            first = view()
            go.set()
            assert first["waiting"]
            assert not first.get(name)
            while (page := view())["waiting"]:
                sleep(0.01)
            assert page[name or "clusters"]


WITH_SINGLE_ONES = {
    "alone": "a text of its own, with words that no other has",
    "a": "the ferry to the islands runs every hour from the pier",
    "b": "the ferry to the islands runs every hour from the pier",
    "odd": "something else altogether is written in here today",
    "empty": "",
}


@pytest.mark.extra("web")
@pytest.mark.parametrize(("field", "keys"), [("smallest", "aaoe"), ("largest", "aoe")])
def test_single_documents_are_clusters_of_one(path: Path, field: str, keys: str) -> None:
    from lshdb.apps.web import page_file, views

    database_of(path, WITH_SINGLE_ONES).close()
    with page_file.opened(path) as reader:
        page = views.Visit(reader, "lsh", {field: "1", "sort": "first"}).page("clusters").data
    assert "".join(cluster["keep"][0] for cluster in page["clusters"]) == keys


@pytest.mark.extra("web")
def test_a_field_given_twice_is_refused(command: Command) -> None:
    lshdb.open(command.path("lsh.db")).close()
    with direct(command.path("lsh.db")) as site:
        same = site.ask(f"{site.root}/clusters?keep=last&keep=last")
        twice = site.ask(f"{site.root}/clusters?keep=last&keep=first")
        form = site.ask(f"{site.root}/query", b"text=a&text=a&threshold=0.5&threshold=0.6")
    assert same.status == 200
    for answer in (twice, form):
        assert (answer.status, "twice, with different values" in answer.text) == (400, True)


def test_a_sample_of_pairs_is_that_of_the_library(path: Path) -> None:
    texts = text_families(5, families=20, copies=3, words=60, most_edits=8)
    with database_of(path, texts, threshold=0.5) as db:
        drawn = [*db.pairs(max_similarity=0.8, sample=5, seed=2)]
        count = len([*db.pairs(max_similarity=0.8)])
    with page_file.opened(path) as reader:
        address = {"max_similarity": "0.8", "sample": "5", "seed": "2"}
        page = views.Visit(reader, "lsh", address).page("pairs").data
    assert [pair["a"] for pair in page["pairs"]] == [pair.a for pair in drawn]
    assert page["drawn_from"] == count
