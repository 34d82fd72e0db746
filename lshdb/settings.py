"""What a user asks of a database: defaults for a new file, a check against one that exists."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeVar

from lshdb.errors import SettingsError, SettingsMismatch
from lshdb.model import MOST_LANES, Construction, Settings

THRESHOLD: Final = 0.8
RECALL: Final = 0.99
SHINGLE: Final = "word:3"
PERMUTATIONS: Final = 128
SKETCH: Final = "fast"
FOREIGN: Final = "minhash"
"""What another program's lanes are taken for: equal in a share of about the similarity."""
SEED: Final = 1
LEAST_RANDOM: Final = 1 << 32
"""Seeds below this are chosen by people; random ones are not among them."""

PURPOSES: Final = {
    "short-text": ("char:5", 0.8),
    "documents": ("char:9", 0.8),
    "code": ("word:3", 0.8),
    "baskets": ("set", 0.2),
}
"""Shingle and threshold by what is compared; the textbook's rules of thumb."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsRequest:
    """Settings as given; None stands for not given. For their meaning see `lshdb.open`."""

    threshold: float | None = None
    recall: float | None = None
    shingle: str | None = None
    permutations: int | None = None
    bands: int | None = None
    rows: int | None = None
    construction: str | None = None
    sketch: str | None = None
    seed: int | Literal["random"] | None = None
    content: bool | None = None
    purpose: str | None = None

    def __post_init__(self) -> None:
        if self.purpose is not None and self.purpose not in PURPOSES:
            raise SettingsError(f"{self.purpose!r} is not {', '.join(PURPOSES)}")

    def given_construction(self) -> Construction | None:
        """The shape asked for, None where it is to be chosen; SettingsError if impossible."""
        if self.construction is not None:
            given = Construction.parse(self.construction)
            if self.bands not in (None, given.bands) or self.rows not in (None, given.rows):
                raise SettingsError("give either a construction or bands and rows")
            return given
        if (self.bands is None) != (self.rows is None):
            raise SettingsError("bands and rows are given together")
        if self.bands is None or self.rows is None:
            return None
        if self.bands < 1 or self.rows < 1:
            raise SettingsError(f"{self.bands} bands of {self.rows} rows: give at least 1 of each")
        if self.bands * self.rows > MOST_LANES:
            raise SettingsError(
                f"{self.bands} bands of {self.rows} rows take {self.bands * self.rows} lanes, and "
                f"{MOST_LANES} are the most"
            )
        return Construction(self.rows, self.bands)

    def check_against(self, actual: Settings, path: Path) -> None:
        """Raise SettingsMismatch where a file has other settings than those given."""
        construction = self.given_construction()
        # Of a purpose, what is not given otherwise.
        shingle, threshold = PURPOSES.get(self.purpose or "", (None, None))
        comparisons = [
            ("threshold", or_default(self.threshold, threshold), actual.threshold),
            ("recall", self.recall, actual.recall),
            ("shingle", or_default(self.shingle, shingle), str(actual.shingling)),
            ("permutations", self.permutations, actual.permutations),
            ("construction", construction and str(construction), str(actual.construction)),
            ("sketch", self.sketch, actual.sketch),
            ("seed", None if self.seed == "random" else self.seed, actual.seed),
        ]
        if self.seed == "random" and actual.seed < LEAST_RANDOM:
            raise SettingsMismatch(
                f"{path} has seed {actual.seed}, not a random one: leave it out, or make another "
                "file"
            )
        if self.content is not None and self.content != actual.content:
            keeps = "keeps contents" if actual.content else "keeps signatures only"
            raise SettingsMismatch(f"{path} {keeps}: that is settled when a file is made")
        for name, given, own in comparisons:
            if given is not None and given != own:
                raise SettingsMismatch(
                    f"{path} has {name} {own}, not {given}: leave it out, or make another file"
                )


def or_default(given: _T | None, default: _T) -> _T:
    """What is given, or the default in place of None."""
    return default if given is None else given
