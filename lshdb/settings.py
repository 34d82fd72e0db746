"""The defaults of a new file, and whether a file has the settings that a user asks for."""

from pathlib import Path
from typing import TypeVar

from lshdb.errors import SettingsError, SettingsMismatch
from lshdb.model import Construction, Settings, SketchName
from lshdb.options import SettingsOptions, ShapeOptions

THRESHOLD = 0.8
RECALL = 0.99
SHINGLE = "word:3"
PERMUTATIONS = 128
SKETCH: SketchName = "fast"
FOREIGN: SketchName = "minhash"
"""Sketch of another program's lanes: the share of equal lanes is about the similarity."""
SEED = 1
MIN_RANDOM_SEED = 1 << 32
"""Seeds below this are chosen by people; random ones are not among them."""

PURPOSES = {
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
    return Construction.parse(f"and {request.rows}, or {request.bands}")


def check_against(request: SettingsOptions, actual: Settings, path: Path) -> None:
    """Raise SettingsMismatch where a file has other settings than those given."""
    own = settings_record(actual)
    shingle, threshold = PURPOSES.get(request.purpose or "", (None, None))
    given: dict[str, object] = {"shingle": shingle, "threshold": threshold}
    # From a purpose, only what is not given explicitly.
    given |= {name: value for name, value in vars(request).items() if value is not None}
    if construction := given_construction(request):
        given["construction"] = str(construction)
    if request.seed == "random":
        if actual.seed < MIN_RANDOM_SEED:
            raise SettingsMismatch(
                f"{path} has seed {actual.seed}, not a random one: leave it out, or make another "
                "file"
            )
        del given["seed"]
    for name, value in own.items():
        if given.get(name) not in (None, value):
            raise SettingsMismatch(
                f"{path} has {name} {value}, not {given[name]}: leave it out, or make another file"
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
