"""JSON over HTTP: what programs post to query.json and passages.json.

A body is an object with the options of lshdb.options by their names; an answer has the fields of
the library's results.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

from lshdb import Cut, Database, UsageError
from lshdb.apps.passages.options import PassagesOptions
from lshdb.errors import limits_noted
from lshdb.json_text import loads
from lshdb.options import QueryOptions

MAX_RESULTS = 1_000
"""Maximum results of an answer."""
_LEFT_OUT = frozenset(["where", "parameters", "key"])
"""Options with SQL, as its time has no limit; and the key, which is one of the contents."""
OPERATIONS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "query": (QueryOptions, ("text", "set", "key")),
    "passages": (PassagesOptions, ("text", "key")),
}
"""The methods of Database that are called over HTTP: the class of the options of each, and the
contents of which a request has exactly one."""


def answered(
    database: Database, name: str, body: bytes, cuts: Sequence[Cut] = ()
) -> dict[str, Any]:
    """The answer to the body of a request, with a note about each cut.

    Raises:
        UsageError: the body is no JSON object with the options of the operation.
    """
    group, contents = OPERATIONS[name]
    try:
        arguments = loads(body)
    except ValueError as error:
        raise UsageError(f"the body is not JSON: {error}") from error
    if not isinstance(arguments, dict):
        raise UsageError('the body is not a JSON object, such as {"text": "..."}')
    options = group.declared.items()
    known = [
        *contents,
        *(name for name, each in options if each.option.of_command and name not in _LEFT_OUT),
    ]
    if strange := arguments.keys() - {*known}:
        raise UsageError(f"{min(strange)!r:.100} is none of {', '.join(known)}")
    arguments = {"top": MAX_RESULTS} | {
        argument: value for argument, value in arguments.items() if value is not None
    }
    given = [content for content in contents if content in arguments]
    if len(given) != 1:
        raise UsageError(f"give one of {', '.join(contents)}")
    content = None if "key" in arguments else arguments.pop(given[0])
    request = group(content, **arguments)
    if arguments["top"] > MAX_RESULTS:
        raise UsageError(f"top {arguments['top']} is above {MAX_RESULTS:,}")
    with limits_noted() as notes:
        answer = getattr(database, name)(request)
    result = vars(answer) if dataclasses.is_dataclass(answer) else {"matches": [*answer]}
    return result | {"notes": [*map(str, (*cuts, *notes))]}
