"""One collection in several files: each is queried in turn, and the matches are merged."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lshdb.errors import InputError, KeyNotFound, SettingsMismatch, UsageError
from lshdb.exchange.results import Matches, matches_of
from lshdb.model import Content, Match, Settings
from lshdb.opening import open_database
from lshdb.options import QueryManyOptions, QueryOptions
from lshdb.search.query import best
from lshdb.store.connection import TIMEOUT
from lshdb.store.store import Store

if TYPE_CHECKING:
    from lshdb.ingest.batches import Item
    from lshdb.model import Failure
    from lshdb.sources.records import RecordParser

_WILD = frozenset("*?[")


def matching(path: Path) -> list[Path]:
    """The files that a name stands for: a file, or a pattern like `dir/*.db`.

    Raises:
        InputError: nothing matches the pattern.
    """
    if path.exists() or not _WILD.intersection(str(path)):
        return [path]
    found = sorted(map(Path, glob.glob(str(path))))
    if not found:
        raise InputError(f"no file matches {path}")
    return found


def query_files(paths: Sequence[Path], options: QueryOptions, timeout: float = TIMEOUT) -> Matches:
    """The matches of `Database.query` in several files together, best first.

    Equal matches come in the order of the files. A key is looked up in all files; other documents
    with the same key in other files may be matches.

    Args:
        paths: files of the same settings.
        options: as for `Database.query`.
        timeout: seconds to wait while another process writes to a file.

    Raises:
        SettingsMismatch: a file has other settings than the first.
        KeyNotFound: no file has the key.
        UsageError: a key is given, and the files keep no contents.
    """
    home, elsewhere = None, options
    if options.key is not None:
        home, content = _document(paths, options.key, timeout)
        elsewhere = replace(options, key=None, content=content)
    found: list[Match] = []
    settings: Settings | None = None
    for path in paths:
        with open_database(path, mode="read", timeout=timeout) as database:
            settings = settings or database.settings
            _check_same(database.settings, settings, path, paths[0])
            found += database.query(options if path == home else elsewhere)
    return matches_of(best(found, options.top), options.containment, options.fields)


def query_many(
    paths: Sequence[Path],
    items: Iterable[Item],
    query: QueryManyOptions,
    *,
    parser: RecordParser | None = None,
    on_failure: Callable[[Failure], None] | None = None,
    timeout: float = TIMEOUT,
) -> Iterator[tuple[str, list[Match]]]:
    """The keys of documents and their matches in several files, as `Database.query_many`.

    Args:
        paths: files of the same settings, open until the last answer is taken.
        items: documents, or what lshdb.sources.readers.Reader.items gives.
        query: the options for each document; its own document does not matter.
        parser: the reader's.
        on_failure: called with each file, line and row that gives no document.
        timeout: seconds to wait while another process writes to a file.

    Raises:
        SettingsMismatch: a file has other settings than the first.
    """
    from lshdb.ingest.queries import answer_many

    with ExitStack() as stack:
        stores: list[Store] = []
        for path in paths:
            store = Store.open(path, "read", timeout)
            stack.callback(store.close)
            stores.append(store)
            _check_same(store.settings, stores[0].settings, path, paths[0])
        yield from answer_many(stores, items, query, parser=parser, on_failure=on_failure)


def _check_same(settings: Settings, first: Settings, path: Path, first_path: Path) -> None:
    if settings != first:
        raise SettingsMismatch(
            f"{path} has other settings than {first_path}: ask files of one collection"
        )


def _document(paths: Sequence[Path], key: str, timeout: float) -> tuple[Path, Content]:
    """The first file that has a document, and its content."""
    nearest: list[str] = []
    for path in paths:
        with open_database(path, mode="read", timeout=timeout) as database:
            try:
                content = database.get(key).content
            except KeyNotFound as error:
                nearest += error.nearest
                continue
            if content is None:
                raise UsageError(
                    "the files keep no contents, and a document of one cannot be looked for in "
                    "the others by its key: give the document itself"
                )
            return path, content
    raise KeyNotFound(f"no document has the key {key!r}", list(dict.fromkeys(nearest))[:3])
