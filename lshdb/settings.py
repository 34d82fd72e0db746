"""The defaults of a new file, and whether a file has the settings that a user asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeVar

from lshdb.errors import SettingsError, SettingsMismatch
from lshdb.model import MAX_LANES, Construction, Settings
from lshdb.options import SettingsOptions, ShapeOptions

THRESHOLD: Final = 0.8
RECALL: Final = 0.99
SHINGLE: Final = "word:3"
PERMUTATIONS: Final = 128
SKETCH: Final = "fast"
FOREIGN: Final = "minhash"
"""Sketch of another program's lanes: the share of equal lanes is about the similarity."""
SEED: Final = 1
MIN_RANDOM_SEED: Final = 1 << 32
"""Seeds below this are chosen by people; random ones are not among them."""

PURPOSES: Final = {
    "short-text": ("char:5", 0.8),
    "documents": ("char:9", 0.8),
    "code": ("word:3", 0.8),
    "baskets": ("set", 0.2),
}
"""Shingle and threshold by what is compared; the textbook's rules of thumb."""

_T = TypeVar("_T")


def given_construction(request: ShapeOptions) -> Construction | None:
    """The shape asked for, None if lshdb chooses it; SettingsError if impossible."""
    if request.construction is not None:
        given = Construction.parse(request.construction)
        if request.bands not in (None, given.bands) or request.rows not in (None, given.rows):
            raise SettingsError("give either a construction or bands and rows")
        return given
    if (request.bands is None) != (request.rows is None):
        raise SettingsError("bands and rows are given together")
    if request.bands is None or request.rows is None:
        return None
    if request.bands < 1 or request.rows < 1:
        raise SettingsError(
            f"{request.bands} bands of {request.rows} rows: give at least 1 of each"
        )
    if request.bands * request.rows > MAX_LANES:
        raise SettingsError(
            f"{request.bands} bands of {request.rows} rows take {request.bands * request.rows} "
            f"lanes, and the maximum is {MAX_LANES}"
        )
    return Construction(request.rows, request.bands)


def check_against(request: SettingsOptions, actual: Settings, path: Path) -> None:
    """Raise SettingsMismatch where a file has other settings than those given."""
    construction = given_construction(request)
    # From a purpose, only what is not given explicitly.
    shingle, threshold = PURPOSES.get(request.purpose or "", (None, None))
    comparisons = [
        ("threshold", or_default(request.threshold, threshold), actual.threshold),
        ("recall", request.recall, actual.recall),
        ("shingle", or_default(request.shingle, shingle), str(actual.shingling)),
        ("permutations", request.permutations, actual.permutations),
        ("construction", construction and str(construction), str(actual.construction)),
        ("sketch", request.sketch, actual.sketch),
        ("seed", None if request.seed == "random" else request.seed, actual.seed),
        ("passages", request.passages, actual.passages),
    ]
    if request.seed == "random" and actual.seed < MIN_RANDOM_SEED:
        raise SettingsMismatch(
            f"{path} has seed {actual.seed}, not a random one: leave it out, or make another file"
        )
    if request.content is not None and request.content != actual.content:
        keeps = "keeps contents" if actual.content else "keeps signatures only"
        raise SettingsMismatch(f"{path} {keeps}: that cannot change once a file is made")
    for name, given, own in comparisons:
        if given is not None and given != own:
            raise SettingsMismatch(
                f"{path} has {name} {own}, not {given}: leave it out, or make another file"
            )


def or_default(given: _T | None, default: _T) -> _T:
    """The given value, or the default in place of None."""
    return default if given is None else given


def settings_record(settings: Settings) -> dict[str, str | float | bool]:
    """The settings by the names and in the order in which `lshdb info` shows them."""
    return {
        "threshold": settings.threshold,
        "recall": settings.recall,
        "shingle": str(settings.shingling),
        "permutations": settings.permutations,
        "bands": settings.construction.bands,
        "rows": settings.construction.rows,
        "construction": str(settings.construction),
        "sketch": settings.sketch,
        "seed": settings.seed,
        "content": settings.content,
        "passages": settings.passages,
    }
