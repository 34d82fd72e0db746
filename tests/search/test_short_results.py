"""Every result of the library is shown short, whatever is in it."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from extras import if_there
from helpers import database_of

import lshdb
from lshdb import model, results
from lshdb.offers import NAMES, app_of, is_there

HOSTILE = '<script>alert("x")</script>&amp;\'\x1b[31m\u202e\n\r\x85\u2028\U000e0001'
LONG = HOSTILE * 10_000
COUNT = 1_000
NO_RESULTS = (lshdb.Database, BaseException)
PASSAGE = " ".join(f"word{number}" for number in range(40))


def subclasses(kind: Any) -> Iterator[type]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from subclasses(subclass)


def public() -> dict[str, type]:
    """The types of results: the classes that `lshdb` offers, and what they return and hold."""
    there = [name for name in lshdb.__all__ if is_there(app_of(NAMES[name]))]
    offered = [getattr(lshdb, name) for name in there if name != "Service"]
    types = [kind for kind in offered if isinstance(kind, type)]
    types += [kind for kind in vars(model).values() if isinstance(kind, type)]
    types += [*subclasses(results.Result)]
    return {
        kind.__name__: kind
        for kind in types
        if kind.__module__.startswith("lshdb.") and not issubclass(kind, NO_RESULTS)
    }


def large(kind: Any, last: bool = False) -> Any:
    """A value of a type, with much in it; of a union, of its first or last type."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        kinds = [arg for arg in args if arg is not NoneType]
        return large(kinds[-1 if last else 0], last)
    if origin is Literal:
        return args[0]
    if origin is tuple and args[-1] is not Ellipsis:
        return tuple(large(arg, last) for arg in args)
    if origin in (tuple, list):
        return origin([large(args[0], last)] * COUNT)
    if origin in (dict, Mapping) or hasattr(origin, "keys"):
        value = large(args[1], last)
        return {f"{number} {HOSTILE * 50}": value for number in range(COUNT)}
    if kind in VALUES:
        return VALUES[kind]
    if origin is np.ndarray:
        return np.zeros((COUNT, 128), dtype=np.int64)
    if origin is not None:
        return large(origin, last)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return made(kind, last)
    return {HOSTILE: [LONG] * COUNT, "deep": [[[[LONG] * COUNT]]] * COUNT}


def made(kind: Any, last: bool = False) -> Any:
    """A result with much in all fields that are public."""
    result = kind.__new__(kind)
    hints = get_type_hints(kind)
    for field in dataclasses.fields(kind):
        if not field.name.startswith("_"):
            object.__setattr__(result, field.name, large(hints[field.name], last))
        elif field.default_factory is not dataclasses.MISSING:
            object.__setattr__(result, field.name, field.default_factory)
    return result


VALUES: dict[Any, Any] = {
    int: 10**18,
    float: 0.123456789123456,
    bool: True,
    str: LONG,
    bytes: LONG.encode(),
    Path: Path(LONG),
    lshdb.Construction: lshdb.Construction.parse("and 4, or 4, and 4, or 4"),
    lshdb.Shingling: lshdb.Shingling("word", 3, base=((LONG, LONG),)),
}


def listed(kind: type, *others: Any) -> Callable[[lshdb.Database], Any]:
    (item,) = get_args(next(base for base in kind.__orig_bases__ if get_args(base)))  # type: ignore[attr-defined]
    return lambda _: kind([made(item)] * COUNT, *others)


def many(matches: lshdb.Matches) -> lshdb.Matches:
    return lshdb.Matches([*matches] * COUNT, matches.columns)


MADE: dict[str, Callable[[lshdb.Database], Any]] = {
    "Settings": lambda db: db.settings,
    "Construction": lambda db: db.settings.construction,
    "Limits": lambda _: lshdb.Limits(),
    "Tabular": lambda db: db.query(key="a"),
    "Matches": lambda db: many(db.query(key="a", fields=["field", HOSTILE])),
    "Results": lambda db: db.clusters(fields=[HOSTILE], threshold=0.1),
    "PairResults": lambda db: db.pairs(fields=["field", HOSTILE]),
    "PassageResults": lambda db: db.passage_pairs(),
    "SqlRows": lambda db: db.sql(f"SELECT {', '.join(['content'] * 500)} FROM documents"),
    "Row": lambda db: next(db.sql("SELECT content, key, content FROM documents")),
}
"""Results that are no dataclasses, or whose values are checked."""
if is_there("dedup"):
    from lshdb.apps.dedup.model import Dropped

    VALUES[Dropped] = Dropped([])
    MADE["Dropped"] = listed(Dropped)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lshdb.Database]:
    documents = [
        lshdb.Document(f"{key}{HOSTILE * 100}" * bool(key), text, {"field": LONG, HOSTILE: [LONG]})
        for key, text in zip(
            "bcdefghijklmnopqrstuvwxyz", [f"{PASSAGE} {HOSTILE * 50}"] * 25, strict=True
        )
    ]
    documents.append(lshdb.Document("a", f"{PASSAGE} {HOSTILE * 50}", {"field": LONG}))
    path = tmp_path_factory.mktemp("short") / "lsh.db"
    with database_of(path, documents, **if_there("passages", passages=8)) as database:
        yield database


def check_short(result: object) -> None:
    """Check what Python shows: its size, and that it has no control characters."""
    shown = repr(result)
    assert len(shown) <= 6_000
    assert shown.isprintable(), "one line, without control characters"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.app("passages" if name == "PassageResults" else ""))
        for name in sorted({*public(), *MADE} - {"Result"})
    ],
)
def test_a_result_is_shown_short(db: lshdb.Database, name: str) -> None:
    kind = public().get(name)
    made_here = [MADE[name](db)] if name in MADE else []
    if not made_here:
        assert kind is not None
        assert dataclasses.is_dataclass(kind), f"add {name} to MADE"
        made_here = [made(kind), made(kind, last=True)]
    for result in made_here:
        check_short(result)


def test_dots_stand_for_what_is_left_out() -> None:
    matches = lshdb.Matches([lshdb.Match("a", 1.0, True, 1.0, 3)] * 960, {"key": str})
    assert repr(matches).count("Match(") == 20
    assert repr(matches).endswith(", ...]")
    key, _, others = repr(made(lshdb.Match)).removeprefix("Match(key=").partition(", similarity=")
    assert "..." in key
    assert others.startswith("0.123456789123456")


def test_a_small_result_is_shown_whole_and_stays_a_plain_dataclass() -> None:
    match = lshdb.Match("a", 0.5, True, 0.25, 3, metadata={"n": 1})
    assert repr(match) == (
        "Match(key='a', similarity=0.5, exact=True, estimate=0.25, bands=3, containment=None, "
        "identical=False, same_text=False, weighted=None, weighted_share=None)"
    )
    cluster = lshdb.Failure("a.txt:1", "it's \\ empty")
    assert eval(repr(cluster), {"Failure": lshdb.Failure}) == cluster
    others = [lshdb.Passages(0, 8, "word", (), ())] if is_there("passages") else []
    for result in (match, cluster, *others):
        assert pickle.loads(pickle.dumps(result)) == result
        assert copy.copy(result) == result
        assert type(result)(**vars_of(result)) == result
    assert dataclasses.asdict(match)["metadata"] == {"n": 1}


def vars_of(result: Any) -> dict[str, Any]:
    return {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
