"""The pages in Datasette, beside its own: permissions, host names, SQL, other files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from urllib.parse import quote

import pytest
from helpers import Answer, Site, datasette, eventually, forked, hide, status_of

pytest.importorskip("datasette", reason="the extra `datasette` is not installed")

from web_pages import (
    PAGES,
    check,
    check_sites,
    facts,
    follow,
)

import lshdb


@pytest.fixture(scope="module")
def all_of_them(directory: Path) -> Iterator[Site]:
    """Datasette with all databases."""
    names = ["texts.db", "nothing yet.db", "bare.db", "sets.db", "foreign.db"]
    with datasette(directory, *names) as site:
        yield site


def test_pages_of_other_databases_are_not_there(all_of_them: Site) -> None:
    for name in ("foreign/", "foreign/document?key=fox", "none/clusters", "_internal/clusters"):
        answer = all_of_them.ask(f"/-/lshdb/{name}")
        # Datasette shows _internal to its root user alone.
        assert answer.status == (403 if name.startswith("_internal") else 404)
        if name == "foreign/":
            text = check(answer).page.texts("main")[0]
            assert "another program's SQLite database, not lshdb's" in text


def test_an_empty_database_has_all_its_pages(all_of_them: Site) -> None:
    for page in PAGES:
        answer = eventually(all_of_them, f"nothing~20yet/{page}")
        assert answer.status == 200
        check(answer)


def test_without_contents_estimates_are_shown(all_of_them: Site) -> None:
    document = check(all_of_them.get("bare/document", key="fox"))
    assert "Estimate" in document.page.texts("tr")[0]
    assert "does not keep contents" in document.text
    compared = check(all_of_them.get("bare/compare", a="fox", b="fox 2"))
    assert "Similarity" not in facts(compared)
    assert "does not keep contents" in compared.text
    check(eventually(all_of_them, "bare/clusters"))


def test_sets_are_shown_as_their_elements(all_of_them: Site) -> None:
    document = check(all_of_them.get("sets/document", key="friday"))
    assert document.page.texts("li")[-3:] == ["<b>", "bread", "milk"]
    compared = check(all_of_them.get("sets/compare", a="monday", b="friday"))
    lists = [text.split() for text in compared.page.texts("ul", class_="elements")]
    assert lists == [["7"], ["<b>"], ["bread", "milk"]]
    answer = check(follow(all_of_them, all_of_them.post("sets/query", text='["milk", "bread"]')))
    found = [text.strip() for text in answer.page.texts("a", class_="key")]
    assert found == ["friday", "monday"]


def test_datasettes_menu_and_our_pages_lead_to_each_other(all_of_them: Site) -> None:
    assert "/-/lshdb" not in all_of_them.ask("/foreign").text
    assert 'href="/-/lshdb/texts/"' in all_of_them.ask("/texts").text
    assert "/texts" in eventually(all_of_them, "texts/").page.values("href")
    links = all_of_them.get("texts/document", key="fox").page.values("href")
    assert "/texts" in links
    overview = eventually(all_of_them, "texts/").page
    assert all_of_them.ask("/texts/documents").status == 200
    assert {"/texts", "/texts/documents"} <= {*overview.values("href")}
    assert "SQL: Datasette in this browser, lshdb sql at a terminal." in overview.texts("main")[0]


def test_sql_functions_are_there_for_lshdbs_databases_only(all_of_them: Site) -> None:
    def ask(database: str, sql: str) -> Answer:
        return all_of_them.ask(f"/{database}.json?_shape=arrays&sql={quote(sql)}")

    similar = "select lsh_similarity(signature, signature) from signatures limit 1"
    assert json.loads(ask("texts", similar).text)["rows"] == [[1.0]]
    assert "no such function" in ask("foreign", "select lsh_similarity(1, 2)").text


@pytest.fixture(scope="module")
def configured(directory: Path) -> Iterator[Site]:
    """Datasette as an owner configures it, below the address /under/."""
    owner = {
        "databases": {"sets": {"tables": {"documents": {"allow": False}}}},
        "plugins": {"lshdb": {"hosts": ["Data.example"]}},
    }
    (directory / "metadata.json").write_text(json.dumps(owner))
    words = ("--metadata", "metadata.json", "--setting", "base_url", "/under/")
    with datasette(directory, "texts.db", "sets.db", *words) as site:
        yield site


def test_the_owner_says_who_sees_tables_and_allows_other_host_names(configured: Site) -> None:
    site = configured
    for page in ("sets", "sets/clusters", "sets/document?key=monday", "sets/query"):
        assert site.ask(f"/-/lshdb/{page}").status == 403
    assert site.post("sets/query", text='["milk"]').status == 403
    assert site.get("texts").status == 200
    for path in ("/texts/documents", "/-/lshdb/texts"):
        for host, status in (("data.example:443", 200), ("other.data.example", 403)):
            assert site.ask(path, headers={"Host": host}).status == status
    headers = {"Host": "data.example", "Origin": "https://data.example"}
    form = "/-/lshdb/texts/query"
    assert site.ask(form, b"text=a+b+c", headers).status == 303


def test_pages_know_the_base_url(configured: Site) -> None:
    site = configured
    answer = check(site.ask("/under/-/lshdb/texts"))
    links = [link for link in answer.page.values("href") if not link.startswith("#")]
    assert all(link.startswith("/under/") for link in links)
    for link in set(links):
        assert site.ask(link).status == 200
    form = answer.page.values("action")[0].replace("find", "query")
    answer = site.ask(form, b"text=the+quick+brown+fox")
    assert answer.headers["location"].startswith("/under/-/lshdb/texts/query?")
    assert follow(site, answer).status == 200


@pytest.mark.parametrize("host", ["LOCALHOST:80", "[::1]"])
def test_this_machine_has_several_names(all_of_them: Site, host: str) -> None:
    for path in ("/-/lshdb/texts/document?key=fox", "/bare/signatures"):
        assert all_of_them.ask(path, headers={"Host": host}).status == 200, path


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:80", ""])
def test_datasette_shows_lshdbs_files_under_names_of_this_machine_only(
    all_of_them: Site, host: str
) -> None:
    for path in (
        "/",
        "/-/databases.json",
        "/-/lshdb/texts/document?key=fox",
        "/-/lshdb/none",
        "/foreign/documents.json",
        "/texts",
        "/texts.db",
        "/texts.json?sql=select+1",
        "/texts/documents",
        "/%74exts/documents.json",
        "/~74exts/documents.json",
        "//texts/documents.json",
        "/nothing~20yet/documents",
    ):
        assert all_of_them.ask(path, headers={"Host": host}).status == 403, path


def test_what_datasette_shows_of_lshdbs_files_has_rules_for_browsers(all_of_them: Site) -> None:
    for path in ("/texts", "/texts/documents", "/texts/documents.json", "/texts?sql=select+1"):
        headers = all_of_them.ask(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] in ("no-referrer", "same-origin")
        rules = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
        assert not [each for each in " ".join(rules.values()).split() if "http" in each]
        assert (rules["default-src"], rules["frame-ancestors"]) == ("'self'", "'none'")


def test_sql_in_datasette_writes_nothing(all_of_them: Site, directory: Path) -> None:
    with lshdb.open(directory / "texts.db", mode="read") as db:
        before = db.keys()
        for sql in ("delete from documents", "update documents set key = 'x'", "vacuum"):
            answer = all_of_them.ask(f"/texts.json?sql={quote(sql)}")
            assert answer.status == 400, sql
        assert db.keys() == before


def test_other_sites_may_only_link_to_pages(all_of_them: Site) -> None:
    own = f"{all_of_them.root}/texts/"
    pages = [f"{own}document?key=fox", "/texts", "/texts/documents"]
    sql = ["/texts?sql=select+1", "/texts.json?%73ql=select+1", "/texts/documents?_where=1"]
    check_sites(all_of_them, "cross-site", pages, sql)
    clicked = {
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
    }
    for path in ("/texts/-/lshdb/texts/document?sql=1", "/-/lshdbx/texts?sql=1", "//-/lshdb/?sql="):
        assert all_of_them.ask(path, headers=clicked).status == 403, path


def test_a_datasette_without_lshdbs_files_is_as_before(directory: Path) -> None:
    with datasette(directory, "foreign.db") as site:
        answer = site.ask("/foreign/documents.json", headers={"Host": "data.example"})
        assert answer.status == 200
        assert "content-security-policy" not in answer.headers


def test_without_the_extra_datasette_is_as_before() -> None:
    def run() -> None:
        hide("starlette")
        assert "register_routes" not in vars(import_module("lshdb.apps.web.plugin"))

    assert status_of(forked(run)) == 0
