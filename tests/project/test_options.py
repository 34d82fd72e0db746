"""Groups of options: what they hold, what users and type checkers see of them, and their errors."""

from __future__ import annotations

import inspect
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Annotated, Any, assert_type

import pytest
from helpers import database_of

import lshdb
from lshdb import options
from lshdb.cli.app import make_app
from lshdb.errors import UsageError
from lshdb.groups import Option, Options, declared, is_group, replaced, unfold, values_of


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


class Whole(Options):
    """A group that holds one that holds one."""

    middle: Middle
    deep: Annotated[bool, Option("Whether it is deep.")] = False


GROUPS: Any = Whole
"""The same, whose names type checkers do not know."""


def test_options_of_parts_are_given_by_name_or_as_a_whole() -> None:
    whole = GROUPS(low=2, name="n")
    assert (whole.middle.size.low, whole.middle.size.high, whole.deep) == (2, 9, False)
    size = Size(low=3)
    assert Whole(middle=Middle(size=size, name="n")).middle.size is size
    both = GROUPS(middle=Middle(size=size, name="n"), high=5)
    assert values_of(both) == {"low": 3, "high": 5, "name": "n", "deep": False}
    assert values_of(replaced(both, low=4, deep=True))["low"] == 4
    assert replace(both, deep=True).middle.size.high == 5
    assert [*unfold(Whole).parameters] == ["low", "high", "name", "deep"]
    assert [each.section for each in declared(Whole).values()] == ["Matching", "Output", "", ""]


def test_wrong_values_are_refused_by_the_part_that_has_them() -> None:
    with pytest.raises(lshdb.SettingsError, match="low -1 is below 0"):
        GROUPS(low=-1, name="n")
    with pytest.raises(UsageError, match="low is above high"):
        GROUPS(low=5, high=4, name="n")
    with pytest.raises(UsageError, match="middle 5 is not of Middle"):
        GROUPS(middle=5)
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
    calls: list[tuple[dict[str, Any], str]] = [
        ({"tpo": 5}, r"query\(\) got an unexpected keyword argument 'tpo'; did you mean 'top'\?"),
        ({"qqq": 5}, r"query\(\) got an unexpected keyword argument 'qqq'$"),
        ({"content": "b"}, r"query\(\) got two values of argument 'content'"),
    ]
    with database_of(tmp_path / "x.db", [("a", "the fox")]) as db:
        for given, says in calls:
            with pytest.raises(TypeError, match=says):
                db.query("a", **given)
        methods: list[tuple[Any, str]] = [
            (db.add_files, r"add_files\(\) needs the argument 'paths'"),
            (db.add_unless_similar, r"add_unless_similar\(\) needs the argument 'key'"),
            (db.get, r"get\(\): missing a required argument: 'key'"),
        ]
        for method, says in methods:
            with pytest.raises(TypeError, match=says):
                method()
        with pytest.raises(TypeError, match=r"get\(\) got an .* 'kye'; did you mean 'key'\?"):
            db.get(kye="a")  # type: ignore[call-arg]
        with pytest.raises(TypeError, match=r"query\(\) takes arguments by their names only after"):
            db.query("a", "b")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"open\(\) got an .* 'threshhold'; did you mean"):
        lshdb.open(tmp_path / "x.db", threshhold=0.5)  # type: ignore[call-overload]


def test_type_checkers_know_the_arguments_of_methods(tmp_path: Path) -> None:
    """The comments fail where a type checker finds nothing wrong."""
    with assert_type(lshdb.open(tmp_path / "x.db", threshold=0.5, timeout=2), lshdb.Database) as db:
        assert_type(db.add_many([("a", "the fox")], workers=0, index="now"), lshdb.AddReport)
        assert_type(db.query("the fox", top=3, exhaustive=True), lshdb.Matches)
        assert_type(db.query(options.QueryOptions("the fox", estimate=True)), lshdb.Matches)
        assert_type(db.get("a"), lshdb.StoredDocument)
        ranking = options.RankingOptions(top=1)
        found = db.query(options.QueryOptions("the fox", ranking=ranking))
        assert [match.key for match in found] == ["a"]
        with pytest.raises(UsageError, match="top 'x' is not an integer"):
            db.query("the fox", top="x")  # type: ignore[call-overload]
        with pytest.raises(UsageError, match="index 'never' is not auto or now"):
            db.add_many([], index="never")  # type: ignore[call-overload]


def test_signatures_have_real_types_and_defaults() -> None:
    groups = [each for each in vars(options).values() if is_group(each) and each is not Options]
    for group in groups:
        assert "ForwardRef" not in str(unfold(group)), group.__name__
    content = inspect.signature(lshdb.Database.query).parameters["content"]
    assert str(content) == "content: str | collections.abc.Collection[str | int] | None = None"


SECTIONS: dict[str, dict[str, str]] = {
    "pairs": {"seed": "", "estimate": "Matching", "quiet": "Output", "timeout": "Advanced"},
    "init": {"seed": "Index", "bands": "Index", "base": "Index", "threshold": ""},
    "passages": {"reworded": "", "base": "", "key_field": "Input"},
    "trash": {"root": "", "heading": "Output"},
}
"""One name is an option of several groups: --seed of pairs is of a sample, of init of hashes."""


@pytest.mark.parametrize("name", SECTIONS)
def test_an_option_is_under_the_heading_of_its_group(name: str) -> None:
    parameters = {each.name: each for each in make_app().get_command(None, name).params}
    for option, section in SECTIONS[name].items():
        assert (parameters[option].rich_help_panel or "") == section, option
