"""The rule that turns ids into keys: for files, tables, dicts, arguments of methods, and Spark.

A key is a text. An id may be of any type that has one text for each value:

| id | key |
|---|---|
| string | the same |
| integer | its digits |
| float | the key of the equal integer; a float that is not whole, or may be rounded, fails |
| boolean | `true` or `false`, as in JSON |
| bytes | hexadecimal digits |
| date | `2024-01-31` |
| timestamp | as `key_of_instant` writes it; with a time zone, in UTC: `2024-01-31 12:00:00+00:00` |
| None, NaN, NaT, NA | no key: the id is missing |
| decimal, UUID, others | as `str` writes it |

Lists, sets, objects and values without a text form fail. Two values of different types may give
one key: `Ids` finds such values in an input. For columns of Arrow see lshdb.sources.arrow_keys.
"""

import re
from array import array
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain, count
from numbers import Integral, Real

import numpy as np

from lshdb.errors import InputError, UsageError
from lshdb.json_text import without_surrogates

_EXACT_BITS = 53
_MISSING = frozenset(("NoneType", "NAType", "NaTType"))
"""Types of values that are missing: None, and those of pandas."""
_LIKE_VOWELS = (*"AEIOaeio", "nd", "NA")
"""Beginnings of names that take the article `an`: `UUID` and `uint8` do not."""
_MERGED = 1 << 16
"""Hashes that are kept in a set, before they are sorted into an array."""
_KINDS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((str,), "a string"),
    ((bool, np.bool_), "a boolean"),
    ((datetime, np.datetime64), "a timestamp"),
    ((date,), "a date"),
    ((time,), "a time"),
    ((timedelta, np.timedelta64), "a duration"),
    ((Real, Decimal), "a number"),
    ((bytes, bytearray, memoryview), "bytes"),
)
"""Names for ids in messages, by their types; the first matching entry counts."""
_DAYS = frozenset("YMWD")
"""Units of NumPy's dates."""
_MICROSECOND = 1_000
_INFINITE = float("inf")


def key_of_id(value: object) -> str | None:
    r"""The key that a value gives by the rule above; None if the value is missing.

    Raises:
        InputError: it gives no key; the message is the end of a sentence, such as `is empty`.

    >>> [key_of_id(value) for value in ("a", 1, 1.0, True, b"\x01", float("nan"))]
    ['a', '1', '1', 'true', '01', None]
    """
    kind = type(value)
    if kind is int:
        return _digits(value)
    if kind is not str:
        text = _text_of(value)
        if text is None:
            return None
        value = text
    assert isinstance(value, str)
    if fault := key_fault(value):
        raise InputError(fault)
    return value


def key_fault(key: str) -> str | None:
    """The fault of a text as a key, as the end of a sentence; None for a valid one."""
    if not key:
        return "is empty"
    if "\0" in key:
        return "has a NUL character"
    if not key.isascii() and without_surrogates(key) is not key:
        return "has a lone surrogate, which is not Unicode text"
    return None


def key_argument(name: str, value: object) -> str:
    """The key that an argument of this name gives; UsageError if it gives none.

    Any string is accepted: a document with this key may exist or not.
    """
    if type(value) is str:
        return value
    try:
        key = key_of_id(value)
    except InputError as error:
        raise UsageError(f"{name} {shown(value)} {error}") from error
    if key is None:
        raise UsageError(f"{name} {shown(value)} is not a key: it is missing")
    return key


def key_arguments(name: str, values: object) -> list[str]:
    """The keys of one id, or of several in a list or another iterable; UsageError for others."""
    is_single_key = isinstance(values, str | bytes | bytearray | memoryview)
    if is_single_key or not isinstance(values, Iterable) or getattr(values, "shape", None) == ():
        values = [values]
    return [key_argument(name, value) for value in values]


def shown(value: object) -> str:
    """A value in messages: Python does not print every integer."""
    try:
        return f"{value!r:.100}"
    except ValueError:
        return with_article(type(value).__name__)


def kind_of_id(value: object) -> str:
    """The name for an id in messages; all numbers are one kind, and so are all strings."""
    if isinstance(value, np.datetime64) and np.datetime_data(value.dtype)[0] in _DAYS:
        return "a date"
    for types, name in _KINDS:
        if isinstance(value, types):
            return name
    return with_article(type(value).__name__)


def with_article(name: str) -> str:
    """The name of a type with its article; plurals such as `bytes` have none.

    >>> [with_article(name) for name in ("date", "int64", "bytes", "UUID")]
    ['a date', 'an int64', 'bytes', 'a UUID']
    """
    if name == "bytes":
        return name
    return f"an {name}" if name.startswith(_LIKE_VOWELS) else f"a {name}"


def _digits(value: object) -> str:
    try:
        return str(int(value))  # type: ignore[call-overload]
    except ValueError as error:
        raise InputError("is an integer of too many digits") from error


def _text_of(value: object) -> str | None:
    """The text of a value that is neither an int nor a str itself."""
    kind = type(value)
    if kind.__name__ in _MISSING:
        return None
    if isinstance(value, str):
        return str.__str__(value)  # of an enumeration, not its name
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, date | time | timedelta | np.datetime64 | np.timedelta64):
        return _text_of_time(value)  # a timedelta64 is an Integral, too
    if isinstance(value, Integral):
        return _digits(value)
    if isinstance(value, float | np.floating):
        return _whole(value)
    if isinstance(value, Decimal):
        if value.is_nan():
            return None
        if value.is_infinite():
            raise InputError("is infinite")
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        return key_of_id(value.item())  # of an array without dimensions
    if hasattr(value, "as_py"):
        return key_of_id(value.as_py())  # a scalar of pyarrow
    if isinstance(value, Collection) or kind.__str__ is object.__str__:
        name = "an array" if kind is list else "an object" if kind is dict else None
        raise InputError(f"is {name or with_article(kind.__name__)}, which gives no key")
    return str(value)


def _whole(value: float | np.floating) -> str | None:
    """The digits of a float that is an integer for certain; None for NaN."""
    bits = _EXACT_BITS
    if not isinstance(value, float):
        bits = min(bits, np.finfo(type(value)).nmant + 1)
    if fault := float_fault(float(value), bits):
        raise InputError(fault)
    return None if value != value else str(int(value))


def float_fault(value: float, bits: int = _EXACT_BITS) -> str:
    """Why a float of this precision in bits gives no key; empty if it does, or is NaN."""
    if value != value:
        return ""
    if value in (_INFINITE, -_INFINITE):
        return "is infinite"
    if abs(value) >= 1 << bits:
        return f"is {value!r}, a float that may be rounded: write it as an integer or a string"
    return "" if value.is_integer() else f"is {value!r}, a float that is not whole"


def _text_of_time(value: object) -> str | None:
    """The text of a date, a timestamp, a time of day or a duration."""
    if isinstance(value, np.datetime64):
        if np.isnat(value):
            return None
        unit = np.datetime_data(value.dtype)[0]
        if unit in _DAYS:
            return str(value.astype("datetime64[D]"))
        return key_of_instant(str(value.astype("datetime64[s]") if unit in "hm" else value))
    if isinstance(value, np.timedelta64):
        if np.isnat(value):
            return None
        return key_of_duration(int(value.astype("timedelta64[ns]").astype(np.int64)))
    if isinstance(value, datetime) and value.utcoffset() is not None:
        value = value.astimezone(UTC)
    if isinstance(value, timedelta):
        whole = value // timedelta(microseconds=1) * _MICROSECOND
        return key_of_duration(whole + getattr(value, "nanoseconds", 0))
    return str(value)


def key_of_instant(text: str) -> str:
    """The key of a timestamp, or a time of day, in the form of ISO 8601, in UTC if it has a zone.

    A space is between date and time; seconds have no fraction if it is 0, else 6 digits of it, or
    9 if there are nanoseconds: as `str` of Python's datetime and of pandas.

    >>> key_of_instant("2024-01-31T12:00:00.120000000")
    '2024-01-31 12:00:00.120000'
    """
    seconds, dot, digits = text.replace("T", " ").partition(".")
    fraction = digits.removesuffix("Z").rstrip("0")
    if dot and fraction:
        seconds += "." + fraction.ljust(6 if len(fraction) <= 6 else 9, "0")
    return seconds.removesuffix("Z") + "+00:00" * text.endswith("Z")


def key_of_duration(nanoseconds: int) -> str:
    """The key of a duration: `1 day, 2:00:00`, with digits as in `key_of_instant`."""
    microseconds, nanoseconds_left = divmod(nanoseconds, _MICROSECOND)
    text = str(timedelta(microseconds=microseconds))
    if not nanoseconds_left:
        return text
    return f"{text}{'' if '.' in text else '.000000'}{nanoseconds_left:03d}"


class _Hashes:
    """Hashes of keys, 8 bytes each except for recent ones."""

    def __init__(self, hashes: "array[int]") -> None:
        self._sorted = np.sort(np.frombuffer(hashes, dtype=np.int64))
        self._recent: set[int] = set()

    def __contains__(self, number: int) -> bool:
        if number in self._recent:
            return True
        index = int(np.searchsorted(self._sorted, number))
        return index < len(self._sorted) and int(self._sorted[index]) == number

    def add(self, number: int) -> None:
        """Add the hash of a key."""
        self._recent.add(number)
        if len(self._recent) >= max(_MERGED, len(self._sorted) // 4):
            recent = np.fromiter(self._recent, np.int64, len(self._recent))
            self._sorted = np.sort(np.concatenate([self._sorted, recent]))
            self._recent.clear()


class Ids:
    """The ids of an input: finds those of different types that give one key.

    Costs 8 bytes for each key that is given, and no lookup as long as all ids have one type.
    """

    def __init__(self) -> None:
        self._kind = ""
        self._first = array("q")
        self._hashes: dict[str, _Hashes] = {}

    def check(self, key: str, kind: str) -> None:
        """Note the key of an id of this kind (see `kind_of_id`).

        Raises:
            InputError: an earlier id of another kind gave the same key; the message is the end of
                a sentence.
        """
        if not self._hashes:
            if kind == self._kind or not self._kind:
                self._kind = kind
                self._first.append(hash(key))
                return
            self._hashes[self._kind] = _Hashes(self._first)
            self._first = array("q")
        number = hash(key)
        for other, hashes in self._hashes.items():
            if other != kind and number in hashes:
                raise InputError(
                    f"is {kind} that gives the key {key!r:.100}, as {other} in an earlier row "
                    "does: give all ids one type"
                )
        if kind not in self._hashes:
            self._hashes[kind] = _Hashes(array("q"))
        self._hashes[kind].add(number)


_DIGEST_SHOWN = 8
"""Bytes of a digest that distinguish documents of one key."""


def distinct_key(key: str, digest: bytes, digest_at: Callable[[str], bytes | None]) -> str:
    """The key under which a document stays beside others of its key, and never replaces one.

    It is the document's own key, that with the digest of its content, or that with a number: the
    first of them that is free, or has this content already, so that the same document again is
    where it was. An id in the data may be equal to a key that was made here.

    Args:
        key: the document's own key.
        digest: of its content.
        digest_at: the digest of the document that is stored under a key; None for a free key.

    >>> distinct_key("a", bytes(16), {"a": b"of another text"}.get)
    'a#0000000000000000'
    >>> distinct_key("a", bytes(16), {"a": b"other", "a#0000000000000000": b"another"}.get)
    'a#0000000000000000-2'
    """
    if digest_at(key) in (None, digest):
        return key
    made = f"{key}#{digest[:_DIGEST_SHOWN].hex()}"
    numbered = (f"{made}-{number}" for number in count(2))
    return next(name for name in chain([made], numbered) if digest_at(name) in (None, digest))


def is_key_of(stored: str, key: str, identical: bool) -> bool:
    """Whether a document is stored under a key, or under the key that a later row of it got.

    Args:
        stored: the key that it is stored under.
        key: the document's key.
        identical: whether the stored document has the same content, and so the same digest.

    >>> is_key_of("a#0000000000000000-2", "a", True), is_key_of("a#b", "a", True)
    (True, False)
    """
    made = rf"{re.escape(key)}#[0-9a-f]{{{2 * _DIGEST_SHOWN}}}(-[0-9]+)?"
    return stored == key or (identical and re.fullmatch(made, stored) is not None)
