"""One implementation behind all doors: the same rows stay, whichever is taken."""

from __future__ import annotations

import csv
import json
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from direct_command import DirectCommand
from helpers import Command, text_families

import lshdb
from lshdb.columns import Columns
from lshdb.deduplication.collection import Collection, DropReason
from lshdb.deduplication.matching import Matcher
from lshdb.deduplication.rules import RULES, Comparing
from lshdb.errors import UsageError
from lshdb.ingest.parts import SignedPart
from lshdb.options import RuleOptions
from lshdb.shingling.arrays import Mask
from lshdb.sketching.settings import Settings
from lshdb.store.lookups import StoreReader

SETTINGS: dict[str, Any] = {"shingle": "word:2", "threshold": 0.5}
ROWS: list[dict[str, Any]] = [
    {"id": f"row {number}", "text": text, "size": len(text)}
    for number, text in enumerate(
        text_families(11, families=12, copies=4, words=30, most_edits=5).values()
    )
]
random.Random(3).shuffle(ROWS)
KNOWN = [
    {"id": f"known {number}", "text": f"{row['text']}!"} for number, row in enumerate(ROWS[:9])
]
TEST = [{"id": "question", "text": " ".join(ROWS[20]["text"].split()[4:13])}]


def written(path: Path, rows: list[dict[str, Any]]) -> str:
    """A file of some rows."""
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".csv":
        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, [*rows[0]])
            table.writeheader()
            table.writerows(rows)
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    return str(path)


Kept = Callable[[Path, dict[str, Any]], list[str]]
"""A door: the keys of the rows that stay, in a directory, by some options."""


def by_command(suffix: str) -> Kept:
    def kept(directory: Path, options: dict[str, Any]) -> list[str]:
        words = ["dedup", f"rows{suffix}", "-o", f"out{suffix}"]
        written(directory / f"rows{suffix}", ROWS)
        for name, value in (SETTINGS | options).items():
            flag = f"--{name.replace('_', '-')}"
            for each in value if isinstance(value, list) else [value]:
                words += [flag] if each is True else [flag, str(each)]
        (Command if suffix == ".jsonl" else DirectCommand)(directory).done(*words)
        if suffix == ".parquet":
            return [str(key) for key in pq.read_table(directory / "out.parquet")["id"].to_pylist()]
        if suffix == ".csv":
            with (directory / "out.csv").open() as file:
                return [row["id"] for row in csv.DictReader(file)]
        lines = (directory / f"out{suffix}").read_text().splitlines()
        return [json.loads(line)["id"] for line in lines]

    return kept


def by_frame(make: Callable[[list[dict[str, Any]]], Any]) -> Kept:
    def kept(directory: Path, options: dict[str, Any]) -> list[str]:
        rows = lshdb.dedup(make(ROWS), **SETTINGS, **in_directory(directory, options)).kept
        return [str(key) for key in rows["id"]]

    return kept


def in_directory(directory: Path, options: dict[str, Any]) -> dict[str, Any]:
    """The options with the paths of files."""
    if "against" not in options:
        return options
    return {**options, "against": [str(directory / name) for name in options["against"]]}


def by_dicts(directory: Path, options: dict[str, Any]) -> list[str]:
    rows = lshdb.dedup(ROWS, **SETTINGS, **in_directory(directory, options)).kept
    return [row["id"] for row in rows]


def by_file_in_library(directory: Path, options: dict[str, Any]) -> list[str]:
    path = written(directory / "rows.parquet", ROWS)
    rows = lshdb.dedup(path, **SETTINGS, **in_directory(directory, options)).kept
    return [row["id"] for row in rows]


def by_method(directory: Path, options: dict[str, Any]) -> list[str]:
    path = written(directory / "rows.jsonl", ROWS)
    words = options.get("rule", "").partition(":")[2]
    with lshdb.open(directory / "own.db", **SETTINGS, passages=int(words or 0)) as db:
        found = db.dedup_files([path], **in_directory(directory, options))
        return [row.key for row in found if row.dropped is None]


DOORS: dict[str, Kept] = {
    "jsonl": by_command(".jsonl"),
    "csv": by_command(".csv"),
    "parquet": by_command(".parquet"),
    "file": by_file_in_library,
    "method": by_method,
    "arrow": by_frame(pa.Table.from_pylist),
    "pandas": by_frame(pd.DataFrame),
    "polars": by_frame(pl.DataFrame),
}
CASES: dict[str, dict[str, Any]] = {
    "similar": {},
    "copied": {"rule": "copied:8"},
    "contained": {"rule": "contained"},
    "longest": {"keep": "longest"},
    "largest": {"keep_max": "size"},
    "against": {"against": ["known.csv"]},
    "only against": {"against": ["known.csv"], "only_against": True},
    "test sets": {
        "against": ["known.csv", "test.jsonl"],
        "only_against": True,
        "rule": "copied:13",
    },
}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What stays of each case by the library, from dicts."""
    directory = tmp_path_factory.mktemp("expected")
    references(directory)
    return {name: by_dicts(directory, options) for name, options in CASES.items()}


def references(directory: Path) -> None:
    written(directory / "known.csv", KNOWN)
    written(directory / "test.jsonl", TEST)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.filterwarnings("ignore::lshdb.LimitWarning")
def test_all_doors_keep_the_same_rows(
    door: str, tmp_path: Path, expected: dict[str, list[str]]
) -> None:
    assert len({*map(tuple, expected.values())}) > 5
    commands = CASES if door in ("jsonl", "file", "method", "arrow") else ("similar", "test sets")
    for name in commands:
        directory = tmp_path / name.replace(" ", "-")
        directory.mkdir()
        references(directory)
        assert DOORS[door](directory, CASES[name]) == expected[name], name


# a new rule is one class


@dataclass(frozen=True, slots=True)
class SameFirstWord:
    """A toy: a document is dropped if a kept one has the same first word."""

    columns: ClassVar[Columns] = {}

    @classmethod
    def of(cls, argument: str, options: RuleOptions, threshold: float | None) -> SameFirstWord:  # noqa: ARG003
        if argument or options.estimate:
            raise UsageError("rule first-word takes nothing")
        return cls()

    def check(self, settings: Settings, name: str) -> None:
        if not settings.content:
            raise UsageError(f"{name} keeps no contents")

    def index(self, settings: Settings) -> Settings:
        return settings

    def comparing(self, collection: Collection) -> Comparing:
        first = dict[str, int]()
        for documents in collection.numbered_documents():
            for doc_id, stored in documents:
                first.setdefault(stored.split()[0], doc_id)

        def matcher(
            reader: StoreReader,  # noqa: ARG001
            part: SignedPart,
            decided: Mask | None,  # noqa: ARG001
            replaced: int | None,  # noqa: ARG001
        ) -> Matcher:
            return FirstWords([text.split()[0] for text in part.stored], first)

        return matcher


@dataclass(eq=False)
class FirstWords:
    """Compares a batch by first words."""

    words: list[str]
    first: dict[str, int] = field(default_factory=dict)

    def reason(self, row: int, without: Set[int] = frozenset()) -> DropReason | None:
        doc_id = self.first.get(self.words[row], 0)
        return DropReason(doc_id, 1.0, True, False) if doc_id and doc_id not in without else None

    def keep(self, row: int, doc_id: int, *, replaces: bool = False) -> None:  # noqa: ARG002
        self.first.setdefault(self.words[row], doc_id)

    def is_cut(self, row: int) -> bool:  # noqa: ARG002
        return False

    def passages(self, row: int, without: Set[int] = frozenset()) -> Iterator[DropReason]:  # noqa: ARG002
        return iter(())


def first_words(against: Mapping[str, Any] | None = None) -> list[str]:
    """The rows that stay by the toy rule."""
    used = {"known"} if against else set[str]()
    kept = []
    for row in WORDS:
        word = row["text"].split()[0]
        if word not in used:
            used.add(word)
            kept.append(row["id"])
    return kept


WORDS = [
    {"id": str(number), "text": f"{word} and {number} others"}
    for number, word in enumerate(
        ["the", "fox", "the", "known", "dove", "fox", "ant", "dove", "known", "the"]
    )
]
SEEN = [{"id": "seen", "text": "known as something"}]


def test_a_toy_rule_works_through_all_doors(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(RULES, "first-word", SameFirstWord)
    monkeypatch.chdir(tmp_path)
    path, seen = written(tmp_path / "w.jsonl", WORDS), written(tmp_path / "seen.jsonl", SEEN)
    table = pa.Table.from_pylist(WORDS)
    for against in (None, seen):
        stay = first_words({"seen": seen} if against else None)
        given: dict[str, Any] = {"rule": "first-word", "against": against}
        assert [row["id"] for row in lshdb.dedup(WORDS, **given).kept] == stay
        assert lshdb.dedup(table, **given).kept["id"].to_pylist() == stay
        with lshdb.open(tmp_path / f"{against is None}.db") as db:
            rows = [*db.dedup_files([path], **given)]
            assert [row.key for row in rows if row.dropped is None] == stay
            again = [row.key for row in db.dedup_files([path], **given) if row.dropped is None]
            assert again == []
        words = ["dedup", path, "-o", "out.jsonl", "--rule", "first-word"]
        words += ["--against", against] if against else []
        monkeypatch.setattr(sys, "argv", ["lshdb", *words])
        from lshdb.__main__ import main

        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
        lines = (tmp_path / "out.jsonl").read_text().splitlines()
        assert [json.loads(line)["id"] for line in lines] == stay
