"""The other fields of a row, kept with its document as a JSON object."""

from collections.abc import Container, Iterable, Mapping
from typing import Any

from lshdb import json_text
from lshdb.errors import ContentError, DamagedFile

Path = tuple[str, ...]
"""The name of a field, after those of the objects that it is in."""
LIST = "[]"
"""Behind the name of a list whose elements are meant."""
_NAMES = frozenset((str,))
LARGEST = 90_000_000
"""Maximum characters of metadata: with the largest content, a row fits SQLite's billion bytes."""


def to_json(fields: Mapping[str, object] | None) -> str | None:
    """The stored form of metadata, as `lshdb.json_text.dumps` writes it; None if there is none.

    Raises:
        ContentError: not a mapping from strings, a value of another type, too long or too deep, or
            names that differ in lone surrogates only.
    """
    if not fields:
        return None
    is_mapping = type(fields) is dict or isinstance(fields, Mapping)
    if not is_mapping or not _NAMES.issuperset(map(type, fields)):
        raise ContentError("metadata must be a mapping from strings to values")
    try:
        text = json_text.dumps(fields if type(fields) is dict else dict(fields))
    except (ArithmeticError, RecursionError, TypeError, ValueError) as error:
        raise ContentError(f"metadata: {error}") from error
    if len(text) > LARGEST:
        raise ContentError(f"metadata has {len(text):,} characters, and {LARGEST:,} is the limit")
    return text


def from_json(stored: str | None) -> dict[str, Any] | None:
    """The metadata of its stored form."""
    if stored is None:
        return None
    try:
        fields = json_text.loads(stored.encode())
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
    return {name: field_value(fields, path_of(name, fields)) for name in names}


def path_of(name: str, fields: Container[str]) -> Path:
    """The path of a field: the name itself if it is a field, else `a.b` is b in the object a."""
    return (name,) if name in fields else tuple(name.split("."))


def field_value(record: dict[str, Any], path: Path, missing: object = None) -> Any:
    """The value of a field, which may be in an object.

    Of a name with [] it is the list of the values in the elements of a list that have it.
    """
    value: object = record
    for index, name in enumerate(path):
        if not isinstance(value, dict):
            return missing
        if name not in value:
            elements = value.get(name.removesuffix(LIST)) if name.endswith(LIST) else None
            if not isinstance(elements, list):
                return missing
            if inner_path := path[index + 1 :]:
                elements = [
                    field_value(element, inner_path, missing)
                    if isinstance(element, dict)
                    else element
                    for element in elements
                ]
            return [element for element in elements if element is not missing]
        value = value[name]
    return value
