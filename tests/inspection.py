"""The contents of a database file, read by plain SQLite and checked by the rules of the format."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import oracles

import lshdb
from lshdb.sketch.banding import bucket_keys
from lshdb.sketch.constructions import Construction
from lshdb.text.shingling import Element, Shingling

Row = tuple[Any, ...]
TABLES = ("settings", "indexed", "documents", "signatures", "bands", "fingerprints", "decisions")


@contextmanager
def sqlite(path: Path) -> Iterator[sqlite3.Connection]:
    """A plain SQLite connection, in autocommit mode, closed at the end."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


def rows(path: Path, sql: str, *parameters: object) -> list[Row]:
    """The rows of a statement."""
    with sqlite(path) as connection:
        return connection.execute(sql, parameters).fetchall()


def contents(path: Path) -> dict[str, list[Row]]:
    """All rows of all tables, in the order of their primary keys; none of a part without tables."""
    tables = {name for (name,) in rows(path, "SELECT name FROM sqlite_schema")}
    return {
        table: sorted(rows(path, f"SELECT * FROM {table}")) if table in tables else []
        for table in TABLES
    }


def files(directory: Path) -> dict[str, bytes]:
    """The files of a directory, byte by byte."""
    return {file.name: file.read_bytes() for file in sorted(directory.iterdir()) if file.is_file()}


def check(path: Path) -> None:
    """Assert what must be true for every database file.

    Digests, shingle counts and signatures are those of the documents, by the oracles; band rows
    are those of the signatures and fingerprints those of the contents, no more and no fewer. The
    library's own check says the same.
    """
    assert lshdb.check(path, deep=True).problems == ()
    ((_, _, _, shingle, lanes, bits, construction, sketch, seed, content, run, *later),) = rows(
        path, "SELECT * FROM settings"
    )
    assert bits in (16, 32)
    lane_type = f"<u{bits // 8}"
    assert later[:3] == [None, None, None]
    base = rows(path, "SELECT digest, content FROM base_texts")
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]
    assert rows(path, "PRAGMA foreign_key_check") == []
    shingling = Shingling.parse(str(shingle))
    assert isinstance(lanes, int)
    assert isinstance(seed, int)
    cut_into = shingling.kind, shingling.size, seed, shingling.options
    left_out: set[int] = set()
    for digest, text in base:
        assert isinstance(text, str)
        assert digest == hashlib.blake2b(text.encode(), digest_size=16).digest()
        left_out.update(oracles.shingle_hashes(text, *cut_into))
    signature_of = {"fast": oracles.fast_signature, "minhash": oracles.minhash_signature}
    assert isinstance(run, int)
    signatures: dict[object, bytes] = {}
    fingerprints: set[Row] = set()
    documents = "SELECT doc_id, shingles, digest, metadata, content FROM documents"
    for doc_id, shingles, digest, metadata, stored in rows(path, documents):
        if metadata is not None:
            assert isinstance(metadata, str)
            assert isinstance(json.loads(metadata), dict)
        if not content:
            assert stored is None
            continue
        assert isinstance(stored, str)
        assert digest == hashlib.blake2b(stored.encode(), digest_size=16).digest()
        document: str | Collection[Element] = json.loads(stored) if shingling.of_sets else stored
        every = oracles.shingle_hashes(document, *cut_into)
        hashes = [one for one in every if one not in left_out]
        assert shingles == len(hashes)
        if hashes:
            signature = signature_of[str(sketch)](hashes, lanes, seed)
            low = [lane % (1 << bits) for lane in signature]
            signatures[doc_id] = np.array(low, dtype=lane_type).tobytes()
        if run and hashes:
            assert isinstance(document, str)
            found = oracles.fingerprints(document, shingling.kind, run, seed)
            fingerprints |= {(value, doc_id, position) for value, position in found.items()}
    stored_signatures: dict[object, object] = {
        row[0]: row[1] for row in rows(path, "SELECT * FROM signatures ORDER BY doc_id")
    }
    if content:
        assert stored_signatures == signatures
    else:
        filled = rows(path, "SELECT doc_id FROM documents WHERE shingles > 0 ORDER BY doc_id")
        assert list(stored_signatures) == [doc_id for (doc_id,) in filled]
    assert {*contents(path)["fingerprints"]} == fingerprints
    assert set(rows(path, "SELECT * FROM bands")) == _band_rows(
        stored_signatures, Construction.parse(str(construction)), seed, (lanes, lane_type)
    )


def _band_rows(
    signatures: dict[object, object], construction: Construction, seed: int, shape: tuple[int, str]
) -> set[Row]:
    """The band rows of these signatures, of lanes of a number and a type."""
    lanes, lane_type = shape
    packed = b"".join(blob for blob in signatures.values() if isinstance(blob, bytes))
    matrix = np.frombuffer(packed, dtype=lane_type).reshape(len(signatures), lanes)
    keys = bucket_keys(matrix, construction, seed).tolist()
    return {
        (band, key, doc_id)
        for doc_id, of_document in zip(signatures, keys, strict=True)
        for band, key in enumerate(of_document)
    }
