"""pages: each page of `lshdb serve --review`, of a million documents. Ten minutes.

The first time is until the page shows what it is about: what takes long is computed in the
background, and the page is asked for again as a browser would.
"""

import html
import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from typing import Final
from urllib.parse import urlencode
from urllib.request import urlopen

from measure.common.commands import PROC, lshdb_command
from measure.harness.figures import FIRST, MAX, P50, PEAK, Results
from measure.harness.lab import Lab
from measure.harness.report import medians, number, table

DUPLICATES: Final = 5_000
"""Near duplicates among the documents."""
SERVER: Final = "the server"
_PATIENCE: Final = 1800.0
_HIDDEN: Final = re.compile('<input type="hidden" name="([^"]*)" value="([^"]*)">')


def run(lab: Lab) -> None:
    """Pages are asked for one after the other, as by one reader."""
    documents = lab.count(1_000_000, quick=2_000)
    corpus = lab.corpus(documents, size=1000, duplicates=min(0.2, DUPLICATES / documents))
    database, _ = lab.add(corpus)
    with _serving(database) as (base, process):
        for case, ask in _pages(base, corpus.path):
            lab.say(f"{lab.benchmark}: {case}")
            begun = time.perf_counter()
            page, last = ask()
            while 'http-equiv="refresh"' in page:
                if time.perf_counter() - begun > _PATIENCE:
                    raise SystemExit(f"{case} is not there after {_PATIENCE:.0f} s")
                time.sleep(0.2)
                waited = time.perf_counter() - begun
                page, last = ask()
                last += waited
            taken = [1000 * ask()[1] for _ in range(lab.scaled(20, quick=1))]
            lab.keep(case, documents, [{FIRST: last, P50: median(taken), MAX: max(taken)}])
        if PROC.is_dir():
            status = (PROC / str(process) / "status").read_text()
            (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
            lab.keep(SERVER, documents, [{PEAK: int(peak) / 1e3}])
    database.unlink()


def _ask(
    base: str, page: str = "", posted: dict[str, str] | None = None, **query: object
) -> tuple[str, float]:
    """A page, or one that a form leads to, and how many seconds it (a file: a byte of it) took."""
    data = None if posted is None else urlencode(posted).encode()
    address = f"{base}/{page}".rstrip("/")
    begun = time.perf_counter()
    with urlopen(f"{address}?{urlencode(query)}" if query else address, data) as answer:
        text = answer.read(1 if "format" in query else None)
        seconds = time.perf_counter() - begun
        return (text + answer.read()).decode(), seconds


@contextmanager
def _serving(database: Path) -> Iterator[tuple[str, int]]:
    """The address of the overview, and the process of the server."""
    command = [*lshdb_command(), "serve", "--review", "--port", "0", "-d", database, "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8")
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        if not address:
            raise SystemExit("lshdb serve did not start")
        yield address.rstrip("/"), process.pid
    finally:
        process.terminate()
        process.communicate()


def _pages(base: str, corpus: Path) -> Iterator[tuple[str, Callable[[], tuple[str, float]]]]:
    """The pages, and what asks for each; those that need others come behind them."""
    ask = partial(partial, _ask, base)
    yield "overview", ask()
    yield "clusters", ask("clusters")
    yield "clusters, by part of a key", ask("clusters", part="99", sort="key")
    yield "pairs", ask("pairs")
    yield "pairs, undecided, from 0.9 on", ask("pairs", min_similarity=0.9, decided="no")
    pair = json.loads(ask("pairs", format="jsonl")()[0].partition("\n")[0])
    a, b = pair["a"], pair["b"]
    yield "a cluster", ask("cluster", key=a)
    yield "a document", ask("document", key=a)
    yield "two documents side by side", ask("compare", a=a, b=b, listed="yes")
    yield "find a part of a key", ask("find", q="0123")
    yield "find what is nowhere", ask("find", q="0_1_2_3")
    with corpus.open(encoding="utf-8") as lines:
        words = json.loads(next(lines))["text"].split()
    yield "find words", ask("find", q=f"{words[-1]} {words[-2]}")
    form = _HIDDEN.findall(ask("cluster", key=a)()[0])
    decision = {name: html.unescape(value) for name, value in form} | {"action": "keep 0"}
    forms = count()

    def decide() -> tuple[str, float]:
        """Send the form as that of another page: each is taken once."""
        return _ask(base, "decide", decision | {"form": str(next(forms))})

    yield "a decision, and what follows", decide
    yield "decisions", ask("decisions")
    yield "query", ask("query")
    for name in ("clusters", "pairs"):
        yield f"{name} as JSON lines, first byte", ask(name, format="jsonl")


def markdown(results: Results) -> str:
    """The table of the documentation."""
    found = {case: values for (case, _), values in medians(results.figures).items()}
    server = found.pop(SERVER)
    names = ("first, s", "again, median, ms", "again, maximum, ms")
    rows = {case: [*map(values.get, (FIRST, P50, MAX))] for case, values in found.items()}
    head = (
        f"`scripts/bench pages`, {results.figures[0].documents:,} documents of 1 KB, "
        f"{DUPLICATES:,} of them near duplicates; the server took up to {number(server[PEAK])} MB "
        "of memory."
    )
    return "\n".join([head, "", *table("page", names, rows)])
