"""The constructions worth having for a threshold, a recall and a number of lanes."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Literal

from lshdb import offers
from lshdb.errors import Cut, UsageError, warn_of_limit
from lshdb.maintain import resolve
from lshdb.options import TuneOptions
from lshdb.results import Result
from lshdb.sketch.constructions import MAX_LANES, Construction, candidate_probability
from lshdb.store.store import Store
from lshdb.taking import takes

BAND_BYTES = 20
"""Bytes of a band row in the file, measured with dbstat: 19.6 to 20.1."""
SIMILARITIES = tuple(i / 10 for i in range(1, 10))
"""The similarities at which a curve is given."""
Forecast = Callable[[Construction], tuple[float, float]]
"""The candidates of a query that a construction will give, and the rows that the query reads."""
_LARGEST_INNER = 16
"""Lanes or bands in a level of a cascade that is not the last one."""


@dataclasses.dataclass(frozen=True, slots=True)
class Tuned(Result):
    """A construction with predictions.

    Attributes:
        construction: the shape of the index.
        recall: the share of pairs at the threshold that are candidates.
        curve: the share of pairs that are candidates at the similarities 0.1 to 0.9.
        bytes: bytes of a document's signature and band rows in the file.
        candidates: expected candidates of a query; None without a database.
        work: rows that a query is expected to read: a bucket per band, their rows, candidates;
            None without a database.
        chosen: whether it is the best.
        named: whether the caller named it.
    """

    construction: Construction
    recall: float
    curve: tuple[float, ...]
    bytes: int
    candidates: float | None
    work: float | None
    chosen: bool = False
    named: bool = False


@takes(TuneOptions)
def tune(options: TuneOptions) -> list[Tuned]:
    """The constructions worth having, best first.

    They are bands of rows, and cascades of three and four levels, within the number of lanes, that
    reach the recall at the threshold; no other construction has both fewer false candidates and
    fewer bands. For a database (`Database.tune`) the best construction is the one whose queries
    read the fewest rows. Here it is the one that `lshdb.open` chooses, and the others follow by
    the mean of their curves below the threshold.

    Raises:
        UsageError: numbers out of range, or a construction of more lanes than `permutations`.
        SettingsError: no construction of this many lanes reaches the recall.

    >>> tune(threshold=0.8, recall=0.99)[0].construction
    Construction(rows=5, bands=12)
    """
    return ranked(options, resolve.THRESHOLD, resolve.RECALL, resolve.PERMUTATIONS)


def tune_stored(store: Store, options: TuneOptions) -> list[Tuned]:
    """The constructions worth having for a file; see Database.tune."""
    with store.reading():
        settings = store.settings
    forecast: Forecast | None = None
    if offers.is_there("measuring") or options.documents is not None:
        forecast = offers.offered(offers.SEARCHES, "candidates")(store, options)
    else:
        text = f"candidates are not predicted: that belongs to {offers.missing('measuring')}"
        warn_of_limit(Cut("tune", 1, text))
    usual = settings.threshold, settings.recall, settings.permutations
    return ranked(options, *usual, forecast, settings.lane_bits)


def ranked(
    options: TuneOptions,
    threshold: float,
    recall: float,
    lanes: int,
    forecast: Forecast | None = None,
    lane_bits: int | None = None,
) -> list[Tuned]:
    """The constructions worth having; see `tune`.

    Args:
        options: the user's request.
        threshold, recall, lanes: the values for what the request leaves open.
        forecast: predicts for a collection; None without one.
        lane_bits: of the file; None for those of a new one.
    """
    threshold, recall = options.threshold or threshold, options.recall or recall
    named = None if options.construction is None else Construction.parse(options.construction)
    lanes = options.permutations or max(lanes, 0 if named is None else named.lanes)
    if named is not None and named.lanes > lanes:
        raise UsageError(f"{named} takes {named.lanes} lanes, and there are {lanes} permutations")
    usual = resolve.choose_construction(threshold, recall, lanes)

    def described(construction: Construction) -> Tuned:
        candidates, work = forecast(construction) if forecast else (None, None)
        signature_bytes = lanes * (lane_bits or resolve.lane_bits_for(construction)) // 8
        return Tuned(
            construction,
            candidate_probability(threshold, construction),
            tuple(candidate_probability(s, construction) for s in SIMILARITIES),
            signature_bytes + BAND_BYTES * construction.bands,
            candidates,
            work,
            named=construction == named,
        )

    def cost(tuned: Tuned) -> tuple[float, int, str]:
        shape, candidates = tuned.construction, tuned.candidates
        if candidates is None:
            candidates = resolve.mean_below(threshold, shape)
        return candidates, shape.bands, str(shape)

    kept, fewest = [], MAX_LANES + 1
    shapes = {*_constructions_reaching(threshold, recall, lanes)}
    for tuned in sorted(map(described, shapes), key=cost):
        bands = tuned.construction.bands
        if bands < fewest or tuned.construction == usual:
            kept.append(tuned)
        fewest = min(fewest, bands)
    # The usual one comes first where nothing is known of the documents.
    kept.sort(key=lambda tuned: tuned.construction != usual if tuned.work is None else tuned.work)
    kept[0] = dataclasses.replace(kept[0], chosen=True)
    if named is not None and not any(tuned.named for tuned in kept):
        kept.append(described(named))
    return kept


def _constructions_reaching(threshold: float, recall: float, lanes: int) -> Iterator[Construction]:
    """Constructions that reach the recall, each with the last level that fits it best."""
    # The sizes of the levels below; an AND of 1 makes a cascade that starts with OR.
    first, inner = range(1, _LARGEST_INNER + 1), range(2, _LARGEST_INNER + 1)
    below = itertools.chain(
        itertools.product(range(1, lanes + 1)),
        itertools.product(first, inner),
        itertools.product(first, inner, inner),
    )
    for sizes in below:
        last: Literal["and", "or"] = "or" if len(sizes) % 2 else "and"
        levels = zip(("and", "or") * 2, sizes, strict=False)
        before = "".join(f"{kind} {size}, " for kind, size in levels)

        def of_size(size: int, before: str = f"{before}{last} ") -> Construction:
            return Construction.parse(f"{before}{size}")

        maximum = lanes // math.prod(sizes)
        construction = resolve.last_level(last, of_size, threshold, recall, maximum)
        if construction is not None:
            yield construction
