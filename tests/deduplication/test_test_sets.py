"""Test sets, several references, rows without a text, annotated rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from direct_command import command as command
from helpers import Command

import lshdb

FOOTER = "all rights of this page are with its authors and nobody may copy it at all"
QUESTIONS = [
    {
        "key": "q1",
        "question": "which of the two rivers that meet at the old stone bridge is longer",
    },
    {"key": "q2", "question": "who built the lighthouse on the northern cape"},
    {"key": "q3", "question": "why"},
]


def pages() -> list[dict[str, str]]:
    """Thirty pages with a footer, three of which have a question."""
    rows = []
    for number in range(30):
        words = " ".join(f"w{number}x{word}" for word in range(40))
        asked = {4: QUESTIONS[0], 11: QUESTIONS[1], 25: QUESTIONS[0]}.get(number)
        middle = "" if asked is None else f" {asked['question'].title()}? "
        rows.append({"id": f"page {number}", "text": f"{words[:80]}{middle}{words[80:]}. {FOOTER}"})
    return rows


SEVENTH = pages()[7]["text"].removesuffix(f" {FOOTER}")


def written(command: Command) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in pages())
    command.write("pages.jsonl", lines.encode())
    command.write("test.csv", pd.DataFrame(QUESTIONS).to_csv(index=False).encode())
    command.write("other.jsonl", json.dumps({"id": "x", "text": SEVENTH}).encode())


def test_rows_that_share_a_footer_are_not_compared_with_each_other(command: Command) -> None:
    """Short questions match as a whole, and are counted."""
    written(command)
    words = ["dedup", "pages.jsonl", "-o", "o.jsonl", "--rule", "copied:13", "--dropped", "d.jsonl"]
    named = ["--against", "test.csv:text=question,key=key"]
    done = command.done(*words, *named, "--only-against")
    assert "kept 27, dropped 3, failed 0" in done.err
    assert "test.csv: 2 of 3 documents have fewer than 13 words" in done.err
    dropped = [json.loads(line) for line in command.path("d.jsonl").read_text().splitlines()]
    assert {row["reference"] for row in dropped} == {"test.csv"}
    assert dropped[1]["text"] == "Who Built The Lighthouse On The Northern Cape"
    # Without it, the pages go for their footer.
    assert "kept 1, dropped 29" in command.done(*words, *named).err


def references(directory: Path) -> list[Any]:
    """The same references in all the notations of Python."""
    fields = {"text": "question", "key": "key"}
    path = directory / "test.csv"
    return [
        [(path, fields), directory / "other.jsonl"],
        {path: fields, directory / "other.jsonl": None},
        [(QUESTIONS, fields), [{"id": "x", "text": SEVENTH}]],
        [
            (pd.DataFrame(QUESTIONS), fields),
            pl.DataFrame({"id": ["x"], "text": [SEVENTH]}),
        ],
    ]


@pytest.mark.filterwarnings("ignore::lshdb.LimitWarning")
def test_references_in_python(command: Command) -> None:
    written(command)
    for given in references(command.directory):
        result = lshdb.dedup(pages(), against=given, only_against=True, rule="copied:13")
        dropped = [(row.key, row.kept) for row in result.dropped]
        assert dropped == [("page 4", "q1"), ("page 7", "x"), ("page 11", "q2"), ("page 25", "q1")]
        assert len({row.reference for row in result.dropped}) == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--only-against"], "compares with references only"),
        (["--only-against", "--against", "test.csv", "--keep", "last"], "give no order"),
        (
            ["--only-against", "--against", "test.csv", "-d", "s.db"],
            "--only-against stores nothing",
        ),
        (["--against", "test.csv:name=x"], "test.csv:name=x: no such file"),
        (["--against", "none.csv:text=x"], "none.csv: no such file"),
        (["--annotate", "a.csv", "--drop-all"], "--annotate names the row that stays"),
        (["--annotate", "a.csv", "--cut", "8"], "--annotate names the row that stays"),
        (["--annotate", "pages.jsonl"], "is the same file"),
    ],
)
def test_what_cannot_be_is_one_line(command: Command, words: list[str], says: str) -> None:
    written(command)
    result = command("dedup", "pages.jsonl", "-o", "o.jsonl", *words)
    assert result.status in (1, 2)
    assert says in result.err
    assert len(result.err.splitlines()) == 1
    assert not command.path("o.jsonl").exists()
    assert not command.path("s.db").exists()


def test_a_row_without_a_text_fails_or_stays(command: Command) -> None:
    rows = [{"id": 1, "text": None}, {"id": 2, "text": "some words"}, {"id": 3, "text": None}]
    pq.write_table(pa.Table.from_pylist(rows), command.path("r.parquet"))
    command.write("r.jsonl", [{"id": 1}, *rows[1:]])
    for name in ("r.parquet", "r.jsonl"):
        failing = command("dedup", name, "-o", f"o.{name}")
        assert (failing.status, "kept 1, dropped 0, failed 2" in failing.err) == (1, True)
        done = command.done("dedup", name, "-o", f"o.{name}", "--on-null", "keep")
        assert "kept 3, dropped 0, failed 0" in done.err
        assert "empty: 2" in done.err
    assert command.path("o.r.jsonl").read_bytes() == command.path("r.jsonl").read_bytes()
    assert lshdb.dedup(rows, on_null="keep").kept == rows


SIMILAR: list[dict[str, Any]] = [
    {"id": 1, "text": "the fox and the grapes that hung over the wall", "n": 1.5},
    {"id": 2, "text": "the crow and a piece of cheese", "n": None},
    {"id": 3, "text": "The FOX and the grapes that hung over the wall!", "n": -2.0},
    {"id": 4, "text": None, "n": 0.0},
]
CLUSTERS = [1, 2, 1, None]
KEPT = ["1", "2", "1", None]


@pytest.mark.filterwarnings("ignore::lshdb.FailureWarning")
def test_all_rows_with_the_row_that_stays_in_their_place(command: Command) -> None:
    table = pa.Table.from_pylist(SIMILAR)
    pq.write_table(table, command.path("r.parquet"))
    command.write("r.jsonl", SIMILAR)
    for name in ("r.jsonl", "r.parquet"):
        result = command("dedup", name, "--annotate", f"all.{name}", "--keep", "first")
        assert (result.status, result.out) == (1, "")
    out = pq.read_table(command.path("all.r.parquet"))
    assert out.select(table.column_names).equals(table)
    lines = command.path("all.r.jsonl").read_text().splitlines()
    for line, row in zip(lines, SIMILAR, strict=True):
        assert line.startswith(json.dumps(row)[:-1])
    frame = table.to_pandas()
    of_frame = lshdb.dedup(frame).annotated
    assert [str(of_frame[name].dtype) for name in ("cluster", "exact")] == ["Int64", "boolean"]
    given = (SIMILAR, table, pl.from_arrow(table), str(command.path("r.parquet")))
    found: list[Any] = [out, [*map(json.loads, lines)], of_frame.replace({pd.NA: None})]
    for rows in [*found, *(lshdb.dedup(rows).annotated for rows in given)]:
        records = rows if isinstance(rows, list) else pa.table(rows).to_pylist()
        assert [row["cluster"] for row in records] == CLUSTERS
        assert [row["kept"] for row in records] == KEPT
        assert [row["n"] for row in records] == [row["n"] for row in SIMILAR]
        assert [row["similarity"] for row in records] == [1.0, 1.0, 1.0, None]


@pytest.mark.parametrize("options", [{"keep": "last"}, {"rule": "contained"}])
def test_clusters_are_named_by_the_row_that_stays(options: dict[str, Any]) -> None:
    rows = [*SIMILAR[:3], {"id": 5, "text": f"{SIMILAR[0]['text']} of the garden", "n": None}]
    found = lshdb.dedup(rows, threshold=0.6, **options).annotated
    assert [row["cluster"] for row in found] == [4, 2, 4, 4]
    assert [row["kept"] for row in found] == ["5", "2", "5", "5"]
    against = lshdb.dedup(rows, threshold=0.6, against=[{"id": "r", "text": rows[0]["text"]}])
    assert [row["cluster"] for row in against.annotated] == [1, 2, 1, 1]
    with pytest.raises(lshdb.UsageError, match="already"):
        assert lshdb.dedup([{**row, "kept": 1} for row in rows]).annotated
