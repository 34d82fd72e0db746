"""The rule that turns ids into keys: for files, tables, dicts, arguments of methods, and Spark.

A key is a text. An id of another type becomes one:

| id | key |
|---|---|
| string | the same |
| integer, and a float that is whole | its digits |
| boolean | `true` or `false`, as in JSON |
| bytes | hexadecimal digits |
| date | `2024-01-31` |
| timestamp | as `key_of_instant` writes it; with a time zone, in UTC: `2024-01-31 12:00:00+00:00` |
| decimal, UUID, others with a text of their own | as `str` writes it |
| None, NaN, NaT, NA | no key: the id is missing |
| any other, such as 1.5, lists and objects | as JSON, without blanks, with sorted keys |

Floats that may be rounded, from 2^53 on, fail, and so do durations and values without such a text.
"""

import json
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain, count
from numbers import Integral

import numpy as np

from lshdb.errors import InputError, UsageError
from lshdb.json_text import without_surrogates

MISSING = frozenset(("NoneType", "NAType", "NaTType"))
"""Types of values that are missing: None, and those of pandas."""
_DAYS = frozenset("YMWD")
"""Units of NumPy's dates."""


def key_of_id(value: object) -> str | None:
    r"""The key that a value gives by the rule above; None if the value is missing.

    Raises:
        InputError: it gives no key; the message is the end of a sentence, such as `is empty`.

    >>> [key_of_id(value) for value in ("a", 1, 1.0, 1.5, True, b"\x01", {"a": [2]}, float("nan"))]
    ['a', '1', '1', '1.5', 'true', '01', '{"a":[2]}', None]
    """
    if type(value) is int:
        return _digits(value)
    text = value if type(value) is str else _text_of(value)
    if text is not None and (fault := key_fault(text)):
        raise InputError(fault)
    return text


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
        return type(value).__name__


def _digits(value: object) -> str:
    try:
        return str(int(value))  # type: ignore[call-overload]
    except ValueError as error:
        raise InputError("is an integer of too many digits") from error


def _text_of(value: object) -> str | None:
    """The text of a value that is neither an int nor a str itself."""
    kind = type(value)
    if kind.__name__ in MISSING:
        return None
    if isinstance(value, str):
        return str.__str__(value)  # of an enumeration, not its name
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, np.datetime64 | np.timedelta64) and np.isnat(value):
        return None
    if isinstance(value, timedelta | np.timedelta64):  # that of NumPy is an Integral, too
        raise InputError("is a duration, which gives no key")
    if isinstance(value, date | time | np.datetime64):
        return _text_of_time(value)
    if isinstance(value, Integral):
        return _digits(value)
    if isinstance(value, float | np.floating):
        return _text_of_float(float(value))
    if isinstance(value, Decimal):
        if value.is_infinite():
            raise InputError("is infinite")
        return None if value.is_nan() else str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return value.hex()
    if hasattr(value, "tolist"):
        return key_of_id(value.tolist())  # an array of NumPy
    if hasattr(value, "as_py"):
        return key_of_id(value.as_py())  # a scalar of pyarrow
    if not isinstance(value, list | tuple | dict) and kind.__str__ is not object.__str__:
        return str(value)
    try:
        return json.dumps(
            value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=_in_json
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"is of type {kind.__name__}, which gives no key") from error


def _in_json(value: object) -> object:
    """A value within an id that JSON does not have: that of NumPy, or its text as an id."""
    is_time = isinstance(value, np.datetime64 | np.timedelta64)
    if isinstance(value, np.generic | np.ndarray) and not is_time:
        return value.tolist()
    if type(value).__str__ is object.__str__ and not isinstance(value, bytes):
        raise TypeError
    return _text_of(value)


def _text_of_float(value: float) -> str | None:
    """The text of a float; None for NaN."""
    if value != value:
        return None
    if abs(value) >= 1 << 53:
        raise InputError(
            f"is {value!r}, a float that may be rounded: write it as an integer or a string"
        )
    return str(int(value)) if value.is_integer() else repr(value)


def _text_of_time(value: date | time | np.datetime64) -> str:
    """The text of a date, a timestamp or a time of day."""
    if isinstance(value, np.datetime64):
        unit = np.datetime_data(value.dtype)[0]
        if unit in _DAYS:
            return str(value.astype("datetime64[D]"))
        return key_of_instant(str(value.astype("datetime64[s]") if unit in "hm" else value))
    if isinstance(value, datetime) and value.utcoffset() is not None:
        value = value.astimezone(UTC)
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


DIGEST_SHOWN = 8
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
    with_digest = f"{key}#{digest[:DIGEST_SHOWN].hex()}"
    numbered = (f"{with_digest}-{number}" for number in count(2))
    return next(
        name for name in chain([with_digest], numbered) if digest_at(name) in (None, digest)
    )
