"""SQL functions for connections to an lshdb file."""

import sqlite3
from pathlib import Path

import numpy as np

from lshdb.sketch import minhash
from lshdb.store import rows, sqlite_errors
from lshdb.store import statements as sql
from lshdb.store.connection import check_format, plain_rows


def register_functions(connection: sqlite3.Connection) -> None:
    """Register lshdb's SQL function on an sqlite3 connection to an lshdb file.

    lsh_similarity(signature, signature): the estimate of the Jaccard similarity, from how many
    lanes agree. NULL unless both are BLOBs with the length of the database's signatures.

    It is deterministic, and reads nothing when it is called.

    Raises:
        NotADatabase: the connection's main database is not lshdb's.
        StoreError: it cannot be read.

    >>> import lshdb, sqlite3
    >>> with lshdb.open("fables.db", shingle="word:2") as db:
    ...     report = db.add("fox", "The fox and the grapes")
    >>> connection = sqlite3.connect("fables.db")
    >>> lshdb.register_functions(connection)
    >>> connection.execute("SELECT lsh_similarity(signature, signature) FROM signatures").fetchone()
    (1.0,)
    >>> connection.close()
    """
    path = Path("the connection's main database")
    with sqlite_errors.translated_errors(path):
        check_format(connection, path)
        stored = [plain_rows(connection, query) for query in (sql.SELECT_SETTINGS, sql.BASE_TEXTS)]
        settings = rows.settings_of(path, *stored).settings

        def lsh_similarity(*signatures: object) -> float | None:
            blobs = [blob for blob in signatures if isinstance(blob, bytes)]
            if [*map(len, blobs)] != [settings.signature_bytes] * 2:
                return None
            first, second = rows.lanes_of(b"".join(blobs), settings)
            agreeing = int(np.count_nonzero(first == second))
            return float(minhash.estimate(agreeing, settings.permutations, settings.lane_bits))

        connection.create_function("lsh_similarity", 2, lsh_similarity, deterministic=True)
