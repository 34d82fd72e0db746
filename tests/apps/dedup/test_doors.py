"""One implementation behind all doors: the same rows stay, whichever is taken."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
from collections.abc import Set
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from extras import is_missing
from helpers import Command, forked, hide, status_of, text_families
from rows import as_file

import lshdb
from lshdb.apps.dedup.collection import Collection, DropReason
from lshdb.apps.dedup.matching import Matcher
from lshdb.apps.dedup.options import RuleOptions
from lshdb.apps.dedup.rules import RULES, Comparing, RowRule
from lshdb.errors import UsageError
from lshdb.offers import is_there
from lshdb.sketch.settings import Settings
from lshdb.store.lookups import StoreReader
from lshdb.text.arrays import Mask
from lshdb.write.parts import SignedPart

SETTINGS: dict[str, Any] = {"shingle": "word:2", "threshold": 0.5}
ROWS: list[dict[str, Any]] = [
    {"id": f"row {number}", "text": text, "size": len(text)}
    for number, text in enumerate(
        text_families(11, families=12, copies=4, words=30, most_edits=5).values()
    )
]
ROWS.append({**ROWS[2], "id": "again"})
random.Random(3).shuffle(ROWS)
KNOWN = [
    {"id": f"known {number}", "text": f"{row['text']}!"} for number, row in enumerate(ROWS[:9])
]
TEST = [{"id": "question", "text": " ".join(ROWS[20]["text"].split()[4:13])}]


def written(directory: Path, name: str, rows: list[dict[str, Any]]) -> str:
    """A file of some rows."""
    (directory / name).write_bytes(as_file(name, rows))
    return str(directory / name)


CASES: dict[str, dict[str, Any]] = {
    "similar": {},
    "copied": {"rule": "copied:8"},
    "contained": {"rule": "contained"},
    "identical": {"rule": "identical"},
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


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current one, with the references."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "known.csv", KNOWN)
    written(tmp_path, "test.jsonl", TEST)
    return tmp_path


@pytest.mark.filterwarnings("ignore::lshdb.LimitWarning")
def test_all_doors_keep_the_same_rows(directory: Path) -> None:
    """The command, the library with dicts, a table and a file, and the method."""
    found, command = dict[str, list[str]](), Command(directory)
    path = written(directory, "rows.jsonl", ROWS)
    for case, options in CASES.items():
        asked: dict[str, Any] = {**SETTINGS, **options}
        if "rule" in options:
            del asked["threshold"]
        found[case] = [row["id"] for row in lshdb.dedup(ROWS, **asked).kept]
        words = []
        for name, value in asked.items():
            for each in value if isinstance(value, list) else [value]:
                words += [f"--{name.replace('_', '-')}", *([] if each is True else [str(each)])]
        kept = command.done("dedup", "rows.jsonl", *words).records
        assert [row["id"] for row in kept] == found[case], case
        assert [row["id"] for row in lshdb.dedup(path, **asked).kept] == found[case], case
        table = lshdb.dedup(pa.Table.from_pylist(ROWS), **asked).kept
        assert table["id"].to_pylist() == found[case], case
        run = int(options.get("rule", "").partition(":")[2] or 0)
        with lshdb.open(f"{case}.db", **SETTINGS, passages=run) as db:
            if case == "contained":  # it decides on all rows at once, and stores none
                with pytest.raises(UsageError, match="rule contained decide on all rows at once"):
                    db.dedup_files([path], **options)
                continue
            rows = db.dedup_files([path], **options)
            assert [row.key for row in rows if row.dropped is None] == found[case], case
    with lshdb.open("of data.db", **SETTINGS) as db:  # data of a program is a reference, too
        rows = db.dedup_files([path], against=KNOWN)
        assert [row.key for row in rows if row.dropped is None] == found["against"]
    assert len({*map(tuple, found.values())}) > 5


@pytest.mark.parametrize(
    "option",
    [{"threshold": 0.5}, {"recall": 0.5}, {"estimate": True}, {"distinguish": "numbers"}],
    ids=str,
)
def test_no_rule_ignores_an_option(directory: Path, option: dict[str, Any]) -> None:
    """What is said of similarities is of no use to rules that compare contents."""
    path, command = written(directory, "rows.jsonl", ROWS), Command(directory)
    [(name, value)] = option.items()
    words = [f"--{name}", *([] if value is True else [str(value)])]
    for rule in ("identical", "contained", "copied:8"):
        with pytest.raises(UsageError, match=name):
            lshdb.dedup(ROWS, rule=rule, **option)
        if name != "recall":  # which a database has
            with lshdb.open("own.db") as db, pytest.raises(UsageError, match=name):
                db.dedup_files([path], rule=rule, **option)
        for given in (["--rule", rule], ["--cut", "8"]):
            result = command("dedup", path, *given, *words)
            assert (result.status, name in result.err, result.out) == (2, True, "")
    assert command("dedup", path, "--min-words", "2").err == "lshdb: --min-words is for cut\n"


# a new rule is one class


@dataclass(frozen=True)
class SameFirstWord(RowRule):
    """A toy: a document is dropped if a kept one has the same first word."""

    @classmethod
    def of(cls, argument: str, options: RuleOptions, threshold: float | None) -> SameFirstWord:  # noqa: ARG003
        if argument or options.drop.similarity.estimate:
            raise UsageError("rule first-word takes nothing")
        return cls()

    def check(self, settings: Settings, name: str) -> None:
        if not settings.content:
            raise UsageError(f"{name} keeps no contents")

    def comparing(self, collection: Collection) -> Comparing:
        first = dict[str, int]()
        for reader, doc_ids, _ in collection.parts():
            for doc_id, stored in zip(doc_ids.tolist(), reader.contents(doc_ids), strict=True):
                first.setdefault(str(stored).split()[0], doc_id)

        def matcher(
            reader: StoreReader,  # noqa: ARG001
            part: SignedPart,
            decided: Mask,  # noqa: ARG001
            replaced: int | None,  # noqa: ARG001
        ) -> Matcher:
            return FirstWords([text.split()[0] for text in part.stored], first)

        return matcher


@dataclass(eq=False)
class FirstWords(Matcher):
    """Compares a batch by first words."""

    words: list[str]
    first: dict[str, int] = field(default_factory=dict)

    def reason(self, row: int, without: Set[int]) -> DropReason | None:
        doc_id = self.first.get(self.words[row], 0)
        return DropReason(doc_id, 1.0, True) if doc_id and doc_id not in without else None

    def matches(self, row: int) -> dict[int, float]:
        return {self.first[self.words[row]]: 1.0}

    def keep(self, row: int, doc_id: int, *, replaces: bool) -> None:  # noqa: ARG002
        self.first.setdefault(self.words[row], doc_id)


FIRST = ("the", "fox", "the", "known", "dove", "fox", "ant", "dove", "known", "the")
WORDS = [{"id": str(n), "text": f"{word} and {n} others"} for n, word in enumerate(FIRST)]


def test_a_toy_rule_works_through_all_doors(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(RULES, "first-word", SameFirstWord)
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path, "w.jsonl", WORDS)
    seen = written(tmp_path, "seen.jsonl", [{"id": "seen", "text": "known as something"}])
    table, command = pa.Table.from_pylist(WORDS), Command(tmp_path)
    for against, stay in ((None, ["0", "1", "3", "4", "6"]), (seen, ["0", "1", "4", "6"])):
        given: dict[str, Any] = {"rule": "first-word", "against": against}
        assert [row["id"] for row in lshdb.dedup(WORDS, **given).kept] == stay
        assert lshdb.dedup(table, **given).kept["id"].to_pylist() == stay
        with lshdb.open(tmp_path / f"{against is None}.db") as db:
            for expected in (stay, []):
                rows = db.dedup_files([path], **given)
                assert [row.key for row in rows if row.dropped is None] == expected
        words = ["--against", against] if against else []
        kept = command.done("dedup", path, "--rule", "first-word", *words).records
        assert [row["id"] for row in kept] == stay


# a new option is its declaration and its use

DECLARED = """\
    toy: Annotated[bool, Option("A toy: only identical rows are dropped.")] = False
    on_null: Annotated["""
USED = """\
    if options.drop.toy:
        return IdenticalRule()
    name, colon"""
START = """
import json
import lshdb
from lshdb.cli.app import make_app

rows, kept = json.loads(open("rows.json").read()), []

def command(*words):
    try:
        make_app()([*words, *map("--{}".format, toy)])
    except SystemExit as done:
        assert not done.code
"""
DOORS = """
for toy in ({}, {"toy": True}):
    kept.append([row["id"] for row in lshdb.dedup(rows, **toy).kept])
    kept.append([row["id"] for row in lshdb.dedup("rows.json", **toy).kept])
    with lshdb.open(f"{len(toy)}.db") as db:
        found = db.dedup_files(["rows.json"], **toy)
        kept.append([row.key for row in found if row.dropped is None])
    command("dedup", "rows.json", "-o", f"{len(toy)}.jsonl")
    kept.append([json.loads(line)["id"] for line in open(f"{len(toy)}.jsonl")])
"""
DOORS_OF_SPARK = """
import inspect
import lshdb.spark
from lshdb.apps.dedup.rules import rule_of
from lshdb.apps.spark.deduplicating import _JOINS
from lshdb.apps.spark.deduplicating import identical
from lshdb.apps.spark.options import SparkRuleOptions

assert "toy" in inspect.signature(lshdb.spark.dedup).parameters
for given in ({}, {"toy": True}):
    rule = rule_of(SparkRuleOptions(**given).of_rows)
    assert (_JOINS[type(rule)][1] is identical) == bool(given)
toy = {}
command("spark-dedup", "--help-all")
"""  # which rows are joined is the rule's: to start Spark would take longer than all else here


def test_a_toy_option_is_a_declaration_and_a_use_for_all_doors(tmp_path: Path) -> None:
    """In a copy of the package, of which two places are changed."""
    package = Path(lshdb.__file__).parent
    shutil.copytree(package, tmp_path / "lshdb", ignore=shutil.ignore_patterns("__pycache__"))
    for name, before, after in (
        ("apps/dedup/options.py", DECLARED.partition("\n")[2], DECLARED),
        ("apps/dedup/rules.py", USED.rpartition("\n")[2], USED),
    ):
        path = tmp_path / "lshdb" / name
        text = path.read_text()
        assert text.count(before) == 1
        path.write_text(text.replace(before, after))
    rows = [
        {"id": str(n), "text": text} for n, text in enumerate(("The fox", "the fox", "The fox"))
    ]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    has_spark = is_there("spark") and not is_missing("spark")
    program = f"{START}{DOORS}{DOORS_OF_SPARK * has_spark}"

    def run() -> None:
        hide()
        sys.path.insert(0, str(tmp_path))
        os.chdir(tmp_path)
        scope: dict[str, Any] = {}
        with redirect_stdout(StringIO()) as shown:
            exec(program, scope)
        assert scope["lshdb"].__file__.startswith(str(tmp_path))
        assert "--toy" in shown.getvalue() or not has_spark
        assert scope["kept"] == [["0"]] * 4 + [["0", "1"]] * 4

    assert status_of(forked(run)) == 0
