"""What the library returns: lists and iterators as ever, tables, and forms for notebooks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import Parsed, database_of

import lshdb
from lshdb.model import Pair

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


def shown(one: Any) -> Parsed:
    """What a notebook shows, which has no tags and no control characters of the documents'."""
    html = one._repr_html_()
    found = Parsed()
    found.feed(html)
    assert found.open == []
    assert {tag for tag, *_ in found.elements} <= {
        *("table", "thead", "tbody", "tr", "th", "td", "p", "mark", "div", "style", "span")
    }
    assert all(one.isprintable() or one in "\n\t" for one in html)
    return found


def kinds(table: Any) -> list[str]:
    return [str(field.type) for field in table.schema]


def test_tables_have_what_iterating_gives(db: lshdb.Database) -> None:
    matches = db.query(key="a")
    assert matches == list(matches)
    assert [lshdb.Match(**row) for row in matches.to_arrow().to_pylist()] == matches
    contained = db.query(key="a", containment=True)
    assert contained.df()["containment"].tolist() == [match.containment for match in contained]
    pairs = list(db.pairs(estimate=True))
    assert len(pairs) == 3
    table = db.pairs(estimate=True).to_arrow()
    assert [Pair(**row) for row in table.to_pylist()] == pairs
    assert kinds(table) == [*["string"] * 2, "double", "bool", "double", "bool", *["double"] * 2]
    assert db.pairs().df()["a"].tolist() == [pair.a for pair in pairs]
    (cluster,) = db.clusters(keep="last")
    table = db.clusters(keep="last").to_arrow()
    assert kinds(table) == ["int64", *["string"] * 3, "double", *["bool"] * 2]
    members = table.to_pydict()
    assert members["key"] == list(cluster.members)
    assert members["similarity"] == list(cluster.similarities)
    assert members["role"] == ["member", "member", "keep"]
    assert db.clusters(threshold=1.0).to_arrow().column_names == table.column_names
    assert db.pairs(threshold=1).df().empty


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


def test_a_table_is_all_of_them_and_takes_nothing_from_the_iterator(db: lshdb.Database) -> None:
    for ask in (db.pairs, db.clusters):
        everything = list(ask())
        results = ask()
        assert iter(results) is results
        first = next(results)
        assert results.to_arrow().num_rows == len(ask().df())
        assert shown(results).elements
        assert [first, *results] == everything
        results.close()
        assert list(results) == []


@pytest.mark.extra("web")
def test_what_a_notebook_shows_is_text(db: lshdb.Database) -> None:
    results: list[Any] = [
        db.query(key="a", fields=["mixed"]),
        db.pairs(fields=["mixed"]),
        db.clusters(keep="last"),
        db.sql('SELECT key, metadata, content AS "<b>" FROM documents'),
    ]
    for one in results:
        cells = [text for tag in ("td", "th", "p") for text in shown(one).texts(tag)]
        assert any("<script>alert" in text for text in cells), "as text"
        assert "\x1b" not in repr(one)


@pytest.mark.extra("web")
def test_a_notebook_shows_the_first_of_many_and_says_so(path: Path) -> None:
    with database_of(path, ((str(number), ["same"]) for number in range(30)), shingle="set") as db:
        for one, note in [
            (db.pairs(), "the first 20"),
            (db.query(["same"]), "the first 20 of 30"),
            (db.sql("SELECT key FROM documents"), "the first 20"),
        ]:
            found = shown(one)
            assert len(found.texts("tr")) == 21
            assert found.texts("p") == [note]
        assert "and 24 more" in "".join(shown(db.clusters()).texts("td"))
        assert shown(db.pairs(top=20)).texts("p") == []
        # A notebook shows the repr of what cannot be read; the error comes with iterating.
        wrong = db.pairs(where="no SQL")
        assert wrong._repr_html_() is None
        assert "an iterator" in repr(wrong)
        late = db.sql("SELECT abs(-9223372036854775805 - doc_id) FROM documents")
        assert late._repr_html_() is None
        with pytest.raises(lshdb.QueryError, match="integer overflow"):
            list(late)


@pytest.mark.extra("web")
def test_a_notebook_says_of_nothing_what_there_is_not(db: lshdb.Database) -> None:
    with lshdb.open(db.path.with_name("none.db"), passages=8) as none:
        for empty, said in [
            (none.query("any text", threshold=0.9), "no document at 0.9 or more"),
            (none.pairs(max_similarity=0.85, sample=3), "no pair at 0.8 to 0.85"),
            (none.sql("SELECT key FROM documents"), "no row"),
        ]:
            assert shown(empty).texts("p") == [said]
            assert "td" not in {tag for tag, *_ in shown(empty).elements}


@pytest.mark.extra("web")
def test_a_notebook_shows_all_that_is_returned(db: lshdb.Database) -> None:
    db.add("copy", f"{TEXT} a")
    info = shown(db.info())
    assert info.texts("p") == ["Documents", "Settings", "Size"]
    assert info.texts("td")[:4] == ["stored", "5", "compared by", "runs of 3 words (word:3)"]
    compared = shown(db.compare("a", HOSTILE))
    assert compared.texts("td")[:2] == ["similarity", "0.5882"]
    assert compared.texts("td")[-1] == TEXT
    assert "<script>alert" in "".join(compared.texts("td"))
    assert shown(db.buckets("a")).texts("th") == ["band_no", "bucket_key", "documents"]
    tuned = db.tune(construction="and 2, or 9")
    assert {"the best", "named", str(tuned[0].construction)} <= {*shown(tuned).texts("td")}
    measured = shown(db.measure())
    assert measured.texts("p")[0].startswith("5 of 5 documents compared with all")
    done = lshdb.dedup([{"id": HOSTILE, "text": TEXT}, {"id": "b", "text": TEXT}])
    assert shown(done.dropped).texts("td")[:1] == ["b"]
    with lshdb.open(db.path.with_name("sets.db"), shingle="set") as sets:
        sets.add_many([("x", [1, 2, HOSTILE]), ("y", [2, 3, HOSTILE])])
        cells = shown(sets.compare("x", "y")).texts("td")
        assert cells[cells.index("in both (2)") + 1].startswith("2, <script>")
        assert cells[-4:] == ["only in a (1)", "1", "only in b (1)", "3"]


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


@pytest.mark.parametrize(
    ("module", "advice", "times"),
    [
        ("pandas", "data frames need pandas: pip install pandas\n", 3),
        ("pyarrow", "tables need pyarrow: pip install 'lshdb[arrow]'\n", 4),
    ],
)
def test_without_a_library_the_error_says_what_to_install(
    db: lshdb.Database, module: str, advice: str, times: int
) -> None:
    code = (
        f"import sys; sys.modules[{module!r}] = sys.modules['jinja2'] = None\n"
        "import lshdb\n"
        "with lshdb.open(sys.argv[1]) as db:\n"
        "    results = [db.query(key='a'), db.pairs(), db.sql('SELECT 1')]\n"
        "    for ask in [*(each.df for each in results), lambda: db.add_table([])]:\n"
        "        try: ask()\n"
        "        except lshdb.UsageError as error: print(error)\n"
        "    assert [each._repr_html_() for each in results] == [None] * 3\n"
        "    assert all(map(list, results))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, db.path], capture_output=True, text=True, check=True
    )
    assert done.stdout == advice * times


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
