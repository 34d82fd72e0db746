"""SQL of a page: who may send it, how long it runs, and how much memory it takes.

simonw/datasette#1270: a limit of time by SQLite's progress handler does not end what takes long in
few steps; an interrupt from another thread does.
"""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlencode

import pytest
from helpers import Answer, Site, database_of, datasette, served

import lshdb
from lshdb.database import store_of

pytest.importorskip("starlette", reason="the extra `web` is not installed")

from lshdb.review import page_file
from lshdb.store import page_sql
from lshdb.store.readonly_sql import run_readonly
from lshdb.web import app, views

FEW_STEPS = (
    "with recursive c(x) as (select 1 union all select x + 1 from c) "
    "select sum(length(randomblob(4000000))) from c"
)
SLOW_CALLS = {
    "instr": "instr(replace(hex(zeroblob(90000)), '00', 'a'), hex(zeroblob(30000)) || 'b')",
    "trim": "trim(hex(zeroblob(30000)), hex(zeroblob(30000)))",
    "replace": "replace(hex(zeroblob(30000)), hex(zeroblob(30000)), 'b')",
    "json_patch": "json_patch(hex(zeroblob(30000)), hex(zeroblob(30000)))",
}
CLICKED = {
    "Sec-Fetch-Site": "cross-site",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Dest": "document",
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("sql")
    database_of(made / "lsh.db", {"a": "some text of a few words", "long": "words"}).close()
    with closing(sqlite3.connect(made / "lsh.db", isolation_level=None)) as plain:
        plain.execute("UPDATE documents SET content = hex(zeroblob(7500000)) WHERE key = 'long'")
    return made


@pytest.fixture(scope="module")
def site(directory: Path) -> Iterator[Site]:
    with served(directory) as site:
        yield site


def shown(directory: Path, statement: str) -> Any:
    """What the page of a statement has, and its status."""
    with page_file.opened(directory / "lsh.db") as database:
        return views.Visit(database, "lsh", {"sql": statement}).page("sql")


def test_no_link_of_another_site_runs_sql_by_any_name(site: Site) -> None:
    for path in ("/sql?sql=select+1", "/sql.json?sql_quoted=select%25201", "/sql?later_name=1"):
        answer = site.ask(path, headers=CLICKED)
        assert (answer.status, "only without a query" in answer.text) == (403, True), path
    for path in ("/sql", "/?page=1", "/document?key=a", "/document.json?key_quoted=a"):
        assert site.ask(path, headers=CLICKED).status == 200, path
    typed = CLICKED | {"Sec-Fetch-Site": "none"}
    assert site.ask("/sql?sql_quoted=select%25201", headers=typed).status == 200


def test_no_link_of_another_site_runs_sql_in_datasette(directory: Path) -> None:
    with datasette(directory, "lsh.db") as site:
        for path in (
            "/-/lshdb/lsh/sql?sql_quoted=select%25201",
            "/lsh?sql=select+1",
            "/lsh/documents?key=a",  # a name of a plugin's may run SQL as well
            "/lsh/-/lshdb/lsh/document?sql=1",
        ):
            assert site.ask(path, headers=CLICKED).status == 403, path
        for path in ("/-/lshdb/lsh/document?key=a", "/lsh"):
            assert site.ask(path, headers=CLICKED).status == 200, path
        # Its own SQL has the limits of calls, too; the next statement has a time of its own.
        long = f"select {SLOW_CALLS['trim'].replace('30000', '300000')}"
        answer = site.ask("/lsh.json?" + urlencode({"sql": long}))
        assert (answer.status, "took too long" in answer.text) == (400, True)
        assert site.ask("/lsh.json?" + urlencode({"sql": "select trim(' a ')"})).status == 200


def test_time_is_kept_where_sqlite_takes_few_steps(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "_SQL_SECONDS", 0.2)
    begin = monotonic()
    page = shown(directory, FEW_STEPS)
    assert (page.status, page.data["rows"]) == (400, [])
    assert "it takes too long for a page" in page.data["problem"]
    # Each single call is short, and many of them in a row without a jump are, too.
    for name, call in SLOW_CALLS.items():
        page = shown(directory, f"select {' + '.join([f'length({call})'] * 20)}")
        assert page.status == 400, name
    monkeypatch.setattr(page_sql, "_MAX_PRODUCT", 10**6)
    for name, call in SLOW_CALLS.items():
        page = shown(directory, f"select {call}")
        assert "it takes too long for a page" in str(page.data["problem"]), name
    assert monotonic() - begin < 5


def test_each_statement_of_another_program_has_its_time() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        page_sql.limit_each(connection, 0.3)
        for _ in range(2):
            begin = monotonic()
            assert connection.execute("select trim('xax', 'x')").fetchall() == [("a",)]
            with pytest.raises(sqlite3.OperationalError, match="interrupted"):
                connection.execute(FEW_STEPS).fetchall()
            assert 0.3 <= monotonic() - begin < 5


def test_a_server_ends_while_sql_runs(directory: Path) -> None:
    answers: list[Answer] = []
    with served(directory, end=signal.SIGTERM) as site:
        ask = Thread(target=lambda: answers.append(site.get("sql", sql=FEW_STEPS)))
        ask.start()
        sleep(0.3)
        begin = monotonic()
    assert monotonic() - begin < 8, "two seconds, and a busy machine"
    ask.join()


@pytest.mark.parametrize("value", ["randomblob(15000000)", "content", "hex(zeroblob(7000000))"])
def test_a_row_of_many_long_values_stays_small(directory: Path, value: str) -> None:
    resource = pytest.importorskip("resource", reason="this system does not measure memory")
    statement = f"select {', '.join([value] * 64)} from documents order by doc_id desc limit 1"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    child = os.fork()
    if not child:
        try:
            page = shown(directory, statement)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            small = "16 MiB altogether" in page.data["problem"] and peak - before < 300_000
        except BaseException:
            small = False
        os._exit(not small)
    assert os.waitpid(child, 0)[1] == 0


def test_views_within_views_end_in_time(path: Path) -> None:
    """SQLite prepares a statement of such views for minutes, and no interrupt ends that."""
    database_of(path, {"a": "a text"}).close()
    with closing(sqlite3.connect(path)) as stranger:
        stranger.execute("create view v0 as select 1 as n")
        for number in range(1, 11):
            inner = f"v{number - 1}"
            stranger.execute(
                f"create view v{number} as select a.n from {inner} a, {inner} b, {inner} c"
            )
    with lshdb.open(path, mode="read") as database:
        begun = monotonic()
        with pytest.raises(lshdb.QueryError, match="it takes too long for a page"):
            run_readonly(store_of(database)._connection, "select * from v10", (), 0.3)
        assert monotonic() - begun < 20


def test_pages_without_sql_are_all_but_one() -> None:
    assert set(views.PAGES) - {"sql"} == views.WITHOUT_SQL
    assert not any(map(app.runs_no_sql, ("/sql", "/sql.json", "//sql", "/lshdb.css", "/x")))


def test_functions_of_long_values_answer_as_sqlites_own(directory: Path) -> None:
    statement = (
        "select instr('grapes', 'ap'), instr(x'0102', x'02'), instr(null, 'a'), trim('xax', 'x'), "
        "ltrim('xax', 'x'), rtrim('xax', 'x'), replace('aba', 'a', 'c'), replace(1.5, '.', ','), "
        """json_patch('{"a":1}', '{"b":2}')"""
    )
    rows = shown(directory, statement).data["rows"]
    with lshdb.open(directory / "lsh.db", mode="read") as database:
        assert [*map(tuple, rows)] == list(database.sql(statement))
