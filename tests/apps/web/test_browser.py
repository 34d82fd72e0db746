"""The pages in a real Chromium, which has a person's eyes: sizes, colours, keyboard, no scripts."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlencode

import pytest
from helpers import Command, Site, database_of, datasette, eventually, served

import lshdb

pytest.importorskip("starlette", reason="the extra `web` is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")


if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

TEXT = "The quick brown fox jumps over the lazy dog while the band plays on in the old square"
HOSTILE = "<img src=x onerror=alert(1)> \u202e{}".format("wide" * 60)
CODE = """def mean(values):  # the mean of the values
    \'\'\'The mean of values, or 0 if there are none of them.\'\'\'
    total = sum(values)
    if not values:
        return 0  # mean of none
    return total / len(values)
"""
WIDE, NARROW = 1280, 400
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# The least contrast, by WCAG 2, of any text with what is behind it: 4.5 is legible to most.
CONTRAST = """() => {
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map(v => v / 255).map(
      v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const numbers = colour => colour.match(/[0-9.]+/g).map(Number);
  const behind = element => {
    for (; element; element = element.parentElement) {
      const colour = numbers(getComputedStyle(element).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    throw new Error("nothing is behind the text");
  };
  let least = [21, ""];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.data.trim();
    const element = walker.currentNode.parentElement;
    if (!text || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const drawn = element.closest("svg") ? style.fill : style.color;
    const pair = [luminance(numbers(drawn)), luminance(behind(element))].sort((a, b) => b - a);
    const contrast = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (contrast < least[0]) least = [contrast, text.slice(0, 40)];
  }
  return least;
}"""
# The smallest letters on the screen, in pixels, with what a picture is scaled by.
SMALLEST = """() => Math.min(...[...document.querySelectorAll("main *")].filter(
  element => element.checkVisibility() && [...element.childNodes].some(
    node => node.nodeType === 3 && node.data.trim())).map(element => {
  const size = parseFloat(getComputedStyle(element).fontSize);
  const scale = element.ownerSVGElement && element.getScreenCTM();
  return scale ? size * Math.hypot(scale.a, scale.b) : size;
}))"""
# The colours behind equal rows, changed rows and changed words.
# The lowest thing to press, in pixels; links within sentences are as high as their letters.
TARGET = """() => Math.min(24, ...[...document.querySelectorAll(
  "button, input, select, textarea, summary, nav a, .action a, .brand, .button")]
  .filter(element => element.checkVisibility() && element.type !== "hidden")
  .map(element => element.getBoundingClientRect().height))"""
UNFOLD = "document.querySelectorAll('details').forEach(details => details.open = true)"


def chromium() -> str | None:
    """The Chromium of this machine, or the one that the environment names."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = chromium()
    if path is None:
        pytest.skip("no Chromium is installed: apt-get install chromium")
    # Chromium has no sandbox where it runs as root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=path, args=arguments)
        yield running
        running.close()


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Databases of texts, of sets, without contents, and of nothing."""
    directory = tmp_path_factory.mktemp("browser")
    database_of(
        directory / "texts.db",
        [
            ("fox", TEXT),
            ("fox 2", f"So {TEXT}, and so on"),
            (HOSTILE, f"{TEXT} 3 <b>"),
            *((f"{i}{side}", f"pair {i} of two copies") for i in range(45) for side in "ab"),
            ("long word", "x" * 5_000 + f" {TEXT}"),
            ("line\r\nend", f"{TEXT} 4"),
            *((f"{name}.py", CODE.replace("mean", name)) for name in ("mean", "other")),
        ],
        threshold=0.5,
    ).close()
    lshdb.open(directory / "empty.db").close()
    database_of(directory / "bare.db", [("fox", TEXT), ("fox 2", TEXT)], content=False).close()
    database_of(
        directory / "sets.db",
        [("monday", ["milk", "bread", "x" * 300]), ("friday", ["milk", "bread", 7])],
        shingle="set",
        threshold=0.3,
    ).close()
    return directory


@pytest.fixture(scope="module")
def sites(directory: Path) -> Iterator[dict[str, Site]]:
    """`lshdb serve` of each, once what is computed in the background is there."""
    with ExitStack() as stack:
        found = {}
        for name in ("texts", "empty", "bare", "sets"):
            found[name] = stack.enter_context(served(directory, "-d", f"{name}.db"))
        yield found


class Watched:
    """A tab, and all that went wrong in it."""

    def __init__(self, context: BrowserContext, site: Site, scripts: int = 0) -> None:
        self.page: Page = context.new_page()
        self.site = site
        self.wrong: list[str] = []
        self.scripts = scripts
        self.page.on("console", lambda message: self.wrong.append(message.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", self._dialog)
        self.page.on("request", self._request)

    def _dialog(self, dialog: Any) -> None:
        self.wrong.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Any) -> None:
        if not request.url.startswith(f"http://{self.site.host}:{self.site.port}/"):
            self.wrong.append(f"asked for {request.url}")

    def go(self, page: str, **query: str) -> None:
        """Open a page once it is complete: until then it would load itself again."""
        eventually(self.site, page, **query)
        address = f"{self.site.base}/{page}"
        self.page.goto(f"{address}?{urlencode(query)}" if query else address)

    def press(self, key: str) -> None:
        """Press a key that leads to another page."""
        with self.page.expect_navigation(wait_until="domcontentloaded"):
            self.page.keyboard.press(key)

    def heading(self) -> str:
        return self.page.locator("h1").inner_text()

    def check(self, width: int, *, rules: bool = True) -> None:
        """Assert that nothing went wrong, and that a person can read the page."""
        assert self.wrong == []
        assert self.page.locator("script").count() == self.scripts
        legible(self.page, width, rules=rules)


def legible(page: Page, width: int, *, rules: bool = True) -> None:
    """Assert that a person can read a page on a screen of this width; by axe's rules, too."""
    assert page.locator("img, b").count() == 0
    assert page.evaluate("document.styleSheets.length") == 1
    page.set_viewport_size({"width": width, "height": 900})
    contrast, text = page.evaluate(CONTRAST)
    assert contrast >= 4.5, text
    assert page.evaluate(OVERFLOW) == 0
    assert page.evaluate(SMALLEST) >= 11
    assert page.evaluate(TARGET) == 24
    if rules:
        # Not the nodes that pass each rule, which take long to describe; nor the contrast again,
        # which takes more than half of the time.
        rules_chosen = {"color-contrast": False, "label-content-name-mismatch": True}
        asked = {
            "resultTypes": ["violations"],
            "rules": {name: {"enabled": value} for name, value in rules_chosen.items()},
        }
        found = axe.Axe().run(page, options=asked)
        assert found.violations_count == 0, found.generate_report()


def test_every_page_is_legible(browser: Browser, sites: dict[str, Site]) -> None:
    # With scripts allowed: there are none, and what keys would run must not run.
    with browser.new_context() as context:
        tab = Watched(context, sites["texts"])

        ruled = set()

        def check(page: str) -> None:
            """Light and wide as it comes; dark, on a phone, with all that can be unfolded.

            The rules of axe are about elements, which a template has: once for each.
            """
            tab.page.emulate_media(color_scheme="light")
            tab.check(WIDE, rules=False)
            tab.page.emulate_media(color_scheme="dark")
            tab.page.evaluate(UNFOLD)
            template = (page, tab.site is sites["sets"])
            tab.check(NARROW, rules=template not in ruled)
            ruled.add(template)

        tab.go("")
        backs = []
        for scheme in SCHEMES:
            tab.page.emulate_media(color_scheme=scheme)
            back = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
            backs.append(sum(map(int, back.removeprefix("rgb(").removesuffix(")").split(","))))
        assert backs[0] > 3 * 128 > backs[1]
        for name, page, query in (
            *(("texts", page, {}) for page in ("", "clusters", "pairs", "query", "decisions")),
            ("texts", "document", {"key": HOSTILE}),
            ("texts", "find", {"q": "quick <b>"}),
            ("texts", "compare", {"a": HOSTILE, "b": "long word", "listed": "yes"}),
            ("texts", "compare", {"a": "mean.py", "b": "other.py", "only": "2"}),
            ("texts", "cluster", {"key": "fox"}),
            ("empty", "", {}),
            ("bare", "document", {"key": "fox"}),
            ("sets", "document", {"key": "monday"}),
            ("sets", "compare", {"a": "monday", "b": "friday"}),
        ):
            tab.site = sites[name]
            tab.go(page, **query)
            assert "lshdb" in tab.page.title()
            check(page)
        # The browser itself writes to its console that an address was not found.
        tab.site = sites["texts"]
        tab.go("document", key="nothing")
        assert tab.heading() == "Not found"
        assert [message for message in tab.wrong if "404" not in message] == []
        tab.wrong.clear()
        check("not found")


def test_the_keyboard_is_enough(browser: Browser, sites: dict[str, Site]) -> None:
    with browser.new_context() as context:
        tab = Watched(context, sites["texts"])
        page = tab.page
        tab.go("")
        page.keyboard.press("Tab")
        skip = page.locator("a.skip")
        assert skip.evaluate("element => element === document.activeElement")
        box = skip.bounding_box()
        assert box is not None
        assert box["y"] >= 0  # it comes into sight
        seen = set()
        for _ in range(60):
            page.keyboard.press("Tab")
            name, outlined = page.evaluate(
                "(e => [e.tagName + ' ' + (e.id || e.textContent.trim()).slice(0, 20), "
                "getComputedStyle(e).outlineStyle !== 'none'])(document.activeElement)"
            )
            if name.startswith("BODY"):
                break
            assert outlined, name
            seen.add(name)
        assert {"A Clusters", "INPUT q", "BUTTON Find", "SUMMARY The pairs as a table"} <= seen
        assert "a 0.95 to 1.0: 45 pair" in seen  # a column of the chart
        assert tab.wrong == []


def test_datasettes_own_scripts_run_on_pages_of_lshdbs_files(
    browser: Browser, directory: Path
) -> None:
    pytest.importorskip("datasette", reason="the extra `datasette` is not installed")
    with datasette(directory, "texts.db") as site, browser.new_context() as context:
        tab = Watched(context, site)
        tab.go("texts/clusters")
        tab.check(NARROW, rules=False)
        tab.page.goto(f"http://{site.host}:{site.port}/texts?sql=select+1")
        assert tab.wrong == []
        assert tab.page.locator(".CodeMirror").count() == 1
        tab.page.evaluate("document.body.append(document.createElement('script'))")
        tab.page.evaluate(
            "document.querySelector('body > script:last-child').src = 'http://127.0.0.2/x.js'"
        )
        assert any("Content Security Policy" in message for message in tab.wrong)


@pytest.fixture
def reviewed(tmp_path: Path) -> Iterator[Site]:
    """Three clusters, in review."""
    with database_of(
        tmp_path / "lsh.db", ((f"src/a/{i}", f"{TEXT} {i}") for i in range(3)), threshold=0.5
    ) as db:
        db.add_many(
            (f"src/b/{i}", f"{i}\nan entirely other text that is here twice\n{i}") for i in "01"
        )
        db.add_many(
            [(HOSTILE, "what keys may be, as we know"), ("x", "what keys may be, as we know")]
        )
    with served(tmp_path, "--review", "--who", "ann") as site:
        yield site


def test_the_whole_way_of_a_review(browser: Browser, reviewed: Site) -> None:
    """Open, filter, compare, decide, undo, by keys; test_web.py does it without scripts."""
    with browser.new_context(color_scheme="dark") as context:
        tab = Watched(context, reviewed, scripts=1)
        page = tab.page
        eventually(reviewed, "clusters")
        tab.go("clusters")
        page.get_by_text("Filter and sort").press("Enter")
        page.get_by_label("Part of a key").fill("src/")
        page.get_by_label("Part of a key").press("Enter")
        assert page.get_by_text("2 of them match these filters.").is_visible()
        page.locator(".clusters h2 a").first.press("Enter")
        page.wait_for_load_state()
        tab.check(WIDE)
        page.get_by_role("link", name="Compare").first.press("Enter")
        assert tab.heading() == "src/a/0 and src/a/1"
        page.wait_for_load_state()
        tab.check(WIDE)
        page.go_back()
        page.get_by_label("Note").fill("not a decision yet")
        page.get_by_label("Note").press("Enter")
        assert reviewed.get("decisions").text.count("Nothing is decided yet.") == 1
        page.get_by_label("Note").fill("")
        page.get_by_role("heading").first.click()
        for key, says in (
            ("a", "1 of 2 clusters decided"),
            ("u", "0 of 2 clusters decided"),
            ("a", "1 of 2 clusters decided"),
            ("n", "That was the last undecided cluster of the list."),
        ):
            tab.press(key)
            assert page.get_by_text(says).is_visible()
        tab.check(WIDE, rules=False)
        # From each difference to the next, which has the focus then.
        tab.go("compare", a="src/b/0", b="src/b/1")
        for key, place in ((".", "d1"), (".", "d2"), (",", "d1")):
            page.keyboard.press(key)
            assert page.evaluate("document.activeElement.id") == place
        assert tab.wrong == []


def test_keys_in_a_review(browser: Browser, reviewed: Site) -> None:
    """A key pressed twice decides once; the row it acts on is marked; `?` shows the keys."""
    with browser.new_context(viewport={"width": 400, "height": 800}) as context:
        tab = Watched(context, reviewed, scripts=1)
        page = tab.page
        tab.go("cluster", key="src/a/0")
        marked = page.locator(".at-work a.key")
        assert marked.inner_text().endswith("1")
        page.locator("tbody a.key").nth(2).focus()
        assert marked.inner_text().endswith("2")
        for key, end in (("ArrowUp", "1"), ("ArrowUp", "0"), ("ArrowUp", "0"), ("ArrowDown", "1")):
            page.keyboard.press(key)
            assert marked.inner_text().endswith(end)
        assert not page.locator(".keys dl").is_visible()
        page.keyboard.press("?")
        keys = page.locator(".keys dt").all_inner_texts()
        # No p, u: nothing is before; no A, > and D: all is on this page, and nothing is selected.
        assert keys == ["↑ ↓", "x", "k", "d", "Enter", "s", "q", "a", "n"]
        tab.check(NARROW)
        with page.expect_navigation():
            page.evaluate(
                "for (let i = 0; i < 3; i++) document.body.dispatchEvent("
                "new KeyboardEvent('keydown', {key: 'n', bubbles: true}))"
            )
        page.wait_for_load_state()
        assert len(json.loads(reviewed.get("decisions.json").text)["presses"]) == 1
        # On a phone the text comes first, and what decides is in view, wherever the page is.
        tab.go("compare", a="src/b/0", b="src/b/1", listed="yes")
        first = page.locator(".diff tbody").bounding_box()
        assert first is not None
        assert first["y"] < 500
        for place in ("0", "document.body.scrollHeight"):
            page.evaluate(f"scrollTo(0, {place})")
            box = page.locator(".buttons").first.bounding_box()
            assert box is not None
            assert 0 < box["y"] <= page.evaluate("innerHeight") - box["height"] + 1


def test_clusters_by_the_keyboard_alone(browser: Browser, tmp_path: Path) -> None:
    """At most two keys for a cluster of two, one more for a further member; its text is in view."""
    members = (2, 4, 2, 2)
    with lshdb.open(tmp_path / "lsh.db", threshold=0.3) as db:
        for i, count in enumerate(members):
            words = " ".join(f"{letter}{i}" for letter in "abcdefghij")
            text = f"Report {i}\nThe {i}th of many reports {words}."
            db.add_many((f"{i}/{n}", f"{text}\nCopy {n} of {i}.") for n in range(count))
    with served(tmp_path, "--review") as site, browser.new_context() as context:
        tab = Watched(context, site, scripts=1)
        page = tab.page
        tab.go("clusters", decided="no", sort="key")

        def in_view(*selectors: str) -> list[str]:
            """The texts of elements that are above the bar."""
            texts: list[str] = page.evaluate(
                """selectors => selectors.map(selector => {
                const [element, bar] = [selector, ".buttons"].map(s => document.querySelector(s));
                const [box, end] = [element, bar].map(e => e.getBoundingClientRect());
                return 0 <= box.top && box.bottom <= end.top ? element.innerText : "";
                })""",
                selectors,
            )
            return texts

        tab.press("Enter")
        for i, count in enumerate(members):
            lines, change = in_view("tr.kept .lines", ".change")
            assert f"The {i}th of many reports" in lines
            assert f"Copy 0 of {i}." in change
            if i % 3 == 0:
                tab.press("a")
                continue
            tab.press("Enter")
            for other in range(1, count):
                assert tab.heading() == f"{i}/0 and {i}/{other}"
                assert f"The {i}th of many reports" in in_view(".diff")[0]
                tab.press("d")
        assert page.get_by_text("That was the last undecided cluster").is_visible()
        with lshdb.open(tmp_path / "lsh.db", mode="read") as db:
            assert len(db.remove_decided(dry_run=True)) == sum(members) - len(members)
        # Back from a pair to its cluster, and to the list.
        tab.go("clusters", sort="key")
        page.keyboard.press("ArrowDown")
        for key, heading in (("Enter", "Cluster 1"), ("q", "Clusters")):
            tab.press(key)
            assert tab.heading().startswith(heading)
        assert tab.wrong == []


def test_large_clusters_with_the_mouse_and_a_note(browser: Browser, tmp_path: Path) -> None:
    """A page with an open row follows; all others go after a question; a note is not lost."""
    with lshdb.open(tmp_path / "lsh.db", threshold=0.3) as db:
        for name, count in (("big", 200), ("mid", 39), ("two", 2)):
            words = " ".join(f"{name}{i}" for i in range(30))
            db.add_many(
                (f"{name}/{n:03}", f"Text {name}\n{words}.\nCopy {n}.") for n in range(count)
            )
    with served(tmp_path, "--review") as site, browser.new_context() as context:
        tab = Watched(context, site, scripts=1)
        page = tab.page
        page.set_viewport_size({"width": 1440, "height": 900})
        rows = ".clusters > li, .wide tbody tr, .diff tbody tr"

        def furniture() -> float:
            """The pixels above the first row, at the top of the page, without notes of limits."""
            assert page.evaluate("scrollY") == 0
            page.evaluate("document.querySelectorAll('.note').forEach(note => note.remove())")
            box = page.locator(rows).first.bounding_box()
            return 0 if box is None else box["y"]

        def click(name: str) -> None:
            with page.expect_navigation():
                page.get_by_role("button", name=name, exact=False).first.click()

        for address in ("clusters", "pairs"):
            tab.go(address, decided="no")
            assert furniture() <= 200
        tab.go("clusters", decided="no")
        page.locator(".clusters h2 a").first.click()
        assert furniture() <= 200
        note = page.get_by_label("Note")
        note.fill("not yet")
        page.get_by_role("link", name="Compare").first.click()
        assert furniture() <= 200
        assert note.input_value() == "not yet"
        page.keyboard.press("Escape")
        page.go_back()
        page.get_by_role("link", name="Next", exact=True).click()
        page.go_back()
        assert note.input_value() == "not yet"
        # From the third to the sixth row, by shift.
        boxes = page.locator(".choose")
        assert not page.get_by_role("button", name="Drop selected").is_visible()
        boxes.nth(1).click()
        boxes.nth(4).click(modifiers=["Shift"])
        click("Drop selected")
        with lshdb.open(tmp_path / "lsh.db", mode="read") as db:
            assert {made.note for made in db.decisions()} == {"not yet"}
            assert len(db.remove_decided(dry_run=True)) == 4
        assert note.input_value() == ""
        # The rest of the page, and the next one follows.
        click("Keep A, drop 15")
        assert page.get_by_text("Page 2 of 10").first.is_visible()
        tab.press(">")
        assert page.get_by_text("Page 3 of 10").first.is_visible()
        page.keyboard.press("A")
        assert tab.wrong.pop() == "dialog Keep A, drop all 199?"
        page.remove_listener("dialog", tab._dialog)
        page.once("dialog", lambda dialog: dialog.accept())
        tab.press("A")
        assert tab.heading().startswith("Cluster 2")
        tab.press("u")
        assert tab.heading().startswith("Cluster 1")
        with lshdb.open(tmp_path / "lsh.db", mode="read") as db:
            assert len(db.remove_decided(dry_run=True)) == 19
        page.once("dialog", lambda dialog: dialog.accept())
        click("Keep A, drop all 199")
        for label in ("Keep A, drop 19", "Keep A, drop 19", "Keep A, drop 1"):
            click(label)
        assert page.get_by_text("That was the last undecided cluster").is_visible()
        assert tab.wrong == []


def _class_report(directory: Path) -> Path:
    """A report of two submissions, one of them of two files."""
    for name in ("hw/ann/mean.py", "hw/ann/util/more.py", "hw/ben.py"):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(CODE if "mean" in name else CODE.replace("mean", name[3:6]))
    Command(directory).done("report", "hw", "--for", "programs", "-o", "class.html")
    return directory / "class.html"


def test_a_report_is_legible_from_the_disk_and_on_paper(browser: Browser, tmp_path: Path) -> None:
    with database_of(
        tmp_path / "lsh.db",
        [("fox", TEXT), ("fox 2", f"So {TEXT}, and so on"), (HOSTILE, f"{TEXT} 3 <b>")],
        threshold=0.5,
    ) as db:
        db.decide("drop", ["fox 2"], note=HOSTILE)
    Command(tmp_path).done("report", "-o", "out.html")
    address = (tmp_path / "out.html").as_uri()
    context = browser.new_context(offline=True)
    wrong: list[str] = []
    page = context.new_page()
    page.on("console", lambda message: wrong.append(message.text))
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url))
    page.goto(address)
    assert page.locator("script, link").count() == 0
    for scheme, width in zip(SCHEMES, (WIDE, NARROW), strict=True):
        page.emulate_media(color_scheme=scheme)
        legible(page, width, rules=width == NARROW)
        names = page.locator("article").first.get_by_text("fox", exact=True)
        assert any(one.is_visible() for one in names.all()), "what is beside what"
    page.goto(_class_report(tmp_path).as_uri())
    for scheme, width in zip(SCHEMES, (NARROW, WIDE), strict=True):
        page.emulate_media(color_scheme=scheme)
        legible(page, width, rules=width == NARROW)
        assert page.locator("article .renamed").first.is_visible()
    asked.clear()
    page.goto(address)
    page.locator(".usual").get_by_role("link", name="Similarity").click()
    assert page.locator("#by-similarity").is_visible()
    assert not page.locator("#by-score").is_visible()
    beside, second = page.locator("article", has=page.locator("#pair-2")), page.locator("#pair-2")
    beside.locator("summary").click()
    assert not second.locator("table").is_visible(), "folded, and so not printed"
    page.emulate_media(media="print")
    assert not beside.is_visible()
    page.emulate_media(media="screen")
    page.locator("#by-similarity summary").first.click()
    page.locator("#by-similarity a[href='#pair-2']").click()
    assert second.locator("table").is_visible(), "a link unfolds what it leads to"
    page.emulate_media(media="print")
    marks = page.locator(".changed del, .only .a, .changed ins, .only .b").first
    drawn = marks.evaluate("mark => getComputedStyle(mark).textDecorationLine")
    assert drawn in ("line-through", "underline")
    assert (wrong, set(asked)) == ([], {address})
    context.close()


def test_a_comparison_that_waits_ends_by_itself(browser: Browser, directory: Path) -> None:
    """Also by a link to a difference: Chromium does not load an address with `#d1` again."""
    from lshdb.apps.web import rendering, views

    limits = lshdb.Limits(page_seconds=0.0)
    with lshdb.open(directory / "texts.db", mode="read", limits=limits) as database:
        pairs = ({"a": "fox", "b": key} for key in ("fox 2", "long word", "line\r\nend"))
        visits = ((keys, views.Visit(database, "texts", keys).page("compare")) for keys in pairs)
        keys, waiting = next((keys, page) for keys, page in visits if page.data["waiting"])
        links = rendering.Links("")
        html = rendering.html(waiting, links, database="texts", review=None)
    with served(directory, "-d", "texts.db") as site, browser.new_context() as context:
        page = context.new_page()
        answer = {"body": html, "content_type": "text/html"}
        page.route("**/compare*", lambda route: route.fulfill(**answer), times=1)
        page.goto(f"{site.base}/compare?{urlencode(keys)}#d1")
        assert page.locator("h1").inner_text() == f"fox and {keys['b']}"
        page.locator("#d1").wait_for(state="attached", timeout=20_000)


def test_differences_are_marked_where_the_system_chooses_the_colours(
    browser: Browser, sites: dict[str, Site]
) -> None:
    with browser.new_context(forced_colors="active") as context:
        tab = Watched(context, sites["texts"])
        tab.go("compare", a="fox 2", b=HOSTILE)
        style = "element => getComputedStyle(element).textDecorationLine"
        lines = [tab.page.locator(f".diff {name}").first.evaluate(style) for name in ("del", "ins")]
        assert lines == ["line-through", "underline"]
