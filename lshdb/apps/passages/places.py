"""Pages and lines of stretches of texts."""

from collections.abc import Sequence

import numpy as np

from lshdb.text import arrays, folding
from lshdb.text.hashing import Offsets


def page_at(text: str, offset: int) -> int | None:
    r"""The page of a character, from 1; None for a text without form feeds, which end pages.

    >>> page_at("one\n\ftwo", 5), page_at("one", 2)
    (2, None)
    """
    return text.count("\f", 0, offset) + 1 if "\f" in text else None


def with_line_feeds(text: str) -> str:
    """The text with a line feed for each carriage return, if only these end its lines."""
    return text.replace("\r", "\n") if "\r" in text and "\n" not in text else text


def line_numbers(
    texts: Sequence[str], documents: Offsets, starts: Offsets, ends: Offsets
) -> tuple[Offsets, Offsets]:
    """The first and last lines of stretches of n texts, from 1.

    Args:
        texts: n texts.
        documents: int64[m], the index of the text of each stretch.
        starts: int64[m], the first character of each stretch.
        ends: int64[m], the last character of each stretch + 1.

    Returns:
        int64[m] both.
    """
    texts = [*map(with_line_feeds, texts)]
    feeds = np.flatnonzero(folding.code_points("\n".join(["", *texts])) == ord("\n"))
    lengths = arrays.lengths_of(texts)
    begins = arrays.offsets_of(lengths + 1)
    before, begins = np.searchsorted(feeds, begins)[documents], begins[documents]
    # Text i begins one character after begins[i], which is the line feed before it.
    first = np.searchsorted(feeds, begins + starts, side="right") - before
    return first, np.searchsorted(feeds, begins + ends - 1, side="right") - before
