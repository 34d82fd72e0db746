"""Every address names its methods, and a server that ends early says nothing of its own code.

geddy/geddy#370: which of a route and the static files answers a wrong method depended on their
order. Kludex/uvicorn#1301: Ctrl-C while a server starts.
"""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import Site, database_of, served

pytest.importorskip("starlette", reason="the extra `web` is not installed")

import uvicorn

from lshdb.apps.web import app

GET, POST, BOTH = "GET, HEAD, OPTIONS", "POST, OPTIONS", "GET, POST, HEAD, OPTIONS"
ALLOWED = {
    "/": GET,
    "/clusters.json": GET,
    "/decisions": GET,
    "/query": BOTH,
    "/passages.json": POST,
    "/lshdb.css": GET,
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("methods")
    database_of(made / "lsh.db", {"a": "some text of a few words"}).close()
    return made


@pytest.fixture(scope="module")
def site(directory: Path) -> Iterator[Site]:
    with served(directory) as site:
        yield site


@pytest.mark.parametrize("path", ALLOWED)
def test_another_method_is_refused_with_those_there_are(site: Site, path: str) -> None:
    known = ALLOWED[path].split(", ")
    for method in ("GET", "HEAD", "POST", "SEARCH"):
        if method not in known:
            answer = site.ask(path, method=method)
            assert answer.status == 405, method
            assert {*answer.headers["allow"].split(", ")} == {*known}
            assert method == "HEAD" or f"{method} is not for this address" in answer.text
    answer = site.ask(path, method="OPTIONS")
    assert (answer.status, {*answer.headers["allow"].split(", ")}) == (204, {*known})
    assert answer.text == ""
    if "GET" in known:
        got, head = site.ask(path), site.ask(path, method="HEAD")
        assert (got.status, head.text) == (head.status, "")


def test_what_is_not_there_is_not_there_for_any_method(site: Site) -> None:
    for path in ("/none", "/passages", "/decide", "/decide.json", "/sql"):
        for method in ("GET", "POST", "OPTIONS"):
            assert site.ask(path, method=method).status == 404, (path, method)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["ready", "run", "end"])
def test_a_signal_at_any_moment_ends_a_server_in_order(
    directory: Path, monkeypatch: pytest.MonkeyPatch, number: int, moment: str
) -> None:
    """Also between the moment in which the server's coroutine is made and the one it runs."""
    serve = uvicorn.Server.serve

    def raised(at: str) -> None:
        if at == moment:
            signal.raise_signal(number)

    def made(self: uvicorn.Server, *arguments: Any, **options: Any) -> Any:
        coroutine = serve(self, *arguments, **options)
        raised("run")
        return coroutine

    run: Callable[..., None] = uvicorn.Server.run

    def ran(self: uvicorn.Server, *arguments: Any, **options: Any) -> None:
        if moment == "end":
            self.should_exit = True
        run(self, *arguments, **options)
        raised("end")

    monkeypatch.setattr(uvicorn.Server, "serve", made)
    monkeypatch.setattr(uvicorn.Server, "run", ran)
    handlers = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        app.serve(directory / "lsh.db", 0, lambda _: raised("ready"))
    assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)] == handlers
