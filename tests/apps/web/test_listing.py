"""Clusters and pairs as pages list them: filtered, sorted and counted as by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import Site, eventually
from web_pages import check, direct, json_lines

import lshdb


@pytest.fixture(scope="module")
def site(directory: Path) -> Iterator[Site]:
    """The pages of the database of texts."""
    with direct(directory / "texts.db") as site:
        yield site


@pytest.fixture(scope="module")
def varied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Site]]:
    """Clusters of several sizes and similarities, with metadata, in directories; some decided."""
    directory = tmp_path_factory.mktemp("varied")
    with lshdb.open(directory / "lsh.db", shingle="set", threshold=0.5) as db:
        for cluster in range(30):
            size, shared = 2 + cluster % 4, 6 + cluster % 5
            for member in range(size):
                content = [f"{cluster}/{i}" for i in range(shared)] + [f"{cluster}:{member}"]
                metadata = {"lang": "en" if cluster % 3 else "de", "n": f"{cluster} {member}"}
                key = f"long/directory/{cluster}/{member}"
                db.add_many([lshdb.Document(key, content, metadata)])
        db.decide("different", ["long/directory/0/0", "long/directory/0/1"])
        db.decide("drop", ["long/directory/4/1"])
        db.decide("keep", ["long/directory/4/0"])
    with direct(directory / "lsh.db") as site:
        for page in ("clusters", "pairs"):
            eventually(site, page)
        yield directory / "lsh.db", site


Row = dict[str, Any]
DECIDED = {f"long/directory/{place}" for place in ("0/0", "0/1", "4/0", "4/1")}


def listed(site: Site, page: str, **asked: str) -> list[list[Row]]:
    """The rows of a list, cluster by cluster or one by one, without their numbers."""
    answer = check(eventually(site, page, **asked))
    items = json_lines(site.get(page, format="jsonl", **asked))
    assert items or "matches these filters." in answer.text
    assert [item.pop("number") for item in items] == [*range(1, len(items) + 1)]
    return [item.get("members", [item]) for item in items]


def lowest(rows: list[Row]) -> Any:
    return min(row["similarity"] for row in rows)


def first_key(rows: list[Row]) -> Any:
    return next(iter(rows[0].values()))


def of_german(rows: list[Row]) -> bool:
    return int(first_key(rows).split("/")[2]) % 3 == 0


def is_decided(rows: list[Row]) -> Any:
    return first_key(rows) in DECIDED


def is_near(rows: list[Row]) -> Any:
    return lowest(rows) >= 0.8


@pytest.mark.parametrize(
    ("page", "asked", "belongs", "order"),
    [
        ("clusters", {}, None, lambda rows: -len(rows)),
        ("clusters", {"sort": "lowest"}, None, lowest),
        (
            "clusters",
            {"sort": "highest", "min_similarity": "0.8"},
            is_near,
            lambda rows: -lowest(rows),
        ),
        (
            "clusters",
            {"sort": "first", "smallest": "3", "largest": "4"},
            lambda rows: 3 <= len(rows) <= 4,
            None,
        ),
        (
            "clusters",
            {"sort": "key", "part": "DIRECTORY/1"},
            lambda rows: "directory/1" in first_key(rows),
            first_key,
        ),
        ("clusters", {"sort": "first", "field": "lang", "value": "de"}, of_german, None),
        ("clusters", {"field": "lang", "value": "fr"}, lambda _: False, None),
        ("clusters", {"sort": "first", "decided": "yes"}, is_decided, None),
        (
            "clusters",
            {"sort": "first", "decided": "no", "max_similarity": "0.8"},
            lambda rows: lowest(rows) <= 0.8 and not is_decided(rows),
            None,
        ),
        ("pairs", {}, None, None),
        ("pairs", {"sort": "lowest"}, None, lowest),
        (
            "pairs",
            {"sort": "key", "min_similarity": "0.8"},
            is_near,
            lambda rows: [*rows[0].values()][:2],
        ),
        (
            "pairs",
            {"max_similarity": "0.8", "part": "/1"},
            lambda rows: lowest(rows) <= 0.8 and "/1" in first_key(rows) + rows[0]["b"],
            None,
        ),
        ("pairs", {"field": "lang", "value": "de"}, of_german, None),
        ("pairs", {"decided": "yes"}, is_decided, None),
    ],
)
def test_lists_are_filtered_and_sorted(
    varied: tuple[Path, Site], page: str, asked: dict[str, str], belongs: Any, order: Any
) -> None:
    _, site = varied
    everything = listed(site, page, **({"sort": "first"} if page == "clusters" else {}))
    wanted = [rows for rows in everything if belongs is None or belongs(rows)]
    wanted = sorted(wanted, key=order or (lambda _: 0))
    assert listed(site, page, **asked) == wanted


def test_lists_are_those_of_the_library(varied: tuple[Path, Site]) -> None:
    path, site = varied
    with lshdb.open(path, mode="read") as db:
        clusters = [
            sorted(zip(one.members, one.similarities, strict=True))
            for one in db.clusters(threshold=0.8, keep="last", star=True, ignore_decisions=True)
        ]
        pairs = {(one.a, one.b, one.similarity) for one in db.pairs(ignore_decisions=True)}
    asked = {"threshold": "0.8", "keep": "last", "star": "on", "sort": "first"}
    assert [
        sorted((row["key"], row["similarity"]) for row in rows)
        for rows in listed(site, "clusters", **asked)
    ] == clusters
    found = [(row["a"], row["b"], row["similarity"]) for (row,) in listed(site, "pairs")]
    assert set(found) == pairs
    assert [score for *_, score in found] == sorted((score for *_, score in pairs), reverse=True)


def test_each_part_of_a_chart_leads_to_what_it_counts(varied: tuple[Path, Site]) -> None:
    path, site = varied
    page = check(eventually(site, "")).page
    links = {}
    for tag, attributes, texts in page.elements:
        count = re.search(r"(\d+) (pair|cluster)s?( of |\n)", "".join(texts))
        if tag == "a" and count:
            links[attributes["href"]] = int(count[1])
    with lshdb.open(path, mode="read") as db:
        scores = [pair.similarity for pair in db.pairs(ignore_decisions=True)]
    # Many pairs have similarity 0.8, where two columns meet.
    lower = sum(score < 0.8 for score in scores)
    assert 0.8 in scores
    assert list(links.values()) == [lower, len(scores) - lower, 8, 15, 7]
    found = [json.loads(site.ask(link.replace("?", ".json?")).text) for link in links]
    assert [answer["paging"]["things"] for answer in found] == list(links.values())
    # The rows of the table beside the columns have the same links.
    (first, second) = [link for link in links if "/pairs" in link]
    assert [page.values("href").count(link) for link in (first, second)] == [2, 2]


def test_facets_count_values(varied: tuple[Path, Site]) -> None:
    """Of `n` every document has a value of its own: that is not a facet."""
    page = eventually(varied[1], "clusters").page
    assert page.texts("dl", class_="facets")[0].split() == ["lang", "en", "68", "de", "35"]
    assert len([href for href in page.values("href") if "field=lang" in href]) == 2
