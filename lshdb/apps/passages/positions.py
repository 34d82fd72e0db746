"""Texts cut into words, characters or other units, with their offsets; pages and lines.

Folding (lshdb.text.folding) changes lengths. It works on stretches of a text one by one: a
character that never combines with the one before it, and after it the marks and Hangul vowels that
may combine and the signs that are dropped. A stretch that does not change stays character for
character; otherwise each folded character counts as made of the whole stretch, which is usually one
character.
"""

import dataclasses
from collections.abc import Sequence
from typing import cast

import numpy as np

from lshdb.text import arrays, folding, shingles
from lshdb.text.hashing import PADDING, Offsets
from lshdb.text.kinds import kind_of
from lshdb.text.shingling import Shingling, ShinglingKind

_SEPARATOR = "\0"
"""A character that never combines, does not fold and is no part of a word."""


@dataclasses.dataclass(frozen=True)
class Units:
    """The units of n texts, those of a text one after the other.

    Attributes:
        folded: their UTF-8: words with a zero after each, or characters as in shingles.
            Two units are equal exactly if these bytes are. PADDING follows.
        begins, ends: int64[u], the bounds of each unit in `folded`, in bytes.
        starts, stops: int64[u], the bounds of each unit in its own text, in code points; neither
            decreases in a text. A blank covers the whole run of white space that it replaces.
        counts: int64[n], how many units each text has.
    """

    folded: bytes
    begins: Offsets
    ends: Offsets
    starts: Offsets
    stops: Offsets
    counts: Offsets


def cut(texts: Sequence[str], kind: str) -> Units:
    """Cut texts into words, the characters of `char` shingles, or the units of another kind.

    Cut ASCII texts and others in separate calls: ASCII needs no Unicode tables.
    """
    return units_of(texts, Shingling(cast(ShinglingKind, kind)))


def units_of(texts: Sequence[str], shingling: Shingling) -> Units:
    """Cut texts into the units that count under a database's shingling; see `cut`."""
    if kind := kind_of(shingling):
        tokens = kind.units(texts, shingling)
        indices = np.arange(len(tokens.text) + 1)
        octets = tokens.text.encode("ascii") + bytes(PADDING)
        return Units(octets, indices[:-1], indices[1:], *tokens.places(), tokens.counts)
    texts = [*shingling.read(texts)]
    return _cut_characters(texts) if shingling.kind == "char" else _cut_words(texts)


def counts(texts: list[str], kind: str) -> Offsets:
    """How many units each text has."""
    if kind != "word":
        return cut(texts, kind).counts
    return shingles.cut_words(texts).counts


def _cut_words(texts: list[str]) -> Units:
    words = shingles.cut_words(texts)
    sizes = words.ends - words.begins
    # Each word with the byte after it, which becomes a zero.
    octets = np.frombuffer(words.buffer, dtype=np.uint8)
    letters = np.append(
        octets[arrays.expand_ranges(words.begins, sizes + 1)], np.zeros(PADDING, np.uint8)
    )
    ends = arrays.offsets_of(sizes + 1)[1:] - 1
    letters[ends] = 0
    starts, stops = words.first - 1, words.last - 1
    joined = _SEPARATOR.join(texts)
    if not joined.isascii():
        from_start, to_end = _origins(joined)
        starts, stops = from_start[starts], to_end[stops - 1]
    lengths = arrays.lengths_of(texts)
    before = np.repeat(arrays.offsets_of(lengths + 1)[:-1], words.counts)
    indices = ends - sizes, ends, starts - before, stops - before
    return Units(letters.tobytes(), *indices, words.counts)


def _cut_characters(texts: list[str]) -> Units:
    """Cut texts into characters: a run of white space is one blank, or nothing at either end."""
    columns = []
    for text in texts:
        codes = folding.code_points(folding.fold(text))
        starts, stops = _origins(text)
        known = np.unique(codes)
        blank = np.isin(codes, known[[chr(code).isspace() for code in known.tolist()]])
        solid = np.flatnonzero(~blank)
        gap = np.flatnonzero(np.diff(solid) > 1)
        first = np.insert(solid, gap + 1, solid[gap] + 1)
        last = np.insert(solid, gap + 1, solid[gap + 1] - 1)
        columns.append((np.where(blank, ord(" "), codes)[first], starts[first], stops[last]))
    codes, starts, stops = map(np.concatenate, zip(*columns, strict=True))
    folded, byte_offsets = shingles.utf8(
        codes.astype(np.uint32).tobytes().decode(folding.UTF32, "surrogatepass")
    )
    counts = np.array([len(codes) for codes, _, _ in columns])
    return Units(folded, byte_offsets[:-1], byte_offsets[1:], starts, stops, counts)


def _origins(text: str) -> tuple[Offsets, Offsets]:
    """The characters that each of m folded code points comes from: first, last + 1; int64[m]."""
    if text.isascii():
        return np.arange(len(text)), np.arange(1, len(text) + 1)
    characters = folding.code_points(text)
    (distinct,) = np.bincount(characters).nonzero()
    table = np.zeros((2, distinct[-1] + 1), dtype=np.int64)
    for code, character in zip(distinct.tolist(), map(chr, distinct.tolist()), strict=True):
        table[:, code] = len(folding.fold(character)), folding.never_combines(character)
    lengths, opens = table[:, characters]
    begins = opens != 0
    begins[:1] = True
    begins[1:] |= characters[:-1] == ord(_SEPARATOR)
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], len(text))
    several = np.flatnonzero(ends - starts > 1)
    known: dict[str, int | None] = {}  # None if it stays what it is
    longer: list[tuple[int, int]] = []
    for start, end in zip(starts[several].tolist(), ends[several].tolist(), strict=True):
        stretch = text[start:end]
        if stretch not in known:
            becomes = folding.fold(stretch)
            known[stretch] = None if becomes == stretch else len(becomes)
        if (length := known[stretch]) is not None:
            longer.append((start, length))
        else:
            begins[start:end] = True  # each of its characters stays what it is
            lengths[start:end] = 1  # also a tag in a flag, which alone is dropped
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], len(text))
    counts = lengths[starts]
    changed = np.array(longer, dtype=np.int64).reshape(-1, 2)
    counts[np.searchsorted(starts, changed[:, 0])] = changed[:, 1]
    return np.repeat(starts, counts), np.repeat(ends, counts)


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
