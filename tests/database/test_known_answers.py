"""Known answers for other programs: lshdb gives them, and a program that has no part of lshdb."""

from __future__ import annotations

import importlib.util
import json
import random
import re
import sqlite3
import sys
import unicodedata
from pathlib import Path
from types import ModuleType
from typing import Any

import inspection
import make_vectors
import pytest
from helpers import ROOT
from make_golden import SCHEMA

import lshdb
from lshdb.offers import SKETCHES, app_of, is_there
from lshdb.sketch.constructions import Construction
from lshdb.sketch.settings import Settings
from lshdb.sketch.signing import sign
from lshdb.text.content import cleaned, digest, encoded, from_stored
from lshdb.text.kinds import missing_app
from lshdb.text.shingles import distinct_shingles
from lshdb.text.shingling import Shingling

ANSWERS: dict[str, Any] = json.loads(make_vectors.PATH.read_text("ascii"))
DOCUMENTS: list[dict[str, Any]] = ANSWERS["documents"]
PROGRAM = ROOT / "docs" / "plain_lshdb.py"


def content_of(document: dict[str, Any]) -> str:
    times: int = document.get("times", 1)
    return str(document["content"]) * times


def given_text(document: dict[str, Any]) -> str:
    """A text as it may be given, with lone surrogates."""
    if "utf16" in document:
        return str(bytes.fromhex(document["utf16"]), "utf-16-be", "surrogatepass")
    return content_of(document)


TEXTS = {
    f"{number}": given_text(document)
    for number, document in enumerate(DOCUMENTS)
    if document["settings"] == make_vectors.USUAL
}


def test_the_oracles_still_give_the_known_answers() -> None:
    """Byte for byte; a newer Python knows characters that Unicode 14.0 had not assigned."""
    stored = make_vectors.PATH.read_text("ascii")
    made = make_vectors.text_of(make_vectors.answers())
    if unicodedata.unidata_version == "14.0.0":
        assert made == stored
    else:
        same = [document["content"] != make_vectors.LATER for document in DOCUMENTS]
        assert same.count(False) == 1
        documents = json.loads(made)["documents"]
        pairs = zip(documents, DOCUMENTS, same, strict=True)
        assert all(new == old for new, old, is_same in pairs if is_same)


def test_kernels_have_the_answers_of_each_document() -> None:
    for document in DOCUMENTS:
        values = dict(document["settings"])
        needed = {"passages", "reworded", "records"} & values.keys()
        if not all(is_there({"reworded": "passages"}.get(name, name)) for name in needed):
            continue
        shingling = Shingling.parse(values.pop("shingle")).without(values.pop("base", ()))
        sketch_app = app_of(SKETCHES.get(values["sketch"], ""))
        if missing_app(shingling) or not is_there(sketch_app):
            continue
        shape = Construction.parse(values.pop("construction"))
        settings = Settings(0.8, 0.99, shingling, construction=shape, content=True, **values)
        stored = content_of(document)
        is_set = shingling.of_sets
        content = from_stored(stored, shingling) if is_set else given_text(document)
        content = cleaned(content, shingling)
        assert encoded(content) == stored
        assert digest(stored.encode()).hex() == document["digest"]
        hashes = distinct_shingles([content], shingling, settings.seed).hashes.tolist()
        assert hashes == sorted(int(value, 16) for value in document["hashes"])
        signed = sign([content], settings)
        assert signed.shingles.tolist() == [document["count"]]
        prints = signed.parts.get("fingerprints")
        positions = (
            []
            if prints is None or not document["count"]  # the store keeps none of these
            else [
                [*pair]
                for pair in zip(*(column.tolist() for column in prints.columns), strict=True)
            ]
        )
        assert positions == document.get("fingerprints", [])
        if "terms" in document:
            (terms,) = signed.parts["rare_words"].columns
            assert terms.tolist() == ["".join(f"{term} " for term in document["terms"])]
        if "record_shingles" in document:
            (values_of_record,) = signed.parts["record_shingles"].columns
            made = sorted(values_of_record.view("u8").tolist())
            assert make_vectors.hexadecimal(made) == document["record_shingles"]
        if document["count"]:
            assert signed.signatures.tolist() == [document["lanes"]]
            assert signed.bucket_keys.tolist() == [document["bucket_keys"]]


# the program


@pytest.fixture(scope="module")
def plain() -> ModuleType:
    spec = importlib.util.spec_from_file_location("plain_lshdb", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def made_by_sql(path: Path) -> None:
    """An empty file, by the statements of docs/format.md."""
    page = (ROOT / "docs" / "format.md").read_text("utf-8")
    statements = page.partition("```sql\n")[2].partition("```")[0]
    assert "-- the statements of schema.sql\n" in statements
    connection = sqlite3.connect(path)
    connection.executescript(
        statements.replace("-- the statements of schema.sql\n", SCHEMA.read_text("utf-8"))
    )
    connection.close()


def filled(plain: ModuleType, path: Path, texts: dict[str, str]) -> None:
    file = plain.File(path, "IMMEDIATE")
    for key, text in texts.items():
        file.add(key, text)
    file.run("COMMIT")


def collection() -> dict[str, str]:
    """The texts of the known answers, and near duplicates of all lengths and scripts."""
    rng = random.Random(67)
    words = [
        *" ".join(TEXTS.values()).split(" ")[:400],
        "x" * 300,
        "\U0001f3f4\U000e0067\U000e007f",
    ]
    texts = dict(TEXTS)
    for number in range(35):
        chosen = rng.choices(words, k=rng.randint(1, 60))
        texts[f"a{number}"] = " ".join(chosen)
        chosen[rng.randrange(len(chosen))] = "other"
        texts[f"b{number}"] = " ".join(chosen).upper()
    return texts


def test_it_is_short_and_plain() -> None:
    text = PROGRAM.read_text("utf-8")
    imported = re.findall(r"^(?:import|from) (\w+)", text, re.MULTILINE)
    assert len(imported) > 5
    assert {*imported} < sys.stdlib_module_names
    assert not re.findall(r"^ +(?:import|from) (\w+)", text, re.MULTILINE)
    assert len(text.splitlines()) <= 200


def answers_of(db: lshdb.Database, texts: dict[str, str]) -> dict[str, list[tuple[float, str]]]:
    return {key: [(m.similarity, m.key) for m in db.query(text)] for key, text in texts.items()}


def test_what_it_adds_is_as_if_lshdb_had_added_it(plain: ModuleType, tmp_path: Path) -> None:
    """In a file that plain SQL made; and it finds in lshdb's file what lshdb finds in its own."""
    texts, path = collection(), tmp_path / "plain.db"
    made_by_sql(path)
    filled(plain, path, texts)
    assert lshdb.check(path, deep=True).problems == ()
    with lshdb.open(tmp_path / "lshdb.db") as other, lshdb.open(path) as db:
        other.add_many(texts.items(), workers=0)
        for table in ("sqlite_schema", "settings", "documents", "signatures", "bands"):
            statement = f"SELECT * FROM {table}"
            assert set(db.sql(statement)) == set(other.sql(statement))
        answers = answers_of(db, texts)
        pairs = {(pair.similarity, *sorted((pair.a, pair.b))) for pair in db.pairs()}
    assert len(pairs) > 15
    file = plain.File(tmp_path / "lshdb.db")
    assert {key: file.similar(text) for key, text in texts.items()} == answers
    stored = file.run(plain.STORED).fetchall()
    found = [(row[1], *match) for row in stored for match in file.similar(row[2], row[0])]
    assert {(similarity, *sorted((a, b))) for a, similarity, b in found} == pairs


def test_what_other_readers_of_sqlite_meet(plain: ModuleType, tmp_path: Path) -> None:
    """NUL in a text, an empty text, and a copy for readers that cannot open the mode wal."""
    path, copy = tmp_path / "plain.db", tmp_path / "copy.db"
    made_by_sql(path)
    filled(plain, path, {"nul": "caf\xe9\0 later", "empty": ""})
    with inspection.sqlite(path) as connection:
        sizes = "SELECT length(content), length(CAST(content AS BLOB)), typeof(content)"
        rows = connection.execute(f"{sizes} FROM documents").fetchall()
        connection.execute("VACUUM INTO ?", (str(copy),))
    assert rows == [(4, 12, "text"), (0, 0, "text")]
    assert [file.read_bytes()[18:20] for file in (path, copy)] == [b"\2\2", b"\1\1"]
    assert lshdb.check(copy, deep=True).problems == ()


@pytest.mark.app("repair")
def test_rows_that_come_later_and_documents_that_go(plain: ModuleType, tmp_path: Path) -> None:
    """Written and removed as docs/format.md says while band rows are missing."""
    texts, path = dict([*collection().items()][-40:]), tmp_path / "plain.db"
    made_by_sql(path)
    filled(plain, path, texts)
    with lshdb.open(path) as db:
        answers = answers_of(db, texts)
    with sqlite3.connect(path) as connection:
        bucket = (7 << 48) + 12345
        connection.execute("UPDATE settings SET (indexed_to, indexed_bucket) = (20, ?)", (bucket,))
        late = "DELETE FROM bands WHERE doc_id > 20 AND (band_no << 48) + bucket_key > ?"
        assert connection.execute(late, (bucket,)).rowcount > 50
    file = plain.File(path)
    assert {key: file.similar(text) for key, text in texts.items()} == answers
    file.run("COMMIT")
    filled(plain, path, {"new": texts["a30"]})
    file = plain.File(path, "IMMEDIATE")
    for key in ("a30", "b30", "a22"):
        ((doc_id, _, _, blob),) = file.run(f"{plain.STORED} WHERE key = ?", (key,))
        for band, value in file.buckets(file.packing.unpack(blob)):
            row = "DELETE FROM bands WHERE (band_no, bucket_key, doc_id) = (?, ?, ?)"
            file.run(row, (band, value, doc_id))
        for table in ("files", "signatures", "documents"):
            file.run(f"DELETE FROM {table} WHERE doc_id = ?", (doc_id,))
        note = "INSERT OR IGNORE INTO indexed SELECT ?1 FROM settings WHERE indexed_to < ?1"
        file.run(note, (doc_id,))
    file.run("COMMIT")
    assert lshdb.check(path, deep=True).problems == ()
    with lshdb.open(path) as db:
        assert db.info().unindexed > 0
        assert [match.key for match in db.query(texts["a30"])] == ["new"]
        assert db.check(deep=True, repair=True).ok
        assert db.info().unindexed == 0
        assert [match.key for match in db.query(texts["a30"])] == ["new"]
    inspection.check(path)
