"""From a user's request to a file's settings: defaults, and the choice of bands and rows."""

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TypeVar, cast

from lshdb.errors import SettingsError, SettingsMismatch
from lshdb.options import ReindexOptions, SettingsOptions, ShapeOptions, ShingleOptions
from lshdb.shingling.content import normalized
from lshdb.shingling.hashing import LARGEST_SEED
from lshdb.shingling.shingles import base_hashes
from lshdb.shingling.shingling import Shingling
from lshdb.sketching.constructions import Construction, candidate_probability
from lshdb.sketching.settings import Settings, SketchName, settings_record

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
    "programs": ("code:6", 0.6),
    "code": ("code:6", 0.6),
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
    given["shingle"] = _shingle(request, given["shingle"] or (request.ignoring and own["shingle"]))
    if construction := given_construction(request):
        given["construction"] = str(construction)
    if request.seed == "random":
        if actual.seed < MIN_RANDOM_SEED:
            raise SettingsMismatch(
                f"{path} has seed {actual.seed}, not a random one: leave it out, or make another "
                "file"
            )
        del given["seed"]
    if _with_base(actual.shingling, request.base) != actual.shingling:
        raise SettingsMismatch(
            f"{path} has other base texts: leave them out, or run lshdb reindex --base"
        )
    given["base"] = None
    for name, value in own.items():
        if given.get(name) not in (None, value):
            raise SettingsMismatch(
                f"{path} has {name} {value}, not {given[name]}: leave it out, or make another file"
            )


def _shingle(request: ShingleOptions, chosen: object) -> object:
    """The shingle with what is ignored in it."""
    ending = "-numbers" if chosen and request.ignoring and "-" not in str(chosen) else ""
    return f"{chosen}{ending}" if ending else chosen


def _with_base(shingling: Shingling, base: Mapping[str, str] | None) -> Shingling:
    """The shingling with other base texts, if some are given; SettingsError if impossible."""
    if base is None:
        return shingling
    if base and (shingling.foreign or shingling.of_sets):
        raise SettingsError(f"base texts are for texts, and shingle is {shingling}: leave out base")
    texts = {str(normalized(name)): str(normalized(text)) for name, text in base.items()}
    shingling = replace(shingling, base=tuple(sorted(texts.items())))
    if base and not len(base_hashes(shingling, SEED)):
        raise SettingsError("the base texts are empty: name others, or leave out base")
    return shingling


def as_in(request: SettingsOptions, other: Settings) -> SettingsOptions:
    """The request, with the settings of another file for what it leaves open."""
    if not (request.bands or request.rows or request.construction):
        threshold, recall = request.threshold or other.threshold, request.recall or other.recall
        request = replace(request, threshold=threshold, recall=recall)
    return replace(
        request,
        shingle=request.shingle or str(other.shingling),
        permutations=request.permutations or other.permutations,
        sketch=request.sketch or other.sketch,
        base=or_default(request.base, dict(other.shingling.base)),
        seed=or_default(request.seed, other.seed),
    )


def or_default(given: _T | None, default: _T) -> _T:
    """The given value, or the default in place of None."""
    return default if given is None else given


@lru_cache(maxsize=100)  # to make a file asks twice, which would take a quarter of its time
def choose_construction(threshold: float, recall: float, lanes: int) -> Construction:
    """The most selective bands and rows that reach the recall at the threshold.

    The largest r for which floor(lanes / r) bands reach it, then the fewest bands that still do:
    more rows mean fewer false candidates, fewer bands mean a smaller table.

    Raises:
        SettingsError: no construction of this many lanes reaches the recall.

    >>> choose_construction(0.8, 0.99, 128)
    Construction(rows=6, bands=16)
    """
    for rows in range(lanes, 0, -1):
        maximum = Construction(rows, lanes // rows)
        if candidate_probability(threshold, maximum) >= recall:
            break
    else:
        best = candidate_probability(threshold, Construction(1, lanes))
        raise SettingsError(
            f"recall {recall:g} at threshold {threshold:g} cannot be reached with {lanes} "
            f"permutations (at most {math.floor(best * 1e4) / 1e4:g}): give more "
            "permutations or ask for less recall"
        )
    for bands in range(1, maximum.bands):
        if candidate_probability(threshold, Construction(rows, bands)) >= recall:
            return Construction(rows, bands)
    return maximum


def resolve(request: SettingsOptions) -> Settings:
    """The settings of a new file; SettingsError if they are impossible."""
    usual_shingle, usual_threshold = PURPOSES.get(request.purpose or "", (SHINGLE, THRESHOLD))
    threshold = or_default(request.threshold, usual_threshold)
    recall = or_default(request.recall, RECALL)
    construction = given_construction(request)
    lanes = 0 if construction is None else construction.lanes
    permutations = or_default(request.permutations, max(PERMUTATIONS, lanes))
    # Checked before searching a construction, which needs valid numbers.
    shingling = Shingling.parse(str(_shingle(request, or_default(request.shingle, usual_shingle))))
    shingling = _with_base(shingling, request.base)
    if shingling.foreign and request.sketch is not None:
        raise SettingsError(f"shingle {shingling} has its own sketch: do not give one")
    settings = Settings(
        threshold=threshold,
        recall=recall,
        shingling=shingling,
        permutations=permutations,
        construction=construction or Construction(1, 1),
        sketch=FOREIGN
        if shingling.foreign
        else cast(SketchName, or_default(request.sketch, SKETCH)),
        seed=_random_seed() if request.seed == "random" else or_default(request.seed, SEED),
        content=or_default(request.content, not shingling.foreign),
        passages=or_default(request.passages, 0),
        reworded=or_default(request.reworded, False),
    )
    return _shaped(request, settings, construction)


def reindexed(request: ReindexOptions, settings: Settings) -> Settings:
    """The settings of a file whose index is rebuilt from its signatures.

    Settings that are not given stay, and bands and rows are chosen unless they are given. Only
    threshold, recall, construction, passages, rare words and base texts can change: the others are
    in the signatures.

    Raises:
        SettingsError: nothing is given, or it is impossible, or needs more lanes than are stored.
    """
    given = (request.threshold, request.recall, request.bands, request.rows, request.construction)
    if request.passages is not None:
        settings = replace(settings, passages=request.passages)
    if request.reworded is not None:
        settings = replace(settings, reworded=request.reworded in (True, "on"))
    if request.base is not None:
        if not settings.content:
            raise SettingsError("base texts change by contents, and this database keeps none")
        settings = replace(settings, shingling=_with_base(settings.shingling, request.base))
    if all(one is None for one in given):
        if any(one is not None for one in (request.passages, request.reworded, request.base)):
            return settings
        raise SettingsError(
            "give a threshold, a recall, bands and rows, a construction, passages, reworded or base"
        )
    construction = given_construction(request)
    lanes = settings.permutations
    if construction is not None and construction.lanes > lanes:
        raise SettingsError(
            f"{construction} takes {construction.lanes} lanes, and the stored signatures have "
            f"{lanes}: give a construction of fewer lanes, or make another file with "
            f"{construction.lanes} permutations"
        )
    settings = replace(
        settings,
        threshold=or_default(request.threshold, settings.threshold),
        recall=or_default(request.recall, settings.recall),
        construction=Construction(1, 1),
    )
    maximum = candidate_probability(settings.threshold, Construction(1, lanes))
    if construction is None and maximum < settings.recall:
        raise SettingsError(
            f"recall {settings.recall:g} at threshold {settings.threshold:g} cannot be reached "
            f"with the {lanes} lanes of the stored signatures (at most "
            f"{math.floor(maximum * 1e4) / 1e4:g}): ask for less recall, or make another file "
            "with more permutations"
        )
    return _shaped(request, settings, construction)


def _shaped(
    request: ShapeOptions, settings: Settings, construction: Construction | None
) -> Settings:
    """The settings with their construction, given or chosen."""
    threshold, recall = settings.threshold, settings.recall
    if construction is None:
        construction = choose_construction(threshold, recall, settings.permutations)
    elif request.recall is None:
        # The shape decides; the file records the recall that it gives.
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
    # A curve far below the threshold may round to recall 0, which is invalid.
    return replace(settings, recall=recall or 1e-6, construction=construction)


def _random_seed() -> int:
    import secrets  # loads OpenSSL

    return MIN_RANDOM_SEED + secrets.randbelow(LARGEST_SEED + 1 - MIN_RANDOM_SEED)
