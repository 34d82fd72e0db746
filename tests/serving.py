"""A real web server in a process of its own, and what a browser without scripts makes of pages."""

from __future__ import annotations

import http.client
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import urlencode, urlsplit

from command import TIMEOUT, Command, environment, finish

VOID = frozenset(["meta", "link", "input", "img", "br"])


@dataclass(frozen=True)
class Answer:
    """A response: its status, headers with small names, and text."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def page(self) -> Parsed:
        parsed = Parsed()
        parsed.feed(self.text)
        parsed.close()
        assert not parsed.open, f"never closed: {parsed.open}"
        return parsed


class Parsed(HTMLParser):
    """What tests ask of a page: its elements with their attributes and texts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[int] = []
        self.elements: list[tuple[str, dict[str, str], list[str]]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attributes}, []))
        if tag not in VOID and not self.get_starttag_text().endswith("/>"):  # type: ignore[union-attr]
            self.open.append(len(self.elements) - 1)

    def handle_endtag(self, tag: str) -> None:
        if self.get_starttag_text() and self.open and self.elements[self.open[-1]][0] == tag:
            self.open.pop()
        elif tag not in ("line", "polyline", "circle", "rect"):
            raise AssertionError(f"</{tag}> closes nothing")

    def handle_data(self, data: str) -> None:
        for place in self.open:
            self.elements[place][2].append(data)

    def texts(self, tag: str, **attributes: str) -> list[str]:
        """The texts of the elements of a name (`class_` is the attribute class)."""
        wanted = {name.rstrip("_"): value for name, value in attributes.items()}
        return [
            "".join(parts)
            for name, given, parts in self.elements
            if name == tag and wanted.items() <= given.items()
        ]

    def values(self, attribute: str) -> list[str]:
        """What an attribute is, wherever it is given."""
        return [given[attribute] for _, given, _ in self.elements if attribute in given]


class Site:
    """A running server."""

    def __init__(self, base: str) -> None:
        self.base = base
        parts = urlsplit(base)
        assert parts.hostname is not None
        self.host, self.port, self.root = parts.hostname, parts.port, parts.path

    def get(self, page: str = "", /, **query: object) -> Answer:
        """One of our pages, by what stands behind the address of the overview."""
        path = f"{self.root}/{page}".rstrip("/")
        return self.ask("GET", f"{path}?{urlencode(query)}" if query else path)

    def post(self, page: str, query: Mapping[str, str] | None = None, /, **form: str) -> Answer:
        """Send a form."""
        path = f"{self.root}/{page}" + (f"?{urlencode(query)}" if query else "")
        return self.ask("POST", path, urlencode(form).encode())

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send any request."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT)
        try:
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        return Answer(answer.status, {n.lower(): v for n, v in answer.getheaders()}, text)


@contextmanager
def served(directory: Path, *arguments: str, end: int = signal.SIGINT) -> Iterator[Site]:
    """`lshdb serve` in a directory; at the end it must stop in order when told to."""
    process = Command(directory).start(
        "serve",
        "--port",
        "0",
        *arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().decode().strip()
        assert address, process.communicate()[1].decode()
        yield Site(address)
    finally:
        process.send_signal(end)
        status, said = finish(process)
    assert (status, said) == (0, "Ctrl-C ends it\n")


@contextmanager
def datasette(directory: Path, *files: str) -> Iterator[Site]:
    """Datasette itself, with any files, as `datasette serve` starts it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "datasette", "serve", "--port", "0", *files],
        cwd=directory,
        env=environment(directory) | {"PYTHONUNBUFFERED": "1"},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    try:
        assert process.stderr is not None
        said = ""
        deadline = monotonic() + TIMEOUT
        while (running := re.search(r"running on (http://\S+:\d+)", said)) is None:
            assert monotonic() < deadline
            line = process.stderr.readline().decode()
            assert line, said
            said += line
        yield Site(f"{running[1]}/-/lshdb")
    finally:
        process.send_signal(signal.SIGINT)
        _, said = finish(process)
    assert "Traceback" not in said, said


def eventually(site: Site, page: str, /, **query: object) -> Answer:
    """A page that is made beside: asked for until it is there."""
    deadline = monotonic() + TIMEOUT
    while (answer := site.get(page, **query)).page.values("http-equiv") == ["refresh"]:
        assert monotonic() < deadline
        sleep(0.05)
    return answer
