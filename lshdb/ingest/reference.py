"""A reference: a collection that is only read; near duplicates of it are left out elsewhere."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from lshdb.errors import Cut, InputError, SettingsMismatch
from lshdb.ingest.batches import Stream
from lshdb.ingest.parts import SignedPart
from lshdb.ingest.queries import BATCH, asked_about, moment
from lshdb.ingest.workers import Workers, default_workers
from lshdb.ingest.writing import Writer, numbered, without_number
from lshdb.model import Match, Settings, Skipped
from lshdb.search.limits import LISTED
from lshdb.search.many import answers
from lshdb.search.query import Query
from lshdb.sources.readers import Reader
from lshdb.sources.records import Failure
from lshdb.store.guard import is_open
from lshdb.store.partial_files import temporary_directory
from lshdb.store.store import Store

_SQLITE: Final = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True)
class Reference:
    """An open reference.

    Attributes:
        store: of the reference.
        name: the file's, as it was given.
        numbered: whether a number stands before each key.
    """

    store: Store
    name: str
    numbered: bool = False

    def check(self, settings: Settings) -> None:
        """SettingsMismatch if its signatures are made differently from those of a database."""
        own = self.store.settings
        for what in ("shingling", "permutations", "sketch", "seed"):
            here, there = getattr(settings, what), getattr(own, what)
            if here != there:
                name = "shingle" if what == "shingling" else what
                raise SettingsMismatch(
                    f"{self.name} has {name} {there}, and the documents are compared by {here}: "
                    "their signatures cannot be compared"
                )

    def similar(
        self,
        parts: Sequence[SignedPart],
        settings: Settings,
        threshold: float | None,
        *,
        estimate: bool,
    ) -> tuple[list[Skipped | None], int]:
        """For each document of parts the most similar one of the reference, if any is similar.

        Args:
            parts: documents, with their stored forms.
            settings: of the database that they were signed for.
            threshold: the minimum similarity; None for that of the settings.
            estimate: compare signatures, not contents.

        Returns:
            The documents left out, None for the others; and how many of these were compared with
            only a part of a large bucket.
        """
        least = settings.threshold if threshold is None else threshold
        query = Query("", None, 1, least, estimate, exhaustive=False)
        found: list[Skipped | None] = []
        cuts: list[Cut] = []
        unsure = 0
        with moment(self.store, query) as (reader, _):
            for some in _groups(parts):
                alike = replace(reader.settings, passages=settings.passages)
                asked = asked_about(some, alike)
                keys = [key for part in some for key in part.keys]
                matched = answers(reader, query, asked, None, cuts.append, LISTED)
                for key, matches in zip(keys, matched, strict=True):
                    found.append(self._skipped(key, matches[0]) if matches else None)
                    unsure += bool(cuts) and not matches
                    cuts.clear()
        return found, unsure

    def _skipped(self, key: str, match: Match) -> Skipped:
        kept = without_number(match.key) if self.numbered else match.key
        return Skipped(key, kept, match.similarity, match.exact, match.identical)


def _groups(parts: Sequence[SignedPart]) -> Iterator[list[SignedPart]]:
    """Parts with documents, in groups that are looked up at once."""
    group: list[SignedPart] = []
    documents = 0
    for part in parts:
        if not part.keys:
            continue
        group.append(part)
        documents += len(part.keys)
        if documents >= BATCH:
            yield group
            group, documents = [], 0
    if group:
        yield group


def is_database(path: str | os.PathLike[str]) -> bool:
    """Whether a file is an SQLite database, by its first bytes."""
    name = os.fspath(path)
    if is_open(name):
        return True  # closing it after reading would release SQLite's locks
    if not os.path.isfile(name):
        return False
    with open(name, "rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def check_there(path: str) -> None:
    """InputError for a path that is not a file, a directory or a matching pattern."""
    is_pattern = glob.has_magic(path) and bool(glob.glob(path, recursive=True))
    if not os.path.exists(path) and not is_pattern:
        raise InputError(f"{path}: no such file")


@contextmanager
def reference(
    path: str | os.PathLike[str],
    reader: Reader,
    settings: Settings,
    timeout: float,
    *,
    beside: Path | None = None,
    on_failure: Callable[[Failure], None] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Iterator[Reference]:
    """A database, or a temporary one with the documents of a file, a directory or a pattern.

    Args:
        path: a database, file, directory or pattern.
        reader: a reader with the same options reads the files.
        settings: of the database whose documents are compared with it.
        timeout: of a database.
        beside: directory of a temporary one; None for the system's.
        on_failure: called with each line, row or file that gives no document.
        on_progress: called with the bytes that were read, and the documents that were indexed.

    Raises:
        InputError: the file does not exist.
        SettingsMismatch: signatures of the database are made differently.
    """
    name = os.fspath(path)
    check_there(name)
    with ExitStack() as stack:
        is_temporary = not is_database(name)
        if is_temporary:
            directory = stack.enter_context(temporary_directory(beside))
            made = replace(settings, passages=0)
            store = Store.open(directory / "reference.db", "create", timeout, lambda: made)
        else:
            store = Store.open(Path(name), "read", timeout)
        stack.callback(store.close)
        if is_temporary:
            reader = replace(
                reader,
                format="auto",
                fallback=reader.fallback if reader.format == "auto" else reader.format,
                stdin=None,
                auto_key=True,
                metadata=False,
                whole=False,
            )
            for count in _filled(store, name, reader, on_failure or (lambda _: None)):
                if on_progress is not None:
                    on_progress(reader.bytes_read, count)
        found = Reference(store, name, numbered=is_temporary)
        found.check(settings)
        yield found


def _filled(
    store: Store, path: str, reader: Reader, on_failure: Callable[[Failure], None]
) -> Iterator[int]:
    """Add all documents, also with repeated keys; yields their number after each batch."""
    count = 0
    with store.many_batches(), Workers(store.settings, reader.parser, default_workers()) as pool:
        stream = Stream(store, reader.items([path]), pool, prompt=False, keep_blocks=False)
        while stream.read_ahead():
            parts = [part for _, part in stream.batch()]
            with store.writing():
                writer = Writer(store)
                for part in parts:
                    for failure in part.failures:
                        on_failure(failure)
                    writer.write(replace(part, keys=numbered(part.keys, count), files=()))
                    count += len(part.keys)
                writer.finish()
            yield count
    if stream.error is not None:
        raise stream.error
