"""Where the runs of windows that documents share begin and end, for all pairs of documents.

A run begins where two documents have the same window but not the same one before it, and ends where
not the same one follows. In the order of hashes, the places of a window stand together, and among
them those with the same window before it: copies do not differ, and are not compared. So the work
grows with the windows, each of which is sorted once, and with the runs, however long they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from lshdb.search.passage_windows import BEGINS, ENDS, MANY, StoredWindows
from lshdb.search.spilled import Part, Rows, SpilledRows, in_parts
from lshdb.shingling.arrays import Numbers, parts_of, places_of
from lshdb.workers import Job

_PARTNERS: Final = 8
"""Pairs of places of a part where a run may begin or end, for each of its windows; with more, it is
halved."""

Edges: TypeAlias = npt.NDArray[np.int32]
"""Where runs begin or end, int32[n, 8]: the numbers of the documents a and b, the first unit of the
window in both, and the character and the line in a, then in b."""
_EDGE: Final = np.dtype((np.int32, (8,)))


def joined(windows: StoredWindows) -> tuple[SpilledRows, SpilledRows]:
    """Where the runs of all pairs begin, and where they end, by the cells of their documents a."""
    begins, ends = (SpilledRows(_EDGE, windows.document_cells) for _ in range(2))
    most, rows = windows.limits.passage_windows, windows.by_hash
    job = _Joining(rows, most)
    for part, found in in_parts(job, rows.parts(most), [rows], windows.limits):
        for some_begins, some_ends in job.complete(part, found):
            begins.append(some_begins, windows.cells_of(some_begins[:, 0]))
            ends.append(some_ends, windows.cells_of(some_ends[:, 0]))
    return begins, ends


_Joined: TypeAlias = tuple[Edges, Edges]
"""Where runs begin, and where they end, in the order of a."""


@dataclass(frozen=True, slots=True)
class _Joining(Job[Part, _Joined | None]):
    """Finds where runs begin and end.

    Attributes:
        windows: of all documents, by hash.
        most: windows, or pairs of places, in memory.
    """

    windows: SpilledRows
    most: int

    def complete(self, part: Part, found: _Joined | None) -> Iterator[_Joined]:
        """The edges of a part, whose halves are joined here if there are too many."""
        if found is None:
            middle = sum(part) // 2
            for half in ((part[0], middle), (middle, part[1])):
                yield from self.complete(half, self.run(half))
        else:
            yield found

    def run(self, part: Part) -> _Joined | None:
        """Find the edges between all documents, or None if they may be too many.

        Two documents that both have a window more than MANY_TIMES times are named by a beginning
        at unit -1: such pairs are searched one by one, in the time of sorting both.
        """
        rows = self.windows.read(part)
        order, group = _shared(rows)
        begins = _Differing(rows, order, group, "before", BEGINS)
        ends = _Differing(rows, order, group, "after", ENDS)
        if begins.total + ends.total > _PARTNERS * self.most and part[1] > part[0] + 1:
            return None
        return (
            _by_document(
                [_repeating(rows, order, group), *begins.edges("start", "line", self.most)]
            ),
            _by_document(list(ends.edges("end", "end_line", self.most))),
        )


def _shared(rows: Rows) -> tuple[Numbers, Numbers]:
    """The windows that several rows have.

    Returns:
        Their rows, in the order of hashes, and the number of the window of each: int64[n] both.
    """
    order = np.argsort(rows["hash"], kind="stable")
    hashes = rows["hash"].take(order)
    first = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1])[: len(hashes)])
    sizes = np.diff(first, append=len(hashes))
    group = np.repeat(np.arange(len(first)), sizes)
    kept = (sizes > 1)[group]
    return order[kept], group[kept]


def _by_document(edges: list[Edges]) -> Edges:
    together = np.concatenate([np.empty((0, 8), np.int32), *edges])
    return together.take(np.argsort(together[:, 0], kind="stable"), axis=0)


class _Differing:
    """Pairs of rows that have the same window, and different ones next to it.

    Attributes:
        total: how many pairs are looked at.
    """

    def __init__(self, rows: Rows, order: Numbers, group: Numbers, near: str, edge: int) -> None:
        """Prepare.

        Args:
            rows: windows.
            order: int64[n], some of them, by hash.
            group: int64[n], the number of the window of each.
            near: the column of the windows next to them.
            edge: the flag of rows that differ from all others.
        """
        self._rows, self._near, self._edge = rows, near, edge
        flags, neighbours = rows["flags"].take(order), rows[near].take(order)
        alone = (flags & edge) > 0
        new = np.diff(group, prepend=-1) != 0
        differ = alone.copy()
        differ[1:] |= (neighbours[1:] != neighbours[:-1]) & ~new[1:]
        first = np.flatnonzero(new)
        if len(first):
            mixed = np.logical_or.reduceat(differ, first)
            differ = np.repeat(mixed, np.diff(first, append=len(order)))
        is_many = (flags & MANY) > 0
        few, many = np.flatnonzero(differ & ~is_many), np.flatnonzero(differ & is_many)
        # Rows with the same neighbour stand together, and differ from those behind in their group.
        few = few[np.lexsort((neighbours[few], alone[few], group[few]))]
        own = group[few]
        new = alone[few]
        new[:1] = True
        new[1:] |= (np.diff(own) != 0) | (neighbours[few[1:]] != neighbours[few[:-1]])
        begins = np.append(np.flatnonzero(new), len(few))
        behind = np.repeat(begins[1:], np.diff(begins)) if len(few) else few
        ends = np.searchsorted(own, own, "right")
        its = group[many]
        left, right = (np.searchsorted(its, own, side) for side in ("left", "right"))
        few, many = order[few], order[many]
        self._partners = [(few, few, behind, ends - behind), (few, many, left, right - left)]
        self.total = sum(int(counts.sum()) for *_, counts in self._partners)

    def edges(self, at: str, line: str, most: int) -> Iterator[Edges]:
        """Where runs begin or end, with the columns of the character and the line.

        At once, they are made of up to `most` pairs of places, some 50 bytes each.
        """
        rows, flags = self._rows, self._rows["flags"].copy()
        documents, neighbours = rows["document"].copy(), rows[self._near].copy()
        for some, others, first, counts in self._partners:
            for part in parts_of(counts, most):
                one = np.repeat(some[part], counts[part])
                other = others[places_of(first[part], counts[part])]
                before = documents[one] < documents[other]
                a, b = np.where(before, one, other), np.where(before, other, one)
                kept = (neighbours[a] != neighbours[b]) | ((flags[a] & self._edge) > 0)
                kept &= documents[a] != documents[b]
                sides = a[kept], b[kept]
                columns = [rows[name].take(side) for name in ("document", "unit") for side in sides]
                columns += [rows[name].take(side) for side in sides for name in (at, line)]
                yield np.stack(columns, axis=1)


def _repeating(rows: Rows, order: Numbers, group: Numbers) -> Edges:
    """The documents that both have a window very often, as edges with the unit -1."""
    many = (rows["flags"].take(order) & MANY) > 0
    order, group = order[many], group[many]
    documents = rows["document"].take(order)
    by = np.lexsort((documents, group))
    order, group, documents = order[by], group[by], documents[by]
    first = np.flatnonzero(np.diff(group, prepend=-1) | np.diff(documents, prepend=-1))
    if not len(first):
        return np.empty((0, 8), np.int32)
    group = group[first]
    places = np.arange(len(first)) + 1
    later = np.searchsorted(group, group, "right") - places
    edges = np.full((int(later.sum()), 8), -1, dtype=np.int32)
    edges[:, 0] = np.repeat(documents[first], later)
    edges[:, 1] = documents[first][places_of(places, later)]
    return np.unique(edges, axis=0)
