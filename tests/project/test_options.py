"""Groups of options: what they hold, what users and type checkers see of them, and their errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from helpers import database_of

import lshdb
from lshdb.errors import UsageError
from lshdb.groups import Option, Options, replaced, unfold, values_of


class Size(Options):
    """A part with a check of its own."""

    section = "Matching"
    error = lshdb.SettingsError

    low: Annotated[int, Option("The lowest.", min=0)] = 1
    high: Annotated[int, Option("The highest.", section="Output")] = 9

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise UsageError("low is above high")


class Middle(Options):
    """A group that holds one."""

    size: Size
    name: Annotated[str, Option("A name.")]


class Typed(Options):
    """A group that holds one that holds one."""

    middle: Middle
    deep: Annotated[bool, Option("Whether it is deep.")] = False


Whole: Any = Typed
"""The same, whose names type checkers do not know."""


def test_options_of_parts_are_given_by_name_or_as_a_whole() -> None:
    whole = Whole(low=2, name="n")
    assert (whole.middle.size.low, whole.middle.size.high, whole.deep) == (2, 9, False)
    size = Size(low=3)
    assert Whole(middle=Middle(size=size, name="n")).middle.size is size
    both = Whole(middle=Middle(size=size, name="n"), high=5)
    assert values_of(both) == {"low": 3, "high": 5, "name": "n", "deep": False}
    assert values_of(replaced(both, low=4, deep=True))["low"] == 4
    assert replace(both, deep=True).middle.size.high == 5
    assert [*unfold(Whole).parameters] == ["low", "high", "name", "deep"]
    assert [each.section for each in Whole.declared.values()] == ["Matching", "Output", "", ""]


def test_wrong_values_are_refused_by_the_part_that_has_them() -> None:
    with pytest.raises(lshdb.SettingsError, match="low -1 is below 0"):
        Whole(low=-1, name="n")
    with pytest.raises(UsageError, match="low is above high"):
        Whole(low=5, high=4, name="n")
    with pytest.raises(UsageError, match="middle 5 is not of Middle"):
        Whole(middle=5)
    with pytest.raises(FrozenInstanceError, match="low"):
        Size().low = 2  # type: ignore[misc]
    assert Size().low == 1, "the default of all"


def test_a_wrong_class_is_refused_when_it_is_made() -> None:
    with pytest.raises(TypeError, match="Twice has two of low"):

        class Twice(Options):
            size: Size
            low: Annotated[int, Option("Another.")] = 1

    with pytest.raises(TypeError, match="has two of high, low"):

        class Diamond(Options):
            size: Size
            middle: Middle

    with pytest.raises(TypeError, match="Extended extends a group"):

        class Extended(Size):
            pass


def test_a_wrong_argument_names_the_function_and_what_was_meant(tmp_path: Path) -> None:
    with database_of(tmp_path / "x.db", [("a", "the fox")]) as database:
        db: Any = database
        calls: list[tuple[Callable[[], object], str]] = [
            (lambda: db.query("a", tpo=5), r"query\(\) got an .* 'tpo'; did you mean 'top'\?"),
            (lambda: db.query("a", qqq=5), r"query\(\) got an unexpected .* argument 'qqq'$"),
            (lambda: db.query("a", content="b"), r"query\(\) got two values of .* 'content'"),
            (lambda: db.query("a", "b"), r"query\(\) takes arguments by their names only after"),
            (lambda: db.add_files(), r"add_files\(\) missing .* argument: 'paths'"),
            (lambda: db.get(), r"get\(\) missing .* argument: 'key'"),
            (lambda: db.get(kye="a"), r"get\(\) got an .* 'kye'; did you mean 'key'\?"),
        ]
        for call, says in calls:
            with pytest.raises(TypeError, match=says):
                call()
        with pytest.raises(UsageError, match="top 'x' is not an integer"):
            db.query("the fox", top="x")
    with pytest.raises(TypeError, match=r"open\(\) got an .* 'threshhold'; did you mean"):
        lshdb.open(tmp_path / "x.db", threshhold=0.5)  # type: ignore[call-overload]
