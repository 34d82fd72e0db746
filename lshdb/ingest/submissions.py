"""Which submissions of a directory a report says nothing of, and why: nobody may be missing
silently.

A submission is a folder, an archive or another file in the directory. Hidden ones and those that a
pattern excludes are none.
"""

import os
import posixpath
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lshdb.model import Failure
from lshdb.sources.archives import is_archive
from lshdb.sources.extracting import file_of_message
from lshdb.sources.paths import key_of, printable_path
from lshdb.sources.walking import EXCLUDED
from lshdb.store.store import Store

_TOO_SHORT = "nothing in it to compare: it is too short, or has only what --base has"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A submission that is compared with no other.

    Attributes:
        key: as of a folder that is grouped.
        name: its path, as printed.
        reason: why, in words.
        is_read: whether it was read, and has too little in it.
        empty: the keys of its documents, which have no text.
    """

    key: str
    name: str
    reason: str
    is_read: bool = False
    empty: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Notes:
    """What was said of files while they were read: the path as printed, and why it was not read.

    Attributes:
        notes: of all, in their order.
        failures: those of files that could not be read; others were skipped.
    """

    notes: list[tuple[str, str]] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)

    def skipped(self, path: str, reason: str) -> None:
        """Note a file or directory that is skipped."""
        self.notes.append((printable_path(path), reason))

    def failed(self, failure: Failure) -> None:
        """Note one that cannot be read."""
        self.failures.append((failure.where, failure.reason))
        self.notes.append(self.failures[-1])

    def of(self, name: str) -> list[tuple[str, str]]:
        """The notes of a file, or of a folder and what is in it; both as printed."""
        inside = tuple(f"{name}{end}" for end in ("/", "#"))
        return [note for note in self.notes if note[0] == name or note[0].startswith(inside)]


def left_out_of(store: Store, directory: str, notes: Notes) -> Iterator[LeftOut]:
    """The submissions of a directory without a text to compare, in the order of their names.

    Args:
        store: the texts that were read.
        directory: of the submissions.
        notes: what was said of the others.
    """
    start = posixpath.join(key_of(directory), "")
    compared, empty, short = _submissions(store, start)
    with os.scandir(directory) as entries:
        found = sorted(entries, key=lambda one: one.name)
    for entry in found:
        own = printable_path(entry.name)
        name = printable_path(os.path.join(directory, entry.name))
        said = notes.of(name)
        is_excluded = entry.name.startswith(".") or (name, EXCLUDED) in said
        if own in compared or is_excluded:
            continue
        if own in short:
            yield LeftOut(start + own, name, _TOO_SHORT, is_read=True)
        else:
            reason = _reason(name, said) if said else f"empty: no text is in this {_kind(entry)}"
            yield LeftOut(start + own, name, reason, empty=empty[own])


def _submissions(store: Store, start: str) -> tuple[set[str], dict[str, list[str]], set[str]]:
    """The names of submissions with a shingle, of empty texts with their keys, of other texts."""
    compared, empty, short = set[str](), defaultdict[str, list[str]](list), set[str]()
    for doc_ids, keys in store.all_keys():
        shingles, _ = store.sizes(doc_ids)
        texts = store.contents(doc_ids[shingles == 0])
        for key, count in zip(keys, shingles.tolist(), strict=True):
            file = file_of_message(key) or key
            name = file.removeprefix(start).partition("/")[0]
            if count:
                compared.add(name)
            elif next(texts).strip():
                short.add(name)
            else:
                empty[name].append(key)
    return compared, empty, short


def _reason(name: str, said: Sequence[tuple[str, str]]) -> str:
    """Why nothing of a submission was read, by what was said of its files."""
    path, reason = said[0]
    if path != name:
        reason = f"{path[len(name) + 1 :]}: {reason}"
    more = f", and {len(said) - 1:,} more" if said[1:] else ""
    return f"nothing of it could be read ({reason}{more})" if path != name or more else reason


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_dir():
        return "folder"
    return "archive" if is_archive(entry.name) else "file"
