"""What parts of the index have of documents: rows that are made where documents are signed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lshdb.text.arrays import NO_NUMBERS, IntArray


@dataclasses.dataclass(frozen=True)
class PartRows:
    """The rows of a part, each of one document; arrays, which pickle.

    Attributes:
        value: what the settings say of the part, see lshdb.sketch.settings.parts_of.
        documents: int64[r], the number of the document of each row.
        columns: any arrays [r], which the part writes.
    """

    value: int
    documents: IntArray = dataclasses.field(default_factory=NO_NUMBERS.copy)
    columns: tuple[npt.NDArray[Any], ...] = ()

    def __len__(self) -> int:
        return len(self.documents)

    def numbered(self, numbers: IntArray) -> PartRows:
        """The rows of documents 0 to n - 1, which get these numbers int64[n]; -1 drops them."""
        rows = PartRows(self.value, numbers[self.documents], self.columns)
        if (numbers >= 0).all():
            return rows
        kept = rows.documents >= 0
        columns = tuple(column[kept] for column in self.columns)
        return PartRows(self.value, rows.documents[kept], columns)

    @classmethod
    def joined(cls, value: int, parts: Sequence[PartRows]) -> PartRows:
        """The rows of any number of documents, each once in the parts."""
        filled = [part for part in parts if len(part)] or [*parts[:1], cls(value)][:1]
        columns = map(np.concatenate, zip(*(part.columns for part in filled), strict=True))
        documents = np.concatenate([part.documents for part in filled])
        return cls(value, documents, tuple(columns))
