"""Wrong arguments: each is refused in a sentence that names it, by every public method."""

from __future__ import annotations

import inspect
import math
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest
from helpers import database_of

import lshdb
from lshdb.errors import LshdbError, UsageError
from lshdb.offers import METHODS as METHODS_OF_APPS
from lshdb.offers import app_of, is_there

MADE_WITH: Any = lshdb.Sketching.foreign("x", 128) if is_there("signatures") else None
LANES: Final = np.zeros((1, 128), dtype="u4")
GOOD: Final[dict[str, dict[str, Any]]] = {
    "open": {"path": "x.db"},
    "check of a file": {"path": "x.db"},
    "tune without a file": {"threshold": 0.5, "recall": 0.9},
    "add": {"key": "k", "content": "a text"},
    "add_unless_similar": {"key": "k", "content": "a text"},
    "add_many": {"documents": [("k", "a text")]},
    "add_files": {"paths": ["missing.txt"]},
    "add_table": {"table": pa.table({"id": ["k"], "text": ["a text"]})},
    "add_signatures": {"keys": ["k"], "signatures": LANES, "made_with": MADE_WITH},
    "dedup_files": {"paths": ["missing.jsonl"]},
    "sync": {"directories": ["missing"]},
    "remove": {"keys": ["a"]},
    "get": {"key": "a"},
    "buckets": {"key": "a"},
    "find_words": {"words": ["fox"]},
    "query": {"content": "the fox and the grapes"},
    "query_many": {"documents": [("k", "the fox and the grapes")]},
    "query_signature": {"signature": LANES[0], "made_with": MADE_WITH},
    "compare": {"a": "a", "b": "b"},
    "decide": {"verdict": "keep", "keys": ["a"]},
    "add_decisions": {"decisions": []},
    "undo_decision": {},
    "sql": {"statement": "SELECT 1"},
    "backup": {"path": "copy.db", "replace": True},
}
"""Arguments that each of these needs; the others need none."""

ANY: Final = [None, b"k", 2.5, -1, math.nan, math.inf, 1 << 70, True, object()]
ANY_TEXT: Final = ["", "x", "\ud800", "a\0b", "x" * 10_000]
ANY_COLLECTION: Final = [[], [1], {"x": 1}, [[None]]]

WRONG: Final[dict[str, list[object]]] = {
    "str": [b"k", 5, 2.5, [], object()],
    "int": ["x", b"k", 2.5, math.nan, [], {"x": 1}],
    "float": ["x", b"k", [], object()],
    "Callable": ["x", 5, []],
    "Iterable": [5, "text", b"k", [5, [None]]],
    "Sequence[str]": [5, "text", [5]],
    "Reader": [5, "x", {"x": 1}],
}
"""By the type in an annotation, some values that must be refused."""


def methods(db: lshdb.Database | None) -> dict[str, Callable[..., object]]:
    """All that is public, by name; of a database, if there is one."""
    missing = {name for name, offer in METHODS_OF_APPS.items() if not is_there(app_of(offer))}
    names = {name for name in dir(lshdb.Database) if not name.startswith("_")} - {"close", *missing}
    own = {
        name: getattr(lshdb.Database if db is None else db, name)
        for name in sorted(names)
        if inspect.isfunction(getattr(lshdb.Database, name))
    }
    return {
        **own,
        "open": opened,
        "check of a file": lshdb.check,
        "tune without a file": lshdb.tune,
    }


def opened(**arguments: Any) -> None:
    lshdb.open(**arguments).close()


METHODS: Final = methods(None)


@pytest.fixture(params=["contents", "signatures"])
def db(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[lshdb.Database]:
    """A file with contents, and one that takes the signatures of another program."""
    monkeypatch.chdir(tmp_path)
    if request.param == "contents":
        with database_of(
            "x.db", [("a", "the fox and the grapes"), ("b", "the fox and the grapes!")]
        ) as db:
            yield db
    else:
        with lshdb.open("x.db", shingle="foreign:x", content=False) as db:
            db.add_signatures(["a", "b"], np.zeros((2, 128), "u4"), MADE_WITH)
            yield db


def use(method: Callable[..., Any], arguments: dict[str, Any]) -> None:
    """Call it, and take all that it gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = method(**arguments)
        for part in result if isinstance(result, tuple) else [result]:
            if isinstance(part, Iterator):
                list(part)


OF_SIGNATURES: Final = (METHODS.keys() if is_there("signatures") else set()) & {
    *("add_signatures", "compare", "pairs", "query", "query_signature"),
}
"""Methods that take another way in a file without contents."""


@pytest.mark.parametrize(
    ("db", "name"),
    [
        *(("contents", name) for name in METHODS),
        *(("signatures", name) for name in sorted(OF_SIGNATURES)),
    ],
    indirect=["db"],
)
def test_a_wrong_argument_is_refused_by_name(db: lshdb.Database, name: str) -> None:
    method, good = methods(db)[name], GOOD.get(name, {})
    named = inspect.signature(lshdb.open if name == "open" else method).parameters.values()
    for parameter in named:
        for value in [*ANY, *ANY_TEXT, *ANY_COLLECTION]:
            try:
                use(method, {**good, parameter.name: value})
            except LshdbError:
                pass
            except (TypeError, ValueError) as error:
                if parameter.name not in str(error):
                    raise
        for file in Path().iterdir():
            assert file.name.startswith(("x.db", "copy.db")) or name in ("open", "backup")
        for kind, values in WRONG.items():
            for value in values if str(parameter.annotation).startswith(kind) else []:
                try:
                    use(method, {**good, parameter.name: value})
                except (LshdbError, TypeError, ValueError):
                    continue
                pytest.fail(f"{name}({parameter.name}={value!r}) is not refused")


@pytest.mark.parametrize("db", ["contents"], indirect=True)
def test_every_method_is_refused_once_closed(db: lshdb.Database) -> None:
    db.close()
    for name, method in methods(db).items():
        if name in ("open", "check of a file", "tune without a file"):
            continue  # which read no file that this has open
        with pytest.raises(LshdbError) as caught:
            use(method, GOOD.get(name, {}))
        assert isinstance(caught.value, UsageError | lshdb.SettingsMismatch), name
    with pytest.raises(UsageError, match="is closed: open it again"):
        len(db)
    with pytest.raises(UsageError, match="is closed: open it again"):
        "a" in db  # noqa: B015


def test_a_database_in_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="path ':memory:' is not the name of a file"):
        lshdb.open(":memory:")
    assert os.listdir() == []


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_generator_left_open_says_nothing_when_it_goes(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"id": 1, "text": "a"}\n{"id": 2, "text": "b"}\n')
    with database_of(
        tmp_path / "x.db", [("a", "the fox and the grapes"), ("b", "the fox and the grapes!")]
    ) as db:
        left: list[Iterator[object]] = [
            *([db.dedup_files([str(tmp_path / "in.jsonl")])] if is_there("dedup") else []),
            db.pairs(),
            db.clusters(),
        ]
        for one in left:
            next(one)
    del left, one
