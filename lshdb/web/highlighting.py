"""Texts cut into pieces, so that the passages that two of them share can be marked in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text; `passage` is the number of the passage that it is of, from 1 on."""

    text: str
    passage: int | None


def pieces(text: str, spans: Sequence[tuple[int, int]], shown: int) -> list[Piece]:
    """The first `shown` characters of a text, cut where passages begin and end.

    Passages may overlap: shingles of one and of the next share characters, and the other text may
    have them in another order. What two have in common goes to the one that begins first, so that
    one may have no piece at all.

    Args:
        text: the text.
        spans: start and end of each passage, in the order of their numbers.
        shown: how many characters at the most.

    >>> pieces("abcdefgh", [(4, 6), (1, 5)], shown=7)
    ... # doctest: +NORMALIZE_WHITESPACE
    [Piece(text='a', passage=None), Piece(text='bcde', passage=2),
     Piece(text='f', passage=1), Piece(text='g', passage=None)]
    """
    end = min(shown, len(text))
    cut: list[Piece] = []
    done = 0
    for number, (start, stop) in sorted(enumerate(spans, 1), key=lambda each: each[1]):
        start, stop = max(start, done), min(stop, end)
        if start >= stop:
            continue
        if done < start:
            cut.append(Piece(text[done:start], None))
        cut.append(Piece(text[start:stop], number))
        done = stop
    if done < end:
        cut.append(Piece(text[done:end], None))
    return cut
