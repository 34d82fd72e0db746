"""The submissions of a directory that a report leaves out, and why: nobody may be missing silently.

A submission is a folder, an archive or another file in the directory, unless it is hidden or a
pattern excludes it.
"""

import dataclasses
import os
import posixpath
from collections import defaultdict
from collections.abc import Iterator, Sequence

from lshdb.model import Failure
from lshdb.read import paths
from lshdb.read.walking import EXCLUDED, NOT_INCLUDED
from lshdb.store.store import Store

_TOO_SHORT = "nothing in it to compare: it is too short, or has only what --base has"


@dataclasses.dataclass(frozen=True)
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


@dataclasses.dataclass(frozen=True)
class Notes:
    """Messages about files while they were read: the path as printed, and why it was not read.

    Attributes:
        notes: of all, in their order.
        failures: those of files that could not be read; others were skipped.
    """

    notes: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    failures: list[tuple[str, str]] = dataclasses.field(default_factory=list)

    def skipped(self, path: str, reason: str) -> None:
        """Note a file or directory that is skipped."""
        self.notes.append((paths.printable_path(path), reason))

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
        notes: the messages about files while they were read.
    """
    start = posixpath.join(paths.key_of(directory, store.root), "")
    compared, empty, short = _submissions(store, start)
    with os.scandir(directory) as entries:
        sorted_entries = sorted(entries, key=lambda entry: entry.name)
    for entry in sorted_entries:
        name = paths.printable_path(entry.name)
        path = paths.printable_path(os.path.join(directory, entry.name))
        of_path = notes.of(path)
        is_excluded = bool(paths.why_hidden(entry.name)) or not {
            (path, EXCLUDED),
            (path, NOT_INCLUDED),
        }.isdisjoint(of_path)
        if name in compared or is_excluded:
            continue
        if name in short:
            yield LeftOut(start + name, path, _TOO_SHORT, is_read=True)
        elif of_path:
            yield LeftOut(start + name, path, _reason(path, of_path), empty=empty[name])
        else:
            kind = "archive" if paths.is_archive(entry.name) else "file"
            reason = f"empty: no text is in this {'folder' if entry.is_dir() else kind}"
            yield LeftOut(start + name, path, reason, empty=empty[name])


def _submissions(store: Store, start: str) -> tuple[set[str], dict[str, list[str]], set[str]]:
    """The names of submissions with a shingle, of empty texts with their keys, of other texts."""
    compared, empty, short = set[str](), defaultdict[str, list[str]](list), set[str]()
    for doc_ids, keys in store.all_keys():
        shingles, _ = store.sizes(doc_ids)
        texts = store.contents(doc_ids[shingles == 0])
        for key, count in zip(keys, shingles.tolist(), strict=True):
            name = paths.file_of_key(key).removeprefix(start).partition("/")[0]
            if count:
                compared.add(name)
            elif next(texts).strip():
                short.add(name)
            else:
                empty[name].append(key)
    return compared, empty, short


def _reason(name: str, notes: Sequence[tuple[str, str]]) -> str:
    """Why nothing of a submission was read, by the notes of its files."""
    path, reason = notes[0]
    if path != name:
        reason = f"{path[len(name) + 1 :]}: {reason}"
    more = f", and {len(notes) - 1:,} more" if notes[1:] else ""
    return f"nothing of it could be read ({reason}{more})" if path != name or more else reason
