"""The files of a folder as one document, such as a submission of several files.

They are concatenated in a temporary file, which is searched like any other. So a folder counts
once in weights by rarity, shares are of all of its words, and similarity is that of all of its
shingles; nothing is found within a folder, and no passage goes on from one file to the next.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os.path import commonprefix
from random import SystemRandom
from typing import Any, NamedTuple, TypeVar

import numpy as np

from lshdb.errors import UsageError
from lshdb.groups import replaced
from lshdb.ingest.add import add_documents
from lshdb.ingest.temporary import temporary_store
from lshdb.model import CopiedPassage, Document, PassagePair
from lshdb.options import (
    AddManyOptions,
    ClustersOptions,
    ConditionOptions,
    PairsOptions,
    PassagePairsOptions,
)
from lshdb.shingling.positions import with_line_feeds
from lshdb.shingling.tokens import FILES
from lshdb.sources.paths import escaped, key_of
from lshdb.store.store import Store

_T = TypeVar("_T")


class FolderFile(NamedTuple):
    """A file in the text of its folder: where it starts, how many lines end before it, its key."""

    start: int
    lines: int
    key: str


@dataclass(frozen=True)
class Folders:
    """A file whose documents are folders, or the file that was given.

    Attributes:
        store: the file.
        files: of each folder, by its key, in the order of its text.
        names: the names of folders whose keys say nothing.
    """

    store: Store
    files: dict[str, list[FolderFile]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def file_of(self, folder: str, index: int) -> FolderFile:
        """The file that has a character of a folder's text."""
        return next(file for file in reversed(self.files[folder]) if file.start <= index)

    def located(self, pair: PassagePair) -> PassagePair:
        """The pair with the places of its passages in files."""
        if not self.files:
            return pair
        return replace(
            pair, passages=tuple(self._located(passage, pair) for passage in pair.passages)
        )

    def _located(self, passage: CopiedPassage, pair: PassagePair) -> CopiedPassage:
        a, b = self.file_of(pair.a, passage.start), self.file_of(pair.b, passage.stored_start)
        return replace(
            passage,
            start=passage.start - a.start,
            end=passage.end - a.start,
            line=passage.line - a.lines,
            end_line=passage.end_line - a.lines,
            stored_start=passage.stored_start - b.start,
            stored_end=passage.stored_end - b.start,
            stored_line=passage.stored_line - b.lines,
            stored_end_line=passage.stored_end_line - b.lines,
            file=a.key,
            stored_file=b.key,
            page=None,
            stored_page=None,
        )


@contextmanager
def folders(
    store: Store,
    group_by: str | os.PathLike[str] | None,
    condition: ConditionOptions | None = None,
    *,
    anonymous: bool = False,
) -> Iterator[Folders]:
    """The folders of a file's documents in a temporary one; without group_by the file itself.

    Args:
        store: the file.
        group_by: which folders.
        condition: chooses documents.
        anonymous: whether keys say nothing: submission-1 and so on, in a random order. Documents
            are then renamed even if they are not grouped.

    Raises:
        UsageError: the file holds no texts, or none below the directory.
    """
    if group_by is None and not anonymous:
        yield Folders(store)
        return
    settings = store.settings
    if not settings.content or settings.shingling.of_sets or settings.shingling.foreign:
        raise UsageError("folders are made of texts, and this database keeps none")
    condition = condition or ConditionOptions()
    with store.snapshot(condition.where, condition.parameters) as (reader, keep):
        ids: dict[str, int] = {}
        for doc_ids, keys in reader.all_keys():
            chosen = [True] * len(keys) if keep is None else keep(doc_ids)
            rows = zip(doc_ids.tolist(), keys, chosen, strict=True)
            ids.update((key, doc_id) for doc_id, key, is_chosen in rows if is_chosen)
        groups = _groups(list(ids), group_by)
        names = list(groups)
        if anonymous:
            SystemRandom().shuffle(names)
        with temporary_store(settings, store.limits) as temporary:
            grouped = Folders(temporary)

            def documents() -> Iterator[Document]:
                for number, name in enumerate(names, 1):
                    key = f"submission-{number}" if anonymous else name
                    files = sorted((ids[file], file) for file in groups[name])
                    contents = reader.contents(np.array([doc_id for doc_id, _ in files]))
                    texts = dict(zip((file for _, file in files), contents, strict=True))
                    grouped.files[key] = []
                    if anonymous:
                        grouped.names[key] = name
                    start = lines = 0
                    for count, file in enumerate(sorted(texts), 1):
                        shown = file
                        if anonymous:
                            shown = key if len(texts) == 1 else f"{key}/file-{count}"
                        grouped.files[key].append(FolderFile(start, lines, shown))
                        start += len(texts[file]) + len(FILES)
                        lines += with_line_feeds(texts[file]).count("\n")
                    yield Document(key, FILES.join(texts[file] for file in sorted(texts)))

            add_documents(temporary, documents(), AddManyOptions())
            yield grouped


def _groups(keys: list[str], group_by: str | os.PathLike[str] | None) -> dict[str, list[str]]:
    """The keys of each folder, or of each document that is in none."""
    root = commonprefix(keys)  # noqa: RUF071  # whole directories are cut from it
    root = root[: root.rfind("/") + 1]
    if group_by not in (None, "folder"):
        root = key_of(str(group_by))
        root = root and f"{root.rstrip('/')}/"
        if not any(key.startswith(root) for key in keys):
            raise UsageError(f"no document is in {group_by}: give a directory that was added")
    groups = defaultdict(list)
    for key in keys:
        below = key.startswith(root) and group_by is not None
        name = root + key.removeprefix(root).partition("/")[0] if below else key
        groups[name].append(key)
    return groups


def check_units(folders: Folders, group_by: str | os.PathLike[str]) -> None:
    """UsageError if a grouping leaves fewer than two units, which cannot be compared."""
    names = list(folders.files)
    if len(names) < 2:
        units = f"one unit alone, {escaped(names[0])}" if names else "no unit"
        raise UsageError(
            f"group_by {str(group_by)!r} leaves {units}, with nothing to compare it with: name a "
            "directory that was added and holds several"
        )


def in_folders(
    find: Callable[..., Iterator[_T]],
    store: Store,
    options: PairsOptions | ClustersOptions | PassagePairsOptions,
    group_by: str | os.PathLike[str],
    *others: Any,
) -> Iterator[_T]:
    """What a search finds among the folders of a file."""
    condition = None
    if not isinstance(options, PassagePairsOptions):
        condition = options.join.similar.condition
    with folders(store, group_by, condition) as grouped:
        check_units(grouped, group_by)
        if condition is not None:
            options = replaced(options, where=None, parameters=())
        for result in find(grouped.store, options, *others):
            yield grouped.located(result) if isinstance(result, PassagePair) else result  # type: ignore[misc]
