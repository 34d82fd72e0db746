"""Programs as tokens without names, whatever their language.

A word (also a keyword) is `W`, a number `N`, a string or character literal `S`, and each sign of
punctuation is itself; comments and white space, also Python's indentation, give no token. All
characters beyond ASCII are parts of words. String literals in a row are one `S`, which includes a
prefix of one or two letters (`f"..."`).

There is no grammar: the family of languages, which is guessed from the text alone, says how
comments and strings look (lshdb.shingling.families). Each file of a text that joins several files
(see FILES there) has its own family. An unterminated string ends with its line, an unterminated
comment with the file.

One core cuts 30 MB a second of 1,500 Python files, and 7 MB a second of functions of 500
characters, as guessing a family takes at least 50 us per text.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lshdb.shingling.arrays import expand_ranges, lengths_of, offsets_of, sizes_of
from lshdb.shingling.families import QUOTE, QUOTED, blanked
from lshdb.shingling.folding import code_points
from lshdb.shingling.hashing import Offsets

_SIGN = r"[!-\-/:-@\[-^`{-~]"
"""A token of its own, before which a blanked text may be cut; a point may be in a number."""
_WORD, _NUMBER, _STRING, _DOT = b"WNS."
_BEYOND_ASCII = 128


def _token_table() -> bytes:
    """The token that each character belongs to, 0 for blanks."""
    table = np.full(256, _WORD, dtype=np.uint8)
    for code in range(_BEYOND_ASCII):
        character = chr(code)
        if character.isdigit():
            table[code] = _NUMBER
        elif not character.isalnum() and character != "_":
            table[code] = code if code > ord(" ") else 0
    table[[ord(QUOTE), ord(QUOTED)]] = _STRING
    return table.tobytes()


_TOKEN_OF = _token_table()


class Tokens(NamedTuple):
    """The tokens of n texts, those of a text one after the other.

    Attributes:
        text: one character per token.
        starts, stops: int64[t], the bounds of each token in its own text, in code points.
        counts: int64[n], how many tokens each text has.
    """

    text: str
    starts: Offsets
    stops: Offsets
    counts: Offsets


def cut_tokens(texts: list[str]) -> Tokens:
    """The tokens of n blanked texts."""
    joined = " ".join(["", *texts, ""])
    if joined.isascii():
        encoded = joined.encode("ascii")
    else:
        encoded = np.minimum(code_points(joined), _BEYOND_ASCII).astype(np.uint8).tobytes()
    octets = np.frombuffer(encoded, dtype=np.uint8)
    # A third of the time of an index into the table.
    part = np.frombuffer(bytearray(encoded.translate(_TOKEN_OF)), dtype=np.uint8)
    (dots,) = (part[1:-1] == _DOT).nonzero()
    part[1:-1][dots[(part[dots] == _NUMBER) & (part[dots + 2] == _NUMBER)]] = _NUMBER
    word = (part == _WORD) | (part == _NUMBER)
    # A word, number, string or run of blanks ends where something else begins.
    goes_on = (word[1:] & word[:-1]) | (octets[1:] == ord(QUOTED)) | (part[1:] + part[:-1] == 0)
    bounds = (~goes_on).nonzero()[0] + 1
    (solid,) = part[bounds[:-1]].nonzero()
    begins, ends = bounds[solid], bounds[solid + 1]
    tokens = part[begins]
    prefix = (tokens[1:] == _STRING) & (ends[:-1] == begins[1:]) & (ends - begins <= 2)[:-1]
    tokens[:-1][prefix & (tokens[:-1] == _WORD)] = _STRING
    lengths = lengths_of(texts)
    offsets = offsets_of(lengths + 1) + 1
    first = begins.searchsorted(offsets)
    new = np.ones(len(tokens) + 1, dtype=np.bool_)
    np.logical_or(tokens[1:] != _STRING, tokens[:-1] != _STRING, out=new[1:-1])
    new[first] = True
    (kept,) = new.nonzero()
    counts = sizes_of(kept.searchsorted(first))
    before = np.repeat(offsets[:-1], counts)
    kept, behind = kept[:-1], kept[1:] - 1
    text = tokens[kept].tobytes().decode("ascii")
    return Tokens(text, begins[kept] - before, ends[behind] - before, counts)


_REST = "_"


def masked(text: str) -> str:
    """The text with a token's character at its first character and `_` at its other characters."""
    cut = cut_tokens([blanked(text)])
    mask = np.full(len(text), ord(" "), dtype=np.uint8)
    mask[expand_ranges(cut.starts, cut.stops - cut.starts)] = ord(_REST)
    mask[cut.starts] = np.frombuffer(cut.text.encode("ascii"), dtype=np.uint8)
    return mask.tobytes().decode("ascii")


def unmasked(part: str) -> str:
    """The tokens of a part of a masked text."""
    return "".join(part.split()).replace(_REST, "")


def token_pieces(blanked_text: str, block: int) -> Iterator[str]:
    """The tokens of one blanked text, in pieces: a large text takes the memory of one block."""
    for piece in cut_before(blanked_text, _SIGN, block):
        yield cut_tokens([piece]).text


def cut_before(text: str, safe: str, size: int) -> Iterator[str]:
    """Cut a text into pieces of at least `size` characters, before characters safe to cut at."""
    pattern = re.compile(safe)
    start = 0
    while start < len(text):
        cut = pattern.search(text, start + size)
        end = cut.start() if cut else len(text)
        yield text[start:end]
        start = end
