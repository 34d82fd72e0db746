"""Makes the golden files of the format: python tests/make_golden.py

Run it once for each new format, with the code that is released with it; files of released formats
are never rebuilt. tests/database/test_golden_files.py checks the answers of later versions.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import lzma
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from helpers import database_of

import lshdb
from lshdb.model import Document
from lshdb.store.schema import FORMAT

SCHEMA = Path(lshdb.__file__).parent / "schema.sql"
DIRECTORY = Path(__file__).parent / "golden"
PANCAKES = (
    "Whisk the flour with the eggs and the milk, rest the batter for an hour, then fry thin "
    "pancakes in butter until golden on both sides."
)
TEXTS = {
    "pancakes": PANCAKES,
    "cr\xeapes": PANCAKES.replace(", rest", "; rest").replace("both sides", "each side"),
    "soup": "Fry the onions slowly, add stock and thyme, and serve with toasted bread.",
    "copy of soup": "FRY the onions slowly - add stock and thyme, and serve with toasted bread!",
    "empty": " ... ",
    "short": "Open a tin.",
    "\u6771\u4eac \U0001f600": "\u6771\u4eac\u306f\u65e5\u672c\u306e\u9996\u90fd\u3067\u3059",
    "tokyo": "\u6771\u4eac\u306f\u65e5\u672c\u306e\u9996\u90fd\u3067\u3042\u308b",
    "control \x1b[31m": "Gr\xf6\xdfte \u0130stanbul\u2003cafe\u0301\0\r\nna\xefve \ufb01n",
}
SETS: dict[str, list[str | int]] = {
    "monday": ["bread", "butter", "milk", "eggs", "apples", 1, 2, 3],
    "tuesday": ["bread", "butter", "milk", "eggs", "pears", 1, 2, 3],
    "friday": ["nails", "hammer", -(1 << 63), 1 << 70],
    "nothing": [],
    "\xe9t\xe9": ["p\xeache", "\u6843", "\U0001f351", "", "1", 1],
    "\xe9t\xe9 2": ["p\xeache", "\u6843", "\U0001f351", "", "1", 1, 7],
}
FILES: dict[str, tuple[dict[str, Any], Mapping[str, Any]]] = {
    # Without a shingle of words are blanks and signs without width alone.
    "words": ({"threshold": 0.6, "passages": 5}, TEXTS | {"empty": " \u200b\xad "}),
    "sets": (
        {
            "shingle": "set",
            "threshold": 0.5,
            "sketch": "minhash",
            "construction": "and 2, or 4, and 2, or 4",
        },
        SETS,
    ),
    "signatures": (
        {
            "shingle": "char:5",
            "threshold": 0.7,
            "permutations": 100,
            "seed": 12345,
            "content": False,
        },
        TEXTS,
    ),
    "reworded": (
        {
            "shingle": "word:2-marks-numbers",
            "threshold": 0.6,
            "reworded": True,
            "base": {"kitchen": "Serve with toasted bread."},
        },
        TEXTS,
    ),
    "records": ({"purpose": "records"}, TEXTS),
    "bags": (
        {"shingle": "bag", "threshold": 0.5},
        {"monday": {"bread": 2, "7": 1, "": 3}, "friday": {"bread": 2, "7": 2}, "sunday": {}},
    ),
}
"""Settings and documents of each file."""
ENGLISH = "metadata ->> '$.lang' = 'en' or metadata is null"
METADATA: tuple[dict[str, Any] | None, ...] = (
    {"lang": "en", "stars": 4.5, "tags": ["sweet", None, True]},
    None,
    {"\u72d0 'x' \"y\"": {"n": 123456789012345678901234567890, "": [[]]}, "nul": "\0\U0001f98a"},
    {"size": -1e-300},
)
"""Of the documents of a file, in turn."""


def documents_of(kind: str) -> list[Document]:
    """The documents of a file."""
    contents = FILES[kind][1].items()
    return [
        Document(key, content, one)
        for (key, content), one in zip(contents, itertools.cycle(METADATA), strict=False)
    ]


_ADDED = {"weighted", "weighted_share", "kind", "score", "file_digests", "same_text", "copies"}
_ADDED |= {f"{side}{of}" for side in ("", "stored_") for of in ("file", "page")}
"""Fields of results that were added since the files were made."""


def _record(result: Any) -> dict[str, Any]:
    """A result without those fields."""

    def kept(items: list[tuple[str, Any]]) -> dict[str, Any]:
        return {name: value for name, value in items if name not in _ADDED}

    return asdict(result, dict_factory=kept)


def answers(db: lshdb.Database, kind: str) -> dict[str, Any]:
    """The answers of a file, as JSON."""
    documents = FILES[kind][1]
    settings = asdict(db.settings)
    settings["construction"] = str(db.settings.construction)
    settings["shingling"] = str(db.settings.shingling)
    for name in ("reworded", "records"):  # added since
        if not settings[name]:
            del settings[name]
    info = db.info()
    found = {
        "settings": settings,
        "documents": info.documents,
        "empty": info.empty,
        "keys": db.keys(),
        "shingles": [db.get(key).shingles for key in documents],
        "stored": _hash(db, "SELECT doc_id, key, shingles, digest, content FROM documents"),
        "signatures": _hash(db, "SELECT doc_id, signature FROM signatures"),
        "bands": _hash(db, "SELECT band_no, bucket_key, doc_id FROM bands"),
        "by key": {key: [_record(m) for m in db.query(key=key)] for key in documents},
        "by content": {
            key: [_record(m) for m in db.query(content, threshold=0.3, exhaustive=True)]
            for key, content in documents.items()
        },
        "pairs": [_record(pair) for pair in db.pairs(threshold=0.3)],
        "clusters": [_record(cluster) for cluster in db.clusters()],
        "stored metadata": _hash(db, "SELECT doc_id, metadata FROM documents"),
        "metadata": {key: db.get(key).metadata for key in documents},
        "english": [m.key for m in db.query(key=next(iter(documents)), where=ENGLISH)],
        "fingerprints": _hash(
            db, f"SELECT * FROM {'fingerprints' if db.settings.passages else 'documents LIMIT 0'}"
        ),
        "decisions": [_record(one) for one in db.decisions()],
        "roles": [cluster.decided for cluster in db.clusters()],
    }
    if db.settings.passages:
        found["passages"] = {key: _record(db.passages(key=key)) for key in documents}
    if db.settings.reworded:
        found["onions"] = _hash(db, "SELECT rowid FROM rare_words ('onions')")
    if db.settings.records:
        found["record shingles"] = _hash(db, "SELECT * FROM record_shingles")
        found["record counts"] = _hash(db, "SELECT * FROM record_counts")
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]  # tuples become lists


def decide(db: lshdb.Database, kind: str) -> None:
    """Decisions about the documents of a file, by two people."""
    first, second, *_ = keys = [*FILES[kind][1]]
    db.decide("keep", [second], who="ann", note="the better one")
    db.decide("different", [first, *keys[-2:]], who="bob \U0001f98a")
    db.decide("drop", [first], who="ann")


def _hash(db: lshdb.Database, statement: str) -> str:
    """A hash of all rows, over bytes that are the same on every machine."""
    rows = db.sql(statement)
    text = "\n".join(
        sorted(repr([v.hex() if isinstance(v, bytes) else v for v in row]) for row in rows)
    )
    return hashlib.sha256(text.encode()).hexdigest()[:32]


READ = "files"
"""The file of documents that were read from files and rows."""
GUESSED = (
    "Gr\xfc\xdfe aus M\xfcnchen: der Fuchs \xfcber den Trauben h\xf6rt sch\xf6ne M\xe4rchen. " * 5
)
ROWS = [{"id": "a", "text": TEXTS["short"]}, {"id": "a", "text": TEXTS["soup"]}]
"""Rows of one key and two texts: the second is stored under another key."""


def read_answers(db: lshdb.Database) -> list[list[Any]]:
    """What the file of documents that were read holds."""
    statement = """
        SELECT key, shingles, hex(digest), content, metadata, size, extracted
        FROM documents LEFT JOIN files USING (doc_id) ORDER BY doc_id"""
    return [[*row] for row in db.sql(statement)]


def make_read(directory: Path) -> tuple[bytes, list[list[Any]]]:
    """Read a text in UTF-8, one whose encoding is guessed, and rows of one key."""
    (directory / "notes").mkdir()
    (directory / "notes" / "pancakes.txt").write_text(PANCAKES, "utf-8")
    (directory / "notes" / "fox.txt").write_bytes(GUESSED.encode("cp1252"))
    (directory / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
    with contextlib.chdir(directory), lshdb.open("lsh.db", threshold=0.9) as db:
        db.add_files(["notes"])
        list(db.dedup_files(["rows.jsonl"]))
    (directory / "later.jsonl").write_text(json.dumps({"id": "b", "text": GUESSED[:60]}) + "\n")
    words = ["dedup", "later.jsonl", "-d", "lsh.db", "-o", "kept.jsonl", "--threshold", "0.9"]
    subprocess.run([sys.executable, "-m", "lshdb", *words], cwd=directory, check=True)
    with lshdb.open(directory / "lsh.db", mode="read") as db:
        found = read_answers(db)
    return (directory / "lsh.db").read_bytes(), found


def make() -> None:
    """Make the files of the format, and keep its schema; none must be there."""
    expected: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as directory:
        data, expected[READ] = make_read(Path(directory))
    with open(DIRECTORY / f"format-{FORMAT}-{READ}.db.xz", "xb") as packed_file:
        packed_file.write(lzma.compress(data, preset=9))
    for name, (settings, _) in FILES.items():
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "lsh.db"
            with database_of(path, documents_of(name), **settings) as db:
                decide(db, name)
                expected[name] = answers(db, name)
            packed = lzma.compress(path.read_bytes(), preset=9)
        with open(DIRECTORY / f"format-{FORMAT}-{name}.db.xz", "xb") as file:
            file.write(packed)
    text = json.dumps(expected, indent=1)
    (DIRECTORY / f"format-{FORMAT}.json").write_text(text + "\n", "utf-8")
    shutil.copy(SCHEMA, DIRECTORY / f"format-{FORMAT}.sql")


if __name__ == "__main__":
    make()
