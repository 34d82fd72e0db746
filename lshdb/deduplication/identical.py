"""Documents that are the same, character for character, or as files byte for byte.

They are found by their digests, so that nothing is shingled, normalised or folded for it, and no
bucket is too large. A document takes some 300 bytes of memory.
"""

import dataclasses
from bisect import insort
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set

from lshdb.deduplication.collection import Collection, DropReason
from lshdb.deduplication.matching import Matcher
from lshdb.ingest.parts import SignedPart
from lshdb.shingling import content

DocIds = defaultdict[str | None, list[int]]
"""The doc_ids of the documents of a collection, ascending, by what makes the documents the same;
those of replaced versions, too."""


def doc_ids_of(collection: Collection) -> DocIds:
    """The documents that a collection has now."""
    known = DocIds(list)
    for reader, doc_ids, _ in collection.parts():
        for digest, doc_id in zip(reader.bytes_digests(doc_ids), doc_ids.tolist(), strict=True):
            known[digest].append(doc_id)
    return known


def digests_of(part: SignedPart, *, of_sets: bool) -> list[str | None]:
    """What makes documents the same; None for one with nothing in it, which is like no other."""
    nothing = content.digest(b"[]" if of_sets else b"").hex()
    files = part.batch.files
    digests = (files.get(row, digest.hex()) for row, digest in enumerate(part.digests))
    return [None if digest == nothing else digest for digest in digests]


@dataclasses.dataclass(eq=False)
class IdenticalMatcher(Matcher):
    """Finds the kept documents that are the same as those of a batch.

    Attributes:
        known: the documents of the collection.
        replaced: by doc_id, what makes new versions of documents the same as others.
        digests: of the batch; see `digests_of`.
    """

    known: DocIds
    replaced: dict[int, str | None]
    digests: Sequence[str | None]

    def _doc_ids(self, row: int) -> Iterator[int]:
        if (digest := self.digests[row]) is not None:
            for doc_id in self.known.get(digest, ()):
                if self.replaced.get(doc_id, digest) == digest:
                    yield doc_id

    def reason(self, row: int, without: Set[int] = frozenset()) -> DropReason | None:
        """See Matcher: the first one."""
        doc_ids = (doc_id for doc_id in self._doc_ids(row) if doc_id not in without)
        return next((DropReason(doc_id, 1.0, True) for doc_id in doc_ids), None)

    def matches(self, row: int) -> dict[int, float]:
        """See Matcher."""
        return dict.fromkeys(self._doc_ids(row), 1.0)

    def keep(self, row: int, doc_id: int, *, replaces: bool = False) -> None:
        """See Matcher."""
        if replaces:
            self.replaced[doc_id] = self.digests[row]
        insort(self.known[self.digests[row]], doc_id)
