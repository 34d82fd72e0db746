"""Conditions on documents from the command line: the values of -p."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import Command, database_of

import lshdb

TEXT = "one and the same text of some words"
METADATA: dict[str, dict[str, object]] = {
    "number": {"year": 2024, "open": True, "mark": None},
    "text": {"year": "2024", "open": "true", "mark": "null"},
    "earlier": {"year": 1999.5, "open": False, "mark": "?"},
    "2024": {"year": "?", "mark": "2024"},
    "007": {"year": "1e3"},
    "large": {"mark": str(1 << 63)},
    "not a number": {"mark": "nan"},
    "marked": {"mark": "a:text"},
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
        ("YEAR = ?", ["2024"], {"number"}),
        ("YEAR = ?", ["2024:text"], {"text"}),
        ("YEAR = ?", ["2024.0"], {"number"}),
        ("YEAR = ?", ["2.024e3"], set()),
        ("YEAR = ?", ["1e3"], {"007"}),
        ("YEAR = ?", ["1999.5"], {"earlier"}),
        ("YEAR < ?", ["2024"], {"earlier"}),
        ("YEAR < ?", ["2024:text"], {"number", "earlier", "007"}),
        ("YEAR BETWEEN ? AND ?", ["1999", "2000"], {"earlier"}),
        ("YEAR = ?2 AND ?1 = 'x'", ["x", "2024"], {"number"}),
        ("YEAR = ?", ["?"], {"2024"}),
        ("YEAR = '?' AND key = ?", ["2024"], {"2024"}),
        ("YEAR LIKE ? || '%'", ["20"], {"number", "text"}),
        ("OPEN = ?", ["true"], {"text"}),
        ("OPEN = ?", ["1"], {"number"}),
        ("MARK IS ?", ["null"], {"text"}),
        ("MARK = ?", [f"{1 << 63}"], {"large"}),
        ("MARK = ?", ["nan"], {"not a number"}),
        ("MARK = ?", ["Infinity"], set()),
        ("MARK = ?", ["a:text:text"], {"marked"}),
        ("MARK = ?", ["a:text"], set()),
        ("key = ?", ["2024"], {"2024"}),
        ("key = ?", ["007"], {"007"}),
        ("key = ?", ["7"], set()),
        ("key = ?", ["text:text"], {"text"}),
        ("key = ?", ["key=7"], set()),
    ],
)
def test_a_value_is_a_number_as_json_writes_it_else_a_text(
    where: str, values: list[str], found: set[str], directory: Path
) -> None:
    for name in ("year", "open", "mark"):
        where = where.replace(name.upper(), f"metadata ->> '$.{name}'")
    options = [option for value in values for option in ("-p", value)]
    done = Command(directory).done("query", "--text", TEXT, "--json", "--where", where, *options)
    assert {json.loads(line)["key"] for line in done.lines} == found
