"""JSON over HTTP: what programs post to query.json and passages.json, and its description.

A body is an object with the options of lshdb.options by their names; an answer has the fields of
the library's results. The description, in OpenAPI, is made from the declarations of both.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, get_type_hints

import lshdb
from lshdb import Cut, Database, Match, Passages, UsageError, groups
from lshdb.apps.passages.options import PassagesOptions
from lshdb.apps.web import json_schema
from lshdb.errors import limits_noted
from lshdb.json_text import loads
from lshdb.options import QueryOptions

MAX_RESULTS = 1_000
"""Maximum results of an answer."""
_LEFT_OUT = frozenset(["where", "parameters", "key"])
"""Options with SQL, as its time has no limit; and the key, which is one of the contents."""
_JSON = "application/json"


@dataclasses.dataclass(frozen=True, slots=True)
class Operation:
    """A method of Database that is called over HTTP.

    Attributes:
        group: the class of its options.
        contents: the arguments of which a request has exactly one, with their types.
        answer: the fields of the answer, besides `notes`, with their types.
    """

    group: Any
    contents: dict[str, Any]
    answer: dict[str, Any]

    def options(self) -> dict[str, groups.Declared]:
        """The options that a request may have, by name."""
        every = groups.declared(self.group).items()
        return {
            name: option
            for name, option in every
            if option.option.of_command and name not in _LEFT_OUT
        }


OPERATIONS = {
    "query": Operation(
        QueryOptions,
        {"text": str, "set": list[str | int], "key": str},
        {"matches": list[Match]},
    ),
    "passages": Operation(PassagesOptions, {"text": str, "key": str}, get_type_hints(Passages)),
}


def answered(
    database: Database, name: str, body: bytes, cuts: Sequence[Cut] = ()
) -> dict[str, Any]:
    """The answer to the body of a request, with a note about each cut.

    Raises:
        UsageError: the body is no JSON object with the options of the operation.
    """
    operation = OPERATIONS[name]
    try:
        arguments = loads(body)
    except ValueError as error:
        raise UsageError(f"the body is not JSON: {error}") from error
    if not isinstance(arguments, dict):
        raise UsageError('the body is not a JSON object, such as {"text": "..."}')
    known = [*operation.contents, *operation.options()]
    if strange := arguments.keys() - {*known}:
        raise UsageError(f"{min(strange)!r:.100} is none of {', '.join(known)}")
    arguments = {"top": MAX_RESULTS} | {
        argument: value for argument, value in arguments.items() if value is not None
    }

    content_names = [name for name in operation.contents if name in arguments]
    if len(content_names) != 1:
        raise UsageError(f"give one of {', '.join(operation.contents)}")
    content = None if "key" in arguments else arguments.pop(content_names[0])
    request = operation.group(content, **arguments)
    if arguments["top"] > MAX_RESULTS:
        raise UsageError(f"top {arguments['top']} is above {MAX_RESULTS:,}")
    with limits_noted() as notes:
        answer = getattr(database, name)(request)
    result = vars(answer) if dataclasses.is_dataclass(answer) else {"matches": [*answer]}
    return result | {"notes": [*map(str, (*cuts, *notes))]}


def description() -> dict[str, Any]:
    """All operations, as a document of OpenAPI 3.1."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "lshdb", "version": lshdb.__version__},
        "servers": [{"url": "."}],
        "paths": {f"/{name}.json": {"post": _described(name)} for name in OPERATIONS},
    }


def _described(name: str) -> dict[str, Any]:
    operation = OPERATIONS[name]
    options = {
        option_name: json_schema.schema_of(kind) for option_name, kind in operation.contents.items()
    }
    options |= {
        option_name: json_schema.option_schema(field)
        for option_name, field in operation.options().items()
    }
    options["top"] |= {"maximum": MAX_RESULTS, "default": MAX_RESULTS}
    problem = _content(
        "What is wrong with the request.", json_schema.object_schema({"reason": {"type": "string"}})
    )
    answer = {
        field_name: json_schema.schema_of(kind) for field_name, kind in operation.answer.items()
    }
    body = {"type": "object", "properties": options, "additionalProperties": False}
    alone = [{"required": [content_name]} for content_name in operation.contents]
    return {
        "operationId": name,
        "summary": (getattr(Database, name).__doc__ or "").partition("\n")[0],
        "requestBody": {"required": True} | _content("", body | {"oneOf": alone}),
        "responses": {
            "200": _content(
                "The answer.",
                json_schema.object_schema(answer | {"notes": json_schema.schema_of(list[str])}),
            ),
            "default": problem,
        },
    }


def _content(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {_JSON: {"schema": schema}}}
