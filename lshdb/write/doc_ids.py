"""Which documents a run has written so far, to see that a key repeats within the run."""

from collections import defaultdict

import numpy as np

from lshdb.text.arrays import IntArray, Mask

_PAGE = 1 << 13
"""doc_ids of a page, a byte each."""


class DocIds:
    """A set of doc_ids that takes a byte for each: 10 MB for ten million documents of a table.

    A set of Python takes 60 bytes for each.
    """

    def __init__(self) -> None:
        self._pages: defaultdict[int, Mask] = defaultdict(lambda: np.zeros(_PAGE, np.bool_))

    def add(self, doc_ids: IntArray) -> None:
        """Add doc_ids int64[n]."""
        pages, offsets = np.divmod(doc_ids, _PAGE)
        for page in set(pages.tolist()):
            self._pages[page][offsets[pages == page]] = True

    def __contains__(self, doc_id: int) -> bool:
        page, offset = divmod(doc_id, _PAGE)
        return page in self._pages and bool(self._pages[page][offset])
