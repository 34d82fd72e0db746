"""JSON that programs post to `lshdb serve`: the library's answers; refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from helpers import Answer, Site, database_of

pytest.importorskip("starlette", reason="the extra `web` is not installed")

from web_pages import TEXT, direct

import lshdb

JSON = {"Content-Type": "application/json"}
QUOTING = f"He said:\n{TEXT}\nin 1999"


@pytest.fixture(scope="module")
def served_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Site]]:
    path = tmp_path_factory.mktemp("api") / "lsh.db"
    with lshdb.open(path, threshold=0.5, passages=8, reworded=True) as db:
        db.add_many([lshdb.Document("fox", TEXT, {"lang": "en"}), ("quoting", QUOTING)])
        db.add("ant", "An ant.")
    with direct(path) as site:
        yield path, site


def post(site: Site, page: str, body: Any, headers: Mapping[str, str] = JSON) -> Answer:
    """Post a value as JSON, or bytes."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return site.ask(f"/{page}", data, headers)


def rounded(text: str) -> Any:
    """A value of JSON; sums of the same numbers in another order differ in the last digit."""
    return json.loads(text, parse_float=lambda number: round(float(number), 12))


def test_answers_are_those_of_the_library(served_file: tuple[Path, Site]) -> None:
    path, site = served_file
    with lshdb.open(path, mode="read") as db:
        for page, asked in (
            ("query.json", {"text": TEXT}),
            ("query.json", {"text": TEXT.upper(), "top": 1, "fields": ["lang", "text"]}),
            ("query.json", {"key": "fox", "threshold": 0.1, "exhaustive": True, "estimate": True}),
            ("query.json", {"text": TEXT, "containment": True, "sort": "weighted"}),
            ("query.json", {"text": f"{QUOTING}!", "distinguish": "numbers", "min_weighted": 0.1}),
            ("passages.json", {"text": f"They say {TEXT}", "top": 1, "gap": 2}),
            ("passages.json", {"key": "quoting", "common": 5, "min_words": 9, "sort": "weighted"}),
            ("passages.json", {"text": QUOTING, "reworded": True, "min_score": 0.1}),
        ):
            answer = post(site, page, asked)
            assert answer.status == 200, answer.text
            assert answer.headers["content-type"] == "application/json"
            found = rounded(answer.text)
            options: dict[str, Any] = dict(asked)
            content = options.pop("text", None)
            if page == "query.json":
                expected: Any = {"matches": [*map(asdict, db.query(content, **options))]}
                assert expected["matches"]
            else:
                expected = asdict(db.passages(content, **options))
                assert expected["sources"]
            assert found == rounded(json.dumps(expected)) | {"notes": []}


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"{", 400, "the body is not JSON: "),
        (b'{"text": "\xff"}', 400, "the body is not JSON: "),
        (b"[" * 300 + b"]" * 300, 400, "nested deeper than 200 levels"),
        (["a"], 400, 'the body is not a JSON object, such as {"text": "..."}'),
        ({}, 400, "give one of text, set, key"),
        ({"text": None}, 400, "give one of text, set, key"),
        ({"text": "a", "key": "fox"}, 400, "give one of text, set, key"),
        ({"text": 5}, 400, "int is neither text nor set"),
        ({"set": ["a"]}, 400, "this is a set, and the database holds texts"),
        ({"text": "a", "treshold": 1}, 400, "'treshold' is none of text, set, key, top, threshold"),
        ({"text": "a", "where": "1"}, 400, "'where' is none of text, set, key"),
        ({"text": "a", "threshold": 2}, 400, "threshold 2 is not above 0 and at most 1"),
        ({"text": "a", "top": "5"}, 400, "top '5' is not an integer"),
        ({"text": "a", "top": 1001}, 400, "top 1001 is above 1,000"),
        ({"text": "a", "fields": "lang"}, 400, "fields 'lang' is not texts in a list"),
        ({"key": "no\x1b key"}, 404, "no document has the key 'no\\x1b key'"),
        ({"text": "x" * 2_000_000}, 413, "a body may have 2,000,000 bytes"),
    ],
    ids=str,
)
def test_what_cannot_be_answered_has_its_reason(
    served_file: tuple[Path, Site], body: Any, status: int, says: str
) -> None:
    answer = post(served_file[1], "query.json", body)
    assert answer.status == status
    (reason,) = json.loads(answer.text).values()
    assert reason.startswith(says)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (JSON, 200),
        ({"Content-Type": "Application/JSON; charset=utf-8"}, 200),
        ({"Content-Type": "text/plain"}, 415),
        ({}, 415),
        (JSON | {"Host": "evil.example"}, 403),
    ],
)
def test_only_json_that_names_this_machine_is_taken(
    served_file: tuple[Path, Site], headers: dict[str, str], status: int
) -> None:
    answer = post(served_file[1], "query.json", {"text": TEXT}, headers)
    assert answer.status == status
    assert ("reason" in json.loads(answer.text)) == (status > 200)


def test_a_set_is_asked_about(path: Path) -> None:
    database_of(path, [("monday", ["milk", 7])], shingle="set").close()
    with direct(path) as site:
        (match,) = json.loads(post(site, "query.json", {"set": [7, "milk"]}).text)["matches"]
        assert (match["key"], match["similarity"]) == ("monday", 1)
