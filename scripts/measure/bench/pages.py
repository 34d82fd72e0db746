"""pages: each page of `lshdb serve --review`, of a million documents. Ten minutes.

The first time is until the page shows what it is about: what takes long is computed in the
background, and the page is asked for again as a browser would.
"""

from __future__ import annotations

import html
import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.client import HTTPResponse
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any, Final, TypeAlias
from urllib.parse import urlencode, urljoin
from urllib.request import urlopen

from measure.common.commands import PROC, lshdb_command
from measure.harness.figures import FIRST, MAX, P50, PEAK
from measure.harness.lab import Lab
from measure.harness.report import number

Ask: TypeAlias = Callable[[], str | HTTPResponse]
DUPLICATES: Final = 5_000
"""Near duplicates among the documents."""
SERVER: Final = "the server"
_MAX_MS: Final = 200
_MAX_MB: Final = 500
_AGAIN: Final = 20
_PATIENCE: Final = 1800.0
_HIDDEN: Final = re.compile('<input type="hidden" name="([^"]*)" value="([^"]*)">')
_ALL_DOCUMENTS: Final = re.compile('<a href="([^"]*)">List all documents</a>')


@dataclass(frozen=True, slots=True)
class Server:
    """A server and the address of its overview."""

    process: int
    base: str

    def text(self, page: str = "", posted: dict[str, str] | None = None, **query: object) -> str:
        """A page, or one that a form leads to."""
        data = None if posted is None else urlencode(posted).encode()
        address = f"{self.base}/{page}".rstrip("/")
        with urlopen(f"{address}?{urlencode(query)}" if query else address, data) as answer:
            return str(answer.read().decode())

    def begin(self, page: str, **query: object) -> HTTPResponse:
        """The answer to a page of which the first byte has come."""
        answer: HTTPResponse = urlopen(f"{self.base}/{page}?{urlencode(query)}")
        answer.read(1)
        return answer

    def peak(self) -> float | None:
        """Most megabytes that the server had in memory so far."""
        try:
            status = (PROC / str(self.process) / "status").read_text()
        except OSError:
            return None
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1e3


def run(lab: Lab) -> None:
    """Pages are asked for one after the other, as by one reader."""
    documents = lab.count(1_000_000, quick=2_000)
    corpus = lab.corpus(documents, size=1000, duplicates=min(0.2, DUPLICATES / documents))
    database = lab.database(corpus)
    with _serving(database) as server:
        for case, ask in _pages(server, corpus.path):
            lab.say(f"{lab.benchmark}: {case}")
            waited = 0.0
            begun = time.perf_counter()
            page, first = _timed(ask)
            while 'http-equiv="refresh"' in page:
                time.sleep(0.2)
                waited = time.perf_counter() - begun
                if waited > _PATIENCE:
                    raise SystemExit(f"{case} is not there after {_PATIENCE:.0f} s")
                page, first = _timed(ask)
            again = 1 if lab.options.quick else _AGAIN
            taken = [_timed(ask)[1] for _ in range(again)]
            lab.keep(
                case,
                documents,
                [{FIRST: waited + first / 1e3, P50: median(taken), MAX: max(taken)}],
            )
            lab.aim(case, MAX, _MAX_MS)
        peak = server.peak()
    lab.keep(SERVER, documents, [] if peak is None else [{PEAK: peak}])
    lab.aim(SERVER, PEAK, _MAX_MB)
    database.unlink()


def _timed(ask: Ask) -> tuple[str, float]:
    """A page, and how many milliseconds it took; the rest of a file is read, but not timed."""
    begun = time.perf_counter()
    answer = ask()
    taken = 1e3 * (time.perf_counter() - begun)
    if isinstance(answer, str):
        return answer, taken
    with answer:
        answer.read()
    return "", taken


@contextmanager
def _serving(database: Path) -> Iterator[Server]:
    command = [*lshdb_command(), "serve", "--review", "--port", "0", "-d", database, "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8")
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        if not address:
            raise SystemExit("lshdb serve did not start")
        yield Server(process.pid, address.rstrip("/"))
    finally:
        process.terminate()
        process.communicate()


def _pages(server: Server, corpus: Path) -> Iterator[tuple[str, Ask]]:
    """The pages, and what asks for each; those that need others come behind them."""
    yield "overview", server.text
    yield "clusters", partial(server.text, "clusters")
    yield "clusters, by part of a key", partial(server.text, "clusters", part="99", sort="key")
    yield "pairs", partial(server.text, "pairs")
    yield (
        "pairs, undecided, from 0.9 on",
        partial(server.text, "pairs", min_similarity=0.9, decided="no"),
    )
    pair = _first(server.text("pairs", format="jsonl"))
    a, b = pair["a"], pair["b"]
    yield "a cluster", partial(server.text, "cluster", key=a)
    yield "a document", partial(server.text, "document", key=a)
    yield "two documents side by side", partial(server.text, "compare", a=a, b=b, listed="yes")
    yield "find a part of a key", partial(server.text, "find", q="0123")
    yield "find what is nowhere", partial(server.text, "find", q="0_1_2_3")
    words = _first(corpus)["text"].split()
    yield "find words", partial(server.text, "find", q=f"{words[-1]} {words[-2]}")
    form = _HIDDEN.findall(server.text("cluster", key=a))
    decision = {name: html.unescape(value) for name, value in form} | {"action": "keep 0"}
    forms = count()

    def decide() -> str:
        """Send the form as that of another page: each is taken once."""
        return server.text("decide", decision | {"form": str(next(forms))})

    yield "a decision, and what follows", decide
    yield "decisions", partial(server.text, "decisions")
    yield "query", partial(server.text, "query")
    documents = html.unescape(_ALL_DOCUMENTS.findall(server.text())[0])
    there = Server(server.process, urljoin(server.base, documents))
    yield "all documents", there.text
    for name in ("clusters", "pairs"):
        yield f"{name} as JSON lines, first byte", partial(server.begin, name, format="jsonl")


def _first(lines: str | Path) -> dict[str, Any]:
    """The first of some JSON lines."""
    if isinstance(lines, Path):
        with lines.open(encoding="utf-8") as file:
            lines = file.readline()
    found: dict[str, Any] = json.loads(lines.partition("\n")[0])
    return found


def markdown(results: dict[str, Any]) -> str:
    """The table of the documentation."""
    figures = results["figures"]
    found = {(one["case"], one["measure"]): one["median"] for one in figures}
    lines = [
        f"`scripts/bench pages`, {figures[0]['documents']:,} documents of 1 KB, {DUPLICATES:,} of "
        f"them near duplicates; the server took up to {number(found[SERVER, PEAK])} MB of memory.",
        "",
        "| page | first, s | again, median, ms | again, maximum, ms |",
        "|---|---:|---:|---:|",
    ]
    for case in dict.fromkeys(one["case"] for one in figures if one["case"] != SERVER):
        cells = (number(found[case, measure]) for measure in (FIRST, P50, MAX))
        lines.append(f"| {case} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
