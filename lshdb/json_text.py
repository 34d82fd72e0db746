"""JSON by orjson, with its gaps filled: exact integers beyond 64 bits, lone surrogates, decimals.

orjson rounds such integers when it reads, and refuses to write them. A line that has one is parsed
a second time, by Python's json.
"""

import json
import math
import re
from types import NoneType
from typing import Any, TypeGuard

import orjson

MAX_DEPTH = 200
"""Levels of arrays and objects in all JSON that is read and written: every parser, encoder and
recursive function takes that many (orjson writes 254, SQLite's JSON functions end at 1,000)."""
TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"
_LONGEST_PLAIN = 100
"""Digits before or after the point of a decimal that is written without an exponent."""
_DIGITS = bytes(byte if byte in b".0123456789" else 32 for byte in range(256))
"""Leaves digits and points as they are, and makes a blank of all else."""
_LARGEST = 1 << 63
"""From here on a float may be an integer that orjson rounded."""
_OPTIONS = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_NON_STR_KEYS
_EXACT = frozenset((str, int, bool, NoneType))
_PLAIN = _EXACT - {int}
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_ESCAPES = re.compile(
    rb"\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|.)"
)
"""An escape in JSON; the group matches the escape of a lone surrogate."""


def loads(data: bytes) -> Any:
    """The value of JSON in UTF-8; if a name is repeated, its last field counts.

    Raises:
        ValueError: not JSON, which has no lone surrogates, NaN or infinity.
        RecursionError: more than MAX_DEPTH levels.
    """
    return loads_exactly(data, decimals=False)[0]


def loads_exactly(data: bytes, *, decimals: bool = True) -> tuple[Any, bool]:
    """The value of JSON as `loads` gives it, and whether `text_fields` may find any.

    Args:
        data: the text.
        decimals: whether numbers that no float prints are decimals, and not rounded.
    """
    value = orjson.loads(data)
    if isinstance(value, dict):
        kinds = {*map(type, value.values())}
        if kinds <= _EXACT:
            return value, False  # most records
        floats = [each for each in value.values() if type(each) is float]
        if not decimals and kinds - {float} <= _EXACT and max(map(abs, floats)) < _LARGEST:
            return value, False
    if _may_be_deep(data):
        check_depth(value)
    # Numbers of 15 digits are exact as floats; integers beyond 64 bits have 19 digits or more.
    longest = 15 if decimals else 18
    long = _long_numbers(data, longest)
    if not long:
        return value, False
    if isinstance(value, dict) and long == _long_numbers(orjson.dumps(floats), longest):
        return value, False  # most records have their long numbers as floats alone
    if long != _long_numbers(orjson.dumps(value), longest):
        return json.loads(data, parse_float=_exact if decimals else None), True
    return value, False


def _long_numbers(data: bytes, longest: int) -> list[bytes]:
    """The runs of more digits and points, in order."""
    return [run for run in data.translate(_DIGITS).split() if len(run) > longest]


def dumps(value: object, *, numbers: bool = False) -> str:
    """A value as JSON on one line, without blanks; fields keep their order.

    Values that JSON does not have become text: dates and times as in ISO 8601, UUIDs as usual,
    bytes in base64, decimals, integers beyond 64 bits, infinity, and durations in seconds as their
    digits; NaN is null. Lone surrogates are replaced by U+FFFD.

    Args:
        value: of JSON's types, or those named above.
        numbers: whether decimals and large integers are numbers, which most programs round.

    Raises:
        TypeError: a value of another type.
        ValueError: names that differ in lone surrogates only.
        RecursionError: more than MAX_DEPTH levels.
    """
    return encode(value, numbers=numbers).decode()


def encode(value: object, *, numbers: bool = False) -> bytes:
    """A value as JSON in UTF-8; see `dumps`."""
    default = _with_number if numbers else _default
    try:
        data = orjson.dumps(value, default, orjson.OPT_PASSTHROUGH_DATETIME)
    except TypeError:
        check_depth(value)
        data = orjson.dumps(_plain(value, numbers), default, _OPTIONS)
    if b"null" in data and any(map(_is_infinite, _leaves(value))):
        data = orjson.dumps(_plain(value, numbers), default, _OPTIONS)
    if _may_be_deep(data):
        check_depth(value)
    return data


def repaired(text: str) -> bytes:
    """JSON in UTF-8 with U+FFFD for lone surrogates, escaped or not; all else is unchanged."""
    data = without_surrogates(text).encode()
    if b"\\u" not in data:
        return data
    return _ESCAPES.sub(lambda match: rb"\ufffd" if match[1] else match[0], data)


def without_surrogates(text: str) -> str:
    """The text with lone surrogates, which UTF-8 cannot hold, replaced by U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(REPLACEMENT if "\ud800" <= c <= "\udfff" else c for c in text)
    return text


def _may_be_deep(data: bytes) -> bool:
    """Whether JSON has enough arrays and objects for its levels to be counted."""
    return len(data) > MAX_DEPTH and data.count(b"[") + data.count(b"{") > MAX_DEPTH


def _leaves(value: object) -> list[Any]:
    """The values in lists and objects, but for texts, booleans and null."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return [] if type(value) in _PLAIN else [value]
    return [leaf for element in value if type(element) not in _PLAIN for leaf in _leaves(element)]


def _exact(text: str) -> object:
    """The float that prints as these digits, or a decimal."""
    from decimal import Decimal

    number, exact = float(text), Decimal(text)
    digits = len(exact.as_tuple().digits)
    return number if Decimal(f"{number:.{digits - 1}e}") == exact else exact


class Exact(str):
    """The text of a value that Python does not have, such as a time with nanoseconds."""


def text_fields(record: dict[str, Any]) -> dict[str, str]:
    """The fields with values for which `dumps` writes a text, each with the kind of one.

    >>> text_fields({"a": 1 << 70, "b": [1.5, {"c": b"1"}], "d": 1, "e": None})
    {'a': 'many digits', 'b': 'bytes'}
    """
    kinds = {
        name: next(filter(None, map(_text_kind, _leaves(value))), "")
        for name, value in record.items()
        if type(value) not in _PLAIN
    }
    return {name: kind for name, kind in kinds.items() if kind}


def _text_kind(value: object) -> str:
    """What a value is for which `dumps` writes a text; empty for others."""
    if isinstance(value, int):
        return "" if -(1 << 63) <= value < 1 << 64 else "many digits"
    if isinstance(value, float):
        return "infinity" if _is_infinite(value) else ""
    return type(value).__name__


def check_depth(value: object, levels: int = MAX_DEPTH) -> None:
    """RecursionError if a value has more levels of arrays and objects."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return
    if not levels:
        raise RecursionError(TOO_DEEP)
    for element in value:
        check_depth(element, levels - 1)


def _plain(value: object, numbers: bool) -> object:
    """The value as orjson writes it: texts for infinity, and if not `numbers` large integers."""
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, dict):
        fields = {
            _plain(name, numbers): _plain(element, numbers) for name, element in value.items()
        }
        if len(fields) < len(value):
            raise ValueError("fields whose names differ in lone surrogates only")
        return fields
    if isinstance(value, list | tuple):
        return [_plain(element, numbers) for element in value]
    if isinstance(value, int):
        if -(1 << 63) <= value < 1 << 64:
            return value
        return orjson.Fragment(str(value)) if numbers else str(value)
    if _is_infinite(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def _is_infinite(value: object) -> TypeGuard[float]:
    return isinstance(value, float) and math.isinf(value)


def seconds_of(nanoseconds: int) -> str:
    """A duration in seconds, with all digits.

    >>> seconds_of(90_000_000_000), seconds_of(-1)
    ('90', '-0.000000001')
    """
    seconds, fraction = divmod(abs(nanoseconds), 1_000_000_000)
    text = f"{seconds}.{fraction:09d}".rstrip("0").rstrip(".")
    return f"-{text}" if nanoseconds < 0 else text


def _with_number(value: object) -> object:
    """As `_default`, with a number for a decimal."""
    text = _default(value)
    return orjson.Fragment(text) if type(value).__name__ == "Decimal" and text else text


def _default(value: object) -> Any:
    """The JSON value for a value that JSON does not have."""
    # Rarely needed, and never by a query.
    import base64
    from datetime import date, time, timedelta
    from decimal import Decimal

    import numpy as np

    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        if value.is_nan():
            return None
        is_short = value.is_finite() and abs(value.adjusted()) < _LONGEST_PLAIN
        return f"{value:f}" if is_short else str(value)
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, timedelta):
        microseconds = value // timedelta(microseconds=1)
        return seconds_of(microseconds * 1_000 + getattr(value, "nanoseconds", 0))
    if isinstance(value, np.datetime64 | np.timedelta64):
        if np.isnat(value):
            return None
        if isinstance(value, np.datetime64):
            return str(value)
        return seconds_of(int(value.astype("m8[ns]").astype(np.int64)))
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError
