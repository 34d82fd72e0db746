"""The shingles of a document as people read them; lshdb.shingling makes the hashes of the same."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lshdb.content import cleaned
from lshdb.folding import IDEOGRAPH, WORD, character_classes, code_points, fold
from lshdb.model import Content, Element, Shingling


def shingle_texts(content: Content, shingling: Shingling) -> list[Element]:
    """The distinct shingles of a document, in the order in which they first occur.

    Args:
        content: a text; for `set` shingling a collection of strings and integers.
        shingling: the kind and length of the shingles.

    Returns:
        Runs of characters of the folded text, in which each white-space run is one blank; runs of
        words with a blank between two; or the elements of the set, integers first.

    Raises:
        ContentError: a set where texts are shingled, or a text where sets are.

    >>> shingle_texts("To be, or not to be", Shingling("word", 2))
    ['to be', 'be or', 'or not', 'not to']
    >>> shingle_texts("Banana", Shingling("char", 3))
    ['ban', 'ana', 'nan']
    """
    clean = cleaned(content, shingling)
    if not isinstance(clean, str):
        return list(clean)
    folded = fold(clean)
    size = shingling.size
    if shingling.kind == "char":
        text = " ".join(folded.split())
        windows = [text[i : i + size] for i in range(max(len(text) - size, 0) + bool(text))]
    else:
        words = list(_words(folded))
        windows = [
            " ".join(words[i : i + size]) for i in range(max(len(words) - size, 0) + bool(words))
        ]
    return list(dict.fromkeys(windows))


def _words(folded: str) -> Iterator[str]:
    """The words of a folded text; an ideograph is a word of its own."""
    classes = np.zeros(len(folded) + 2, dtype=np.uint8)
    classes[1:-1] = character_classes().take(code_points(folded))
    word = (classes & WORD) != 0
    ideograph = (classes & IDEOGRAPH) != 0
    begins, ends = ideograph.copy(), ideograph
    begins[1:] |= word[1:] & ~word[:-1]
    ends[:-1] |= word[:-1] & ~word[1:]
    first, last = np.flatnonzero(begins) - 1, np.flatnonzero(ends)
    for start, end in zip(first.tolist(), last.tolist(), strict=True):
        yield folded[start:end]
