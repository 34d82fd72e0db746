"""Types: the content of a document, the shingling of a database, and the hashes of shingles."""

import dataclasses
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Literal, Self, cast

import numpy as np
import numpy.typing as npt

from lshdb import offers
from lshdb.errors import SettingsError
from lshdb.text.arrays import IntArray

Element = str | int
"""An element of a set document. 1 and "1" are two elements."""
Content = str | Collection[Element]
"""The content of a document: a text, or a set of elements."""
ShinglingKind = Literal["word", "char", "code", "set", "foreign"]
OfSets = bool | Literal["bag"]
"""Whether documents are sets, and of what kind."""
LONGEST_SHINGLE = 64
LONGEST_NAME = 100

_OPTIONS = {
    "word": {"boilerplate", "marks", "numbers"},
    "char": {"boilerplate", "cjk", "marks", "numbers"},
}
_OTHER_OPTIONS = {"boilerplate"}


@dataclasses.dataclass(frozen=True)
class Shingling:
    """How documents become sets of shingles: `word:w`, `char:k`, `code:k` or `set`.

    `bag` is a set whose elements are numbered copies. `word:3-numbers` is `word:3` with one sign
    for all digits: texts that differ in digits only are equal. `word:3-marks` compares texts in
    plain spelling. In `char:3-cjk` a character of Chinese or Korean is a shingle, and two kana are
    one. `word:3-boilerplate` and `code:6-boilerplate`, for `lshdb gate`, leave boilerplate out by
    the rules of this version of lshdb, so other versions cannot use such a file. With
    `foreign:NAME` signatures come from another program, to which the user gives this name. Shingles
    of the texts in `base`, each with a name, do not count; `str` does not show them.

    >>> Shingling.parse("char:5")
    Shingling(kind='char', size=5)
    >>> str(Shingling.parse("word:3-numbers-marks"))
    'word:3-marks-numbers'
    """

    kind: ShinglingKind
    size: int = 1
    name: str = dataclasses.field(default="", repr=False)
    options: frozenset[str] = dataclasses.field(default=frozenset(), repr=False)
    base: tuple[tuple[str, str], ...] = dataclasses.field(default=(), repr=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `str` writes; SettingsError for anything else."""
        if text in ("set", "bag"):  # a bag is the set of its elements' numbered copies
            return cls("set", name="" if text == "set" else text)
        if isinstance(text, str) and text.startswith("foreign:"):
            name = text.removeprefix("foreign:")
            if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
                raise SettingsError(
                    f"the name in {text[:200]!r} is not 1 to {LONGEST_NAME} printable characters"
                )
            return cls("foreign", name=name)
        kinds = ("word", "char", *offers.KINDS)
        match = re.fullmatch(rf"({'|'.join(kinds)}):([0-9]{{1,4}})((?:-[a-z]+)*)", str(text))
        if match is None or not 1 <= int(match[2]) <= LONGEST_SHINGLE:
            possible = ", ".join(f"{kind}:1..{LONGEST_SHINGLE}" for kind in kinds)
            raise SettingsError(f"shingle {text!r:.100} is not {possible}, set or bag")
        kind, options = match[1], frozenset(match[3].split("-")[1:])
        if options - _OPTIONS.get(kind, _OTHER_OPTIONS):
            allowed = ", ".join(sorted(_OPTIONS.get(kind, _OTHER_OPTIONS)))
            raise SettingsError(f"shingle {text!r:.100}: the options of {kind} are {allowed}")
        return cls(cast(ShinglingKind, kind), int(match[2]), options=options)

    @property
    def of_sets(self) -> OfSets:
        """Whether documents are sets of elements rather than texts; `bag` for sets with counts."""
        return "bag" if self.name == "bag" and self.kind == "set" else self.kind == "set"

    @property
    def of_programs(self) -> bool:
        """Whether texts are cut into the tokens of programs."""
        return self.kind == "code"

    @property
    def foreign(self) -> bool:
        """Whether another program makes the signatures, so that nothing is shingled here."""
        return self.kind == "foreign"

    @property
    def is_weighed(self) -> bool:
        """Whether characters count as several, by their script."""
        return "cjk" in self.options

    def without(self, texts: Iterable[str]) -> Self:
        """The same with more base texts."""
        return dataclasses.replace(self, base=(*self.base, *(("", text) for text in texts)))

    def read(self, texts: Sequence[str]) -> Sequence[str]:
        """The texts as they are cut into shingles, each character at the same offset as before.

        The boilerplate of programs is left out later, when comments and strings are known.
        """
        for name in offers.LEFT_OUT:
            if name in self.options and not self.of_programs:
                texts = offers.offered(offers.LEFT_OUT, name)(texts)
        return texts

    def __str__(self) -> str:
        if self.kind == "set":
            return self.name or "set"
        return "-".join([f"{self.kind}:{self.name or self.size}", *sorted(self.options)])


@dataclasses.dataclass(frozen=True)
class Shingles:
    """The shingle hashes of n documents, one document after another.

    Attributes:
        hashes: uint64[T]; a document's shingles, repeated as often as they occur.
        offsets: int64[n+1]; document i has hashes[offsets[i]:offsets[i+1]].
    """

    hashes: npt.NDArray[np.uint64]
    offsets: IntArray

    def __len__(self) -> int:
        return len(self.offsets) - 1
