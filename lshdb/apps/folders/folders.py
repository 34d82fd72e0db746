"""Pairs of directories whose files are the same or similar: one line instead of many pairs.

A file has a counterpart in a directory if another member of its cluster is below that. Keys are
paths; the directory of a message is the file of mail that has it. Sizes are those of the files, or
else of the contents in bytes.

Whoever deletes a directory loses all that is in it. So directories that exist are walked, with
hidden and ignored files, and files without a document count as files without a counterpart.
"""

import itertools
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from lshdb import formatting
from lshdb.groups import replaced
from lshdb.options import ClustersOptions
from lshdb.read import proof
from lshdb.read.files import file_identity
from lshdb.read.paths import file_of_key, is_archive, path_of_key, printable_path
from lshdb.search.pairs import all_clusters
from lshdb.store.lookups import StoredFile
from lshdb.store.store import Store
from lshdb.text.arrays import int_array

_File = tuple[int, str | None, str, bool]
"""The size of a file, what says that its bytes are those of another (see
`StoreReader.bytes_digests`), its key, and whether the document was read from a file."""
_Below = dict[str, dict[int, list[_File]]]
"""The files below each directory, by their clusters."""
_LEAST_SHARE = 0.5
"""Of the files of one directory that have counterparts in the other one, if the pair counts."""
_OF_FILES_READ = "of files read"
_NAMED = 3
"""Files that a line names."""
_EVERYWHERE = 64
"""Directories in which a cluster has members, above which it finds no pairs: such as a licence."""


@dataclass(frozen=True, slots=True)
class FolderPair:
    """Two directories, neither of them below the other, and the files below them.

    Attributes:
        a_share: the share of a's files that have counterparts in b; at least that of b's in a.
        b_share: the same of b's files.
        alike: "identical" if each of a's files that count has an identical counterpart, else
            "similar".
        a_size_share, b_size_share: the shares of their bytes.
        files, bytes: a's files with counterparts, and the bytes that deleting them would free: none
            for a hard link of a counterpart.
        identical, identical_bytes: of these, the files with an identical counterpart.
        a, b: the paths.
        unread: the next four in words, for a line, and how many of a's files are hard links of
            counterparts; empty if all files have been read, and there are none.
        a_unread: how many of a's files have no document, or have changed since they were read; None
            if a was not walked, so that its shares are those of the files that were read.
        b_unread: the same of b.
        a_unread_files, b_unread_files: the keys that these files would have.
    """

    a_share: float
    b_share: float
    alike: str
    a_size_share: float
    b_size_share: float
    files: int
    bytes: int
    identical: int
    identical_bytes: int
    a: str
    b: str
    unread: str
    a_unread: int | None
    b_unread: int | None
    a_unread_files: tuple[str, ...]
    b_unread_files: tuple[str, ...]


def folder_pairs(store: Store, request: ClustersOptions) -> list[FolderPair]:
    """The pairs of directories that share files, those with the most bytes to free first.

    Of the pairs of which one has at least half of its files in common with the other, that with
    the most common files and the largest shares is taken first, and then no pair of which each one
    is within or around one of it: of two copies of a tree, their roots.

    Args:
        store: the database.
        request: the options of the clusters; `top` is the number of pairs.
    """
    cluster_of = {
        key: cluster.cluster
        for cluster in all_clusters(store, replaced(request, top=None))
        for key, decided in zip(cluster.members, cluster.decided, strict=True)
        if decided != "different"
    }
    below: _Below = defaultdict(lambda: defaultdict(list))
    folders_of: defaultdict[int, set[str]] = defaultdict(set)
    similar = request.join.similar
    with store.snapshot(similar.condition) as (reader, keep):
        files = reader.files_below("")
        doc_ids = int_array(sorted(file.doc_id for file in files))
        if keep is not None:
            doc_ids = doc_ids[keep(doc_ids)]
        digests, lengths = reader.bytes_digests(doc_ids), reader.byte_lengths(doc_ids).tolist()
    known = dict(zip(doc_ids.tolist(), zip(lengths, digests, strict=True), strict=True))
    for stored_file in files:
        if stored_file.doc_id in known:
            length, digest = known[stored_file.doc_id]
            cluster = cluster_of.get(stored_file.key, -stored_file.doc_id)
            path = file_of_key(stored_file.key)
            folder = path if path != stored_file.key else os.path.dirname(path)
            folders_of[cluster].add(folder)
            size = length if stored_file.size is None else stored_file.size
            file = size, digest, path, stored_file.size is not None
            for above in _chain(folder):
                below[above][cluster].append(file)
    unwalked = [_pair(below, None, *pair) for pair in _chosen(below, folders_of.values())]
    unwalked.sort(key=_order)
    disk = _Disk(store, files)
    separate = (pair for pair in unwalked if not disk.is_one_directory(pair.a, pair.b))
    pairs = [
        _pair(below, disk, *("" if path == os.curdir else path for path in (pair.a, pair.b)))
        for pair in itertools.islice(separate, similar.top)
    ]
    return sorted((pair for pair in pairs if pair.files), key=_order)


def _order(pair: FolderPair) -> tuple[int, int, str, str]:
    return -pair.bytes, -pair.files, pair.a, pair.b


@dataclass(frozen=True, slots=True)
class _WalkedFolder:
    """The files below a directory.

    Attributes:
        read: the keys of those that are as they were read.
        unread: the keys and sizes of the others.
    """

    read: set[str]
    unread: list[tuple[str, int]]


class _Disk:
    """Which files below directories have a document of what they hold now: they are read.

    Args:
        store: the database.
        documents: all documents, by which a file is known as read.
    """

    def __init__(self, store: Store, documents: Iterable[StoredFile]) -> None:
        root = self.root = store.root
        self._proof = proof.proof_of(store)
        # Of a mailbox one message: its digest is that of the file.
        self._documents: defaultdict[str, list[proof.Compared]] = defaultdict(list)
        for document in documents:
            compared = proof.compared(document, root)
            self._documents[file_of_key(document.key)] = [compared]
            for above in _chain(os.path.dirname(document.key)):
                if is_archive(above):
                    self._documents[above].append(compared)
        self._walked: dict[str, _WalkedFolder | None] = {}

    def is_one_directory(self, a: str, b: str) -> bool:
        """Whether a link or a mount makes one directory the other, or a part of it."""
        paths = (path_of_key(key, self.root) for key in (a, b))
        a_path, b_path = map(os.path.realpath, paths)
        if not (os.path.exists(a_path) and os.path.exists(b_path)):
            return False
        return (
            a_path in _chain(b_path) or b_path in _chain(a_path) or os.path.samefile(a_path, b_path)
        )

    def walked(self, folder: str) -> _WalkedFolder | None:
        """The files below a directory, by the keys that they have; None if it does not exist."""
        if folder not in self._walked:
            path = path_of_key(folder, self.root)
            self._walked[folder] = self._walk(folder, path) if os.path.isdir(path) else None
        return self._walked[folder]

    def _walk(self, folder: str, path: str) -> _WalkedFolder:
        read, unread = set[str](), list[tuple[str, int]]()

        def key_of(inner: str) -> str:
            return os.path.join(folder, printable_path(os.path.relpath(inner, path)))

        def note(error: OSError) -> None:  # a directory that cannot be listed
            unread.append((os.path.join(key_of(error.filename), ""), 0))

        for directory, inner, names in os.walk(path, onerror=note):
            links = [name for name in inner if os.path.islink(os.path.join(directory, name))]
            for name in [*names, *links]:
                key = key_of(os.path.join(directory, name))
                try:  # a link with a document was read where it leads
                    look = os.stat if key in self._documents else os.lstat
                    status = look(os.path.join(directory, name))
                except OSError:  # gone since
                    continue
                if key in self._documents and self._is_unchanged(key):
                    read.add(key)
                else:
                    unread.append((key, status.st_size))
        return _WalkedFolder(read, sorted(unread))

    def _is_unchanged(self, key: str) -> bool:
        """Whether a file has what its documents were read from."""
        try:
            for document in self._documents[key]:
                self._proof.read_now(document)
        except proof.UnprovedError:
            return False
        return True


def _unread_text(*sides: tuple[str, _WalkedFolder | None]) -> str:
    """Which files of two directories were not read, in a few words."""
    if all(walked is None for _, walked in sides):
        return _OF_FILES_READ
    texts = []
    for folder, walked in sides:
        if walked is None:
            texts.append(f"{folder or os.curdir}: {_OF_FILES_READ}")
        elif walked.unread:
            names = formatting.listed([key for key, _ in walked.unread], _NAMED)
            texts.append(
                f"{formatting.counted(len(walked.unread), 'file')} without documents: {names}"
            )
    return "; ".join(texts)


def _chosen(below: _Below, together: Iterable[set[str]]) -> list[tuple[str, str]]:
    """The pairs to show, of the directories in which clusters have members together."""
    pairs = {
        (a, b)
        for folders in set(map(frozenset, together))
        if len(folders) <= _EVERYWHERE
        for folders_of_pair in itertools.combinations(folders, 2)
        for a, b in map(sorted, itertools.product(*map(_chain, folders_of_pair)))
        if a not in _chain(b) and b not in _chain(a)
    }
    totals = {folder: len(_files(files, files)) for folder, files in below.items()}
    ranked = []
    for pair in pairs:
        counts = [len(common_files) for common_files in _common(below, *pair)]
        size = [totals[folder] for folder in pair]
        shares = [count / total for count, total in zip(counts, size, strict=True)]
        if max(shares) >= _LEAST_SHARE:
            ranked.append((-sum(counts) * sum(shares), sum(size), -sum(map(len, pair)), pair))
    taken, chosen = set[frozenset[tuple[str, bool]]](), []
    for *_, pair in sorted(ranked):
        # Marks of what one is within, and of itself for those around it; and the reverse.
        within_marks, around_marks = (
            [
                {*itertools.product(_chain(folder), [within]), (folder, not within)}
                for folder in pair
            ]
            for within in (True, False)
        )
        if taken.isdisjoint(map(frozenset, itertools.product(*within_marks))):
            taken.update(map(frozenset, itertools.product(*around_marks)))
            chosen.append(pair)
    return chosen


def _pair(below: _Below, disk: _Disk | None, first: str, second: str) -> FolderPair:
    folders = first, second
    walked = {folder: None if disk is None else disk.walked(folder) for folder in folders}
    present = {folder: _present(below[folder], walked[folder]) for folder in folders}
    sides = []
    for folder, common_files in zip(folders, _common(present, *folders), strict=True):
        files = [(size, key) for size, _, key, _ in _files(present[folder], present[folder])]
        walked_folder = walked[folder]
        if walked_folder is not None:
            files += [(size, key) for key, size in walked_folder.unread]
        share = len(common_files) / max(len(files), 1)
        size_share = _size(common_files) / max(sum(size for size, _ in files), 1)
        sides.append((share, len(folder), folder, common_files, size_share))
    # a can rather go: it has the larger share in the other, and a longer name.
    (b_share, _, b, b_common, b_size), (a_share, _, a, a_common, a_size) = sorted(sides)
    digests = {file[1] for file in b_common} - {None}
    identical = [file for file in a_common if file[1] in digests]
    freed = a_common
    if disk is not None:
        kept_files = {*_files_on_disk(b_common, disk.root)}
        freed = [
            file for file in a_common if kept_files.isdisjoint(_files_on_disk([file], disk.root))
        ]
    texts = [_unread_text((a, walked[a]), (b, walked[b]))]
    if linked := len(a_common) - len(freed):
        texts.insert(0, f"{formatting.counted(linked, 'file')} already one file with the other")
    unread_a, unread_b = (
        None if side is None else [key for key, _ in side.unread] for side in (walked[a], walked[b])
    )
    return FolderPair(
        a_share,
        b_share,
        "identical" if len(identical) == len(a_common) else "similar",
        a_size,
        b_size,
        len(a_common),
        _size(freed),
        len(identical),
        _size({*identical}.intersection(freed)),
        a or os.curdir,
        b or os.curdir,
        "; ".join(filter(None, texts)),
        None if unread_a is None else len(unread_a),
        None if unread_b is None else len(unread_b),
        tuple(unread_a or ()),
        tuple(unread_b or ()),
    )


def _present(files: dict[int, list[_File]], walked: _WalkedFolder | None) -> dict[int, list[_File]]:
    """The files of a directory, by their clusters, without those that are gone or have changed."""
    if walked is None:
        return files
    return {
        cluster: present
        for cluster, of_cluster in files.items()
        if (present := [file for file in of_cluster if not file[3] or file[2] in walked.read])
    }


def _common(below: Mapping[str, dict[int, list[_File]]], *pair: str) -> list[list[_File]]:
    """The files of two directories that have counterparts in the other one."""
    a_clusters, b_clusters = (below[folder].keys() for folder in pair)
    clusters = a_clusters & b_clusters
    return [_files(below[folder], clusters) for folder in pair]


def _files(of: dict[int, list[_File]], clusters: Iterable[int]) -> list[_File]:
    return [file for cluster in clusters for file in of[cluster]]


def _files_on_disk(files: Iterable[_File], root: str) -> Iterator[object]:
    """What identifies files that exist."""
    for _, _, key, is_file in files:
        if is_file and (identity := file_identity(path_of_key(key, root))):
            yield identity


def _size(files: Iterable[_File]) -> int:
    return sum(file[0] for file in files)


def _chain(folder: str) -> tuple[str, ...]:
    """A directory and those that it is in."""
    above = os.path.dirname(folder)
    return (folder,) if above == folder else (folder, *_chain(above))
