"""The rule that turns ids into keys: for files, tables, dicts, arguments of methods, and Spark.

A key is a text. An id of another type becomes one:

| id | key |
|---|---|
| string | the same |
| integer, and a float that is whole | its digits |
| boolean | `true` or `false`, as in JSON |
| bytes | hexadecimal digits |
| date | `2024-01-31` |
| timestamp | `2024-01-31T12:00:00`; with a time zone, in UTC: `2024-01-31T12:00:00+00:00` |
| decimal, UUID | `1.50`; as `str` writes it |
| None, NaN, NaT, NA | no key: the id is missing |
| any other, such as 1.5, lists and objects | as `lshdb.json_text` writes it, else as `str` does |

Floats that may be rounded, from 2^53 on, fail, and so do values without such a text.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from decimal import Decimal
from itertools import chain, count
from typing import Any

import numpy as np

from lshdb.errors import InputError, UsageError
from lshdb.json_text import encode, loads, without_surrogates

MISSING = frozenset(("NoneType", "NAType", "NaTType"))
"""Types of values that are missing: None, and those of pandas."""
_NUMBERS = float, Decimal, np.generic
"""Types of which a value may be no number, or no time: it is not even equal to itself."""


def key_of_id(value: object) -> str | None:
    r"""The key that a value gives by the rule above; None if the value is missing.

    Raises:
        InputError: it gives no key; the message is the end of a sentence, such as `is empty`.

    >>> [key_of_id(value) for value in ("a", 1, 1.0, 1.5, True, b"\x01", {"a": [2]}, float("nan"))]
    ['a', '1', '1', '1.5', 'true', '01', '{"a":[2]}', None]
    """
    kind = type(value)
    if kind is int:
        try:
            return str(value)
        except ValueError as error:
            raise InputError("is an integer of too many digits") from error
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
        return type(value).__name__


def _text_of(value: Any) -> str | None:
    """The text of a value that is neither an int nor a str itself; None if it is missing."""
    kind: type[object] = type(value)
    if hasattr(value, "as_py"):
        return key_of_id(value.as_py())  # a scalar of pyarrow
    if isinstance(value, str):
        return str.__str__(value)  # of an enumeration, not its name
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if kind.__name__ in MISSING or (isinstance(value, _NUMBERS) and value != value):
        return None
    if isinstance(value, float | np.floating):
        if abs(float(value)) >= 1 << 53:
            raise InputError(
                f"is {float(value)!r}, a float that may be rounded: write it as an integer or a "
                "string"
            )
        return str(value) if value % 1 else str(int(value))
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC)
    try:
        data = encode(value)
    except (RecursionError, TypeError, ValueError) as error:
        if kind.__str__ is object.__str__:
            raise InputError(f"is of type {kind.__name__}, which gives no key") from error
        return str(value)
    return str(loads(data)) if data.startswith(b'"') else data.decode()


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
