"""The fields of addresses and forms, each declared once with its type and range."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Literal, TypeVar, get_args
from urllib.parse import unquote

from lshdb.groups import Option, Options, without_none
from lshdb.options import KeepOption, Threshold

_Similarity = Annotated[float | None, Option("A similarity.", min=0, max=1)]
_Number = Annotated[int | None, Option("A number from 1.", min=1, max=10**12)]
_Text = Annotated[str, Option("A text; nothing if empty.")]
_Flag = Annotated[bool, Option("Set by any text.")]
_Group = TypeVar("_Group", bound=Options)


class Filters(Options):
    """Which clusters or pairs a list has, and in which order."""

    sort: _Text = ""
    min_similarity: _Similarity = None
    max_similarity: _Similarity = None
    smallest: _Number = None
    largest: _Number = None
    part: _Text = ""  # of a key
    field: _Text = ""  # of metadata, with its value
    value: _Text = ""
    decided: Annotated[Literal["yes", "no"] | None, Option("Which of both.")] = None
    threshold: Threshold = None
    keep: KeepOption = "first"
    star: _Flag = False


class Asked(Options):
    """What documents are similar to one, or to a pasted text."""

    threshold: Threshold = None
    containment: _Flag = False
    exhaustive: _Flag = False


class Address(Filters, Asked):
    """The fields of all pages."""

    page: Annotated[int, Option("Of several.", min=1, max=10**6)] = 1
    key: _Text = ""
    a: _Text = ""
    b: _Text = ""
    q: _Text = ""  # what to find
    after: _Number = None  # a document, behind which the search goes on
    pasted: _Text = ""  # the name of a text
    only: _Number = None  # equal lines shown around those that differ; None for all
    blanks: Annotated[Literal["ignored"] | None, Option("Whether they may differ.")] = None
    listed: _Flag = False  # a pair is shown as one of the list
    finished: _Text = ""  # the page whose list is finished
    format: Annotated[Literal["jsonl"] | None, Option("Of a file to download.")] = None
    sql: _Text = ""


def parsed(group: type[_Group], given: Mapping[str, str]) -> _Group:
    """The fields of a group in an address; forms quote keys, as browsers change line ends.

    Raises:
        UsageError: one has another type or is out of range; the message names it.
    """
    values: dict[str, object] = {}
    for one in fields(group):
        text = given.get(one.name) or unquote(given.get(f"{one.name}_quoted", ""))
        kind = without_none(get_args(one.type)[0])
        if kind in (int, float) and (text := text.strip()):
            try:
                values[one.name] = kind(text)
            except ValueError:
                values[one.name] = text  # the group says what is wrong with it
        elif text:
            values[one.name] = kind is bool or text
    return group(**values)


def texts_of(group: type[Options], given: Mapping[str, str]) -> dict[str, str]:
    """The texts of a group's fields that are given, for other addresses."""
    return {one.name: text for one in fields(group) if (text := given.get(one.name))}
