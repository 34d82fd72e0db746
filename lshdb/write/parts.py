"""Parts of a batch: documents that are digested and signed together."""

import dataclasses
from collections.abc import Sequence
from typing import TypeVar, cast

from lshdb.read.batch import Batch
from lshdb.sketch import signing
from lshdb.text.arrays import int_array

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
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
    signed: signing.Signed | None = None

    @property
    def keys(self) -> Sequence[str]:
        """The keys of the documents, in order."""
        return self.batch.keys

    def take(self, indices: Sequence[int]) -> "SignedPart":
        """The documents with these indices; the counts and states of reading stay as they are."""

        def rows_of(column: Sequence[T]) -> list[T]:
            return [column[index] for index in indices] if column else []

        batch = dataclasses.replace(
            self.batch,
            keys=rows_of(self.batch.keys),
            metadata=rows_of(self.batch.all_metadata()),
            wheres=rows_of(self.batch.wheres),
        )
        signed = None if self.signed is None else self.signed.take(int_array(indices))
        return SignedPart(batch, rows_of(self.stored), rows_of(self.digests), signed)


def part_of(batch: Batch, done: signing.Digested) -> SignedPart:
    """A batch of cleaned documents that are digested."""
    forms, digests, signed = done
    stored = forms or cast("Sequence[str]", batch.contents)
    return SignedPart(dataclasses.replace(batch, contents=()), stored, digests, signed)
