"""The files of a folder as one document, such as a submission of several files.

They are concatenated in a temporary file, which is searched like any other. So a folder counts
once in weights by rarity, shares are of all of its words, and similarity is that of all of its
shingles; nothing is found within a folder, and no passage goes on from one file to the next.
"""

import contextlib
import dataclasses
import itertools
import os
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Sequence
from fnmatch import fnmatchcase
from random import SystemRandom
from typing import Any, NamedTuple, TypeVar

import numpy as np

from lshdb import model
from lshdb.apps.compare.temporary import temporary_store
from lshdb.apps.passages.model import CopiedPassage, PassagePair
from lshdb.apps.passages.options import PassagePairsOptions
from lshdb.apps.passages.positions import with_line_feeds
from lshdb.apps.programs.tokens import FILES
from lshdb.errors import UsageError
from lshdb.groups import replaced
from lshdb.options import AddManyOptions, ClustersOptions, ConditionOptions, PairsOptions
from lshdb.read import paths
from lshdb.sketch.settings import Settings
from lshdb.store.snapshot import Snapshot
from lshdb.store.store import Store
from lshdb.write.add import add_documents, chosen_ids

DEPTH = "\0"
"""Between a directory and how many levels below it are one unit, in what groups documents."""
_T = TypeVar("_T")


class FolderFile(NamedTuple):
    """A file in the text of its folder: where it starts, how many lines end before it, its key."""

    start: int
    lines: int
    key: str


@dataclasses.dataclass(frozen=True)
class Folders:
    """A file whose documents are folders, or the file that was given.

    Attributes:
        store: the file.
        files: of each folder, by its key, in the order of its text.
        names: the names of folders whose keys say nothing.
        old: the keys of those that are not compared with each other; they follow the others.
    """

    store: Store
    files: dict[str, list[FolderFile]] = dataclasses.field(default_factory=dict)
    names: dict[str, str] = dataclasses.field(default_factory=dict)
    old: set[str] = dataclasses.field(default_factory=set)

    @property
    def new(self) -> int | None:
        """How many are new, and in each pair; None if all are compared with each other."""
        return len(self.files) - len(self.old) if self.old else None

    def file_of(self, folder: str, index: int) -> FolderFile:
        """The file that has a character of a folder's text."""
        return next(file for file in reversed(self.files[folder]) if file.start <= index)

    def located(self, pair: PassagePair) -> PassagePair:
        """The pair with the places of its passages in files."""
        if not self.files:
            return pair
        return dataclasses.replace(
            pair, passages=tuple(self._located(passage, pair) for passage in pair.passages)
        )

    def _located(self, passage: CopiedPassage, pair: PassagePair) -> CopiedPassage:
        a, b = self.file_of(pair.a, passage.start), self.file_of(pair.b, passage.stored_start)
        return dataclasses.replace(
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


@dataclasses.dataclass(frozen=True)
class Collection:
    """Documents of which units are made.

    Attributes:
        store: the file that has them.
        group_by: which folders are units; None for each document.
        condition: chooses documents.
        name: what is put before the keys that another collection has, too.
    """

    store: Store
    group_by: str | os.PathLike[str] | None = None
    condition: ConditionOptions = dataclasses.field(default_factory=ConditionOptions)
    name: str = ""


@contextlib.contextmanager
def folders(
    store: Store,
    group_by: str | os.PathLike[str] | None,
    condition: ConditionOptions | None = None,
) -> Iterator[Folders]:
    """The folders of a file's documents in a temporary one; without group_by the file itself.

    Args:
        store: the file.
        group_by: which folders.
        condition: chooses documents.

    Raises:
        UsageError: the file holds no texts, or none below the directory.
    """
    if group_by is None:
        yield Folders(store)
        return
    collection = Collection(store, group_by, condition or ConditionOptions())
    with assembled([collection], store.settings) as units:
        yield units


@contextlib.contextmanager
def assembled(
    collections: Sequence[Collection], settings: Settings, *, anonymous: bool = False
) -> Iterator[Folders]:
    """The units of collections in a temporary file.

    The units of the first collection are the new ones, those of the others are old. An old unit
    with the key and the text of a new one is the new one, and an old one of the key of another has
    the name of its collection before its own.

    Args:
        collections: the new documents, and the old ones.
        settings: of the temporary file.
        anonymous: whether keys say nothing: submission-1 and so on, in a random order.

    Raises:
        UsageError: a file holds no texts, or none below a directory.
    """
    for collection in collections:
        of = collection.store.settings
        if not of.content or of.shingling.of_sets or of.shingling.foreign:
            raise UsageError("folders are made of texts, and this database keeps none")
    with (
        temporary_store(
            settings, collections[0].store.limits, root=collections[0].store.root
        ) as temporary,
        contextlib.ExitStack() as stack,
    ):
        grouped = Folders(temporary)
        units: list[_Unit] = []
        for number, collection in enumerate(collections):
            snapshot = collection.store.snapshot(collection.condition)
            reader, keep = stack.enter_context(snapshot)
            ids = chosen_ids(reader, keep)
            units += [
                _Unit(name, collection, reader, {file: ids[file] for file in files}, number > 0)
                for name, files in _groups(
                    list(ids), collection.group_by, collection.store.root
                ).items()
            ]
        units = _distinct(units)
        if anonymous:
            SystemRandom().shuffle(units)
            units.sort(key=lambda unit: unit.is_old)

        def documents() -> Iterator[model.Document]:
            for number, unit in enumerate(units, 1):
                key = f"submission-{number}" if anonymous else unit.name
                if anonymous:
                    grouped.names[key] = unit.name
                if unit.is_old:
                    grouped.old.add(key)
                grouped.files[key] = []
                text = unit.text(key, grouped.files[key], anonymous=anonymous)
                yield model.Document(key, text)

        add_documents(temporary, documents(), AddManyOptions())
        yield grouped


@dataclasses.dataclass
class _Unit:
    """The documents that are one: its name, and their ids by their keys."""

    name: str
    collection: Collection
    reader: Snapshot
    ids: dict[str, int]
    is_old: bool

    def texts(self) -> dict[str, str]:
        """The texts of its files, in the order of their keys."""
        doc_ids = sorted(self.ids.values())
        contents = dict(zip(doc_ids, self.reader.contents(np.array(doc_ids)), strict=True))
        no_mark = " " * len(FILES)
        return {file: contents[self.ids[file]].replace(FILES, no_mark) for file in sorted(self.ids)}

    def text(self, key: str, files: list[FolderFile], *, anonymous: bool) -> str:
        """All of its texts; `files` gets where each begins."""
        texts = self.texts()
        start = lines = 0
        for file_number, (file, text) in enumerate(texts.items(), 1):
            shown = file
            if anonymous:
                shown = key if len(texts) == 1 else f"{key}/file-{file_number}"
            elif self.name not in self.ids and key != self.name:
                shown = f"{key}/{file}"
            files.append(FolderFile(start, lines, shown))
            start += len(text) + len(FILES)
            lines += with_line_feeds(text).count("\n")
        return FILES.join(texts.values())


def _distinct(units: list[_Unit]) -> list[_Unit]:
    """The units, each under a name of its own, and none twice."""
    known: dict[str, _Unit] = {}
    for unit in units:
        if unit.name in known:
            if unit.texts() == known[unit.name].texts():
                continue
            unit.name = distinct_name(f"{unit.collection.name}: {unit.name}", known)
        known[unit.name] = unit
    return [*known.values()]


def distinct_name(name: str, known: Container[str]) -> str:
    """A name that is not known yet, with a number if it must have one."""
    numbered = (f"{name} ({number})" for number in itertools.count(2))
    return next(shown for shown in itertools.chain([name], numbered) if shown not in known)


def _groups(
    keys: list[str], group_by: str | os.PathLike[str] | None, files_root: str
) -> dict[str, list[str]]:
    """The keys of each unit: a folder, or a document that is in none.

    `group_by` is `folder`, for the folders directly below the directory that all keys begin with; a
    number of levels below that; a pattern such as `2027/*/`, of whole folders; or a directory,
    whose key follows from `files_root`.
    """
    groups = defaultdict(list)
    request = "" if group_by is None else str(group_by)
    root = paths.common_folder(keys)
    depth = 1
    if request.isascii() and request.isdigit():
        depth = int(request)
        if not depth:
            raise UsageError("group_by 0 is not a number of folders: give 1 or more")
    elif any(letter in request for letter in "*?["):
        pattern = request.strip("/").split("/")
        for key in keys:
            parts = key.split("/")
            fits = len(parts) > len(pattern) and all(map(fnmatchcase, parts, pattern))
            groups["/".join(parts[: len(pattern)]) if fits else key].append(key)
        if all(name == files[0] for name, files in groups.items()):
            raise UsageError(f"no document is in a folder like {request}: give another pattern")
        return groups
    elif group_by not in (None, "folder"):
        directory, _, levels = request.partition(DEPTH)
        depth = int(levels or 1)
        root = _folder_meant(keys, directory, files_root)
    for key in keys:
        below = key.startswith(root) and group_by is not None
        parts = key.removeprefix(root).split("/")
        groups[root + "/".join(parts[:depth]) if below else key].append(key)
    return groups


def _folder_meant(keys: list[str], directory: str, root: str) -> str:
    """How keys in a directory begin, which is named by its key or by a path from here."""

    def start_of(folder: str) -> str:
        return folder and f"{folder.rstrip('/')}/"

    def is_stored(folder: str) -> bool:
        return any(key.startswith(start_of(folder)) for key in keys)

    name = directory.rstrip("/") or directory
    folder = paths.meant(name, root, is_stored, "its whole path")
    if folder is None:
        raise UsageError(f"no document is in {directory}: give a directory that was added")
    return start_of(folder)


def check_units(folders: Folders, group_by: str | os.PathLike[str]) -> None:
    """UsageError if a grouping leaves fewer than two units, which cannot be compared."""
    names = list(folders.files)
    if len(names) < 2:
        units = f"one unit alone, {paths.escaped(names[0])}" if names else "no unit"
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
