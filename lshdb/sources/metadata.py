"""The other fields of a row, kept with its document as a JSON object."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from lshdb.errors import ContentError, DamagedFile, InputError
from lshdb.shingling.content import without_surrogates

LARGEST: Final = 90_000_000
"""Maximum characters of metadata: with the largest content, a row fits SQLite's billion bytes."""
MAX_DEPTH: Final = 200
"""Levels of arrays and objects in all JSON that is read and written: every parser, encoder and
recursive function takes that many (orjson writes 254, SQLite's JSON functions end at 1,000)."""
_LARGE: Final = 2.0**63


def to_json(fields: Mapping[str, object] | None) -> str | None:
    """The stored form of metadata, None if there is none.

    JSON on one line, fields in their order, numbers as Python writes them. Values that JSON does
    not have become text or a number: dates and times as in ISO 8601, UUIDs as usual, bytes in
    base64, decimals and durations (in seconds) as numbers; infinity and NaN are null. Lone
    surrogates are replaced by U+FFFD.

    Raises:
        ContentError: not a mapping from strings, a value of another type, too long or too deep, or
            names that differ in lone surrogates only.
    """
    if not fields:
        return None
    if not isinstance(fields, Mapping) or not set(map(type, fields)) <= {str}:
        raise ContentError("metadata must be a mapping from strings to values")
    try:
        text = _encoded(dict(fields))
    except RecursionError as error:
        raise ContentError(_TOO_DEEP) from error
    except (TypeError, ValueError) as error:
        raise ContentError(f"metadata: {error}") from error
    if len(text) > LARGEST:
        raise ContentError(f"metadata has {len(text):,} characters, and {LARGEST:,} is the limit")
    if text.count("[") + text.count("{") > MAX_DEPTH and is_too_deep(dict(fields)):
        raise ContentError(_TOO_DEEP)
    clean = without_surrogates(text)
    if clean is not text:
        json.loads(clean, object_pairs_hook=_check_names)
    return clean


def _check_names(pairs: list[tuple[str, object]]) -> None:
    if len(dict(pairs)) < len(pairs):
        raise ContentError("metadata has fields whose names differ in lone surrogates only")


def json_text(value: object) -> str:
    """A value as JSON, like `to_json`, but of any length and depth that Python's JSON takes.

    Raises:
        InputError: nested too deeply, or of a type that cannot be written as JSON.
    """
    try:
        return _encoded(value)
    except (RecursionError, TypeError, ValueError) as error:
        raise InputError(f"a value that JSON does not support: {error}") from error


def from_json(stored: str | None) -> dict[str, Any] | None:
    """The metadata of its stored form."""
    if stored is None:
        return None
    try:
        fields = json.loads(stored)
    except (ValueError, RecursionError) as error:
        raise DamagedFile(f"stored metadata is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise DamagedFile("stored metadata is not a JSON object")
    return fields


def picked(stored: str | None, names: Iterable[str]) -> dict[str, Any]:
    """Some fields of metadata in its stored form, None for missing ones.

    A name with dots that is not a field is a path: `a.b` is the field b of the object a.
    """
    fields = from_json(stored) or {}
    return {name: _field(fields, name) for name in names}


def _field(fields: dict[str, Any], name: str) -> Any:
    if name in fields:
        return fields[name]
    outer, _, rest = name.partition(".")
    inner = fields.get(outer)
    return _field(inner, rest) if rest and isinstance(inner, dict) else None


def has_large_float(value: object) -> bool:
    """Whether it has a number that may have been an integer beyond 64 bits."""
    if isinstance(value, float):
        return abs(value) >= _LARGE
    return any(
        isinstance(one, float) and abs(one) >= _LARGE for level in _levels(value) for one in level
    )


def is_too_deep(value: object) -> bool:
    """Whether a value has more than MAX_DEPTH levels of arrays and objects."""
    return any(depth > MAX_DEPTH for depth, _ in enumerate(_levels(value), 1))


def _default(value: object) -> object:
    """The JSON value for a value that JSON does not have."""
    # Rarely needed, and never by a query.
    import base64
    from datetime import date, datetime, time, timedelta
    from decimal import Decimal
    from uuid import UUID

    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        if not value.is_finite():
            return None
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


_encode: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_default
).encode
_TOO_DEEP: Final = f"metadata is nested deeper than {MAX_DEPTH} levels"


def _encoded(value: object) -> str:
    try:
        return _encode(value)
    except ValueError:  # a number that JSON does not have
        return _encode(_finite(value))


def _finite(value: object) -> object:
    """The value with null for infinity and NaN."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    if isinstance(value, np.generic | np.ndarray):
        return _finite(value.tolist())
    return value


def _levels(value: object) -> Iterator[list[object]]:
    """What is in a value's arrays and objects, level by level: recursion would end at 1,000."""
    level = [value]
    while any(isinstance(one, dict | list | tuple) for one in level):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list | tuple)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        yield level
