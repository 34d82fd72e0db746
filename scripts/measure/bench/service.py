"""service: what is similar to a text, and adding it, by 1 and by 32 clients at once. A minute.

`lshdb.Service`, beside a `Database` for each thread that asks and then adds, or only asks; and
`db.add` one by one, each on the disk when it returns, beside `db.add_many`.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import lshdb
from measure.harness.corpora import read_texts
from measure.harness.figures import Values
from measure.harness.lab import Lab

_KINDS = "Service", "Database", "Database, only asked"
_CLIENTS = 1, 32
Call = Callable[[str, str], object]


def run(lab: Lab) -> None:
    """Documents of 1 KB, added to a file that is new."""
    corpus = lab.corpus(lab.count(1_600, quick=160), size=1000)
    texts = read_texts(corpus.path, corpus.documents)
    lab.measure(
        len(texts),
        {
            f"{kind}, {clients} clients": partial(_asked, lab, texts, kind, clients)
            for kind in _KINDS
            for clients in _CLIENTS
        },
    )
    some = [(str(number), text) for number, text in enumerate(texts[:500])]
    one_by_one, many = (partial(_added, lab, some, one_by_one=alone) for alone in (True, False))
    lab.measure(len(some), {"add, one by one": one_by_one, "add_many": many})


def _added(lab: Lab, rows: list[tuple[str, str]], *, one_by_one: bool) -> Values:
    with lshdb.open(lab.fresh(".db")) as db:
        db.add("first", "the tables are made with it")
        begun = time.perf_counter()
        if one_by_one:
            for key, text in rows:
                db.add(key, text)
        else:
            db.add_many(rows)
        return {"ms a document": 1000 * (time.perf_counter() - begun) / len(rows)}


def _asked(lab: Lab, texts: list[str], kind: str, clients: int) -> Values:
    path = lab.fresh(".db")
    with lshdb.open(path) as db:
        if kind == "Database, only asked":
            db.add_many((str(index), text) for index, text in enumerate(texts))
    service: Any = lshdb.Service(path) if kind == "Service" else nullcontext()
    with service:
        if kind == "Service":
            return _timed(texts, clients, lambda: partial(service.add, find=5))
        return _timed(texts, clients, partial(_client, path, adds=kind == "Database"))


def _client(path: Path, *, adds: bool) -> Call:
    """What a thread does with its own database."""
    db = lshdb.open(path)

    def call(key: str, text: str) -> None:
        db.query(text, top=5)
        if adds:
            db.add(key, text)

    return call


def _timed(texts: list[str], clients: int, client: Callable[[], Call]) -> Values:
    """Answers a second, and how long one takes: each client asks again when it has its answer."""
    took: list[float] = []
    start = threading.Barrier(clients + 1)

    def work(number: int) -> None:
        call = client()
        start.wait()
        for index in range(number, len(texts), clients):
            begun = time.perf_counter()
            call(str(index), texts[index])
            took.append(time.perf_counter() - begun)

    with ThreadPoolExecutor(clients) as pool:
        running = [pool.submit(work, number) for number in range(clients)]
        start.wait()
        begun, used = time.perf_counter(), time.process_time()
    for client_work in running:
        client_work.result()
    seconds, cpu = time.perf_counter() - begun, time.process_time() - used
    median, late = (1000 * np.percentile(took, (50, 99))).tolist()
    rates = {"answers/s": len(took) / seconds, "CPU ms": 1000 * cpu / len(took)}
    return {**rates, "median, ms": median, "99%, ms": late}
