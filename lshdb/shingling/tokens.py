"""Programs as tokens that say nothing of names, whatever their language.

A word (also a keyword) is `W`, a number `N`, a string or character literal `S`, and each sign of
punctuation is itself; comments and white space, so Python's indentation too, are nothing. All
characters beyond ASCII are parts of words. String literals in a row are one `S`, which includes a
prefix of one or two letters (`f"..."`).

There is no grammar: languages with the same comments form a family, which is guessed from the
text alone, so that the same text has the same tokens wherever it is. Of several files in one text
(see FILES) each has its own. An unterminated string ends with its line, an unterminated comment
with the file.

On one core (`scripts/measure experiments.programs`) this takes 40 MB/s and more of files of source,
and 14 of functions of 500 characters, as guessing takes 30 us a text.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lshdb.shingling.arrays import expand_ranges, lengths_of, offsets_of, sizes_of
from lshdb.shingling.folding import code_points
from lshdb.shingling.hashing import Offsets

FILES = "\x1c"
"""What is between the files of one text: ASCII's separator of files, a blank for all shingles."""
_SAMPLE = 1 << 12
"""Characters of a text by which its family is guessed."""


def _between(begin: str, end: str) -> str:
    """What matches from one mark to another, or to the end of the text."""
    first, rest = re.escape(end[0]), re.escape(end[1:])
    return f"{re.escape(begin)}[^{first}]*+(?:{first}(?!{rest})[^{first}]*+)*+(?:{re.escape(end)})?"


def _string(quote: str, inside: str = r"\n") -> str:
    return rf"{quote}(?:[^{quote}\\{inside}]++|\\.)*+{quote}?"


def _long_string(quote: str) -> str:
    return rf"{quote * 3}(?:[^{quote}\\]++|\\.|{quote}(?!{quote * 2}))*+(?:{quote * 3})?"


_DOUBLE, _SINGLE = _string('"'), _string("'")

_FAMILIES: dict[str, tuple[list[str], list[str], str, str]] = {
    "slashes": (
        ["//[^\n]*", _between("/*", "*/")],
        [_long_string('"'), _DOUBLE, _SINGLE, _string("`", "")],
        "/*|*/|\n//|// |#if|#include|#define |# define |endif|ifdef|ifndef|\n * |\n     * ",
        ";\n|{\n|}\n|){|();",
    ),
    "hash": (
        [r"#(?<![$\\{]#)[^\n]*"],
        [_long_string('"'), _long_string("'"), _DOUBLE, _SINGLE],
        '#!/|\n"""|my $|\nsub |\nfi\n|done\n|def |):\n|# ',
        "\n#|:\n|end\n|self|<- |then\n",
    ),
    "dashes": (
        [_between("--[[", "]]"), "--[^\n]*", _between("{-", "-}"), _between("/*", "*/")],
        [_DOUBLE, _SINGLE],
        "\n--|{- |SELECT |FROM |CREATE |INSERT |\nlocal |end if;",
        " -- | :: |then\n|end\n",
    ),
    "semicolon": ([";[^\n]*"], [_string('"', "")], "\n;|;; |(defun |(define |(let ", "\n(|))\n"),
    "percent": ([r"%(?<!\\%)[^\n]*"], [_DOUBLE], "\n%|%% |  % |\\begin|:- ", "->\n|end\n"),
    "markup": ([_between("<!--", "-->")], [_DOUBLE], "<!--|<?xml|</", "/>|</"),
}
"""Of each family: comments, strings, strong signs and weak signs of it."""
_PATTERNS = {
    # Each alternative begins with a character, by which `re` then searches: twice as fast.
    family: re.compile("|".join([*(f"{mark}()" for mark in comments), *strings]), re.DOTALL)
    for family, (comments, strings, _, _) in _FAMILIES.items()
}
_SIGNS = {
    family: [(one, 5) for one in strong.split("|")] + [(one, 1) for one in weak.split("|")]
    for family, (_, _, strong, weak) in _FAMILIES.items()
}


def family_of(text: str) -> str:
    """The family of languages with the comments that a text seems to have."""
    sample = "\n" + text[:_SAMPLE].replace("\r", "")
    scores = {
        family: sum(weight * sample.count(sign) for sign, weight in signs)
        for family, signs in _SIGNS.items()
    }
    return max(scores, key=scores.__getitem__)


_SIGN = r"[!-\-/:-@\[-^`{-~]"
"""A token of its own, before which a blanked text may be cut; a point may be in a number."""
_QUOTE, _QUOTED = "\1", "\2"


def _blank(match: re.Match[str]) -> str:
    length = match.end() - match.start()
    return " " * length if match.lastindex else _QUOTE + _QUOTED * (length - 1)


def blanked(text: str) -> str:
    """The text with blanks for comments, and marks for strings, at their places."""
    return FILES.join(_PATTERNS[family_of(file)].sub(_blank, file) for file in text.split(FILES))


_WORD, _NUMBER, _STRING, _DOT = b"WNS."
_BEYOND_ASCII = 128


def _token_table() -> bytes:
    """The token of which each character is a part, 0 for blanks."""
    table = np.full(256, _WORD, dtype=np.uint8)
    for code in range(_BEYOND_ASCII):
        character = chr(code)
        if character.isdigit():
            table[code] = _NUMBER
        elif not character.isalnum() and character != "_":
            table[code] = code if code > ord(" ") else 0
    table[[ord(_QUOTE), ord(_QUOTED)]] = _STRING
    return table.tobytes()


_TOKEN_OF = _token_table()


class Tokens(NamedTuple):
    """The tokens of n texts, those of a text one after the other.

    Attributes:
        text: a character for each.
        starts, stops: int64[t], where each is in its own text, in code points.
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
    goes_on = (word[1:] & word[:-1]) | (octets[1:] == ord(_QUOTED)) | (part[1:] + part[:-1] == 0)
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
    """The text with each token's character, and `_` for its other characters, at their places."""
    found = cut_tokens([blanked(text)])
    mask = np.full(len(text), ord(" "), dtype=np.uint8)
    mask[expand_ranges(found.starts, found.stops - found.starts)] = ord(_REST)
    mask[found.starts] = np.frombuffer(found.text.encode("ascii"), dtype=np.uint8)
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
