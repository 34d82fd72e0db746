"""From a user's request to a file's settings: defaults, and the choice of bands and rows."""

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from lshdb import groups, offers, options
from lshdb.errors import SettingsError, SettingsMismatch
from lshdb.sketch.constructions import Construction, candidate_probability
from lshdb.sketch.settings import MIN_LANES, Settings, SketchName, parts_of, settings_record
from lshdb.text.content import normalized
from lshdb.text.hashing import LARGEST_SEED
from lshdb.text.kinds import missing_app
from lshdb.text.shingles import base_hashes
from lshdb.text.shingling import Shingling

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

MORE_CANDIDATES = 1.15
"""How many times the false candidates of the most selective shape fewer bands may have, for pairs
of any similarity below the threshold alike. At 0.8 and recall 0.99 it takes 12 bands of 5 rows, not
16 of 6: a quarter less to write, and where documents have headers, as licences and manuals do, as
many candidates. 9 bands of 4 rows (1.3 times by this measure) have 1.3 times as many there, and up
to twice as many elsewhere (docs/figures.md). Below 0.7 no shape of 128 lanes is within it."""

OF_INDEX = ("threshold", "recall", "bands", "rows", "construction")
"""The settings of the index alone: signatures do not depend on them, and reindex changes them."""

_PARTS = 32
"""Parts of the range below a threshold, between which a curve is evaluated for its mean."""

PURPOSES = {
    "short-text": ("char:3-cjk", 0.55),
    "records": ("char:3", 0.55),
    "documents": ("char:9", 0.8),
    "scans": ("char:5", 0.28),
    "programs": ("code:6", 0.4),
    "baskets": ("set", 0.2),
}
"""Shingle and threshold by what is compared: for documents and baskets by the textbook's rules of
thumb, for short texts, records, scans and programs by what was measured (docs/figures.md)."""
WEIGHED = {"records", "scans"}
"""The purposes of files whose documents are compared by what is rare in both."""
OF_RECORDS = Construction(rows=MIN_LANES, bands=1)
"""The bands of records: only records equal to others need them, as shingles find the rest."""
PASSAGES_OF_PROGRAMS = 12
"""Tokens of the passages that a file for programs indexes: shorter ones are idioms of a language,
which tell copies apart less well (docs/figures.md)."""


def _given_settings(request: options.SettingsOptions | options.ReindexOptions) -> dict[str, Any]:
    """The settings that a request gives, by name."""
    return {name: value for name, value in groups.values_of(request).items() if value is not None}


def _settings_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are fields of `Settings`."""
    return {field.name: values[field.name] for field in fields(Settings) if field.name in values}


def given_construction(request: options.ShapeOptions) -> Construction | None:
    """The requested shape, None if lshdb chooses it; SettingsError if it is impossible."""
    if request.construction is not None:
        construction = Construction.parse(request.construction)
        given = request.bands or construction.bands, request.rows or construction.rows
        if given != (construction.bands, construction.rows):
            raise SettingsError("give either a construction or bands and rows")
        return construction
    if request.bands is None or request.rows is None:
        if request.bands != request.rows:
            raise SettingsError("bands and rows are given together")
        return None
    return Construction.parse(f"and {request.rows}, or {request.bands}")


def check_against(
    request: options.SettingsOptions, actual: Settings, path: Path, *, whole: bool = False
) -> str:
    """Compare the requested settings with those of an existing file.

    Args:
        request: the requested settings.
        actual: the file's settings.
        path: the file.
        whole: whether the settings of the index must be the same, too.

    Returns:
        A sentence that says which settings of the index (threshold, recall, bands, rows,
        construction) differ, and that the file's are used, as reindex may have changed them. It is
        empty if all are equal.

    Raises:
        SettingsMismatch: other settings differ, or with `whole` any settings.
    """
    stored = settings_record(actual)
    shingle, threshold = PURPOSES.get(request.kind.purpose or "", (None, None))
    # A purpose decides only the settings that are not given explicitly.
    is_records = request.kind.purpose in WEIGHED or None
    usual = {"shingle": shingle, "threshold": threshold, "records": is_records}
    values = usual | _given_settings(request)
    shingles = request.shingles
    if shingles.ignoring:
        chosen = values["shingle"] or str(actual.shingling)
        values["shingle"] = str(_shingling(shingles, chosen))
    if construction := given_construction(request.shape):
        values["construction"] = str(construction)
    if shingles.seed == "random":
        if actual.seed < MIN_RANDOM_SEED:
            raise SettingsMismatch(
                f"{path} has seed {actual.seed}, not a random one: leave it out, or make another "
                "file"
            )
        del values["seed"]
    if _with_base(actual.shingling, request.base) != actual.shingling:
        raise SettingsMismatch(
            f"{path} has other base texts: leave them out, or run lshdb reindex --base"
        )
    values["base"] = None
    differing = {
        name: f"{name} {value}, not {values[name]}"
        for name, value in stored.items()
        if values.get(name) not in (None, value)
    }
    for name, difference in differing.items():
        if name not in OF_INDEX:
            raise SettingsMismatch(
                f"{path} has {difference}: leave this setting out, or make another file"
            )
    if "bands" in differing or "rows" in differing:
        differing.pop("construction", None)  # it says the same again
    differences = " and ".join(differing.values())
    if whole and differing:
        raise SettingsMismatch(f"{path} has {differences}: leave it out, or run lshdb reindex")
    return differences and (
        f"{path} has {differences}: the file's own settings are used; lshdb reindex changes them"
    )


def _shingling(request: options.ShingleOptions, chosen: str) -> Shingling:
    """The shingling of a text such as word:3, with the requested option for what is ignored."""
    return Shingling.parse(f"{chosen}-{request.ignoring}" if request.ignoring else chosen)


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


def last_level(
    kind: Literal["and", "or"],
    of_size: Callable[[int], Construction],
    threshold: float,
    recall: float,
    maximum: int,
) -> Construction | None:
    """The most selective construction that reaches the recall; None if none does.

    Args:
        kind: kind of the last level: the smallest OR is the most selective, or the largest AND.
        of_size: makes the construction for a size of this level.
        threshold, recall: the similarity, and the minimum probability there.
        maximum: the largest size.
    """
    sizes = range(1, maximum + 1) if kind == "or" else range(maximum, 0, -1)
    index = bisect_left(
        sizes, recall, key=lambda size: candidate_probability(threshold, of_size(size))
    )
    return of_size(sizes[index]) if index < maximum else None


def mean_below(threshold: float, construction: Construction) -> float:
    """The mean probability that pairs below a threshold are candidates, if all are as frequent.

    >>> round(mean_below(0.8, Construction(rows=6, bands=16)), 3)
    0.267
    """
    similarities = (threshold * part / _PARTS for part in range(1, _PARTS))
    return fmean(candidate_probability(similarity, construction) for similarity in similarities)


def choose_construction(threshold: float, recall: float, lanes: int) -> Construction:
    """Few bands that reach the recall at the threshold, with few false candidates.

    More rows mean fewer false candidates, fewer bands mean fewer rows to write and to look up, and
    a smaller table. The most selective shape has the largest r for which floor(lanes / r) bands
    reach the recall, and the fewest bands that still do. The one with the fewest bands is chosen
    whose curve has a mean below the threshold of at most MORE_CANDIDATES times that shape's.

    Raises:
        SettingsError: no construction of this many lanes reaches the recall.

    >>> choose_construction(0.8, 0.99, 128)
    Construction(rows=5, bands=12)
    """
    of_rows = (
        last_level("or", partial(Construction, rows), threshold, recall, lanes // rows)
        for rows in range(lanes, 0, -1)
    )
    shapes = [shape for shape in of_rows if shape]
    if shapes:
        most = MORE_CANDIDATES * mean_below(threshold, shapes[0])
        selective = (shape for shape in shapes if mean_below(threshold, shape) <= most)
        return min(selective, key=attrgetter("bands"))  # the first one of several is most selective
    best = candidate_probability(threshold, Construction(1, lanes))
    raise SettingsError(
        f"recall {recall:g} at threshold {threshold:g} cannot be reached with {lanes} "
        f"permutations (at most {math.floor(best * 1e4) / 1e4:g}): ask for less recall, or make "
        "a file with more permutations"
    )


def with_passages(request: options.SettingsOptions) -> options.SettingsOptions:
    """The request for a new file, with an index of passages if it is for programs.

    A request that says which passages, or that no contents are kept, stays as it is.
    """
    is_open = request.shape.passages is None and request.content is not False
    shingle = request.shingles.shingle or "code:"
    if request.kind.purpose == "programs" and is_open and shingle.startswith("code:"):
        return groups.replaced(request, passages=PASSAGES_OF_PROGRAMS)
    return request


def resolve(request: options.SettingsOptions) -> Settings:
    """The settings of a new file; SettingsError if they are impossible."""
    usual_shingle, usual_threshold = PURPOSES.get(request.kind.purpose or "", (SHINGLE, THRESHOLD))
    chosen = request.shingles.shingle or usual_shingle
    shingling = _with_base(_shingling(request.shingles, chosen), request.base)
    if shingling.foreign and request.sketch is not None:
        raise SettingsError(f"shingle {shingling} has its own sketch: do not give one")
    shape = given_construction(request.shape) or Construction(1, 1)
    values = {
        "threshold": usual_threshold,
        "recall": RECALL,
        "permutations": max(PERMUTATIONS, shape.lanes),
        "sketch": FOREIGN if shingling.foreign else SKETCH,
        "seed": SEED,
        "content": not shingling.foreign,
        "records": request.kind.purpose in WEIGHED,
        **_given_settings(request),
        "shingling": shingling,
        "construction": shape,
    }
    if request.shingles.seed == "random":
        import secrets  # loads OpenSSL

        values["seed"] = MIN_RANDOM_SEED + secrets.randbelow(LARGEST_SEED + 1 - MIN_RANDOM_SEED)
    # Checked before a construction is chosen, which needs valid numbers.
    settings = _shaped(request.shape, Settings(**_settings_of(values)))
    bits = 32 if shingling.foreign else lane_bits_for(settings.construction)
    # The apps of which the file needs something are there.
    offers.check_is_there(missing_app(shingling), str(shingling))
    offers.check_is_there(offers.app_of(offers.SKETCHES.get(settings.sketch, "")), settings.sketch)
    for part in parts_of(settings):
        offers.check_is_there(offers.TABLES[part], part)
    return replace(settings, lane_bits=bits)


def lane_bits_for(construction: Construction) -> int:
    """How many bits the lanes of a new file have.

    Other documents are in a bucket of r lanes of 16 bits by accident, each with probability 2^-16r.
    With one row, each band gives a query among a million documents 15 of them, which is too many to
    read. With two rows it gives one in 4,300 queries a document, among 100 million one in 43, and
    reading its signature rules it out. (Lanes of other programs have 32 bits.)
    """
    return 32 if construction.rows == 1 else 16


def reindexed(request: options.ReindexOptions, settings: Settings) -> Settings:
    """The settings of a file whose index is rebuilt from its signatures.

    Settings that are not given stay, and bands and rows are chosen unless they are given. Only
    threshold, recall, construction, passages, rare words and base texts can change: the others are
    in the signatures.

    Raises:
        SettingsError: nothing is given, or it is impossible, or needs more lanes than are stored.
    """
    values = _given_settings(request)
    if request.reworded is not None:
        values["reworded"] = request.reworded in (True, "on")
    if request.base is not None:
        if not settings.content:
            raise SettingsError("base texts change by contents, and this database keeps none")
        values["shingling"] = _with_base(settings.shingling, request.base)
    shape = values.keys() & {*OF_INDEX}
    if shape:
        values["construction"] = given_construction(request.shape) or Construction(1, 1)
    changes = _settings_of(values)
    if not changes:
        raise SettingsError(
            "give a threshold, a recall, bands and rows, a construction, passages, reworded or base"
        )
    settings = replace(settings, **changes)
    return _shaped(request.shape, settings) if shape else settings


def _shaped(request: options.ShapeOptions, settings: Settings) -> Settings:
    """The settings with the requested construction, or with the best one for them."""
    threshold, recall = settings.threshold, settings.recall
    construction = given_construction(request)
    if construction is None:
        best = OF_RECORDS
        if not settings.records:
            best = choose_construction(threshold, recall, settings.permutations)
        return replace(settings, construction=best)
    reached = candidate_probability(threshold, construction)
    if request.recall is None:
        # The shape decides; the file records the recall that it gives. A curve far below the
        # threshold may round to recall 0, which is invalid.
        recall = round(reached, 6) or 1e-6
    elif reached < recall:
        shape = f"{construction.bands} bands of {construction.rows} rows have"
        if construction.higher:
            shape = f"{construction} has"
        raise SettingsError(
            f"{shape} recall {reached:.4g} at threshold {threshold:g}, not {recall:g}: give "
            "either the shape or the recall"
        )
    return replace(settings, recall=recall, construction=construction)
