"""The settings of a database."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from lshdb import formatting
from lshdb.errors import SettingsError
from lshdb.groups import Option, check_value
from lshdb.sketch import constructions
from lshdb.text.hashing import LARGEST_SEED
from lshdb.text.shingling import Shingling

SketchName = Literal["fast", "minhash"]
MIN_LANES = 16
MIN_RUN = 3
MAX_RUN = 1000
"""Units of the runs that an index of passages may be made for: shorter ones are everywhere."""

_PARTS = {"fingerprints": "passages", "rare_words": "reworded", "record_shingles": "records"}
"""The setting from which each part of the index follows."""
_USUAL_RECALL = 0.99
"""The share of pairs at the threshold from which nothing is said of those that are missed."""
_NAMED = 5
"""Maximum number of base texts that are named."""
_SHARE = Option("a share of pairs", above=0, max=1)
_SETTINGS: dict[str, tuple[object, Option]] = {
    "threshold": (float, _SHARE),
    "recall": (float, _SHARE),
    "permutations": (int, Option("lanes", min=MIN_LANES, max=constructions.MAX_LANES)),
    "sketch": (SketchName, Option("a kind of signature")),
    "seed": (int, Option("of all hashes", min=0, max=LARGEST_SEED)),
    "passages": (int, Option("words of the shortest")),
}


@dataclass(frozen=True)
class Settings:
    """The settings of a database; threshold, recall and construction change by reindexing only.

    Attributes:
        threshold: the minimum Jaccard similarity of similar documents, in (0, 1].
        recall: the share of pairs at the threshold that become candidates, in (0, 1].
        shingling: how documents become sets.
        permutations: lanes of a signature, 16 to 4096.
        construction: the shape of the index; it uses at most `permutations` lanes.
        sketch: `fast` or `minhash`.
        seed: of all hashes, 0 to 2^63 - 1.
        content: whether documents are kept, so that similarities are exact.
        passages: words (for `char` shingles characters) of the shortest run that the index of
            passages always finds, 3 to 1000; 0 without such an index.
        reworded: whether rare words are indexed, which find reworded copies.
        lane_bits: bits of a lane, 16 or 32.
        records: whether all shingles are indexed, and similarity is the share of the smaller
            document, weighted by rarity (see lshdb.apps.records).
    """

    threshold: float
    recall: float
    shingling: Shingling
    permutations: int
    construction: constructions.Construction
    sketch: SketchName
    seed: int
    content: bool
    passages: int = 0
    reworded: bool = False
    lane_bits: int = 16
    records: bool = False

    def __post_init__(self) -> None:
        for name, (kind, option) in _SETTINGS.items():
            check_value(name, getattr(self, name), kind, option, SettingsError)
        if self.lane_bits not in (16, 32):
            raise SettingsError(f"lane_bits {self.lane_bits!r:.100} is not 16 or 32")
        if self.construction.lanes > self.permutations:
            raise SettingsError(
                f"{self.construction} takes {self.construction.lanes} lanes, and there are "
                f"{self.permutations} permutations: give a construction of fewer lanes, or make "
                f"a file with {self.construction.lanes} permutations"
            )
        if self.shingling.foreign and self.content:
            raise SettingsError(
                f"shingle {self.shingling} has no contents: give content=False (--no-content)"
            )
        if self.passages and not MIN_RUN <= self.passages <= MAX_RUN:
            raise SettingsError(f"passages {self.passages} is not {MIN_RUN} to {MAX_RUN}")
        if self.passages and self.shingling.of_sets:
            raise SettingsError("sets have no order, and so no passages: leave out passages")
        if self.passages and not self.content:
            raise SettingsError("passages need contents: leave out passages or no-content")
        is_of_texts = self.shingling.kind in ("word", "char") and self.content
        if self.reworded and not is_of_texts:
            raise SettingsError(
                "reworded copies are found among texts with their contents: not among programs, "
                "sets or signatures alone"
            )
        if self.records and not is_of_texts:
            raise SettingsError(
                "records and scans are compared by runs of words or characters of stored texts: "
                "leave out sets, programs, estimate and no-content"
            )

    @property
    def lane_type(self) -> np.dtype[np.uint16 | np.uint32]:
        """The type of lanes in memory; in the file they are little-endian."""
        return np.dtype(f"u{self.lane_bits // 8}")

    @property
    def signature_bytes(self) -> int:
        """Bytes of a signature."""
        return self.permutations * self.lane_bits // 8


def parts_of(settings: Settings) -> dict[str, int]:
    """The parts of the index of a file (offers.PARTS), and what their rows depend on, above 0.

    Rows that were made by another number are made again.
    """
    return {part: int(value) for part, name in _PARTS.items() if (value := getattr(settings, name))}


def recall_at(settings: Settings, similarity: float) -> float:
    """The share of the pairs of this similarity that become candidates."""
    if settings.records:
        return 1.0
    return constructions.candidate_probability(similarity, settings.construction)


def plain_settings(settings: Settings) -> Settings:
    """The same without parts of the index: signatures alone."""
    if not parts_of(settings):  # making them again would take a 20th of a query
        return settings
    return replace(settings, passages=0, reworded=False, records=False)


def settings_record(settings: Settings) -> dict[str, str | float | bool | list[str]]:
    """The settings by the names and in the order in which `lshdb info` shows them."""
    return {
        "threshold": settings.threshold,
        "recall": settings.recall,
        "shingle": str(settings.shingling),
        "permutations": settings.permutations,
        "lane_bits": settings.lane_bits,
        "bands": settings.construction.bands,
        "rows": settings.construction.rows,
        "construction": str(settings.construction),
        "sketch": settings.sketch,
        "seed": settings.seed,
        "content": settings.content,
        "passages": settings.passages,
        "reworded": settings.reworded,
        "records": settings.records,
        "base": [name for name, _ in settings.shingling.base],
    }


def settings_in_words(settings: Settings) -> dict[str, str]:
    """The settings explained to people, one phrase for each."""
    shingling, shape = settings.shingling, settings.construction
    compared = f"signatures made elsewhere, {shingling.name}"
    if not shingling.foreign:
        of = {"set": " of sets", "code": " of programs"}.get(shingling.kind, "")
        compared = f"{_runs(shingling)}{of}{_details(shingling)}"
    words = {
        "compared by": f"{compared} ({shingling})",
        "similar from": (
            f"{settings.threshold:g} on, where the index finds "
            f"{formatting.percent(settings.recall)} of the pairs, and more above"
        ),
        "index": (
            f"{shape if shape.higher else f'{shape.bands} bands of {shape.rows} rows'}, "
            f"{settings.permutations} lanes of {settings.lane_bits} bits "
            f"({settings.sketch}, seed {settings.seed})"
        ),
        "contents": (
            "kept, so similarities are exact"
            if settings.content
            else "not kept, so similarities are estimates"
        ),
    }
    if settings.records:
        words["similar from"] = (
            f"{settings.threshold:g} of what the smaller text has, weighted by rarity"
        )
    if settings.passages:
        words["passages"] = f"of {settings.passages} {unit_of(shingling)}s or more are found"
    if settings.reworded:
        words["reworded copies"] = "are found"
    if shingling.base:
        words["left out"] = formatting.listed([name for name, _ in shingling.base], _NAMED)
    return words


def purpose_in_words(settings: Settings) -> str:
    """What a database with these settings finds, in one line."""
    shingling = settings.shingling
    share = f"{100 * settings.threshold:g}%"
    if settings.records:
        finds = f"finds texts that share {share} or more of the smaller one, weighted by rarity"
    elif shingling.foreign:
        finds = f"finds documents with signatures that are {share} or more alike"
    else:
        what = {"set": "sets", "code": "programs"}.get(shingling.kind, "texts")
        parts = f"{_runs(shingling)}{_details(shingling)}"
        finds = f"finds {what} that share {share} or more of their {parts}"
    if settings.recall < _USUAL_RECALL:
        finds += f" ({formatting.percent(settings.recall)} of those at {share})"
    if settings.passages:
        finds += f", and copied passages of {settings.passages} {unit_of(shingling)}s or more"
    return finds + (", and reworded copies" if settings.reworded else "")


def _details(shingling: Shingling) -> str:
    """What else is compared of the elements of sets, and what is not compared of texts."""
    details = {
        "cjk": " (1 Chinese or Korean, 2 kana)",
        "marks": ", without marks",
        "numbers": ", all digits alike",
    }
    counts = ", with their counts" if shingling.of_sets == "bag" else ""
    return counts + "".join(text for name, text in details.items() if name in shingling.options)


def unit_of(shingling: Shingling) -> str:
    """What a shingle or a passage is a run of."""
    return {"char": "character", "code": "token"}.get(shingling.kind, "word")


def _runs(shingling: Shingling) -> str:
    """What is compared of documents."""
    if shingling.of_sets:
        return "elements"
    return f"runs of {shingling.size} {unit_of(shingling)}{'' if shingling.size == 1 else 's'}"
