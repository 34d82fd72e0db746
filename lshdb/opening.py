"""Opening a database file, or making it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, Literal, get_args

from lshdb.database import Database
from lshdb.errors import UsageError
from lshdb.settings import SettingsRequest
from lshdb.store import TIMEOUT, Mode, Store

_LONGEST_TIMEOUT: Final = 1_000_000.0
"""SQLite counts milliseconds in 32 bits."""


def open_database(
    path: str | os.PathLike[str] = "lsh.db",
    *,
    threshold: float | None = None,
    recall: float | None = None,
    shingle: str | None = None,
    permutations: int | None = None,
    bands: int | None = None,
    rows: int | None = None,
    construction: str | None = None,
    sketch: str | None = None,
    seed: int | Literal["random"] | None = None,
    content: bool | None = None,
    purpose: str | None = None,
    mode: Mode = "create",
    timeout: float = TIMEOUT,
) -> Database:
    """Open a database file; make it where there is none.

    The settings describe a new file. For a file that exists, those given must be its own.

    Args:
        path: the file.
        threshold: the similarity from which documents count as similar, in (0, 1]; 0.8.
        recall: the share of pairs at the threshold that the index shall find; 0.99.
        shingle: `word:w`, `char:k` or `set`; `word:3`.
        permutations: lanes of a signature, 16 to 4096; 128, or what the shape takes.
        bands: with rows, the shape of the index, instead of the one that reaches the recall.
        rows: of a band.
        construction: the same as text, "and ROWS, or BANDS", or a cascade of levels, innermost
            first: "and 4, or 4, and 4, or 4" (see lshdb.Construction).
        sketch: `fast` (the default) or `minhash`.
        seed: of all hashes, 0 to 2^63 - 1; 1. `random` is one that nobody can foretell, kept in
            the file; for a file that exists, that it has such a one.
        content: whether to keep the documents, so that similarities are exact; True.
        purpose: `short-text`, `documents`, `code` or `baskets`: shingle and threshold that suit
            it, where they are not given.
        mode: `create` makes the file if need be, `write` and `read` need it to be there.
        timeout: seconds to wait while another process writes, up to 1,000,000.

    Raises:
        UsageError: impossible arguments, or a file that was open when the process was forked.
        SettingsError: impossible settings.
        SettingsMismatch: the file exists, with other settings.
        StoreError: the file cannot be opened, or is not lshdb's.

    >>> import lshdb
    >>> with lshdb.open("fables.db", threshold=0.7, shingle="char:5") as db:
    ...     db.settings.construction
    Construction(rows=4, bands=17)
    """
    request = SettingsRequest(
        threshold=threshold,
        recall=recall,
        shingle=shingle,
        permutations=permutations,
        bands=bands,
        rows=rows,
        construction=construction,
        sketch=sketch,
        seed=seed,
        content=content,
        purpose=purpose,
    )
    if mode not in get_args(Mode):
        raise UsageError(f"mode {mode!r} is not create, write or read")
    if not 0 <= timeout <= _LONGEST_TIMEOUT:
        raise UsageError(f"timeout {timeout:g} is not from 0 to {_LONGEST_TIMEOUT:,.0f} seconds")
    if _holds_nothing(path):
        request.resolve()  # impossible settings are refused before SQLite writes a file
    store = Store.open(Path(path), mode, timeout, request.resolve)
    try:
        request.check_against(store.settings, store.path)
    except BaseException:
        store.close()
        raise
    return Database(store)


def _holds_nothing(path: str | os.PathLike[str]) -> bool:
    try:
        return os.stat(path).st_size == 0
    except OSError:
        return True
