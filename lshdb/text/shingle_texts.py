"""Shingles as texts, for people and for SQL."""

import dataclasses
from collections.abc import Sequence, Set
from functools import lru_cache

from lshdb.text import arrays, folding, shingles
from lshdb.text.content import cleaned
from lshdb.text.kinds import kind_of
from lshdb.text.shingling import Content, Element, Shingling


def shingle_texts(content: Content, shingling: Shingling) -> list[Element]:
    """The distinct shingles of a document that no base text has, by their first occurrence.

    Args:
        content: a text; for `set` shingling a collection of strings and integers.
        shingling: the kind and length of the shingles.

    Returns:
        Runs of characters of the folded text, in which each white-space run is one blank; runs of
        words with a blank between two; runs of tokens, a character each; or the elements of the
        set, integers first.

    Raises:
        ContentError: a set for text shingles, or a text for set shingles.

    >>> shingle_texts("To be, or not to be", Shingling("word", 2))
    ['to be', 'be or', 'or not', 'not to']
    >>> shingle_texts("Banana", Shingling("char", 3))
    ['ban', 'ana', 'nan']
    """
    clean = cleaned(content, shingling)
    if not isinstance(clean, str):
        return list(clean)
    units = _units(clean, shingling)
    size, between = shingling.size, " " if shingling.kind == "word" else ""
    runs = [(i, i + size) for i in range(max(len(units) - size, 0) + bool(units))]
    if shingling.is_weighed:
        counts = arrays.int_array([len(units)])
        first, last, _ = shingles.weighed_runs("".join(units), counts, size)
        runs = [*zip(first.tolist(), last.tolist(), strict=True)]
    texts = dict.fromkeys(between.join(units[slice(*run)]) for run in runs)
    return [text for text in texts if text not in _base_shingles(shingling)]


def _units(text: str, shingling: Shingling) -> Sequence[str]:
    """The folded words or characters of a text, or the tokens of an app's kind."""
    if kind := kind_of(shingling):
        return kind.units([text], shingling).text
    (text,) = shingling.read([text])
    if shingling.kind == "char":
        return " ".join(folding.fold(text).split())
    words = shingles.cut_words([text])
    bounds = zip(words.begins.tolist(), words.ends.tolist(), strict=True)
    return [words.buffer[begin:end].decode() for begin, end in bounds]


@lru_cache(maxsize=1)
def _base_shingles(shingling: Shingling) -> Set[Element]:
    without_base = dataclasses.replace(shingling, base=())
    return {shingle for _, text in shingling.base for shingle in shingle_texts(text, without_base)}
