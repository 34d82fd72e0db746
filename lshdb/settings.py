"""What a user asks of a database: defaults for a new file, a check against one that exists."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, TypeVar, cast

from lshdb.errors import SettingsError, SettingsMismatch
from lshdb.model import LARGEST_SEED, MOST_LANES, Construction, Settings, Shingling, SketchName
from lshdb.scurve import candidate_probability, choose_construction

THRESHOLD: Final = 0.8
RECALL: Final = 0.99
SHINGLE: Final = "word:3"
PERMUTATIONS: Final = 128
SKETCH: Final = "fast"
FOREIGN: Final = "minhash"
"""What another program's lanes are taken for: equal in a share of about the similarity."""
SEED: Final = 1
_LEAST_RANDOM: Final = 1 << 32
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

    def resolve(self) -> Settings:
        """The settings of a new file; SettingsError if they are impossible."""
        usual_shingle, usual_threshold = PURPOSES.get(self.purpose or "", (SHINGLE, THRESHOLD))
        threshold = _or(self.threshold, usual_threshold)
        recall = _or(self.recall, RECALL)
        construction = self._given_construction()
        lanes = 0 if construction is None else construction.lanes
        permutations = _or(self.permutations, max(PERMUTATIONS, lanes))
        # Checked before a construction is sought: the search needs numbers that make sense.
        shingling = Shingling.parse(_or(self.shingle, usual_shingle))
        if shingling.foreign and self.sketch is not None:
            raise SettingsError(f"shingle {shingling} comes with a sketch of its own: give none")
        settings = Settings(
            threshold=threshold,
            recall=recall,
            shingling=shingling,
            permutations=permutations,
            construction=construction or Construction(1, 1),
            sketch=FOREIGN if shingling.foreign else cast(SketchName, _or(self.sketch, SKETCH)),
            seed=_random_seed() if self.seed == "random" else _or(self.seed, SEED),
            content=_or(self.content, not shingling.foreign),
        )
        return self._shaped(settings, construction)

    def reindexed(self, settings: Settings) -> Settings:
        """The settings of a file whose index is made anew from its signatures.

        What is not given stays, and bands and rows are chosen unless they are given. Only
        threshold, recall and construction can change: the others are in the signatures.

        Raises:
            SettingsError: nothing is given, it is impossible, or takes more lanes than are stored.
        """
        given = (self.threshold, self.recall, self.bands, self.rows, self.construction)
        if all(one is None for one in given):
            raise SettingsError("give a threshold, a recall, bands and rows, or a construction")
        construction = self._given_construction()
        lanes = settings.permutations
        if construction is not None and construction.lanes > lanes:
            raise SettingsError(
                f"{construction} takes {construction.lanes} lanes, and the stored signatures have "
                f"{lanes}: give a construction of fewer lanes, or make another file with "
                f"--permutations {construction.lanes}"
            )
        settings = replace(
            settings,
            threshold=_or(self.threshold, settings.threshold),
            recall=_or(self.recall, settings.recall),
            construction=Construction(1, 1),
        )
        most = candidate_probability(settings.threshold, Construction(1, lanes))
        if construction is None and most < settings.recall:
            raise SettingsError(
                f"recall {settings.recall:g} at threshold {settings.threshold:g} cannot be reached "
                f"with the {lanes} lanes of the stored signatures (at most "
                f"{math.floor(most * 1e4) / 1e4:g}): ask for less recall, or make another file "
                "with more permutations"
            )
        return self._shaped(settings, construction)

    def _shaped(self, settings: Settings, construction: Construction | None) -> Settings:
        """The settings with their construction: the one given, or the one to be chosen."""
        threshold, recall = settings.threshold, settings.recall
        if construction is None:
            construction = choose_construction(threshold, recall, settings.permutations)
        elif self.recall is None:
            # The shape decides; the file tells the recall that it gives.
            recall = round(candidate_probability(threshold, construction), 6)
        elif candidate_probability(threshold, construction) < recall:
            shape = f"{construction.bands} bands of {construction.rows} rows have"
            if construction.higher:
                shape = f"{construction} has"
            raise SettingsError(
                f"{shape} recall "
                f"{candidate_probability(threshold, construction):.4g} at threshold "
                f"{threshold:g}, not {recall:g}: give either the shape or the recall"
            )
        # A curve far below the threshold may round to no recall at all, which is not legal.
        return replace(settings, recall=recall or 1e-6, construction=construction)

    def _given_construction(self) -> Construction | None:
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
        construction = self._given_construction()
        # Of a purpose, what is not given otherwise.
        shingle, threshold = PURPOSES.get(self.purpose or "", (None, None))
        comparisons = [
            ("threshold", _or(self.threshold, threshold), actual.threshold),
            ("recall", self.recall, actual.recall),
            ("shingle", _or(self.shingle, shingle), str(actual.shingling)),
            ("permutations", self.permutations, actual.permutations),
            ("construction", construction and str(construction), str(actual.construction)),
            ("sketch", self.sketch, actual.sketch),
            ("seed", None if self.seed == "random" else self.seed, actual.seed),
        ]
        if self.seed == "random" and actual.seed < _LEAST_RANDOM:
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


def _random_seed() -> int:
    import secrets  # loads OpenSSL

    return _LEAST_RANDOM + secrets.randbelow(LARGEST_SEED + 1 - _LEAST_RANDOM)


def _or(given: _T | None, default: _T) -> _T:
    return default if given is None else given
