"""What the tests of the pages share: databases of all kinds, and what holds for every page."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from helpers import Answer, Site, database_of

import lshdb
from lshdb.apps.review import reviewing
from lshdb.apps.web import app, guarding

TEXT = "The quick brown fox jumps over the lazy dog while the band plays on in the old square"
HOSTILE = {
    "<script>alert(1)</script>": "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>": "\"'><img src=x onerror=alert(1)>",
    "{{ 7 * 1234567 }}": "{{ 7 * 1234567 }}",
    "a/../b c?d#e%2e&f=g+h": "a/../b c?d#e%2e&f=g+h",
    "..": "..",
    "line\nend\r\nand\ttab": r"line\nend\r\nand\ttab",
    "\x1b[31m \u202egnp.exe": r"\x1b[31m \u202egnp.exe",
    "\u05e9\u05dc\u05d5\u05dd \U0001f98a": "\u05e9\u05dc\u05d5\u05dd \U0001f98a",
}
"""Keys, and how a page shows them."""
PAGES = ("", "clusters", "pairs", "query", "decisions")


def make_databases(directory: Path) -> None:
    """Databases of all kinds, and one that is not lshdb's."""
    with database_of(
        directory / "texts.db",
        [
            ("fox", TEXT),
            ("fox 2", f"{TEXT}, and so on"),
            ("ant", "An ant."),
            *((key, f"{TEXT} {number} {key}") for number, key in enumerate(HOSTILE)),
            ("empty", "?"),
            ("controls", "a\0b \x1b[31m \u202e c\r\nd\n\n<b>bold</b> {{ 7 * 1234567 }}"),
        ],
        threshold=0.5,
    ) as db:
        long = [f"word{i}" for i in range(12_000)]
        db.add_many([("long", " ".join(long)), ("long 2", " ".join([*long[:6_000], "x"]))])
    lshdb.open(directory / "nothing yet.db").close()
    database_of(
        directory / "bare.db",
        [("fox", TEXT), ("fox 2", f"{TEXT}, and so on")],
        threshold=0.5,
        content=False,
    ).close()
    database_of(
        directory / "sets.db",
        [("monday", ["milk", "bread", 7]), ("friday", ["milk", "bread", "<b>"])],
        threshold=0.3,
        shingle="set",
    ).close()
    with closing(sqlite3.connect(directory / "foreign.db")) as connection:
        connection.execute("CREATE TABLE documents (key TEXT)")
        connection.execute("INSERT INTO documents VALUES ('fox')")
        connection.commit()


def check(answer: Answer, *, review: bool = False) -> Answer:
    """A page, of which holds what does of all of ours; those of a review have our own script."""
    policy = dict(
        part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";")
    )
    scripts = policy.pop("script-src", None)
    if review:
        assert scripts == "'self'"
        assert [urlsplit(src).path.rpartition("/")[2] for src in answer.page.values("src")] == [
            "keys.js"
        ]
    else:
        assert scripts is None
    assert policy == {
        "default-src": "'none'",
        "style-src": "'self'",
        "img-src": "'self'",
        "form-action": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["x-content-type-options"] == "nosniff"
    page = answer.page
    tags = {tag for tag, _, _ in page.elements}
    assert not tags & {"style", "iframe", "object", "img", "b"}
    assert [tag for tag, _, _ in page.elements].count("script") == review
    attributes = {name for _, given, _ in page.elements for name in given}
    assert not {name for name in attributes if name.startswith("on") or name == "style"}
    for attribute in ("href", "src", "action", "formaction"):
        for link in page.values(attribute):
            assert link.startswith(("/", "#")), link
            assert not link.startswith("//")
    assert page.values("lang") == ["en"]
    assert len(page.texts("h1")) == len(page.texts("main")) == 1
    identities = page.values("id")
    assert len(set(identities)) == len(identities)
    assert set(page.values("for")) | set(page.values("aria-labelledby")) <= set(identities)
    labelled = {
        given["id"]
        for tag, given, _ in page.elements
        if tag in ("input", "textarea", "select") and given.get("type") != "hidden"
    }
    assert labelled == set(page.values("for"))
    assert "8641969" not in page.texts("main")[0]  # had a key or a text been a template
    return answer


def facts(answer: Answer) -> dict[str, str]:
    """The names and values that a page shows."""
    page = answer.page
    return dict(zip(page.texts("dt"), map(str.strip, page.texts("dd")), strict=True))


def follow(site: Site, answer: Answer) -> Answer:
    """The page that a form leads to, which has its own address."""
    assert answer.status == 303
    return site.ask(answer.headers["location"])


def json_lines(answer: Answer) -> list[dict[str, Any]]:
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in answer.text.splitlines()]


def check_sites(site: Site, index: str, pages: Sequence[str], sql: Sequence[str] = ()) -> None:
    """Assert that pages of other sites may only link to pages, and not with SQL in the address."""
    clicked = {
        "Sec-Fetch-Site": index,
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
    }
    image = clicked | {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
    frame = clicked | {"Sec-Fetch-Dest": "iframe"}
    script = clicked | {"Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}
    for path in pages:
        for headers, status in ((clicked, 200), (image, 403), (frame, 403), (script, 403)):
            assert site.ask(path, headers=headers).status == status, (path, headers)
        assert site.ask(path, b"", clicked).status == 403
    for path in sql:
        assert site.ask(path, headers=clicked).status == 403, path
        for same in ("same-origin", "none"):
            assert site.ask(path, headers=clicked | {"Sec-Fetch-Site": same}).status == 200


class DirectSite(Site):
    """The pages of a file, asked for in this process: without a server, a socket or a port."""

    def __init__(self, path: Path, runner: asyncio.Runner, who: str | None) -> None:
        super().__init__("http://127.0.0.1:80")
        review = None if who is None else reviewing.Review(path, who)
        self.runner = runner
        self._app = guarding.guarded(app.pages(path.absolute(), path.stem, review))

    def ask(
        self,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        method: str | None = None,
    ) -> Answer:
        """Send any request, as `Site.ask` does."""
        return self.runner.run(self.answer(path, body, headers, method))

    async def answer(
        self,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        method: str | None = None,
    ) -> Answer:
        """The answer to a request, beside others at the same time."""
        address, _, query = path.partition("#")[0].partition("?")
        given = {"Host": f"{self.host}:{self.port}", **(headers or {})}
        scope = {
            "type": "http",
            "method": method or ("GET" if body is None else "POST"),
            "path": unquote(address),
            "query_string": query.encode(),
            "headers": [(n.lower().encode(), value.encode()) for n, value in given.items()],
        }
        sent: list[Any] = []
        received = [{"type": "http.request", "body": body or b""}]

        async def receive() -> Any:
            return received.pop() if received else await asyncio.Future()

        async def send(message: Any) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        texts = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        content = b"".join(message["body"] for message in sent[1:])
        return Answer(sent[0]["status"], texts, content.decode())


@contextmanager
def direct(path: Path, who: str | None = None) -> Iterator[DirectSite]:
    """The pages of a file in this process; with `who`, in a review."""
    with asyncio.Runner() as runner:
        yield DirectSite(path, runner, who)
