"""Documents that are the same, character for character, or as files byte for byte.

They are found by their digests, so that nothing is shingled, normalised or folded for it, and no
bucket is too large. A document takes some 300 bytes of memory.
"""

import dataclasses
from bisect import insort
from collections import defaultdict
from collections.abc import Iterator, Set

from lshdb.apps.dedup.collection import Collection, DropReason
from lshdb.apps.dedup.matching import Matcher
from lshdb.store.lookups import StoreReader
from lshdb.text import content
from lshdb.write.parts import SignedPart


@dataclasses.dataclass(eq=False)
class IdenticalMatcher(Matcher):
    """Finds the kept documents that are the same as those of one batch after the other.

    Attributes:
        collection: has the kept documents.
    """

    collection: Collection

    def __post_init__(self) -> None:
        # By digest, those of replaced versions, too; in hexadecimal.
        self._doc_ids = defaultdict[str | None, list[int]](list)
        self._replaced: dict[int, str | None] = {}  # the digests of new versions
        self._digests: list[str | None] = []  # of the batch; None is like no other
        for reader, doc_ids, _ in self.collection.parts():
            for digest, doc_id in zip(reader.bytes_digests(doc_ids), doc_ids.tolist(), strict=True):
                self._doc_ids[digest].append(doc_id)

    def of_batch(self, _: StoreReader, part: SignedPart, *_others: object) -> Matcher:
        """The matcher for a batch; see Comparing."""
        of_sets = self.collection.store.settings.shingling.of_sets
        nothing = content.digest(b"[]" if of_sets else b"").hex()
        files = part.batch.files
        digests = (files.get(row, digest.hex()) for row, digest in enumerate(part.digests))
        self._digests = [None if digest == nothing else digest for digest in digests]
        return self

    def _same(self, row: int) -> Iterator[int]:
        if (digest := self._digests[row]) is not None:
            for doc_id in self._doc_ids.get(digest, ()):
                if self._replaced.get(doc_id, digest) == digest:
                    yield doc_id

    def reason(self, row: int, without: Set[int]) -> DropReason | None:
        """See Matcher: the first one."""
        doc_ids = (doc_id for doc_id in self._same(row) if doc_id not in without)
        return next((DropReason(doc_id, 1.0, True) for doc_id in doc_ids), None)

    def matches(self, row: int) -> dict[int, float]:
        """See Matcher."""
        return dict.fromkeys(self._same(row), 1.0)

    def keep(self, row: int, doc_id: int, *, replaces: bool) -> None:
        """See Matcher."""
        if replaces:
            self._replaced[doc_id] = self._digests[row]
        insort(self._doc_ids[self._digests[row]], doc_id)
