"""Conditions on documents from the command line: what the values of -p are compared with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from direct_command import DirectCommand
from helpers import database_of

import lshdb

TEXT = "one and the same text of some words"
METADATA: dict[str, dict[str, object]] = {
    "number": {"year": 2024, "open": True, "mark": None},
    "text": {"year": "2024", "open": "true", "mark": "null"},
    "earlier": {"year": 1999.5, "open": False, "mark": "?"},
    "2024": {"year": "?", "mark": "2024"},
    "007": {"year": "1e3"},
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("conditions")
    database_of(
        directory / "lsh.db", (lshdb.Document(key, TEXT, given) for key, given in METADATA.items())
    ).close()
    return directory


@pytest.mark.parametrize(
    ("where", "values", "found"),
    [
        ("YEAR = ?", ["2024"], {"number", "text"}),
        ("YEAR = ?", ["2024.0"], {"number"}),
        ("YEAR != ?", ["2024"], {"earlier", "2024", "007"}),
        ("YEAR < ?", ["2024"], {"earlier", "007"}),
        ("YEAR BETWEEN ? AND ?", ["1999", "2000"], {"earlier"}),
        ("YEAR = ?2 AND ?1 = 'x'", ["x", "2024"], {"number", "text"}),
        ("YEAR = ?", ["2024:text"], {"text"}),
        ("YEAR = ?", ["?"], {"2024"}),
        ("YEAR = '?' AND key = ?", ["2024"], {"2024"}),
        ("YEAR LIKE ? || '%'", ["20"], {"number", "text"}),
        ("OPEN = ?", ["true"], {"number", "text"}),
        ("OPEN = ?", ["false"], {"earlier"}),
        ("OPEN = ?", ["true:text"], {"text"}),
        ("MARK IS ?", ["null"], {"number", "007", "text"}),
        ("MARK = ?", ["null:text"], {"text"}),
        ("key = ?", ["2024"], {"2024"}),
        ("key = ?", ["007"], {"007"}),
        ("key = ?", ["7"], set()),
        ("key = ?", ["7:text"], set()),
        ("key = ?", ["text:text"], {"text"}),
        ("key = ?", ["key=7"], set()),
    ],
)
def test_a_value_is_compared_as_what_it_looks_like(
    where: str, values: list[str], found: set[str], directory: Path
) -> None:
    for name in ("year", "open", "mark"):
        where = where.replace(name.upper(), f"metadata ->> '$.{name}'")
    options = [option for value in values for option in ("-p", value)]
    done = DirectCommand(directory).done(
        "query", "--text", TEXT, "--json", "--where", where, *options
    )
    assert {json.loads(line)["key"] for line in done.lines} == found
