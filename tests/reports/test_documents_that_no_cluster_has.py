"""Clusters of one member or more were listed without the documents that are similar to no other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import Command, database_of, served

import lshdb

NONE = "no document that matches\n"

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


@pytest.mark.extra("web")
def test_by_command_and_on_the_page(command: Command, path: Path) -> None:
    database_of(path, TEXTS).close()
    done = command.done("clusters", "--min-size", "1", "--json", "--fields", "text")
    assert [(row["cluster"], row["key"]) for row in done.records] == [
        (1, "a"), (1, "b"), (2, "alone"), (3, "odd"), (4, "empty"),
    ]  # fmt: skip
    assert command.done("clusters", "--min-size", "1", "--drop-list").lines == ["b"]
    assert command.fails("clusters", "--min-size", "0", status=2) == "min_size 0 is below 1"
    none = command.done("clusters", "--min-size", "1", "--where", "key = 'x'", says=NONE)
    assert none.out == ""
    with served(command.directory) as site:
        assert "alone" in site.get("clusters", smallest=1).text
        assert "alone" not in site.get("clusters").text
        for asked, keys in (
            ({"smallest": 1}, ["a", "alone", "odd", "empty"]),
            ({"largest": 1}, ["alone", "odd", "empty"]),
            ({"smallest": 2}, ["a"]),
        ):
            page = json.loads(site.get("clusters.json", **asked, sort="first").text)
            assert [one["keep"] for one in page["clusters"]] == keys
            lines = site.get("clusters", **asked, sort="first", format="jsonl").text.splitlines()
            assert [json.loads(line)["keep"] for line in lines] == keys
        single = json.loads(site.get("cluster.json", key="odd", smallest=1).text)["cluster"]
        assert [member["key"] for member in single["members"]] == ["odd"]
        assert site.get("clusters.json", smallest=0).status == 400


def test_without_contents_and_of_signatures_made_elsewhere(path: Path) -> None:
    with database_of(path, TEXTS, content=False) as database:
        rows = [(one.members, one.exact, one.identical) for one in database.clusters(min_size=1)]
    assert rows[0] == (("a", "b"), False, (True, True))
    assert rows[1:] == [((key,), False, (True,)) for key in ("alone", "odd", "empty")]
    foreign = path.with_name("foreign.db")
    signatures = np.arange(3 * 128).reshape(3, 128)
    signatures[1] = signatures[0]
    made_with = lshdb.Sketching.foreign("other", 128)
    with lshdb.open(foreign, shingle="foreign:other", content=False) as database:
        database.add_signatures(["a", "b", "c"], signatures, made_with)
        rows = [(one.members, one.exact, one.identical) for one in database.clusters(min_size=1)]
    assert rows == [(("a", "b"), False, (False, False)), (("c",), False, (False,))]
