"""Pairs of directories whose files are the same or similar: one line instead of many pairs.

A file has a counterpart in a directory if another member of its cluster is below that. Keys are
paths; the directory of a message is the file of mail that has it. Sizes are those of the files, or
else of the contents in bytes.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, product

from lshdb.options import ClustersOptions
from lshdb.search.pairs import all_clusters
from lshdb.shingling.arrays import int_array
from lshdb.sources.extracting import file_of_message
from lshdb.store.store import Store

_File = tuple[int, bytes]
"""The size and the digest of a file."""
_Below = dict[str, dict[int, list[_File]]]
"""The files below each directory, by their clusters."""
_LEAST_SHARE = 0.5
"""Of the files of one directory that have counterparts in the other one, if the pair counts."""
_EVERYWHERE = 64
"""Directories in which a cluster has members, above which it finds no pairs: such as a licence."""


@dataclass(frozen=True, slots=True)
class FolderPair:
    """Two directories, neither of them below the other, and the files below them.

    Attributes:
        a_share: the share of a's files that have counterparts in b; at least that of b's in a.
        b_share: the same of b's files.
        a_size_share, b_size_share: the shares of their bytes.
        files, bytes: a's files with counterparts, and the bytes that deleting them would free.
        identical, identical_bytes: of these, the files with an identical counterpart.
        a, b: the paths.
    """

    a_share: float
    b_share: float
    a_size_share: float
    b_size_share: float
    files: int
    bytes: int
    identical: int
    identical_bytes: int
    a: str
    b: str


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
        key: one.cluster
        for one in all_clusters(store, replace(request, top=None))
        for key, decided in zip(one.members, one.decided, strict=True)
        if decided != "different"
    }
    below: _Below = defaultdict(lambda: defaultdict(list))
    folders_of: defaultdict[int, set[str]] = defaultdict(set)
    with store.beside(request.where, request.parameters) as (reader, keep):
        files = reader.files_below("")
        doc_ids = int_array(sorted(one.doc_id for one in files))
        if keep is not None:
            doc_ids = doc_ids[keep(doc_ids)]
        digests, lengths = reader.sizes(doc_ids)[1].tolist(), reader.byte_lengths(doc_ids).tolist()
    known = dict(zip(doc_ids.tolist(), zip(lengths, digests, strict=True), strict=True))
    for one in files:
        if one.doc_id in known:
            length, digest = known[one.doc_id]
            cluster = cluster_of.get(one.key, -one.doc_id)
            folder = file_of_message(one.key) or os.path.dirname(one.key)
            folders_of[cluster].add(folder)
            for above in _chain(folder):
                size = one.state.size if one.state else length
                below[above][cluster].append((size, digest))
    found = [_pair(below, *pair) for pair in _chosen(below, folders_of.values())]
    found.sort(key=lambda one: (-one.bytes, -one.files, one.a, one.b))
    return found[: request.top]


def _chosen(below: _Below, together: Iterable[set[str]]) -> list[tuple[str, str]]:
    """The pairs to show, of the directories in which clusters have members together."""
    pairs = {
        (own, other)
        for folders in set(map(frozenset, together))
        if len(folders) <= _EVERYWHERE
        for one in combinations(folders, 2)
        for own, other in map(sorted, product(*map(_chain, one)))
        if own not in _chain(other) and other not in _chain(own)
    }
    totals = {folder: len(_files(one, one)) for folder, one in below.items()}
    ranked = []
    for pair in pairs:
        counts = [len(files) for files in _common(below, *pair)]
        size = [totals[folder] for folder in pair]
        shares = [count / total for count, total in zip(counts, size, strict=True)]
        if max(shares) >= _LEAST_SHARE:
            ranked.append((-sum(counts) * sum(shares), sum(size), -sum(map(len, pair)), pair))
    taken, chosen = set[frozenset[tuple[str, bool]]](), []
    for *_, pair in sorted(ranked):
        # Marks of what one is within, and of itself for those around it; and the reverse.
        own, shown = (
            [{*product(_chain(one), [within]), (one, not within)} for one in pair]
            for within in (True, False)
        )
        if taken.isdisjoint(map(frozenset, product(*own))):
            taken.update(map(frozenset, product(*shown)))
            chosen.append(pair)
    return chosen


def _pair(below: _Below, one: str, other: str) -> FolderPair:
    sides = []
    for folder, common in zip((one, other), _common(below, one, other), strict=True):
        own = _files(below[folder], below[folder])
        sides.append((len(common) / len(own), len(folder), folder, common, own))
    # a can rather go: it has the larger share in the other, and a longer name.
    (b_share, _, b, b_common, b_files), (a_share, _, a, a_common, a_files) = sorted(sides)
    digests = {digest for _, digest in b_common}
    identical = [file for file in a_common if file[1] in digests]
    return FolderPair(
        a_share,
        b_share,
        _size(a_common) / max(_size(a_files), 1),
        _size(b_common) / max(_size(b_files), 1),
        len(a_common),
        _size(a_common),
        len(identical),
        _size(identical),
        a or os.curdir,
        b or os.curdir,
    )


def _common(below: _Below, *pair: str) -> list[list[_File]]:
    """The files of two directories that have counterparts in the other one."""
    one, other = (below[folder].keys() for folder in pair)
    clusters = one & other
    return [_files(below[folder], clusters) for folder in pair]


def _files(of: dict[int, list[_File]], clusters: Iterable[int]) -> list[_File]:
    return [file for cluster in clusters for file in of[cluster]]


def _size(files: Iterable[_File]) -> int:
    return sum(size for size, _ in files)


@cache
def _chain(folder: str) -> tuple[str, ...]:
    """A directory and those that it is in."""
    above = os.path.dirname(folder)
    return (folder,) if above == folder else (folder, *_chain(above))
