"""The stored form of a document: clean text, or a set as a JSON array in a fixed order."""

from _blake2 import blake2b  # where hashlib has it from, which loads OpenSSL besides
from collections.abc import Collection, Mapping

import orjson

from lshdb import json_text
from lshdb.errors import ContentError, DamagedFile
from lshdb.text.shingling import Content, Element, OfSets, Shingling

LARGEST = 900_000_000
"""Maximum bytes of UTF-8 of a stored document, whatever the limits: SQLite takes a billion in a
row."""

DIGEST_BYTES = 16
MAX_COPIES = 1_000
"""Maximum count of an element of a bag."""


def cleaned(
    content: Content, shingling: Shingling, largest: int = LARGEST
) -> str | tuple[Element, ...]:
    """The document as it is stored and shingled; only equal documents give equal results.

    A text has no lone surrogates; a set has each element once, in a fixed order.

    Raises:
        ContentError: a set for text shingles or a text for set shingles, an element that is
            neither string nor integer, or a document too large to store.
    """
    if shingling.foreign:
        raise ContentError(
            f"this database holds signatures that were made elsewhere (shingle {shingling}): "
            "it takes signatures, and can make none"
        )
    if isinstance(content, str) and shingling.of_sets:
        raise ContentError("this is a text, and the database holds sets (shingle set)")
    if not isinstance(content, str) and not shingling.of_sets:
        _check_set(content)
        raise ContentError(f"this is a set, and the database holds texts (shingle {shingling})")
    return normalized(content, largest, shingling.of_sets)


def normalized(
    content: Content, largest: int = LARGEST, of_sets: OfSets = False
) -> str | tuple[Element, ...]:
    """Clean a document that is known to be of the right kind, a text or a set; see `cleaned`."""
    if isinstance(content, str):
        text = json_text.without_surrogates(content)
        _check_size(text, largest)
        return text
    if of_sets == "bag" and isinstance(content, Mapping):
        content = copies(content, largest)
    elements = _ordered(content)
    if of_sets == "bag" and len(elements) < len(content):
        raise ContentError("an array repeats an element: a bag is an object with counts")
    # In JSON a character has at most 4 bytes, or 6 as an escape.
    characters = sum(len(element) for element in elements if isinstance(element, str))
    if 6 * characters + 32 * len(elements) > largest:
        _check_size(encoded(elements), largest)
    return elements


def encoded(content: Content) -> str:
    """The stored form of a cleaned document: the text, or a JSON array."""
    return content if isinstance(content, str) else json_text.dumps(content, numbers=True)


def _check_size(stored: str, largest: int) -> None:
    # A character has at most 4 bytes: most documents need no counting.
    if len(stored) <= largest // 4:
        return
    size = len(stored) if stored.isascii() else len(stored.encode())
    if size > largest:
        raise ContentError(
            f"the document has {size:,} bytes, and {largest:,} is the limit: split it"
        )


def digest(encoded: bytes | memoryview) -> bytes:
    """DIGEST_BYTES of BLAKE2b over a stored form in UTF-8; equal for equal documents only."""
    return blake2b(encoded, digest_size=DIGEST_BYTES).digest()


def from_stored(stored: str, shingling: Shingling) -> str | tuple[Element, ...]:
    """Decode the stored form of a document; the inverse of `encoded`."""
    if not shingling.of_sets:
        return stored
    try:
        elements = orjson.loads(stored)
        if not _is_set(elements):  # but perhaps with integers beyond 64 bits
            elements = json_text.loads(stored.encode())
    except (ValueError, RecursionError) as error:
        raise DamagedFile(f"a stored set is not a JSON array: {error}") from error
    if not _is_set(elements):
        raise DamagedFile("a stored set is not a JSON array of strings and integers")
    return tuple(elements)


def _is_set(value: object) -> bool:
    return isinstance(value, list) and set(map(type, value)) <= {str, int}


def _check_set(content: object) -> None:
    """Raise ContentError for a value that cannot be a set."""
    # An iterator would be empty on a second reading, and the elements of bytes are integers.
    if not isinstance(content, Collection) or isinstance(content, bytes | bytearray):
        raise ContentError(f"{type(content).__name__} is neither text nor set")


def copies(bag: Mapping[object, object], largest: int = LARGEST) -> list[Element]:
    """The numbered copies of a bag's elements: with 3 of `film` there are film×1, film×2, film×3.

    The Jaccard similarity of the sets of copies is that of the bags, the sum of the smaller counts
    over the sum of the larger ones (Haeupler, Manasse, Talwar: Consistent weighted sampling made
    fast, small, and easy, 2014).

    Raises:
        ContentError: a count that is no whole number from 0 to MAX_COPIES, or too many copies.
    """
    counts: dict[str, int] = {}
    for element, count in bag.items():
        name = json_text.without_surrogates(str(element))
        if isinstance(count, bool) or not (
            isinstance(count, int | float) and 0 <= count <= MAX_COPIES and count % 1 == 0
        ):
            raise ContentError(
                f"element {name!r:.100} of a bag has the count {count!r:.100}: counts are whole "
                f"numbers from 0 to {MAX_COPIES:,}"
            )
        counts[name] = counts.get(name, 0) + int(count)
    if sum(count * (len(name) + 8) for name, count in counts.items()) > largest:
        raise ContentError(f"a bag of too many copies: {largest:,} bytes of them are the limit")
    return [f"{name}×{n}" for name, count in counts.items() for n in range(1, count + 1)]


def _ordered(elements: Collection[Element]) -> tuple[Element, ...]:
    """The distinct elements: integers in order, then strings in order."""
    _check_set(elements)
    if strange := set(map(type, elements)) - {str, int}:
        kind = min(kind.__name__ for kind in strange)
        raise ContentError(f"a set's elements are strings and integers, not {kind}")
    integers = sorted({e for e in elements if isinstance(e, int)})
    strings = {json_text.without_surrogates(e) for e in elements if isinstance(e, str)}
    try:
        [*map(float, integers[:1] + integers[-1:])]
    except OverflowError as error:
        raise ContentError("a set has an integer of too many digits") from error
    return (*integers, *sorted(strings))
