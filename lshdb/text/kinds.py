"""The door of an app that cuts texts into units of its own, such as the tokens of programs.

Words, characters and the elements of sets are of the core. A setting of another kind, as `code:6`,
opens and is shown without its app; an error names the app where texts must be cut.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from lshdb import offers
from lshdb.text.arrays import IntArray
from lshdb.text.shingling import Shingling


@dataclass(frozen=True, eq=False)
class Tokens:
    """The units of n texts that an app has cut, those of a text one after the other.

    Attributes:
        text: one character of ASCII per unit: a shingle of K units is a run of K of them.
        counts: int64[n], how many units each text has.
        places: computes where each unit begins and ends in its own text, in code points: int64[u]
            both. Signatures do without.
    """

    text: str
    counts: IntArray
    places: Callable[[], tuple[IntArray, IntArray]]


class ShingleKind(Protocol):
    """How an app cuts texts; `lshdb.offers.KINDS` names it.

    Called whenever texts become shingles or places: in the processes that sign, for queries, and
    where pairs are verified; so the same text has the same units everywhere and always, for
    signatures are stored. No transaction is open for it, and it keeps nothing between calls.
    """

    def units(self, texts: Sequence[str], shingling: Shingling) -> Tokens:
        """The units that count of n texts, which form one block together."""

    def pieces(self, text: str, shingling: Shingling, size: int) -> Iterator[str]:
        """`Tokens.text` of one large text, in pieces for about `size` characters each."""


class CharacterWeights(Protocol):
    """How many characters some characters count as; `lshdb.offers.WEIGHTS` names it."""

    def of_text(self, text: str, size: int) -> int:
        """The weight of a folded text in shingles of `size`; of ASCII its length."""

    def runs(self, text: str, lengths: IntArray, size: int) -> tuple[IntArray, IntArray, IntArray]:
        """Where the runs of weight `size` begin and end in texts one after another in a folded one.

        Args:
            text: n texts.
            lengths: int64[n], theirs.
            size: weight of a run; a text of less weight is one run.

        Returns:
            int64[r] the first character of each run, and the last + 1; int64[n] runs of each text.
        """


def missing_app(shingling: Shingling) -> str:
    """The app that cuts such texts, or leaves out a part, if it is not installed; else ""."""
    endings = offers.LEFT_OUT | offers.WEIGHTS
    offered = [offers.KINDS.get(shingling.kind), *map(endings.get, shingling.options)]
    apps = [offers.app_of(place) for place in offered if place]
    return next((app for app in apps if not offers.is_there(app)), "")


def kind_of(shingling: Shingling) -> ShingleKind | None:
    """The kind that an app offers; None for those of the core.

    Raises:
        UsageError: the app is not installed.
    """
    if (name := shingling.kind) not in offers.KINDS:
        return None
    kind: ShingleKind = offers.offered(offers.KINDS, name)
    return kind


def weights_of(shingling: Shingling) -> CharacterWeights | None:
    """How characters are weighed, as an app offers it; None where each counts as one."""
    return offers.offered(offers.WEIGHTS, "cjk") if shingling.is_weighed else None
