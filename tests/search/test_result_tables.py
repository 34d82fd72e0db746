"""What the library returns: lists and iterators as ever, and tables."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from helpers import database_of, forked, hide, status_of

import lshdb
from lshdb.model import Pair
from lshdb.offers import is_there

HOSTILE = '<script>alert("x")</script>&amp;\x1b[31m\u202e'
TEXT = "the quick brown fox jumps over the lazy dog and runs away"


@pytest.fixture
def db(path: Path) -> Iterator[lshdb.Database]:
    with database_of(
        path,
        (
            lshdb.Document(key, f"{TEXT} {key}", fields)
            for key, fields in [
                ("a", {"n": 1, "kind": "x", "mixed": 1}),
                ("b", {"n": 2, "kind": "y", "mixed": "one"}),
                (HOSTILE, {"n": 3, "mixed": [1, HOSTILE]}),
                ("alone", None),
            ][:3]
        ),
        threshold=0.5,
    ) as db:
        db.add("alone", "something else altogether, of no interest")
        yield db


def kinds(table: Any) -> list[str]:
    return [str(field.type) for field in table.schema]


@pytest.mark.app("keeping", "tables")
def test_tables_have_what_iterating_gives(db: lshdb.Database) -> None:
    matches = db.query(key="a")
    assert matches == list(matches)
    assert [lshdb.Match(**row) for row in matches.to_arrow().to_pylist()] == matches
    if is_there("passages"):
        contained = db.query(key="a", containment=True)
        assert contained.df()["containment"].tolist() == [match.containment for match in contained]
    pairs = list(db.pairs(estimate=True))
    assert len(pairs) == 3
    table = db.pairs(estimate=True).to_arrow()
    assert [Pair(**row) for row in table.to_pylist()] == pairs
    assert kinds(table) == [
        *["string"] * 2,
        "double",
        "bool",
        "double",
        *["bool"] * 2,
        *["double"] * 2,
    ]
    assert db.pairs().df()["a"].tolist() == [pair.a for pair in pairs]
    (cluster,) = db.clusters(keep="last")
    table = db.clusters(keep="last").to_arrow()
    assert kinds(table) == ["int64", *["string"] * 3, "double", *["bool"] * 3]
    members = table.to_pydict()
    assert members["key"] == list(cluster.members)
    assert members["similarity"] == list(cluster.similarities)
    assert members["role"] == ["member", "member", "keep"]
    assert db.clusters(threshold=1.0).to_arrow().column_names == table.column_names
    assert db.pairs(threshold=1).df().empty


@pytest.mark.app("tables")
def test_fields_have_the_type_that_all_of_their_values_have(db: lshdb.Database) -> None:
    fields = ["n", "kind", "mixed", "none"]
    table = db.clusters(fields=fields).to_arrow()
    assert kinds(table.select(fields)) == ["int64", *["string"] * 3]
    found = table.select(fields).to_pylist()
    assert found[:2] == [
        {"n": 1, "kind": "x", "mixed": "1", "none": None},
        {"n": 2, "kind": "y", "mixed": "one", "none": None},
    ]
    assert found[2]["mixed"].startswith('[1,"')
    pairs = db.pairs(fields=["n"])
    assert list(pairs.columns)[-2:] == ["a.n", "b.n"]
    assert pairs.to_arrow()["b.n"].to_pylist() == [2, 3, 3]
    assert db.query(key="a", fields=["n", "key"]).df()["metadata.key"].isna().all()


@pytest.mark.app("tables")
def test_a_table_is_all_of_them_and_takes_nothing_from_the_iterator(db: lshdb.Database) -> None:
    for ask in (db.pairs, db.clusters):
        everything = list(ask())
        results = ask()
        assert iter(results) is results
        first = next(results)
        assert results.to_arrow().num_rows == len(ask().df())
        assert [first, *results] == everything
        results.close()
        assert list(results) == []


def test_a_database_is_like_a_mapping_of_its_documents(db: lshdb.Database) -> None:
    assert len(db) == 4
    assert list(db) == db.keys() == ["a", "b", HOSTILE, "alone"]
    assert "a" in db
    assert "c" not in db
    assert db["a"] == db.get("a")
    with pytest.raises(KeyError):
        db["c"]
    assert repr(db) == (
        f"<lshdb.Database {str(db.path)!r}: word:3, threshold 0.5, {db.settings.construction}>"
    )
    db.close()
    assert repr(db).endswith(", closed>")


@pytest.mark.app("tables")
@pytest.mark.parametrize(
    ("module", "advice", "times"),
    [
        ("pandas", "data frames need pandas: pip install pandas", 3),
        ("pyarrow", "tables need pyarrow: pip install '.[arrow]' in a clone of lshdb", 4),
    ],
)
def test_without_a_library_the_error_says_what_to_install(
    db: lshdb.Database, module: str, advice: str, times: int
) -> None:
    db.close()

    def run() -> None:
        hide(module)
        fresh, said = import_module("lshdb"), []
        with fresh.open(db.path) as again:
            results = [again.query(key="a"), again.pairs(), again.sql("SELECT 1")]
            for ask in [*(each.df for each in results), lambda: again.add_table([])]:
                try:
                    ask()
                except fresh.UsageError as error:
                    said.append(str(error))
            assert all(map(list, results))
        assert said == [advice] * times

    assert status_of(forked(run)) == 0


def test_dicts_are_documents_by_the_rules_for_records(tmp_path: Path) -> None:
    with lshdb.open(tmp_path / "texts.db") as db:
        db.add_many([{"key": "a", "text": TEXT, "lang": "en", "id": 7}, {"id": 5, "text": TEXT}])
        assert {key: db[key].metadata for key in db} == {"a": {"lang": "en", "id": 7}, "5": None}
        wrong: list[tuple[Any, str]] = [
            ({"a": "b"}, "{'a': 'b'} has no field 'key' or 'id'"),
            ({"key": "x", "text": None}, "field 'text' is null"),
            ({"key": "x", "text": "y", 5: 1}, "metadata must be a mapping"),
            ({"key": "x", "text": "y", "z": object()}, "not JSON serializable"),
        ]
        for record, reason in wrong:
            with pytest.raises(lshdb.ContentError, match=reason.replace("{", r"\{")):
                db.add_many([record])
        assert len(db) == 2
    with database_of(
        tmp_path / "sets.db",
        [{"id": n, "set": elements} for n, elements in enumerate([[1], {1}, (1,), "[1]"])],
        shingle="set",
    ) as db:
        assert [db[key].content for key in db] == [(1,)] * 4
        with pytest.raises(lshdb.ContentError, match="has no field 'set'"):
            db.add_many([{"id": 1, "text": "x"}])
