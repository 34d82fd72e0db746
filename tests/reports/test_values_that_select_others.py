"""A value of -p selected documents that it does not name.

A text of digits is another value than the number, and SQLite finds either one by one value: see
requery/sqlite-android issue 24. A tool that converts it to a number loses digits of a long one
(kriasoft/node-sqlite issue 38).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from direct_command import command as command
from helpers import Command, database_of

import lshdb
from lshdb.cli.sql_values import with_values

LARGE = "1000000000001000000000000000000001"
BEYOND = 9_223_372_036_854_775_809
KEYS = ["1e3", "1000", "007", "7", LARGE, LARGE[:-1] + "2", "0x10", "16", " 1", "1", "nan", "true"]
FIELDS: dict[str, dict[str, object]] = {
    "number": {"x": 1000, "tags": [1000, 5]},
    "float": {"x": 1e3},
    "text": {"x": "1000", "tags": ["1000"]},
    "exponent": {"x": "1e3"},
    "beyond": {"x": BEYOND},
    "next": {"x": BEYOND + 1},
    "odd": {"x": 2**53 + 1},
    "even": {"x": 2**53},
    "as float": {"x": float(2**53)},
    "nine": {"x": "9"},
    "seven": {"x": 7},
    "none": {"x": None},
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("values")
    rows = [*(lshdb.Document(key, key) for key in KEYS)]
    rows += (lshdb.Document(key, key, fields) for key, fields in FIELDS.items())
    database_of(directory / "lsh.db", rows).close()
    return directory


def selected(directory: Path, where: str, *values: str) -> set[str]:
    sql, parameters = with_values(f"select key from documents where {where}", values, "the SQL")
    with lshdb.open(directory / "lsh.db", mode="read") as database:
        return {str(key) for (key,) in database.sql(sql, parameters)}


@pytest.mark.parametrize("where", ["key = ?", "? = key", "key in (?, 'x')", "key || '' is ?"])
def test_a_key_is_the_text_that_was_given(directory: Path, where: str) -> None:
    each = (f"select {n} as n, key from documents where {where}" for n in range(len(KEYS)))
    options = [option for key in KEYS for option in ("-p", key)]
    done = Command(directory).done("sql", "--json", " union all ".join(each), *options)
    assert [(row["n"], row["key"]) for row in done.records] == [*enumerate(KEYS)]


E3 = {"number", "float", "exponent"}
BIG = {"exponent", "beyond", "next", "odd", "even", "as float"}
HAS_TAG = "exists (select 1 from json_each(metadata, '$.tags') where value = ?)"
X = "metadata ->> '$.x'"


@pytest.mark.parametrize(
    ("where", "values", "keys"),
    [
        (f"{X} = ?", ["1e3"], E3),
        (f"{X} == ?", ["1000"], {"number", "float", "text"}),
        (f"json_extract(metadata, '$.x') = ?1 and ?1 = {X}", ["1e3"], E3),
        (f"{X} IN ('a', ?, ?)", ["1e3", "007"], E3),
        (f"{X} NOT IN (?, 7) and {X} != ?", ["1000", "9"], BIG),
        (f"{X} is not ? and {X} > 0", ["1000"], BIG | {"nine", "seven"}),
        (f"{X} IS NOT DISTINCT FROM ?", ["9"], {"nine"}),
        (f"{X} <> ? and {X} < ?", ["7", "1e1"], {"nine"}),
        (f"{X} BETWEEN ? AND ? AND key <> ?", ["7", "9", "x"], {"nine", "seven"}),
        (f"? > {X} AND 1 = ?", ["7.5", "1"], {"seven"}),
        (f"{X} = ? COLLATE NOCASE", ["1000"], {"number", "float", "text"}),
        (f"{X} LIKE ?", ["1e3"], {"exponent"}),
        (f"{X} = ? + 1", ["999"], {"number", "float"}),
        (f"{X} + 1 = ?", ["1001"], {"number", "float", "text", "exponent"}),
        (f"(CASE WHEN key = 'text' THEN {X} END) = ?", ["1000"], {"text"}),
        (f"{X} = ?", [str(BEYOND)], {"beyond"}),
        ("json_extract(metadata, '$.x') IN (?)", [str(BEYOND)], {"beyond"}),
        (f"{X} = ?", ["9007199254740993"], {"odd"}),
        (f"{X} = ?", ["9007199254740993.0"], {"odd"}),
        (f"{X} = ?", ["9007199254740992"], {"even", "as float"}),
        (f"{X} = ((?)) COLLATE NOCASE", ["1e3"], E3),
        (f"{X} in ((?), 5 = ?, '?') /* ? */", ["1e3", "6"], E3),
        (f"{X} = ? || ''", ["1e3"], {"exponent"}),
        (f"{X} = ? + 0", ["1e3"], {"number", "float"}),
        (f"iif({X} = ?, key, ?) = key", ["1e3", "-"], E3),
        (f"key in (select [key] from documents as d where {X} = ?)", ["1e3"], E3),
        (f"\"key\" = ? or {X} = ? union select 'x'", ["007", "7"], {"007", "seven", "x"}),
        ("(key) collate nocase < ? and (key) > ?", ["1001", "1000"], {LARGE, LARGE[:-1] + "2"}),
        (f"{X} = ?", ["007"], set()),
        (f"{X} = ?", ["7_0"], set()),
        (f"{X} = ?", [" 7"], set()),
        (f"{X} = ?", ["1e99999999999999999999"], set()),
        (HAS_TAG, ["1e3"], {"number"}),
        ("key < ? and key > ?", ["1001", "1000"], {LARGE, LARGE[:-1] + "2"}),
        ("shingles = ? and key = -- ?\n ?", ["0", "7"], set()),
        ("length(key) > ?", ["33"], {LARGE, LARGE[:-1] + "2"}),
        ("key = substr('a1000', ?, ?)", ["2", "4"], {"1000"}),
    ],
)  # fmt: skip
def test_a_value_is_a_text_with_texts_and_a_number_with_numbers(
    directory: Path, where: str, values: list[str], keys: set[str]
) -> None:
    assert selected(directory, where, *values) == keys


@pytest.mark.parametrize(
    "where",
    [
        "shingles < 5 = ?",
        f"{X} = ? = 1",
        f"{X} = ? IS NULL",
        f"{X} = ? LIKE '1'",
        f"{X} IS NOT ? < 5",
        f"? = {X} < 5",
        f"{X} BETWEEN 1 AND 2 = ?",
        f"{X} BETWEEN 1 AND ? = 2",
        f"{X} NOT IN (VALUES (1), (?))",
        f"{X} IN (SELECT ?)",
        f"(key, {X}) = ('a', ?)",
        f"(key, {X}) IN ((?, ?))",
        "? IN (SELECT value FROM json_each(metadata, '$.tags'))",
        f"CASE {X} WHEN ? THEN 1 END",
        f"CASE WHEN key = 'a' THEN ? END = {X}",
        f"(CASE WHEN {X} = ? THEN {X} END) = ?",
        f"{X} IN (WITH v(x) AS (VALUES (?)) SELECT x FROM v)",
    ],
)
def test_a_value_is_refused_where_it_is_unclear_what_it_is_compared_with(
    directory: Path, where: str
) -> None:
    with pytest.raises(
        lshdb.UsageError, match=r"1e3:text for the text, or write \? \+ 0 for the n"
    ):
        selected(directory, where, *["1e3"] * where.count("?"))
    assert isinstance(selected(directory, where, *["1e3:text"] * where.count("?")), set)


def test_an_index_is_used_for_one_key(directory: Path) -> None:
    """A condition that reads all documents takes minutes in a large file."""
    plan = "explain query plan select * from documents where key = ? and doc_id = ?"
    assert "USING" in Command(directory).done("sql", plan, "-p", "1000", "-p", "3").out
