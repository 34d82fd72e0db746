"""The JSON schemas of types and options, for programs that call them."""

from collections.abc import Sequence
from dataclasses import is_dataclass
from inspect import Parameter
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from lshdb import groups

_TYPES = {int: "integer", float: "number", str: "string", bool: "boolean", NoneType: "null"}


def schema_of(kind: Any) -> dict[str, Any]:
    """The schema of a type."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return {"anyOf": [*map(schema_of, args)]}
    if origin is Literal:
        return {"enum": [*args]}
    if origin in (list, tuple, Sequence):
        return {"type": "array", "items": schema_of(args[0])}
    if is_dataclass(kind):
        return object_schema(
            {name: schema_of(inner) for name, inner in get_type_hints(kind).items()}
        )
    return {"type": _TYPES.get(kind, "object")}


def object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object that has all of some properties."""
    return {"type": "object", "properties": properties, "required": [*properties]}


def option_schema(declared: groups.Declared) -> dict[str, Any]:
    """The schema of an option of a group, with its range, default and help."""
    option = declared.option
    known = {
        "description": option.help.partition(" [default")[0],
        "minimum": option.min,
        "exclusiveMinimum": option.above,
        "maximum": option.max,
        "default": declared.default,
    }
    missing = (None, Parameter.empty)
    given = {name: value for name, value in known.items() if value not in missing}
    return schema_of(groups.without_none(declared.annotation)) | given
