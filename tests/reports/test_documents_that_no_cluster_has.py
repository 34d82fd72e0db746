"""Clusters of one member or more were listed without the documents that are similar to no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from direct_command import command as command
from helpers import Command, database_of

TEXTS = {
    "alone": "a text of its own, with words that no other has",
    "a": "the ferry to the islands runs every hour from the pier",
    "b": "the ferry to the islands runs every hour from the pier",
    "odd": "something else altogether is written in here today",
    "empty": "",
}


@pytest.mark.parametrize(
    ("options", "clusters"),
    [
        ({}, [("a", "b")]),
        ({"min_size": 1}, [("a", "b"), ("alone",), ("odd",), ("empty",)]),
        ({"min_size": 1, "star": True}, [("a", "b"), ("alone",), ("odd",), ("empty",)]),
        ({"min_size": 1, "max_size": 1}, [("alone",), ("odd",), ("empty",)]),
        ({"min_size": 1, "top": 2}, [("a", "b"), ("alone",)]),
        ({"min_size": 1, "top": 1}, [("a", "b")]),
        ({"min_size": 1, "key": "odd"}, [("odd",)]),
        ({"min_size": 1, "key": "b"}, [("a", "b")]),
        ({"min_size": 1, "where": "key in ('b', 'odd')"}, [("b",), ("odd",)]),
    ],
)  # fmt: skip
def test_single_documents_are_listed(
    path: Path, options: dict[str, Any], clusters: list[tuple[str, ...]]
) -> None:
    with database_of(path, TEXTS) as database:
        listed = [*database.clusters(**options)]
    assert [one.members for one in listed] == clusters
    if "key" not in options and "max_size" not in options:
        assert [one.cluster for one in listed] == [*range(1, len(listed) + 1)]
    assert {one.lowest for one in listed} == {1.0}


def test_by_command(command: Command, path: Path) -> None:
    database_of(path, TEXTS).close()
    done = command.done("clusters", "--min-size", "1", "--json", "--fields", "text")
    assert [(row["cluster"], row["key"]) for row in done.records] == [
        (1, "a"), (1, "b"), (2, "alone"), (3, "odd"), (4, "empty"),
    ]  # fmt: skip
    assert command.done("clusters", "--min-size", "1", "--drop-list").lines == ["b"]
    none = command.done("clusters", "--min-size", "1", "--where", "key = 'x'")
    assert (none.out, none.err) == ("", "no document that matches\n")


@pytest.mark.extra("web")
@pytest.mark.parametrize(("field", "keys"), [("smallest", "aaoe"), ("largest", "aoe")])
def test_on_the_page(path: Path, field: str, keys: str) -> None:
    from lshdb.apps.web import page_file, views

    database_of(path, TEXTS).close()
    with page_file.opened(path) as reader:
        page = views.Visit(reader, "lsh", {field: "1", "sort": "first"}).page("clusters").data
    assert "".join(cluster["keep"][0] for cluster in page["clusters"]) == keys
