"""Parts of a batch: documents that are digested and signed together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from lshdb.shingling.arrays import int_array
from lshdb.shingling.content import digest, encoded
from lshdb.shingling.shingling import Content
from lshdb.sketching.settings import Settings
from lshdb.sketching.signing import Signed, sign
from lshdb.sources.batch import Batch

T = TypeVar("T")
Digested = tuple[Sequence[str], Sequence[bytes], Signed | None]
"""The stored forms of documents, their digests of 16 bytes, and their signatures if wanted."""


@dataclass(frozen=True, slots=True)
class SignedPart:
    """A signed part of n documents.

    Attributes:
        batch: the documents without their contents.
        stored: their stored forms, unless only signatures are known.
        digests: of these.
        signed: their signatures; None if they were not wanted.
    """

    batch: Batch
    stored: Sequence[str] = ()
    digests: Sequence[bytes] = ()
    signed: Signed | None = None

    @property
    def keys(self) -> Sequence[str]:
        """The keys of the documents, in order."""
        return self.batch.keys

    def take(self, indices: Sequence[int]) -> "SignedPart":
        """The signed documents with these indices; the counts of reading stay as they are."""
        assert self.signed is not None
        metadata = self.batch.all_metadata()

        def rows_of(column: Sequence[T]) -> list[T]:
            return [column[index] for index in indices] if column else []

        keys, wheres = rows_of(self.batch.keys), rows_of(self.batch.wheres)
        batch = replace(self.batch, keys=keys, metadata=rows_of(metadata), wheres=wheres)
        lanes = self.signed.take(int_array(indices))
        taken_columns = rows_of(self.stored), rows_of(self.digests)
        return SignedPart(batch, *taken_columns, lanes)


def digested(settings: Settings, item: tuple[Sequence[Content], bool]) -> Digested:
    """Digest cleaned documents, and sign them if the item says so; in any process."""
    contents, is_signed = item
    stored = [encoded(content) for content in contents]
    digests = [digest(form.encode()) for form in stored]
    # Texts are stored as they are, and need not come back from another process.
    forms = stored if settings.shingling.of_sets else ()
    return forms, digests, sign(contents, settings) if is_signed else None
