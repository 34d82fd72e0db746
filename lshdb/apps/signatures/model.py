"""Many signatures as a matrix with keys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lshdb.apps.signatures.signature_sets import Sketching
from lshdb.results import Result, short
from lshdb.text.arrays import Lanes


@dataclass(frozen=True, eq=False)
class SignatureSet(Result):
    """The signatures of n documents; see Database.signatures.

    Attributes:
        keys: the documents' keys, in the order of addition.
        signatures: uint16[n, permutations], or uint32 if lanes have 32 bits.
        made_with: how the signatures were made.
        shingles: int64[n], how many shingles each document has, repetitions counted; None if
            another program made the signatures.
        digests: the digests of the documents' contents, 16 bytes each.
    """

    keys: list[str]
    signatures: Lanes
    made_with: Sketching
    shingles: npt.NDArray[np.int64] | None
    digests: list[bytes]

    def __len__(self) -> int:
        return len(self.keys)

    def __repr__(self) -> str:
        return f"<SignatureSet of {len(self):,} documents: {short(self.made_with)}>"
