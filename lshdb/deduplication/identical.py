"""Documents that are the same, character for character, or as files byte for byte.

They are found by their digests, 16 bytes of BLAKE2b each, so that nothing is shingled, normalised
or folded for it, and no bucket is too large. A digest takes 24 bytes of memory.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set

import numpy as np

from lshdb.deduplication.collection import Collection, DropReason
from lshdb.ingest.parts import SignedPart
from lshdb.shingling.arrays import NO_NUMBERS, int_array
from lshdb.shingling.content import digest

_NO_BYTES = digest(b"")
_RECENT = 1 << 16
"""Minimum number of digests that are sorted at once."""


class DigestIndex:
    """The documents of a collection by their digests, in arrays except for recent ones."""

    def __init__(self) -> None:
        self._halves = np.empty((0, 2), dtype=np.uint64)  # of digests, ascending by the first one
        self._doc_ids = NO_NUMBERS
        self._recent = defaultdict[bytes, list[int]](list)
        self._replaced: dict[int, bytes] = {}  # the digests of documents that had another one

    @classmethod
    def of(cls, collection: Collection) -> "DigestIndex":
        """The documents that a collection has now."""
        index = cls()
        for reader, doc_ids, _ in collection.parts():
            stored = zip(reader.bytes_digests(doc_ids), doc_ids.tolist(), strict=True)
            for bytes_digest, doc_id in stored:
                if bytes_digest is not None:
                    index.add(bytes.fromhex(bytes_digest), doc_id)
        return index

    def add(self, content_digest: bytes, doc_id: int, *, replaces: bool = False) -> None:
        """Add a document; `replaces` if it had another digest."""
        if replaces:
            self._replaced[doc_id] = content_digest
        self._recent[content_digest].append(doc_id)
        if len(self._recent) < max(_RECENT, len(self._doc_ids) // 4):
            return
        counts = [*map(len, self._recent.values())]
        recent = np.frombuffer(b"".join(self._recent), dtype=np.uint64).reshape(-1, 2)
        doc_ids = int_array(doc_id for ids in self._recent.values() for doc_id in ids)
        halves = np.concatenate([self._halves, recent.repeat(counts, axis=0)])
        order = np.argsort(halves[:, 0], kind="stable")
        self._halves = halves[order]
        self._doc_ids = np.append(self._doc_ids, doc_ids)[order]
        self._recent.clear()

    def doc_ids(self, content_digest: bytes) -> list[int]:
        """The documents with a digest, ascending."""
        first, second = np.frombuffer(content_digest, dtype=np.uint64)
        low, high = (self._halves[:, 0].searchsorted(first, side) for side in ("left", "right"))
        same = self._halves[low:high, 1] == second
        doc_ids = {*self._doc_ids[low:high][same].tolist(), *self._recent.get(content_digest, ())}
        now = self._replaced
        return sorted(each for each in doc_ids if now.get(each, content_digest) == content_digest)


@dataclasses.dataclass(eq=False)
class IdenticalMatcher:
    """Finds the kept documents that are the same as those of a batch; a Matcher.

    Attributes:
        index: of the collection.
        digests: of the documents of the batch; None for one without anything in it, which is like
            no other.
    """

    index: DigestIndex
    digests: Sequence[bytes | None]

    @classmethod
    def of(cls, index: DigestIndex, part: SignedPart, *, of_sets: bool) -> "IdenticalMatcher":
        """A matcher of the documents of a part."""
        digests: list[bytes | None] = [*part.digests]
        for row, bytes_digest in part.batch.files.items():
            digests[row] = None if bytes_digest is None else bytes.fromhex(bytes_digest)
        nothing = digest(b"[]") if of_sets else _NO_BYTES
        return cls(index, [None if each == nothing else each for each in digests])

    def reason(self, row: int, without: Set[int] = frozenset()) -> DropReason | None:
        """See Matcher: the first one."""
        if (content_digest := self.digests[row]) is None:
            return None
        doc_ids = [each for each in self.index.doc_ids(content_digest) if each not in without]
        return DropReason(doc_ids[0], 1.0, True) if doc_ids else None

    def matches(self, row: int) -> list[tuple[float, int]]:
        """See Matcher."""
        return [(1.0, doc_id) for doc_id in self.index.doc_ids(self.digests[row] or _NO_BYTES)]

    def keep(self, row: int, doc_id: int, *, replaces: bool = False) -> None:
        """See Matcher."""
        self.index.add(self.digests[row] or _NO_BYTES, doc_id, replaces=replaces)

    def is_cut(self, row: int) -> bool:  # noqa: ARG002
        """See Matcher: it never is."""
        return False

    def note_passages(self, row: int, without: Set[int] = frozenset()) -> None:
        """See Matcher: passages are of another rule."""

    def passages(self) -> Iterator[tuple[int, DropReason]]:
        """See Matcher: none."""
        return iter(())

    def named(self, reasons: Sequence[tuple[int, DropReason]]) -> Sequence[tuple[int, DropReason]]:
        """See Matcher."""
        return reasons
