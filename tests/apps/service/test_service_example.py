"""The FastAPI program of docs/service.md, in two processes that were forked, with 32 clients."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import inspection
import pytest
from helpers import ROOT, TIMEOUT, Site, environment

import lshdb

pytest.importorskip("fastapi", reason="fastapi is not installed")

CLIENTS = 32
TEXT = "the quick brown fox jumps over the lazy dog while the band plays on in the old square"
FORKING = """
import os, signal, socket, uvicorn
from example import app

listening = socket.create_server(("127.0.0.1", 0), backlog=100)
children = []
for _ in range(2):
    child = os.fork()
    if not child:
        config = uvicorn.Config(app, log_level="warning")
        uvicorn.Server(config).run(sockets=[listening])
    children.append(child)
print(listening.getsockname()[1], flush=True)
input()
for child in children:
    os.kill(child, signal.SIGTERM)
print(*(os.waitpid(child, 0)[1] for child in children))
"""
"""As servers do that load a program before they fork: each child answers on the same port."""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_the_example_answers_many_clients_in_forked_processes(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "service.md").read_text("utf-8")
    (example,) = re.findall(r"```python\n(from contextlib.*?)```", page, re.DOTALL)
    (tmp_path / "example.py").write_text(example, "utf-8")
    process = subprocess.Popen(
        [sys.executable, "-c", FORKING],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        site = Site(f"http://127.0.0.1:{process.stdout.readline().strip()}")

        def ask(number: int) -> Any:
            body = {"key": f"k{number}", "text": TEXT if number % 2 else f"{number} " * 9}
            answer = site.ask(
                "/comments", json.dumps(body).encode(), {"Content-Type": "application/json"}
            )
            assert answer.status == 200, answer.text
            return json.loads(answer.text)

        with ThreadPoolExecutor(CLIENTS) as clients:
            answers = [*clients.map(ask, range(4 * CLIENTS))]
        for path, method in (("absent/similar", "GET"), ("absent", "DELETE")):
            missing = site.ask(f"/comments/{path}", method=method)
            assert missing.status == 404
            assert "no document has the key 'absent'" in json.loads(missing.text)["detail"]
        assert len(json.loads(site.ask("/comments/k1/similar").text)) == 5
        assert json.loads(site.ask("/comments/k0", method="DELETE").text) == {"removed": 1}
        assert site.ask("/comments/k0", method="DELETE").status == 404
        assert json.loads(site.ask("/stats").text)["answered"] > 0
        ended, _ = process.communicate("\n", timeout=TIMEOUT)
    finally:
        process.kill()
        process.wait()
    assert ended.split() == [str(signal.SIGTERM.value)] * 2, "both ended after their work"
    equal = [answer["similar"] for answer in answers[1::2]]
    assert sorted(map(len, equal)) == [*range(5), *[5] * (2 * CLIENTS - 5)], "one came first"
    assert {answer["outcome"] for answer in answers} == {"added"}
    assert not (tmp_path / "comments.db-wal").exists()
    inspection.check(tmp_path / "comments.db")
    with lshdb.open(tmp_path / "comments.db") as db:
        assert len(db) == 4 * CLIENTS - 1
