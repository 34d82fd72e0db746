"""Cutting repeated passages: what is cut, against lists of words."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import oracles
import pyarrow.parquet as pq
import pytest
from helpers import Command
from hypothesis import example, given
from hypothesis import strategies as st

import lshdb
from lshdb import Limits
from lshdb.apps.dedup.cutting import whole_words
from lshdb.apps.dedup.file_rows import decided_files
from lshdb.apps.dedup.model import DroppedRow
from lshdb.apps.dedup.options import DedupOptions
from lshdb.apps.dedup.rows import rows_of
from lshdb.apps.passages import positions
from lshdb.database import store_of
from lshdb.errors import UsageError
from lshdb.read.session import Session, SessionOptions

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


@example([""], "jsonl", 0, 1)
@given(TEXTS, st.sampled_from(["jsonl", "csv"]), st.integers(0, 2), st.sampled_from([0, 1, 3]))
def test_what_earlier_rows_have_is_cut(
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
        path = Path(directory, f"rows.{suffix}")
        written(path, texts, form)
        limits = Limits(batch_documents=3)
        found, cuts = list[str](), list[DroppedRow]()
        with lshdb.open(f"{directory}/a.db", passages=size, limits=limits) as db:
            options = DedupOptions(cut=size, min_words=min_words, workers=0)
            for outcome in decided_files(store_of(db), [str(path)], options):
                cuts += outcome.cuts
                if outcome.origin is not None:
                    rows = rows_of(outcome.origin).records(outcome.kept)
                    found += [str(record["text"]) for record in rows]
        assert [*map(words_left, found)] == [
            words for words, stays in zip(left, kept, strict=True) if stays
        ]
        for row in cuts:
            passage, one, other = row.passage, texts[int(row.key)], texts[int(row.kept)]
            assert passage is not None
            assert int(row.kept) < int(row.key)
            assert passage.text == one[passage.start : passage.end]
            source = other[passage.stored_start : passage.stored_end]
            assert oracles.words(source) == oracles.words(passage.text)
            assert passage.words == len(oracles.words(source)) >= size


def windows(text: str, size: int) -> list[tuple[str, ...]]:
    words = oracles.words(text)
    return [tuple(words[i : i + size]) for i in range(len(words) - size + 1)]


def test_texts_that_are_files_are_not_cut(command: Command) -> None:
    """They are refused by name, before anything is stored, behind all doors that cut."""
    for name in "ab":
        command.write(
            f"texts/{name}.txt", "news of today: the bridge is closed until the end of May"
        )
    message = "cut is for rows of tables"
    with lshdb.open(command.path("seen.db"), passages=5) as db:
        with pytest.raises(UsageError, match=message):
            db.dedup_files([str(command.path("texts"))], format="text", cut=5)
        texts = Session(SessionOptions(False, format="text"))
        with pytest.raises(UsageError, match=message):
            list(db.dedup_files([str(command.path("texts"))], cut=5, reader=texts))
        assert len(db) == 0
    asked = ("dedup", "texts", "--cut", "5")
    assert message in command.fails(*asked, "--format", "text", status=2)
    assert "--cut is for tables" in command.fails(*asked, status=2)


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
    cuts = [*map(json.loads, command.path("cuts.jsonl").read_text().splitlines())]
    assert [(cut["key"], cut["kept"], cut["text"]) for cut in cuts] == [
        ("b", "a", "The bridge is closed, until the end of May"),
        ("c", "a", "the bridge is closed until the end of"),
    ]
    # As Parquet: the column is cut, and what was cut is a table, too.
    command.done("dedup", "b.jsonl", "-o", "b.parquet", "--threshold", "1")
    command.done("dedup", "b.parquet", "-o", "c.parquet", "--cut", "5", "--cuts", "cuts.csv")
    assert pq.read_table(command.path("c.parquet")).to_pylist() == [
        rows[0],
        {"id": "b", "text": "news of today: "},
        {"id": "c", "text": "a museum opens;  June"},
    ]
    with command.path("cuts.csv").open(newline="") as file:
        assert [row["text"] for row in csv.DictReader(file)] == [cut["text"] for cut in cuts]


FIRST = (
    "The harbour bridge will be closed for repairs\nfrom Monday on, the mayor said. " + "\u65e5" * 9
)
WITH_WORDS = [
    FIRST,
    "Weather: She bathe harbour bridge will be closed for repairs\nfrom Monday once more.",
    "caf" + "e\u0301 \U0001f468\u200d\U0001f467 wide " * 4,
    "x" + "e\u0301 \U0001f468\u200d\U0001f467 wide " * 4 + "\u0301ly",
]


@given(
    st.text(st.sampled_from("ab1 -'.\u0301\u4e00\u304b\u0e01\u0e32"), max_size=14),
    st.lists(st.tuples(st.integers(0, 13), st.integers(1, 8)), min_size=1, max_size=4),
)
def test_cuts_begin_and_end_with_whole_words(text: str, some: list[tuple[int, int]]) -> None:
    """All words that the spans cover are cut out, and no part of another word."""
    found = sorted((begin, min(begin + size, len(text))) for begin, size in some)
    spans = [(begin, end) for begin, end in found if begin < end]
    units = positions.cut([text], "word")
    words: list[list[int]] = []
    for start, stop in zip(units.starts.tolist(), units.stops.tolist(), strict=True):
        if words and start - words[-1][1] == 1 and text[start - 1] in "-'.":
            words[-1][1] = stop
        else:
            words.append([start, stop])
    covered = {at for begin, end in spans for at in range(begin, end)}
    cuts = whole_words(text, spans) if spans else []
    gone = {at for begin, end in cuts for at in range(begin, end)}
    assert gone <= covered
    for start, stop in words:
        word = {*range(start, stop)}
        assert word <= gone if word <= covered else not word & gone
    assert len(cuts) == len(spans)


def test_no_word_is_cut_in_two(command: Command, tmp_path: Path) -> None:
    rows, short, cuts = (tmp_path / f"{name}.jsonl" for name in ("rows", "short", "cuts"))
    lines = (json.dumps({"id": str(i), "text": text}) for i, text in enumerate(WITH_WORDS))
    rows.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    how = ("--shingle", "char:5", "--cut", "20", "--cuts", str(cuts))
    command("dedup", str(rows), "-o", str(short), *how)
    texts = [json.loads(line)["text"] for line in short.read_text("utf-8").splitlines()]
    assert texts[::2] == WITH_WORDS[::2]
    assert texts[1] == "Weather: She bathe  once more."
    assert texts[3] == "xe\u0301 \U0001f468\u200d\U0001f467  \u0301ly"
    [first, *_] = map(json.loads, cuts.read_text("utf-8").splitlines())
    passage = "harbour bridge will be closed for repairs\nfrom Monday"
    assert (first["text"], first["start"], first["words"]) == (passage, 19, len(passage))
    assert WITH_WORDS[1][first["start"] : first["end"]] == passage


def test_records_are_cut_as_they_come(command: Command) -> None:
    """All rows are read before the first is decided on only where records are compared."""
    text = "one two three four five six"
    command.write("in.jsonl", [{"id": 1, "text": text}, {"id": 2, "text": f"{text} seven"}])
    cut = command.done("dedup", "in.jsonl", "--cut", "5", "--for", "records").records
    assert [row["text"] for row in cut] == [text, " seven"]
