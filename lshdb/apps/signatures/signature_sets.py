"""How signatures were made, and whether they can be compared."""

from __future__ import annotations

from dataclasses import dataclass

from lshdb import errors
from lshdb.results import Result
from lshdb.sketch.settings import Settings, SketchName
from lshdb.sketch.signing import base_of
from lshdb.text.shingling import Shingling


@dataclass(frozen=True, slots=True)
class Sketching(Result):
    """How signatures are made: two signatures can be compared only if all these values are equal.

    Except for `lane_bits`: lanes of 32 bits are cut to 16 where they meet such. lshdb knows nothing
    about lanes of another program: `foreign` takes a name instead, by which the user says what made
    them and how.

    Attributes:
        shingle: as in the settings, `word:3`; `foreign:NAME` for another program's lanes.
        permutations: lanes of a signature.
        sketch: `fast` or `minhash`; None for another program's lanes.
        seed: of the hashes; None for another program's lanes.
        base: the digest of the base texts in hexadecimal; empty without.
        lane_bits: bits of a lane, 16 or 32; 32 for another program's lanes.
    """

    shingle: str
    permutations: int
    sketch: SketchName | None
    seed: int | None
    base: str = ""
    lane_bits: int = 16

    @classmethod
    def of(cls, settings: Settings) -> Sketching:
        """How a database makes its signatures."""
        shingling, base = settings.shingling, base_of(settings.shingling).hex()
        sketch = None if shingling.foreign else settings.sketch
        seed = None if shingling.foreign else settings.seed
        return cls(str(shingling), settings.permutations, sketch, seed, base, settings.lane_bits)

    @classmethod
    def foreign(cls, name: str, permutations: int) -> Sketching:
        """How another program makes them, by a name; SettingsError for an invalid name.

        >>> Sketching.foreign("datasketch, char:5, sha1, seed 1", 128).shingle
        'foreign:datasketch, char:5, sha1, seed 1'
        """
        return cls(str(Shingling.parse(f"foreign:{name}")), permutations, None, None, "", 32)

    def __str__(self) -> str:
        how = f"shingle {self.shingle}, {self.permutations} lanes of {self.lane_bits} bits"
        if self.sketch is None:
            return how
        base = f", base texts {self.base}" if self.base else ""
        return f"{how}, sketch {self.sketch}, seed {self.seed}{base}"


def check_comparable(name: str, made_with: Sketching, other: Sketching) -> None:
    """Raise SettingsMismatch if the signatures of a file are made differently from others.

    Raises:
        UsageError: the others are described by something else than a Sketching.
    """
    if not isinstance(other, Sketching):
        raise errors.UsageError(f"made_with {other!r:.100} is not a lshdb.Sketching")
    for field in Sketching.__slots__:
        value, other_value = getattr(made_with, field), getattr(other, field)
        if value != other_value and not (field == "lane_bits" and value < other_value):
            difference = (
                f"{field} {value or 'none'}, and the documents are compared by "
                f"{other_value or 'none'}"
            )
            if field == "base":  # by its digest, which says nothing to people
                difference = "other base texts than the documents are compared by"
            raise errors.SettingsMismatch(
                f"{name} has {difference}: their signatures cannot be compared"
            )
