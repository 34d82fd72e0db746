"""Where the documents of a run are from, by their doc_ids."""

from array import array
from dataclasses import dataclass

from lshdb.read.batch import RowPlace

_LINE_BITS = 40
"""Of a packed location, for the number of a line; the others are for that of the file."""
_KEY_IS_FILE = -1
"""The location of a text file: its key is its name."""


@dataclass(eq=False)
class Locations:
    """Where documents are from: 8 bytes for each of a run.

    Attributes:
        first: the first doc_id of the run.
    """

    first: int

    def __post_init__(self) -> None:
        self._files: dict[str | None, int] = {None: 0}
        self._names: list[str | None] = [None]
        self._packed = array("q")
        self._replaced = dict[int, int]()  # of lower doc_ids

    def add(self, doc_id: int, where: RowPlace) -> None:
        """Note where a document is from."""
        file, line = where
        # A text file is its own key, and the names of millions take room.
        packed = 0 if file is None else _KEY_IS_FILE
        if line is not None:
            number = self._files.setdefault(file, len(self._names))
            self._names += [file] if number == len(self._names) else []
            packed = number << _LINE_BITS | line
        if doc_id >= self.first:
            self._packed.extend([0] * (doc_id - self.first - len(self._packed)))  # of others
            self._packed.append(packed)
        else:
            self._replaced[doc_id] = packed

    def where(self, doc_id: int, key: str) -> RowPlace:
        """Where a document is from; without a file and a line if it is not of this run."""
        index = doc_id - self.first
        in_run = 0 <= index < len(self._packed)
        packed = self._packed[index] if in_run else self._replaced.get(doc_id, 0)
        if packed == _KEY_IS_FILE:
            return key, None
        line = packed & (1 << _LINE_BITS) - 1
        return self._names[packed >> _LINE_BITS], line or None
