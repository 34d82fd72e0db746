"""What a document holds, and how documents become sets of shingles: the types of both."""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal, Self, cast

import numpy as np
import numpy.typing as npt

from lshdb.errors import SettingsError

Element = str | int
"""An element of a set document. 1 and "1" are two elements."""
Content = str | Collection[Element]
"""The content of a document: a text, or a set of elements."""
ShinglingKind = Literal["word", "char", "code", "set", "foreign"]
LONGEST_SHINGLE = 64
LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class Shingling:
    """How documents become sets of shingles: `word:w`, `char:k`, `code:k` or `set`.

    Or `foreign:NAME`: signatures come from another program, and the name is the user's for it.

    >>> Shingling.parse("char:5")
    Shingling(kind='char', size=5)
    >>> str(Shingling("word", 3))
    'word:3'
    """

    kind: ShinglingKind
    size: int = 1
    name: str = field(default="", repr=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `str` writes; SettingsError for anything else."""
        if text == "set":
            return cls("set")
        if isinstance(text, str) and text.startswith("foreign:"):
            name = text.removeprefix("foreign:")
            if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
                raise SettingsError(
                    f"the name in {text[:200]!r} is not 1 to {LONGEST_NAME} printable characters"
                )
            return cls("foreign", name=name)
        match = re.fullmatch(r"(word|char|code):([0-9]{1,4})", str(text))
        if match is None or not 1 <= int(match[2]) <= LONGEST_SHINGLE:
            raise SettingsError(
                f"shingle {text!r:.100} is not word:1..{LONGEST_SHINGLE}, "
                f"char:1..{LONGEST_SHINGLE}, code:1..{LONGEST_SHINGLE} or set"
            )
        return cls(cast(ShinglingKind, match[1]), int(match[2]))

    @property
    def of_sets(self) -> bool:
        """Whether documents are sets of elements rather than texts."""
        return self.kind == "set"

    @property
    def of_programs(self) -> bool:
        """Whether texts are cut into the tokens of programs."""
        return self.kind == "code"

    @property
    def foreign(self) -> bool:
        """Whether another program makes the signatures, so that nothing is shingled here."""
        return self.kind == "foreign"

    def __str__(self) -> str:
        return "set" if self.kind == "set" else f"{self.kind}:{self.name or self.size}"


@dataclass(frozen=True, slots=True)
class Shingles:
    """The shingle hashes of n documents, one document after another.

    Attributes:
        hashes: uint64[T]; a document's shingles, repeated as often as they occur.
        offsets: int64[n+1]; document i has hashes[offsets[i]:offsets[i+1]].
    """

    hashes: npt.NDArray[np.uint64]
    offsets: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1
