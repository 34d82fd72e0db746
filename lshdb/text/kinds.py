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


def missing_app(shingling: Shingling) -> str | None:
    """The app that cuts such texts, or leaves out a part of them, and is not installed, if any."""
    offered = [offers.KINDS.get(shingling.kind), *map(offers.LEFT_OUT.get, shingling.options)]
    apps = [offers.app_of(place) for place in offered if place is not None]
    return next((app for app in apps if not offers.is_there(app)), None)


def kind_of(shingling: Shingling) -> ShingleKind | None:
    """The kind that an app offers; None for those of the core.

    Raises:
        UsageError: the app is not installed.
    """
    if (name := shingling.kind) not in offers.KINDS:
        return None
    kind: ShingleKind = offers.offered(offers.KINDS, name)
    return kind
