"""Reference implementations for the tests: slow, obvious, in plain integers, strings and sets.

They are written from the specification and the documented formulas and share no code with the
kernels. Where Python's Unicode version matters, they hold for characters that Unicode 14.0
assigned, and under Python 3.11, which has that version, for all.
"""

from __future__ import annotations

import hashlib
import math
import re
import string
import struct
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal, localcontext
from functools import cache, lru_cache
from itertools import combinations
from pathlib import Path
from typing import TypeVar

import xxhash

import lshdb

Element = str | int
Shingle = str | tuple[str, ...] | int
Row = TypeVar("Row", str, int)
Member = TypeVar("Member", bound=Hashable)

MASK32 = (1 << 32) - 1
MASK64 = (1 << 64) - 1
IDEOGRAPHS_AND_KANA = (
    (0x3041, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x323AF),
)

ASCII_NASTY = "aAbBzZ09_-.'  \t\n\r\x0b\x0c\x1c\x1f\0\x7f"
NASTY = ASCII_NASTY + "".join(
    (
        "\x85\xa0\u1680\u2003\u2028\u3000",  # blanks
        "\u200b\u200d\u180e\ufeff",  # invisible, and no blanks
        "\xa8\xb4\u309b",  # a blank and a mark under NFKC
        "\u0301\u0307\u0323\u0345\u3099\uff9e\u20dd\ufe0f",  # marks
        "\xe9\xdf\u1e9e\u0130\u01f0\u0149\u03a3\u03c2\u0390\u1fb3",  # folding makes them longer
        "\ufb01\u3392\xb2\xbd\u2460\u0e01\u0e33\ufdfa",  # NFKC decomposes them
        "\uff0c\uff21\uff3f\uff11\uff5e",  # full-width
        "\u3040\u3041\u304b\u30ab\u30fb\u30ff\uff76\u31f0\u31ff",  # kana and their neighbours
        "\xad\u034f\u200c\u2060\U000e0100\U000e0067\U000e007f\U0001f3f4",  # dropped; tags of flags
        "\u0640\u064a\u0643\u05d9\u05b4\ufb1d\ufe76\ufe77\u0626\u0654",  # Arabic, Hebrew
        "\u0e40\u0e01\u0e32\u0e48\u0e4c\u0e50\u0eb2\u0ec0\u0e81",  # Thai, Lao
        "\u1780\u17d2\u17b6\u17cd\u1000\u1039\u1037\u103a\u102c\ua98f\ua9c0\ua9b6\u1b13\u1b44",
        "\u3400\u4dbf\u4dc0\u4e00\u9fff\uf900\ufaff\u2f800\U0002f800\U00020000\U000323af",
        "\u1112\u1161\u11ab\uac00\u314e",  # Hangul
        "\u0628\u064e\u0928\u093f\u0663\u216b\U00010400\U0001d7d8",  # other letters and numbers
        "\U0001f600\U0001f3fd\u2603",  # symbols
        "\ud800\udbff\udc00\udfff",  # lone surrogates
    )
)
"""Characters that are hard for shingling; every Unicode version from 14.0 on treats them alike."""


# characters


@cache
def _unicode_14() -> tuple[list[int], list[int]]:
    packed = (Path(lshdb.__file__).parent / "text" / "unicode14.bin").read_bytes()
    entries = struct.unpack(f"<{len(packed) // 4}I", packed)
    return [entry >> 8 for entry in entries], [entry & 0xFF for entry in entries]


def assigned_in_14(character: str) -> bool:
    """Whether Unicode 14.0 had assigned the character, by the table in the package."""
    first_of_run, bits = _unicode_14()
    return not bits[bisect_right(first_of_run, ord(character)) - 1] & 8


SILENT = {
    *map(chr, (0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0)),
    *map(chr, (*range(0x180B, 0x1810), *range(0x200B, 0x2010), *range(0x202A, 0x202F))),
    *map(chr, (*range(0x2060, 0x2070), *range(0xFE00, 0xFE10), *range(0xFFF0, 0xFFF9))),
    *map(chr, (*range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B), *range(0xE0000, 0xE1000))),
    # Hebrew accents and points; Arabic tatweel and vowel signs.
    *map(chr, (*range(0x591, 0x5BE), 0x5BF, 0x5C1, 0x5C2, 0x5C4, 0x5C5, 0x5C7)),
    *map(chr, (0x640, *range(0x64B, 0x653), 0x670)),
}
BLACK_FLAG = "\U0001f3f4"
TAGS = {*map(chr, range(0xE0020, 0xE0080))}


def is_silent(character: str) -> bool:
    """Whether all that the character stands for says nothing."""
    return {*unicodedata.normalize("NFKD", character)} <= SILENT


def without_silent(text: str) -> str:
    """The text without characters that say nothing; tags stay behind a black flag."""
    kept = ""
    for character in text:
        in_flag = character in TAGS and (kept[-1:] == BLACK_FLAG or kept[-1:] in TAGS)
        if in_flag or not is_silent(character):
            kept += character
    return kept


def without_optional(text: str) -> str:
    """The text without silent characters, all tags included."""
    return "".join(character for character in text if character not in SILENT)


def fold(text: str) -> str:
    """Without silent characters NFKC, then case folding; without them again; Persian ye and kaf."""
    folded = unicodedata.normalize("NFKC", without_silent(text)).casefold()
    return without_silent(folded).replace("\u064a", "\u06cc").replace("\u0643", "\u06a9")


@cache
def is_ideograph(character: str) -> bool:
    """Whether the character is one word."""
    return any(first <= ord(character) <= last for first, last in IDEOGRAPHS_AND_KANA)


def is_word_character(character: str) -> bool:
    """Whether the character belongs to a run that makes a word."""
    return character == "_" or unicodedata.category(character)[0] in "LNM"


SPELLING = dict(
    zip(
        "\u0110\u0126\u0141\xd8\u0166\u0111\u0127\u0142\xf8\u0167\u0131\u0671\u0649\u0629\u06c0",
        "DHLOTdhloti\u0627\u064a\u0647\u0647",
        strict=True,
    )
) | dict.fromkeys("\ufef5\ufef6\ufef7\ufef8\ufef9\ufefa", "\ufefb")
SCRIPTS = ("LATIN ", "GREEK ", "CYRILLIC ", "HEBREW ", "ARABIC ")


def plain(text: str) -> str:
    """The text in plain spelling."""
    spelled, base = "", " "
    for character in text:
        if unicodedata.combining(character):
            if character != "\u093c" and not unicodedata.name(base, "").startswith(SCRIPTS):
                spelled += character
            continue
        character = SPELLING.get(character, character)
        base, *others = list(unicodedata.normalize("NFKD", character))
        has_script = unicodedata.name(base, "").startswith((*SCRIPTS, "DEVANAGARI "))
        if character.isdecimal():
            spelled += str(int(character))
        elif has_script and all(map(unicodedata.combining, others)):
            spelled += SPELLING.get(base, base)
        else:
            spelled += character
    return spelled


# shingles


def collapsed(text: str) -> str:
    """The folded text, each white-space run one blank, none at either end."""
    result = ""
    for character in fold(text):
        if not character.isspace():
            result += character
        elif result and result[-1] != " ":
            result += " "
    return result.removesuffix(" ")


SYLLABIC_SCRIPTS = {"THAI", "LAO", "KHMER", "MYANMAR", "JAVANESE", "BALINESE"}


def is_syllabic(character: str) -> bool:
    """Whether the character is a letter of a script that is cut into syllables."""
    is_letter = unicodedata.category(character)[0] == "L"
    return is_letter and unicodedata.name(character, "?").split()[0] in SYLLABIC_SCRIPTS


def is_digit(character: str) -> bool:
    """Whether the character is a decimal digit of any script."""
    return unicodedata.category(character) == "Nd" and assigned_in_14(character)


def spaced(text: str) -> str:
    """The text of a record with one bar for each run of blanks and signs, and at both ends."""
    kept = "".join(" " if c.isspace() or c in string.punctuation else c for c in text).split(" ")
    words = [word for word in kept if word]
    return "|".join(["", *words, ""]) if words else text


def combines(character: str) -> bool:
    """Whether the character is a mark, or a Hangul vowel or final."""
    jamo = "\u1160" <= character < "\u1200" or "\ud7b0" <= character < "\ud800"
    return unicodedata.category(character)[0] == "M" or jamo


def begins_syllable(before: str, letter: str, behind: str) -> bool:
    """Whether a letter begins a syllable, by what is before it and behind it."""
    if letter in "เแโใไເແໂໃໄ":
        return True
    following = "\u0e30\u0e32\u0e45\u0eb0\u0eb2\u0ebd"
    killing = "\u0e3a\u0e4c\u0e4e\u0eba\u0ecc\u17cb\u17cd\u17d1\u103a\ua9c0\u1b44"
    if behind[:1] == "\u1037" and behind[1:2] in {*killing}:
        return False
    if letter in following or before[-1:] in {*"เแโใไເແໂໃໄ\u17d2\u1039\ua9c0\u1b44"}:
        return False
    return behind[:1] != "" and (
        behind[0] in following
        or (combines(behind[0]) and behind[0] not in killing and not is_ideograph(behind[0]))
    )


def words(text: str) -> list[str]:
    """The words of a text, in order; without any, the text, if it is not blank."""
    found: list[str] = []
    inside, in_syllables = False, False
    folded = fold(text)
    for index, character in enumerate(folded):
        if is_ideograph(character):
            found.append(character)
            inside, in_syllables = False, False
        elif is_word_character(character):
            joins = inside
            if is_syllabic(character):
                around = folded[:index], character, folded[index + 1 : index + 3]
                joins = inside and in_syllables and not begins_syllable(*around)
                in_syllables = True
            elif not combines(character):
                joins = inside and not in_syllables
                in_syllables = False
            if joins:
                found[-1] += character
            else:
                found.append(character)
            inside = True
        else:
            inside, in_syllables = False, False
    return found or [whole for whole in [collapsed(text)] if whole]


def terms(text: str) -> list[str]:
    """The words of four bytes or more, each with the next one if that follows without a blank."""
    text = with_whole_words(text)
    folded, end = fold(text), 0
    bounds = []
    for word in words(text) if any(map(is_part_of_word, folded)) else []:
        begin = folded.index(word, end)
        end = begin + len(word)
        bounds.append((begin, end))
    joined = [
        folded[begin : following[1] if following[0] == end else end]
        for (begin, end), following in zip(bounds, [*bounds[1:], (-1, -1)], strict=False)
    ]
    return [term for term in joined if len(term.encode()) >= 4]


def with_whole_words(text: str) -> str:
    """The text in which words that line ends break are whole, as passages and terms are cut."""
    breaks = []
    for match in re.finditer("([-\xad\u2010])\r?\n[ \t]*", text):
        before, after = without_silent(text[: match.start()]), text[match.end() :]
        if (
            any(map(is_part_of_word, fold(before[-1:])))
            and any(map(is_part_of_word, fold(after[:1])))
            and not (is_silent(after[0]) or is_digit(after[0]))
            and not combines(without_optional(unicodedata.normalize("NFKD", after[0]))[0])
        ):
            breaks.append((match.span(), words(before)[-1], words(after)[0]))
    known = Counter(words(text))
    known.subtract(half for _, *halves in breaks for half in halves)
    for (begin, end), first, second in reversed(breaks):
        if known[first + second] > 0 or min(known[first], known[second]) <= 0:
            text = text[:begin] + text[end:]
    return text


def is_part_of_word(character: str) -> bool:
    """Whether the character is in a word."""
    return is_ideograph(character) or is_word_character(character)


def char_shingles(text: str, size: int) -> list[str]:
    """The shingles `char:size` of a text, in order, repeated as often as they occur."""
    whole = collapsed(text)
    if len(whole) < size:
        return [whole] if whole else []
    return [whole[i : i + size] for i in range(len(whole) - size + 1)]


def weight(character: str, size: int) -> int:
    """Twice the weight of a character in shingles `char:size-cjk`."""
    if 0xAC00 <= ord(character) <= 0xD7A3:
        return 2 * size
    if not is_ideograph(character):
        return 2
    return size if ord(character) <= 0x31FF else 2 * size


def weighed_shingles(text: str, size: int) -> list[str]:
    """The shingles `char:size-cjk` of a text, in order, repeated as often as they occur."""
    whole = collapsed(text)
    runs = []
    for start in range(len(whole)):
        for end in range(start + 1, len(whole) + 1):
            if sum(weight(character, size) for character in whole[start:end]) >= 2 * size:
                runs.append(whole[start:end])
                break
    return runs or [whole] * bool(whole)


def word_shingles(text: str, size: int) -> list[tuple[str, ...]]:
    """The shingles `word:size` of a text, in order, repeated as often as they occur."""
    whole = words(text)
    if len(whole) < size:
        return [tuple(whole)] if whole else []
    return [tuple(whole[i : i + size]) for i in range(len(whole) - size + 1)]


def counting(text: str, base: str, kind: str, size: int) -> AbstractSet[Shingle]:
    """The shingles of a text that a base text has not."""
    return set(shingles(text, kind, size)) - set(shingles(base, kind, size))


def shingles(
    content: str | Collection[Element], kind: str, size: int, options: Collection[str] = ()
) -> Sequence[Shingle]:
    """The shingles of a document, in order, repeated as often as they occur."""
    if kind == "set":
        return list(content)
    assert isinstance(content, str)
    if "marks" in options:
        content = plain(content)
    if "numbers" in options:
        content = "".join("0" if is_digit(character) else character for character in content)
    if "cjk" in options:
        return weighed_shingles(content, size)
    return char_shingles(content, size) if kind == "char" else word_shingles(content, size)


# hashes


def splitmix64(state: int, count: int) -> list[int]:
    """The first outputs of SplitMix64."""
    outputs = []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & MASK64
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
        outputs.append(z ^ (z >> 31))
    return outputs


@cache
def constants(seed: int, label: str, count: int) -> list[int]:
    """The odd constants for a seed and a label."""
    state = xxhash.xxh64_intdigest(label.encode(), seed)
    return [output | 1 for output in splitmix64(state, count)]


def _mix(x: int, multiplier_1: int, multiplier_2: int, seed: int = 0) -> int:
    x = (x * multiplier_1) & MASK64
    if seed >= 1 << 63:  # secret
        x = int.from_bytes(x.to_bytes(8, "little"), "big")
    else:
        x ^= x >> 32
    return (x * multiplier_2) & MASK64


def span_hash(span: bytes, seed: int, label: str) -> int:
    """The hash of a byte string; an empty one counts as one chunk of zeros."""
    start, length, multiplier_1, multiplier_2 = drawn = constants(seed, f"span {label}", 4)
    if len(span) > 256 and seed >= 1 << 63:
        key = b"".join(one.to_bytes(8, "little") for one in drawn)
        return int.from_bytes(hashlib.blake2b(span, digest_size=8, key=key).digest(), "little")
    if len(span) > 256:
        return xxhash.xxh64_intdigest(span, start)
    h = (start + len(span) * length) & MASK64
    for i in range(0, max(len(span), 1), 8):
        h = _mix(h ^ int.from_bytes(span[i : i + 8], "little"), multiplier_1, multiplier_2, seed)
    return h


def integer_hash(value: int, seed: int) -> int:
    """The hash of an integer: of 64 bits as one chunk with the length -1, else of its digits."""
    if not -(1 << 63) <= value < 1 << 63:
        return span_hash(str(value).encode(), seed, "big integer")
    start, length, multiplier_1, multiplier_2 = constants(seed, "span integer", 4)
    return _mix(((start - length) ^ value) & MASK64, multiplier_1, multiplier_2, seed)


def shingle_hash(shingle: Shingle, kind: str, seed: int) -> int:
    """The hash of one shingle."""
    if isinstance(shingle, int):
        return integer_hash(shingle, seed)
    if isinstance(shingle, str):
        label = "string" if kind == "set" else kind
        return span_hash(shingle.encode("utf-8", "surrogatepass"), seed, label)
    total = 0
    for word, factor in zip(shingle, constants(seed, "word places", 64), strict=False):
        total += span_hash(word.encode("utf-8", "surrogatepass"), seed, "word") * factor
    return total & MASK64


def shingle_hashes(
    content: str | Collection[Element],
    kind: str,
    size: int,
    seed: int,
    options: Collection[str] = (),
) -> list[int]:
    """The hashes of a document's shingles, in order, repeated as often as they occur."""
    runs = shingles(content, kind, size, options)
    return [shingle_hash(shingle, kind, seed) for shingle in runs]


# sketches


def fingerprints(
    text: str, kind: str, run: int, seed: int, options: Collection[str] = ()
) -> dict[int, int]:
    """Winnowing by the textbook: of each window the least hash, 48 bits, and its first position."""
    size = math.ceil(5 * run / 8)
    window = run - size + 1
    whole = text if kind == "code" else with_whole_words(text)
    hashes = [value >> 16 for value in shingle_hashes(whole, kind, size, seed, options)]
    found: dict[int, int] = {}
    for start in range(len(hashes) - window + 1):
        own = hashes[start : start + window]
        found.setdefault(min(own), start + own.index(min(own)))
    return found


def weighted(
    one: AbstractSet[int], other: AbstractSet[int], stored: Sequence[AbstractSet[int]]
) -> tuple[float, float]:
    """Two sets of fingerprints, each weighted by the documents that have it: share of all, of
    the smaller set."""

    def weight(fingerprint: int) -> float:
        others = max(sum(fingerprint in document for document in stored) - 1, 1)
        return max(0.0, math.log(max(len(stored), 4) / (2 * others)))

    def total(some: AbstractSet[int]) -> float:
        return math.fsum(map(weight, some))

    both = total(one & other)
    of = total(one | other), min(total(one), total(other))
    return both / of[0] if both else 0.0, both / of[1] if both else 0.0


def fast_first_hash(x: int, seed: int) -> int:
    """The hash of round 0 of `fast`."""
    first, wide_1, wide_2, _ = constants(seed, "fast first round", 4)
    return _mix(x ^ first, wide_1, wide_2)


def scaled(h: int, lanes: int) -> int:
    """The lane of a hash of 32 bits."""
    return (h * lanes) >> 32


def fast_signature(hashes: Iterable[int], lanes: int, seed: int) -> list[int]:
    """Fast similarity sketching of a set of shingle hashes, round by round."""
    return [*_fast_signature(frozenset(hashes), lanes, seed)]


@lru_cache(maxsize=10_000)  # the same documents are in the files of many tests
def _fast_signature(distinct: AbstractSet[int], lanes: int, seed: int) -> list[int]:
    if not distinct:
        return [MASK32] * lanes
    narrowing = constants(seed, "fast first round", 4)[3]
    of_round = [constant >> 32 for constant in constants(seed, "fast rounds", 2 * lanes)]
    narrow_1, narrow_2 = (constant & MASK32 for constant in constants(seed, "fast multipliers", 2))

    def later(x: int, i: int) -> int:
        g = ((x * narrowing & MASK64) >> 32) ^ of_round[i]
        g = (g * narrow_1) & MASK32
        g ^= g >> 16
        return (g * narrow_2) & MASK32

    minimum: dict[int, int] = {}
    for x in distinct:
        h = fast_first_hash(x, seed)
        lane = scaled(h >> 32, lanes)
        minimum[lane] = min(minimum.get(lane, h), h)
    signature = {lane: h & MASK32 for lane, h in minimum.items()}
    for i in range(1, lanes):
        if len(signature) == lanes:
            break
        minimum = {}
        for x in distinct:
            g = later(x, i)
            lane = scaled(g, lanes)
            minimum[lane] = min(minimum.get(lane, g), g)
        signature = minimum | signature
    for lane in range(lanes):
        if lane not in signature:
            signature[lane] = min(later(x, lanes + lane) for x in distinct)
    return [signature[lane] for lane in range(lanes)]


def minhash_signature(hashes: Iterable[int], lanes: int, seed: int) -> list[int]:
    """The textbook's MinHash of a set of shingle hashes, lane by lane."""
    distinct = set(hashes)
    if not distinct:
        return [MASK32] * lanes
    multiplier_1, multiplier_2, multiplier_3 = constants(seed, "minhash multipliers", 3)
    mixed = [_mix(x, multiplier_1, multiplier_2) for x in distinct]
    mixed = [x ^ (x >> 32) for x in mixed]
    factors = constants(seed, "minhash factors", lanes)
    terms = constants(seed, "minhash terms", lanes)
    return [
        (min((a * x + b) & MASK64 for x in mixed) * multiplier_3 & MASK64) >> 32
        for a, b in zip(factors, terms, strict=True)
    ]


def bucket_keys(lanes: Sequence[int], construction: str, seed: int) -> list[int]:
    """The key of each band: of a mixed sum of its lanes the high 48 bits, as a signed integer."""
    levels = levels_of(construction)
    rows = levels[0][1] if levels[0][0] == "and" else 1
    used = lanes_of(construction)
    factors = constants(seed, "bands", used)
    (multiplier,) = constants(seed, "bucket keys", 1)
    keys = []
    for start in range(0, used, rows):
        key = sum(lanes[i] * factors[i] for i in range(start, start + rows)) % (1 << 64)
        key = (key ^ (key >> 32)) * multiplier % (1 << 64)
        keys.append((key - (1 << 64) if key >> 63 else key) >> 16)
    return keys


def estimate(agreeing: int, lanes: int, bits: int = 16) -> float:
    """The similarity of which this many of the lanes agree, some by accident."""
    accident = 2.0**-bits if bits == 16 else 0.0
    return max(agreeing / lanes - accident, 0.0) / (1 - accident)


def standard_error(similarity: float, lanes: int, bits: int = 16) -> float:
    """The deviation of such an estimate, if lanes agree independently of each other."""
    accident = 2.0**-bits if bits == 16 else 0.0
    agree = similarity + (1 - similarity) * accident
    return math.sqrt(agree * (1 - agree) / lanes) / (1 - accident)


# constructions


def s_curve(similarity: float, rows: int, bands: int) -> float:
    """1 - (1 - s^r)^b in 300 digits."""
    with localcontext() as context:
        context.prec = 300
        return float(1 - (1 - Decimal(similarity) ** rows) ** bands)


def levels_of(text: str) -> list[tuple[str, int]]:
    """The levels of the text."""
    return [(kind, int(size)) for kind, size in (level.split() for level in text.split(", "))]


def is_true(values: Sequence[bool], text: str) -> bool:
    """A cascade over lanes (or bands) that agree or not, level by level."""
    current = list(values)
    for kind, size in levels_of(text):
        groups = [current[i : i + size] for i in range(0, len(current), size)]
        current = [all(group) if kind == "and" else any(group) for group in groups]
    (value,) = current
    return value


def lanes_of(text: str) -> int:
    return math.prod(size for _, size in levels_of(text))


# similarity of plain sets


def jaccard(one: AbstractSet[Member], other: AbstractSet[Member]) -> float:
    """The Jaccard similarity; 0 for two empty sets."""
    shared = len(one & other)
    return shared / ((len(one) + len(other) - shared) or 1)


def similar_pairs(
    sets: Mapping[str, AbstractSet[Member]], threshold: float
) -> dict[frozenset[str], float]:
    """All pairs of keys whose sets have at least this Jaccard similarity, by brute force."""
    scored = (
        (frozenset((a, b)), jaccard(sets[a], sets[b])) for a, b in combinations(sorted(sets), 2)
    )
    return {pair: score for pair, score in scored if score >= threshold}


# clusters


def in_order(texts: Sequence[str], keep: str) -> list[int]:
    """The numbers of texts in the order that --keep decides them in."""
    ranks = {"first": lambda i: i, "last": lambda i: -i, "longest": lambda i: -len(texts[i])}
    return sorted(range(len(texts)), key=ranks[keep])


def deduplicated(
    sets: Mapping[Row, AbstractSet[Member]],
    order: Iterable[Row],
    threshold: float,
    *references: Mapping[Row, AbstractSet[Member]],
) -> dict[Row, tuple[Row, float] | None]:
    """For each row, decided in this order, the row it is dropped for and their similarity.

    That is the first of the most similar ones in the first collection with one that is similar
    enough: the references, and then what is kept so far.
    """
    kept: dict[Row, AbstractSet[Member]] = {}
    collections = list(references)
    collections.append(kept)
    decisions: dict[Row, tuple[Row, float] | None] = {}
    for row in order:
        decisions[row] = None
        for others in collections:
            scores = {key: jaccard(sets[row], others[key]) for key in others if key != row}
            best = max(scores, key=scores.__getitem__, default=row)
            if scores.get(best, 0) >= threshold:
                decisions[row] = best, scores[best]
                break
        else:
            kept[row] = sets[row]
    return decisions


def connected(pairs: Iterable[tuple[str, str]]) -> set[frozenset[str]]:
    """The connected components of pairs, by joining sets one pair at a time."""
    component: dict[str, frozenset[str]] = {}
    for pair in pairs:
        joined = frozenset(pair).union(*(component.get(key, ()) for key in pair))
        component |= dict.fromkeys(joined, joined)
    return set(component.values())


def stars(order: Sequence[str], pairs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """The stars of at least two keys: each key in the order takes those similar that are left."""
    similar: dict[str, set[str]] = {key: set() for key in order}
    for a, b in pairs:
        similar[a].add(b)
        similar[b].add(a)
    left = set(order)
    found = {}
    for key in order:
        if key in left:
            found[key] = {key} | similar[key] & left
            left -= found[key]
    return {key: own for key, own in found.items() if len(own) > 1}


def longest_common(a: list[str], b: list[str]) -> int:
    """The length of a longest common subsequence, by the table of all pairs."""
    row = [0] * (len(b) + 1)
    for one in a:
        before, row = row, [0]
        for j, other in enumerate(b):
            row.append(before[j] + 1 if one == other else max(before[j + 1], row[j]))
    return row[-1]
