"""Cutting repeated passages: what is cut, against lists of words; every row comes back."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import oracles
import pyarrow.parquet as pq
import pytest
from direct_command import command as command
from helpers import Command
from hypothesis import given
from hypothesis import strategies as st

import lshdb
from lshdb import Limits
from lshdb.apps.dedup.cut_list import CutList, restore
from lshdb.apps.dedup.file_rows import decided_files
from lshdb.apps.dedup.options import DedupOptions
from lshdb.database import store_of
from lshdb.read.outputs import Output
from lshdb.read.sinks import rows_of

WORDS = st.sampled_from(["ann", "Bob", "bob", 'É"', "d\x1ce", "7,", "\u00df\U0001f600x"])
TEXTS = st.lists(st.lists(WORDS, max_size=12).map(" ".join), min_size=1, max_size=8)


def written(path: Path, texts: list[str], form: int) -> None:
    """Write a table in one of several forms, which the same row may be written in."""
    if path.suffix == ".csv":
        table = io.StringIO(newline="")
        rows = csv.writer(table, quoting=csv.QUOTE_ALL if form else 0, lineterminator="\r\n")
        rows.writerows([["id", "text"], *([n, text] for n, text in enumerate(texts))])
        path.write_bytes(table.getvalue().encode())
        return
    ascii, separators = form > 0, (",", ":") if form > 1 else None
    lines = (
        json.dumps({"id": n, "text": text, "f": 1e2}, ensure_ascii=ascii, separators=separators)
        for n, text in enumerate(texts)
    )
    path.write_bytes("\n".join(lines).encode())  # the last line has no end


def words_left(text: str) -> list[str]:
    """The words of what is left of a row: a rest without any is no word itself."""
    return oracles.words(text) if any(map(oracles.is_word_character, text)) else []


@given(TEXTS, st.sampled_from(["jsonl", "csv"]), st.integers(0, 2), st.sampled_from([0, 1, 3]))
def test_what_earlier_rows_have_is_cut_and_comes_back(
    texts: list[str], suffix: str, form: int, min_words: int
) -> None:
    size, left, kept = 3, [], []
    for number, text in enumerate(texts):
        words, earlier = oracles.words(text), texts[:number]
        runs = {run for other in earlier for run in windows(other, size)}
        covered = {
            at + i for at, run in enumerate(windows(text, size)) if run in runs for i in range(size)
        }
        left.append([word for at, word in enumerate(words) if at not in covered])
        kept.append(not covered or len(left[-1]) >= min_words)
    with TemporaryDirectory() as directory:
        path, cuts = Path(directory, f"rows.{suffix}"), Path(directory, "cuts.jsonl")
        written(path, texts, form)
        limits = Limits(batch_documents=3)
        with (
            lshdb.open(f"{directory}/a.db", passages=size, limits=limits) as db,
            Output(str(cuts)) as file,
        ):
            listed = CutList(file, same_format=True)
            options = DedupOptions(cut=size, min_words=min_words, workers=0)
            data, found = b"", []
            for outcome in decided_files(store_of(db), [str(path)], options):
                listed.write(outcome)
                if outcome.origin is None:
                    continue
                rows = rows_of(outcome.origin)
                data += rows.schema.heading if rows.schema and not data else b""
                data += b"".join(rows.lines(outcome.kept))
                found += [str(record["text"]) for record in rows.records(outcome.kept)]
            listed.finish()
        assert [*map(words_left, found)] == [
            words for words, stays in zip(left, kept, strict=True) if stays
        ]
        for line in cuts.read_text().splitlines():
            row = json.loads(line)
            if "start" in row:
                one, other = texts[int(row["key"])], texts[int(row["kept"])]
                assert int(row["kept"]) < int(row["key"])
                assert row["text"] == one[row["start"] : row["end"]]
                source = other[row["kept_start"] : row["kept_end"]]
                assert oracles.words(source) == oracles.words(row["text"])
                assert row["words"] == len(oracles.words(source)) >= size
        original = Path(directory, "original")
        with cuts.open("rb") as list_file, Output(str(original)) as output:
            restore(io.BytesIO(data), list_file, output)
        assert original.read_bytes() == path.read_bytes()


def windows(text: str, size: int) -> list[tuple[str, ...]]:
    words = oracles.words(text)
    return [tuple(words[i : i + size]) for i in range(len(words) - size + 1)]


PAGES = [
    "the bridge is closed until the end of May",
    "news of today: The bridge is closed, until the end of May",
    "a museum opens; the bridge is closed until the end of June",
]


def test_passages_are_cut_from_tables_over_several_runs(command: Command) -> None:
    # The first and the last row are known, key and text, when they come again.
    rows = [{"id": key, "text": text} for key, text in zip("abca", [*PAGES, PAGES[0]], strict=True)]
    command.write("a.jsonl", rows[:1])
    command.write("b.jsonl", rows)
    asked = ["--cut", "5", "-d", "seen.db", "--min-words", "4"]
    command.done("dedup", "a.jsonl", "-o", "first.jsonl", *asked)
    done = command.done("dedup", "b.jsonl", "-o", "short.jsonl", "--cuts", "cuts.jsonl", *asked)
    assert "kept 1, dropped 3 (2 are the same rows as in an earlier run)" in done.err
    assert json.loads(command.path("short.jsonl").read_text()) == {
        "id": "c",
        "text": "a museum opens;  June",
    }
    assert command.done("restore", "short.jsonl", "--cuts", "cuts.jsonl").out == (
        command.path("b.jsonl").read_text()
    )
    # As Parquet: the column is cut, and what was cut is listed; bytes do not come back.
    command.done("dedup", "b.jsonl", "-o", "b.parquet", "--threshold", "1")
    command.done("dedup", "b.parquet", "-o", "c.parquet", "--cut", "5", "--cuts", "cuts.jsonl")
    assert pq.read_table(command.path("c.parquet")).to_pylist() == [
        rows[0],
        {"id": "b", "text": "news of today: "},
        {"id": "c", "text": "a museum opens;  June"},
    ]
    assert "not JSON lines or CSV" in command.fails("restore", "c.parquet", "--cuts", "cuts.jsonl")


@pytest.mark.parametrize("change", ["shorter", "longer", "other list", "no list"])
def test_rows_that_changed_are_not_restored(command: Command, change: str) -> None:
    command.write("a.jsonl", [{"id": n, "text": text} for n, text in enumerate(PAGES)])
    command.done("dedup", "a.jsonl", "-o", "b.jsonl", "--cut", "5", "--cuts", "cuts.jsonl")
    rows = command.path("b.jsonl").read_text()
    if "list" in change:
        line = '{"offset": "x"}' if change == "no list" else '{"size": 1e999}'
        command.write("cuts.jsonl", f"{line}\n")
    else:
        command.write("b.jsonl", rows[:-9] if change == "shorter" else f"{rows}{{}}\n")
    asked = ["restore", "b.jsonl", "--cuts", "cuts.jsonl", "-o", "original.jsonl"]
    says = "line 1 of the list" if "list" in change else "have changed since"
    assert says in command.fails(*asked)
    assert not command.path("original.jsonl").exists()
