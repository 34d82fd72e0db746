"""SQL functions for connections to an lshdb file."""

import sqlite3
from functools import partial
from pathlib import Path

import numpy as np

from lshdb.errors import LshdbError
from lshdb.sketch import minhash
from lshdb.store import rows, sqlite_errors
from lshdb.store import statements as sql
from lshdb.store.connection import check_format, first_row
from lshdb.text.content import encoded, from_stored
from lshdb.text.shingling import Shingling

LONGEST = 4_000_000
"""Maximum characters of a content for lsh_shingles; the result is many times as long."""


def register_functions(connection: sqlite3.Connection) -> None:
    """Register lshdb's SQL functions on an sqlite3 connection to an lshdb file.

    lsh_similarity(signature, signature): the estimate of the Jaccard similarity, from how many
    lanes agree. NULL unless both are BLOBs with the length of the database's signatures.

    lsh_shingles(content): the distinct shingles of a text (or the elements of a set's JSON array)
    as the database defines them, as a JSON array. NULL if it is not a text, or not an array of
    strings and integers, or has more than 4,000,000 characters.

    Both are deterministic, and read nothing when they are called.

    Raises:
        NotADatabase: the connection's main database is not lshdb's.
        StoreError: it cannot be read.

    >>> import lshdb, sqlite3
    >>> with lshdb.open("fables.db", shingle="word:2") as db:
    ...     report = db.add("fox", "The fox and the grapes")
    >>> connection = sqlite3.connect("fables.db")
    >>> lshdb.register_functions(connection)
    >>> connection.execute("SELECT lsh_shingles(content) FROM documents").fetchone()
    ('["the fox","fox and","and the","the grapes"]',)
    >>> connection.close()
    """
    path = Path("the connection's main database")
    with sqlite_errors.translated_errors(path):
        check_format(connection, path)
        base = connection.execute(sql.BASE_TEXTS).fetchall()
        settings = rows.settings_of(first_row(connection, sql.SELECT_SETTINGS), path, base)
    lanes, size = settings.permutations, settings.signature_bytes
    stored_type = settings.lane_type.newbyteorder("<")

    def lsh_similarity(*signatures: object) -> float | None:
        blobs = [blob for blob in signatures if isinstance(blob, bytes) and len(blob) == size]
        if len(blobs) != 2:
            return None
        first, second = (np.frombuffer(blob, dtype=stored_type) for blob in blobs)
        agreeing = int(np.count_nonzero(first == second))
        return float(minhash.estimate(agreeing, lanes, settings.lane_bits))

    lsh_shingles = partial(_shingles, settings.shingling)
    with sqlite_errors.translated_errors(path):
        connection.create_function("lsh_similarity", 2, lsh_similarity, deterministic=True)
        connection.create_function("lsh_shingles", 1, lsh_shingles, deterministic=True)


def _shingles(shingling: Shingling, content: object) -> str | None:
    from lshdb.text.shingle_texts import shingle_texts

    # No exceptions: SQLite would not report what they say.
    if not isinstance(content, str) or len(content) > LONGEST:
        return None
    try:
        return encoded(shingle_texts(from_stored(content, shingling), shingling))
    except (LshdbError, ValueError, RecursionError):
        return None
