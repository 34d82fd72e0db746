"""Makes the known answers of the format, for other programs: python tests/make_vectors.py

They come from the oracles alone, under Unicode 14.0, so under Python 3.11. docs/format.md says what
is in the file; tests/database/test_known_answers.py compares the kernels with it. Like the golden
files it never changes once a format is released.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import oracles

PATH = Path(__file__).parent / "golden" / "format-7-vectors.json"
USUAL = {
    "shingle": "word:3",
    "sketch": "fast",
    "permutations": 128,
    "lane_bits": 16,
    "construction": "and 5, or 12",
    "seed": 1,
}
SENTENCE = "It is a truth universally acknowledged, that a single man"
LATER = "a\U00011f04 \u0301\U0001fae8\u0301 b\u0378C D"
"""A letter and a sign that Unicode 15.0 assigned, and a code point that no version has assigned."""
TEXTS: tuple[str | tuple[str, int], ...] = (
    "",
    " \u200b\xad\n",
    "Hello",
    "two words",
    "Just THREE words",
    SENTENCE,
    " ... \u2603\t\U0001f600\U0001f3fd ",
    "Gr\xf6\xdfte \u0130stanbul cafe\u0301 caf\xe9 \ufb01n \xbd \u2167 \u03a3\u03c3\u03c2 \u1e9e",
    "soft\xadhyphen zero\u200bwidth \U0001f3f4\U000e0067\U000e0062\U000e007f x\U000e0067y",
    "a\0b c\0\0d \x1f e",
    "\u0643\u064e\u062a\u064e\u0628\u064e \u0639\u0644\u064a \u0640\u0640 \ufefb",
    "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd \u05e2\u05d5\u05dc\u05dd",
    "\u6771\u4eac\u306f\u65e5\u672c\u3067\u3059\u3002\uff34\uff4f \uff76\uff9e \U00020000\u3099",
    "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22\u0e40\u0e1b\u0e47\u0e19 abc\u0e01\u0e48",
    "\u0ec0\u0e9e\u0eb2\u0eb0 \u1781\u17d2\u1798\u17c2\u179a \ua9b2\ua9ba \u1b13\u1b44\u1b15",
    "\u1019\u103c\u1014\u103a\u1019\u102c\u1005\u102c \u1017\u102f\u1037\u103a \u1000\u1037\u103a",
    "\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab \u0928\u092e\u0938\u094d\u0924\u0947 12 \u0663\u0664",
    "broken \ud83d and \ude00, whole \U0001f600x",
    LATER,
    ("x", 257),
    ("\xe9", 128),
    ("again ", 10_000),
    ("- ", 200),
    "\u0e48\u0e01 \u0e01\u0e47 \u0e48\u0e40\u0e01\u0e2d",
)
"""A text, or a part of it and how often that is repeated."""
SETS: tuple[list[oracles.Element], ...] = (
    [],
    ["bread", "", "\xe9t\xe9", "1", 'a "b" \\ \n\x01\x7f', "x" * 300],
    [1, 0, -1, (1 << 63) - 1, -(1 << 63), 1 << 63, -(1 << 99), "-1"],
)
BROKEN = (
    "A con-\nstitutional conven-\r\n\t tion, a well-\nknown one: well\xad\nknown things known well",
    "every-\nthing\u2010\n in 1914-\n1918: every thing, EVERYTHING, cafe\u0301-\ntier, -\nend-\n",
    "x\u2474-\n\xa8y, a-\n\u2475b, 3-\n\u2160v of words",
)
"""Texts in which line ends break words, and words that only look so."""
SPELLINGS = (
    "\u0110\u01b0\u1eddng ca\u0301\u0323 \u0141\xf3d\u017a \xd8re \u01ff \u0130s\u0131r \u212b "
    "\ufb01n\xe9 \xbd",
    "\u1f48\u03b4\u03c5\u03c3\u03c3\u03b5\u03cd\u03c2 \u1fb3 \u0451\u0439\u0457 \u0438\u0306 "
    "\u0433\u0483",
    "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd \ufb1d \u05d9\ufb1e",
    "\u0645\u064f\u062d\u064e\u0645\u0651\u064e\u062f \u0623\u062d\u0645\u062f "
    "\u0625\u0644\u0649 \u0622\u064a\u0629 \u0671\u0644\u0644\u0647"
    " \u0645\u0624\u0645\u0646 \u0634\u064a\u0626 \u0640\u0640 \ufef5 \ufe83 \u06c0 "
    "\u0627\u0655 \u06d3",
    "\u0958\u0932\u092e \u0915\u093c\u0947 \u0939\u093f\u0928\u094d\u0926\u0940 \u0995\u09bc "
    "\u09dc",
    "\u0663\u0664 \u06f1 \u0967\u0968 \u0e52 \uff17 \U0001d7d9 \xb2",
    "\u304b\u3099 \u30ac \uff76\uff9e \ud55c\uad6d \u0e01\u0e48 \u072b\u0308 \u10d0\u0301 \u0301",
)
"""Latin, Greek and Cyrillic, Hebrew, Arabic, Devanagari and Bengali, digits, other scripts."""
NUMBERS = (
    "At 10:45 on 2024-01-31, \u0663\u0664 \u06f1, \u0967\u0968 \u0e52 \uff17 \U0001d7d9",
    "\xb2 \xbd \u2460 \u2167 \u4e00 are no digits, and \U00011f51 came later",
)
"""Decimal digits of several scripts; other numbers, and a digit that Unicode 15.0 assigned."""
HEADED = f"From the same house. {SENTENCE} {SENTENCE}"
"""A text that begins with a template, and repeats what is not in it."""
BAGS = ({"film": 3, "7": 2, "": 1, "none": 0}, {"\xe9t\xe9": 11})
"""Elements with their counts; of one with eleven copies the tenth sorts before the second."""
RECORDS = ("Wall-Mount,\u3000 20 lb._", "na\xefve\u2014caf\xe9\xa0\x1f$5", "?! ", "")
"""Blanks and signs, of ASCII and others."""
MIXED = (
    "\u6771\u4eac tower \u30bf\u30ef\u30fc\u3067\u3059 \ub098\ub294 \ud559\uad50\uc5d0 ab "
    "\U00020000c \u3042",
    "\u6f22",
    "a\u3042",
    "ab",
    SENTENCE,
)
LONG = " ".join(f"{word}{number}" for number in range(40) for word in ("red", "green", "blue"))
GROUPS: tuple[tuple[dict[str, Any], Iterable[Any]], ...] = (
    (USUAL, TEXTS),
    (
        USUAL
        | {"permutations": 16, "lane_bits": 32, "construction": "and 1, or 16", "seed": 12345},
        [LONG, SENTENCE],
    ),
    (
        USUAL | {"sketch": "minhash", "permutations": 100, "seed": (1 << 63) - 1},
        [SENTENCE, "Hello", LONG],
    ),
    (
        USUAL | {"shingle": "char:5", "construction": "and 6, or 16"},
        [SENTENCE, "f\xfcnf", *TEXTS[6:9]],
    ),
    (
        USUAL | {"shingle": "word:1", "passages": 5, "reworded": True},
        [SENTENCE, TEXTS[2], TEXTS[6], TEXTS[12], "to be or not to be " * 3, *BROKEN],
    ),
    (USUAL | {"shingle": "set", "construction": "and 2, or 4, and 2, or 4"}, SETS),
    (USUAL | {"shingle": "word:1-marks"}, SPELLINGS),
    (USUAL | {"shingle": "char:3-cjk"}, MIXED),
    (USUAL | {"shingle": "char:4-cjk-marks"}, [MIXED[0], SPELLINGS[0]]),
    (USUAL | {"shingle": "word:2-numbers"}, NUMBERS),
    (USUAL | {"shingle": "char:3-marks-numbers"}, [NUMBERS[0], SPELLINGS[5]]),
    (
        USUAL | {"passages": 5, "base": ["From the same house: it is a truth!", "two words"]},
        [HEADED, "From the same HOUSE it is a truth", "two words and more"],
    ),
    (
        USUAL | {"shingle": "word:1-marks-numbers", "passages": 4, "reworded": True},
        [f"{BROKEN[1]} d\xe9j\xe0-\nvu: in \u0967\u096f\u0967\u096a, {NUMBERS[0]}"],
    ),
    (USUAL | {"shingle": "char:5", "passages": 20}, [BROKEN[0]]),
    (USUAL | {"shingle": "char:3-cjk", "passages": 8}, [MIXED[0]]),
    (USUAL | {"shingle": "bag"}, BAGS),
    (USUAL | {"shingle": "char:3", "records": True}, RECORDS),
    (USUAL | {"shingle": "char:5", "records": True}, [SENTENCE]),
)
"""Settings, and documents under them."""
LABELS = {
    "span word": 4,
    "span char": 4,
    "span string": 4,
    "span integer": 4,
    "span big integer": 4,
    "word places": 3,
    "fast first round": 4,
    "fast rounds": 3,
    "fast multipliers": 2,
    "minhash factors": 3,
    "minhash terms": 3,
    "minhash multipliers": 3,
    "bands": 3,
    "bucket keys": 1,
}
"""The labels of constants, and how many are listed."""
SPANS = (0, 1, 7, 8, 9, 16, 31, 255, 256, 257, 288, 1025)
"""Lengths of byte strings, whose bytes are 0, 1, 2 and so on."""


def hexadecimal(values: Iterable[int]) -> list[str]:
    """64 bits as hexadecimal digits, which every reader of JSON keeps whole."""
    return [f"{value:016x}" for value in values]


def stored(text: str) -> str:
    """The text without lone surrogates."""
    whole = text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "replace")
    assert whole.count("\ufffd") == sum("\ud800" <= character <= "\udfff" for character in text)
    return whole


def in_order(elements: Iterable[oracles.Element]) -> list[oracles.Element]:
    """The elements of a set as they are stored."""
    elements = list(elements)
    integers = sorted(element for element in elements if isinstance(element, int))
    return [*integers, *sorted(element for element in elements if isinstance(element, str))]


def copies(bag: Mapping[str, int]) -> list[str]:
    """The numbered copies of the elements of a bag."""
    return [f"{name}\xd7{number + 1}" for name in bag for number in range(bag[name])]


def document(given: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """A document with all that follows from it."""
    kind, _, size = settings["shingle"].partition(":")
    size, *options = size.split("-")
    facts: dict[str, Any] = {}
    content: Any = given
    if isinstance(given, tuple):
        facts = {"content": given[0], "times": given[1]}
        content = given[0] * given[1]
    elif kind in ("set", "bag"):
        content = in_order(copies(given) if kind == "bag" else given)
        facts["content"] = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    else:
        content = facts["content"] = stored(given)
        if content != given:
            facts["utf16"] = given.encode("utf-16-be", "surrogatepass").hex()
    how = "set" if kind == "bag" else kind, int(size or 1), options
    left_out = {one for base in settings.get("base", ()) for one in oracles.shingles(base, *how)}
    shingles = [one for one in oracles.shingles(content, *how) if one not in left_out]
    distinct = list(dict.fromkeys(shingles))
    hashes = [oracles.shingle_hash(shingle, how[0], settings["seed"]) for shingle in distinct]
    written: str = facts["content"] * facts.get("times", 1)
    facts |= {
        "digest": hashlib.blake2b(written.encode(), digest_size=16).hexdigest(),
        "count": len(shingles),
        "shingles": distinct,
        "hashes": hexadecimal(hashes),
    }
    if "passages" in settings:
        run, seed = settings["passages"], settings["seed"]
        prints = oracles.fingerprints(content, kind, run, seed, {*options} - {"cjk"})
        facts["fingerprints"] = sorted(prints.items()) if shingles else []
    if "reworded" in settings:
        facts["terms"] = oracles.terms(content)
    if "records" in settings:
        spaced = dict.fromkeys(oracles.shingles(oracles.spaced(content), *how))
        record = [oracles.shingle_hash(shingle, kind, settings["seed"]) for shingle in spaced]
        if settings["shingle"] == "char:5":
            record = [value for value in record if value % 2 == 0] or record
        every = [(1 << 64) - 1] * bool(record)
        facts["record_shingles"] = hexadecimal(sorted(record) + every)
    if hashes:
        sign = oracles.fast_signature if settings["sketch"] == "fast" else oracles.minhash_signature
        lanes = sign(hashes, settings["permutations"], settings["seed"])
        facts["lanes"] = [lane % (1 << settings["lane_bits"]) for lane in lanes]
        facts["bucket_keys"] = oracles.bucket_keys(
            facts["lanes"], settings["construction"], settings["seed"]
        )
    return facts


def answers() -> dict[str, Any]:
    """All that the file has."""
    return {
        "constants": [
            {"label": label, "seed": seed, "values": hexadecimal(oracles.constants(seed, label, n))}
            for seed in (1, (1 << 63) - 1)
            for label, n in LABELS.items()
        ],
        "spans": [
            {"bytes": octets.hex(), "purpose": "word", "seed": 1, "hash": f"{value:016x}"}
            for octets in (bytes(i % 256 for i in range(length)) for length in SPANS)
            for value in [oracles.span_hash(octets, 1, "word")]
        ],
        "folded": [
            [text, oracles.fold(text)]
            for text in [*oracles.NASTY, *TEXTS]
            if isinstance(text, str) and stored(text) == text != LATER
        ],
        "documents": [
            {"settings": settings} | document(given, settings)
            for settings, documents in GROUPS
            for given in documents
        ],
    }


def text_of(values: Mapping[str, Any]) -> str:
    """The file as text in ASCII: a line for each item, or for each field of a document."""
    parts = []
    for name, value in values.items():
        if name == "documents":
            fields = (
                [f'"{field}": {json.dumps(of)}' for field, of in document.items()]
                for document in value
            )
            lines = ["{" + ",\n  ".join(document_fields) + "}" for document_fields in fields]
        else:
            lines = [json.dumps(item) for item in value]
        parts.append(f'"{name}": [\n ' + ",\n ".join(lines) + "\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    assert unicodedata.unidata_version == "14.0.0", "run it by Python 3.11"
    PATH.write_text(text_of(answers()), "ascii")
