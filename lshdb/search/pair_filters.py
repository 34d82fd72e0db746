"""The door for what people know of similar documents: which are no duplicates, and which stay.

`pairs` and `clusters` find what is similar. An app that stores more of documents, in a part of the
file, offers a filter for it in `offers.FILTERS`.
"""

from typing import Protocol

from lshdb import offers
from lshdb.errors import warn_of_limit
from lshdb.search.cut_notes import filter_missing
from lshdb.store.lookups import StoreReader
from lshdb.text.arrays import IntArray, Mask


class PairFilter(Protocol):
    """What keeps similar documents apart, and says which of them stay.

    It is made once for each join, of the reader and int64[m] doc_ids, ascending, in the transaction
    and the thread that read the join; afterwards it reads nothing. A document is its index among
    these. Missing documents are not its business: it says nothing of what it does not know.

    Attributes:
        marked: int64[k], ascending: those that it may keep apart from others. Documents of the same
            content stand for each other unless one of them is among these.
    """

    marked: IntArray

    def keep(self, left: IntArray, right: IntArray) -> Mask:
        """Which pairs int64[c] of similar documents are pairs, bool[c]; any order, a few or many.

        The answer is the same for (a, b) and (b, a), and True for (a, a).
        """

    def rank(self, documents: IntArray) -> IntArray:
        """For documents int64[n]: -1 stays, 1 is to be dropped, 0 where it says nothing; int64[n].

        Those that stay come first when one of a cluster is chosen.
        """


def filters_of(reader: StoreReader, doc_ids: IntArray) -> list[PairFilter]:
    """The filters for documents int64[m], ascending, of the parts that the file has.

    A filter whose app is missing is left out, with a LimitWarning.
    """
    filters: list[PairFilter] = []
    for part, offer in offers.FILTERS.items():
        if part not in reader.parts:
            continue
        if not offers.is_there(app := offers.app_of(offer)):
            warn_of_limit(filter_missing(part, app))
            continue
        filters.append(offers.offered(offers.FILTERS, part)(reader, doc_ids))
    return filters
