"""dedup against references: what is similar to one of their documents goes; they are only read.

The oracle asks the reference for each document by itself, and then deduplicates what is left.
"""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import inspection
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import Command, database_of, text_families
from rows import as_file

import lshdb
from lshdb import DroppedRow, Limits

TEXTS = text_families(4, families=20, copies=4, words=30, most_edits=6)
SETTINGS: dict[str, Any] = {"shingle": "word:2", "threshold": 0.5}
RNG = random.Random(1)
ROWS = [{"id": key, "text": text} for key, text in TEXTS.items()]
ROWS += [{"id": "again", "text": text} for text in RNG.sample([*TEXTS.values()], 10)]
ROWS += [{"id": "empty", "text": ""}, {"id": "empty too", "text": ""}]
RNG.shuffle(ROWS)
KNOWN = {f"{n} {row['id']}": row["text"] for n, row in enumerate(RNG.sample(ROWS, 15))}
KNOWN["none"] = ""


def outcomes(directory: Path, against: Any, **options: Any) -> list[DroppedRow | None]:
    path, own = directory / "rows.jsonl", directory / "own.db"
    path.write_bytes(as_file(path.name, ROWS))
    with lshdb.open(own, **SETTINGS) as db:
        found = [line.dropped for line in db.dedup_files([str(path)], against=against, **options)]
        assert len(db) == found.count(None)
    own.unlink()
    return found


@pytest.mark.parametrize("options", [{}, {"threshold": 0.8}, {"estimate": True}])
def test_what_a_query_of_the_reference_finds_goes(tmp_path: Path, options: dict[str, Any]) -> None:
    """The best match is named; what is left is compared with what is kept before it."""
    known = tmp_path / "known.db"
    database_of(known, KNOWN, **SETTINGS).close()
    before = known.read_bytes()
    found = outcomes(tmp_path, known, **options)
    assert known.read_bytes() == before
    assert [*tmp_path.glob("known.db*")] == [known]
    named = 0
    with lshdb.open(known, mode="read") as db:
        for number, (row, dropped) in enumerate(zip(ROWS, found, strict=True), 1):
            (match, *_) = [*db.query(row["text"], **options), None]
            if match is None:
                assert dropped is None or dropped.kept not in db
            else:
                where = row["id"], str(tmp_path / "rows.jsonl"), number, match.key, None, None
                how = match.similarity, match.exact, match.identical, match.same_text
                assert dropped == DroppedRow(*where, *how, str(known))
                named += 1
    assert named > 15
    assert found.count(None) > 10


def test_references_of_wide_and_of_narrow_lanes_find_the_same(tmp_path: Path) -> None:
    """Rows are signed with the bits that a reference has."""
    found, path = [], tmp_path / "lanes.db"
    for rows, bits in ((1, 32), (2, 16)):
        with database_of(path, KNOWN, **SETTINGS, bands=60, rows=rows) as db:
            assert db.settings.lane_bits == bits
        found.append(outcomes(tmp_path, path))
        path.unlink()
    assert found[0] == found[1]
    assert sum(row is not None and row.reference is not None for row in found[0]) >= 15


@pytest.mark.filterwarnings("ignore::lshdb.FailureWarning")
def test_what_is_stored_is_not_touched_by_a_row_that_the_reference_has(tmp_path: Path) -> None:
    text, other = "the fox and the grapes and the sun", "the ant and the dove and the rain"
    path, seen = str(tmp_path / "rows.jsonl"), str(tmp_path / "seen.db")
    database_of(seen, {"a": text}).close()
    Path(path).write_text(json.dumps({"id": "b", "text": text, "n": 2}))
    with database_of(tmp_path / "own.db", {"b": other}) as db:
        (line,) = db.dedup_files([f"{path}.none", path], against=seen)
        dropped = DroppedRow("b", path, 1, "a", None, None, 1.0, True, True, True, seen)
        assert (line.dropped, db.get("b").content) == (dropped, other)


def test_what_cannot_be_a_reference_is_refused(tmp_path: Path) -> None:
    lshdb.open(tmp_path / "char.db", shingle="char:5").close()
    lshdb.open(tmp_path / "seed.db", **SETTINGS, seed=7).close()
    for against, message in (
        (tmp_path / "char.db", "shingle char:5, and the documents are compared by word:2"),
        (tmp_path / "seed.db", "has seed 7, and the documents are compared by 1"),
        (tmp_path / "missing.jsonl", "missing.jsonl: no such file"),
        (5, "int has no rows: give a table"),
    ):
        with pytest.raises(lshdb.LshdbError, match=message):
            outcomes(tmp_path, against)
        with lshdb.open(tmp_path / "own.db") as db:
            assert len(db) == 0


def test_the_database_that_gets_the_kept_rows_is_no_reference(command: Command) -> None:
    command.write("rows.jsonl", SIMILAR)
    own = str(command.path("own.db"))
    lshdb.open(own).close()
    command.path("link.db").symlink_to(own)
    message = "link.db gets the kept rows, and rows are compared with it without against"
    result = command("dedup", "rows.jsonl", "-d", own, "--against", "link.db")
    assert result.status == 2
    assert message in result.err
    link = command.path("link.db")
    with lshdb.open(own) as db, pytest.raises(lshdb.UsageError, match=message):
        db.dedup_files([str(command.path("rows.jsonl"))], against=link)
    with pytest.raises(lshdb.UsageError, match=message):
        lshdb.dedup(SIMILAR, into=own, against=link)


def test_a_reference_leaves_nothing_of_the_same_files(command: Command) -> None:
    """At all doors; of a file that is no reference, its rows."""
    command.write("rows.jsonl", SIMILAR[:3])
    command.write("more.jsonl", SIMILAR[1:2])
    path, message = str(command.path("rows.jsonl")), "against has the same files as the data"
    words = ["dedup", "rows.jsonl", "--against", path, "-o", "out.jsonl"]
    assert message in (result := command(*words)).err
    assert (result.status, command.path("out.jsonl").exists()) == (2, False)
    with lshdb.open(command.path("own.db")) as db, pytest.raises(lshdb.UsageError, match=message):
        list(db.dedup_files([path], against=path))
    with pytest.raises(lshdb.UsageError, match=message):
        lshdb.dedup(path, against=path)
    assert "dropped 1" in command.done(*words, "more.jsonl").err


def test_a_database_as_reference_gives_its_settings(command: Command) -> None:
    """To rows of files and of a program; what is given is as it is."""
    texts = [" ".join("abcdefghijklm"[:end]) for end in (13, 10, 7)]
    rows = [{"id": str(n), "text": text} for n, text in enumerate(texts)]
    command.write("rows.jsonl", rows)
    known = str(command.path("known.db"))
    database_of(known, {"known": f"{texts[0]} o"}, shingle="word:1", threshold=0.6).close()
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({}, ["2"]),
        ({"threshold": 0.9}, ["1", "2"]),
    ]
    for given, kept in cases:
        words = [word for name in given for word in (f"--{name}", str(given[name]))]
        found = command.done("dedup", "rows.jsonl", "--against", known, *words).records
        assert [row["id"] for row in found] == kept
        for data in (rows, str(command.path("rows.jsonl"))):
            result: Any = lshdb.dedup(data, against=known, **given)
            assert [row["id"] for row in result.kept] == kept


def test_a_large_bucket_of_the_reference_is_said_to_be_cut(tmp_path: Path) -> None:
    """Of those that share a bucket only the first are compared; a copy is found all the same."""
    header = " ".join(f"h{i}" for i in range(30))
    texts = {f"seen {i}": f"{header} {i} of {i * i} {i**3}" for i in range(33)}
    shape: Any = {"threshold": 0.9, "rows": 2, "bands": 20}
    database_of(tmp_path / "seen.db", [*texts.items()][:30], **shape).close()
    given = [{"id": key, "text": texts[key]} for key in [*[*texts][30:], *[*texts][:3]]]
    path, few = tmp_path / "rows.jsonl", Limits(dedup_listed=5, query_rows=500)
    path.write_bytes(as_file(path.name, given))
    said = (
        "share a bucket with more than 5 of the reference: 3;.* 3 of them share the bucket of seen"
    )
    with (
        lshdb.open(tmp_path / "own.db", threshold=0.9, limits=few) as db,
        pytest.warns(lshdb.LimitWarning, match=said),
    ):
        lines = [*db.dedup_files([str(path)], against=tmp_path / "seen.db")]
    kept = [line.dropped and line.dropped.kept for line in lines]
    assert kept == [None, None, None, "seen 0", "seen 1", "seen 2"]


# test sets: several references, and rows that are compared with them only

FOOTER = "all rights of this page are with its authors and nobody may copy it at all"
QUESTIONS = {
    "q1": "which of the two rivers that meet at the old stone bridge is longer",
    "q2": "who built the lighthouse on the northern cape",
    "q3": "why",
}
TEST = [{"key": key, "question": question} for key, question in QUESTIONS.items()]
PAGES = []
"""Thirty pages with a footer, three of which have a question."""
for number in range(30):
    words = " ".join(f"w{number}x{word}" for word in range(40))
    question = QUESTIONS.get({4: "q1", 11: "q2", 25: "q1"}.get(number, ""), "").title()
    text = f"{words[:80]} {question}? {words[80:]}. {FOOTER}"
    PAGES.append({"id": f"page {number}", "text": text})
OTHER = [{"id": "x", "text": PAGES[7]["text"].removesuffix(f" {FOOTER}")}]


@pytest.fixture
def pages(command: Command) -> Command:
    command.write("pages.jsonl", PAGES)
    command.write("other.jsonl", OTHER)
    command.write("test.csv", as_file("test.csv", TEST))
    return command


def test_rows_that_share_a_footer_are_not_compared_with_each_other(pages: Command) -> None:
    """Short questions match as a whole, and are counted."""
    words = ["dedup", "pages.jsonl", "-o", "o.jsonl", "--rule", "copied:13", "--dropped", "d.csv"]
    words += ["--against", "test.csv:text=question,key=key"]
    done = pages.done(*words, "--only-against")
    assert "kept 27, dropped 3, failed 0" in done.err
    assert "test.csv: 2 of 3 documents have fewer than 13 words" in done.err
    assert "Who Built The Lighthouse On The Northern Cape" in pages.path("d.csv").read_text()
    # Without it, the pages go for their footer.
    assert "kept 1, dropped 29" in pages.done(*words).err


@pytest.mark.filterwarnings("ignore::lshdb.LimitWarning")
@pytest.mark.parametrize("keep", ["first", "longest"])
@pytest.mark.parametrize(
    ("rule", "row", "listed"),
    [
        ("copied:9", [1, 2, 5], ["q1", "q2", "q5"]),
        ("copied:9", [*range(1, 14)], [f"q{n}" for n in range(1, 11)] + ["and 3 more"]),
        ("copied:40", [1, 2], ["q1", "q2"]),
        ("similar", [1, 2], ["q1", "q2"]),
        ("identical", [3], ["q3"]),
    ],
)
def test_all_references_that_a_row_matches_are_listed(
    command: Command, rule: str, row: list[int], listed: list[str], keep: str
) -> None:
    """Also where they match as a whole; of a row that goes for another row there are none."""
    texts = {f"q{n}": " ".join(f"w{n}x{word}" for word in range(10)) for n in range(1, 14)}
    joined = " and ".join(texts[f"q{n}"] for n in row)
    known = [{"id": key, "text": text} for key, text in texts.items()]
    command.write("known.jsonl", known)
    command.write("other.jsonl", [{"id": "long", "text": f"{texts['q3']} and more of it"}])
    texts_of_rows = {"a": joined, "b": f"of other {FOOTER}", "c": f"of other {FOOTER}"}
    command.write("rows.jsonl", [{"id": key, "text": text} for key, text in texts_of_rows.items()])
    words = ["dedup", "rows.jsonl", "-o", "o.jsonl", "--rule", rule, "--dropped", "d.jsonl"]
    words += ["--against", "known.jsonl"]
    words += ["--against", "other.jsonl"] if rule == "identical" else []
    words += ["--threshold", "0.2"] if rule == "similar" else []
    words += ["--keep", keep]
    command.done(*words, "--all-references")
    dropped = {
        row["key"]: row for row in map(json.loads, command.path("d.jsonl").read_text().splitlines())
    }
    assert dropped["a"]["references"] == listed
    del dropped["a"]
    assert [row["references"] for row in dropped.values()] == (
        [None] if rule != "copied:40" else []
    )
    command.done(*words)
    assert "references" not in command.path("d.jsonl").read_text()


@pytest.mark.filterwarnings("ignore::lshdb.LimitWarning")
def test_references_in_all_the_notations_of_python(pages: Command) -> None:
    fields = {"text": "question", "key": "key"}
    test, other = pages.path("test.csv"), pages.path("other.jsonl")
    notations: list[Any] = [
        [(test, fields), other],
        [(TEST, fields), OTHER],
        [(pd.DataFrame(TEST), fields), pl.DataFrame(OTHER)],
    ]
    for against in notations:
        result = lshdb.dedup(PAGES, against=against, only_against=True, rule="copied:13")
        dropped = [(row.key, row.kept) for row in result.dropped]
        assert dropped == [("page 4", "q1"), ("page 7", "x"), ("page 11", "q2"), ("page 25", "q1")]
        assert len({row.reference for row in result.dropped}) == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--only-against", "compares with references only"),
        ("--only-against --against test.csv --keep last", "give no order"),
        ("--only-against --against test.csv -d s.db", "only_against stores nothing"),
        ("--against test.csv:name=x", "test.csv:name=x: no such file"),
        ("--against none.csv:text=x", "none.csv: no such file"),
        ("--annotate a.csv --drop-all", "--annotate names the row that stays"),
        ("--annotate a.csv --cut 8", "--annotate names the row that stays"),
        ("--annotate pages.jsonl", "is the same file"),
    ],
)
def test_what_cannot_be_is_one_line(pages: Command, words: str, says: str) -> None:
    result = pages("dedup", "pages.jsonl", "-o", "o.jsonl", *words.split())
    assert result.status in (1, 2)
    (line,) = result.err.splitlines()
    assert says in line
    assert not pages.path("o.jsonl").exists()
    assert not pages.path("s.db").exists()


# rows without a text, and all rows with what became of them


def test_a_row_without_a_text_fails_or_stays(command: Command) -> None:
    rows: list[dict[str, Any]] = [{"id": n, "text": None} for n in (1, 2, 3)]
    rows[1]["text"] = "some words"
    command.write("r.parquet", as_file("r.parquet", rows))
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


@pytest.mark.filterwarnings("ignore::lshdb.FailureWarning")
def test_all_rows_with_the_row_that_stays_in_their_place(command: Command) -> None:
    table = pa.Table.from_pylist(SIMILAR)
    command.write("r.parquet", as_file("r.parquet", SIMILAR))
    command.write("r.jsonl", SIMILAR)
    for name in ("r.jsonl", "r.parquet"):
        result = command("dedup", name, "--annotate", f"all.{name}", "--keep", "first")
        assert (result.status, result.out) == (1, "")
    out = pq.read_table(command.path("all.r.parquet"))
    assert out.select(table.column_names).equals(table)
    lines = command.path("all.r.jsonl").read_text().splitlines()
    starts = [json.dumps(row)[:-1] for row in SIMILAR]
    assert all(map(str.startswith, lines, starts))
    found = [out.to_pydict(), pa.Table.from_pylist([*map(json.loads, lines)]).to_pydict()]
    given = (SIMILAR, table, table.to_pandas(), pl.from_arrow(table))
    found += [lshdb.dedup(rows).annotations for rows in given]
    for name in ("r.jsonl", "r.parquet"):
        found.append(lshdb.dedup(str(command.path(name))).annotations)
    for columns in found:
        assert [columns[name] for name in ("cluster", "kept", "similarity", "exact")] == [
            [1, 2, 1, None],
            ["1", "2", "1", None],
            [1.0, 1.0, 1.0, None],
            [True, True, True, None],
        ]


@pytest.mark.parametrize("options", [{"keep": "last", "threshold": 0.6}, {"rule": "contained"}])
def test_clusters_are_numbered_by_their_first_row(options: dict[str, Any]) -> None:
    rows = [*SIMILAR[:3], {"id": 5, "text": f"{SIMILAR[0]['text']} of the garden", "n": None}]
    found = lshdb.dedup(rows, **options).annotations
    assert (found["cluster"], found["kept"]) == ([1, 2, 1, 1], ["5", "2", "5", "5"])
    against = lshdb.dedup(rows, threshold=0.6, against=[{"id": "r", "text": rows[0]["text"]}])
    assert against.annotations["cluster"] == [1, 2, 1, 1]
    with pytest.raises(lshdb.UsageError, match="drop_all"):
        assert lshdb.dedup(rows, drop_all=True).annotations


# the command


FOX = "The fox looked at the grapes and then he went away again"
ANT = "The ant worked all summer long while the cricket sang songs"
CROW = "A crow found a piece of cheese under the tree by the river"
INDEXED = "train.parquet is not a database: lshdb indexes it in a temporary one"


@pytest.fixture
def command(tmp_path: Path) -> Command:
    command = Command(tmp_path)
    command.write("test.csv", f"id,text\n1,{FOX}!\n2,{CROW}\n3,{ANT}\n4,{CROW}.\n")
    table = pa.table({"id": ["x", "x", "y"], "text": [FOX, ANT, "another text altogether"]})
    pq.write_table(table, tmp_path / "train.parquet")
    command.write("named.csv", f"uid,body\nx,{FOX}\n")
    return command


def dropped(command: Command) -> list[tuple[str, str]]:
    """The keys of rows in the list of dropped ones, and those of what stays."""
    rows = csv.DictReader(command.path("gone.csv").read_text().splitlines())
    return [(row["key"], row["kept"]) for row in rows]


def test_a_table_is_indexed_in_a_temporary_database(command: Command) -> None:
    before = inspection.files(command.directory)
    arguments = ["dedup", "test.csv", "--against", "train.parquet", "-o", "clean.csv"]
    done = command.done(*arguments, "--dropped", "gone.csv")
    assert done.err.splitlines() == [INDEXED, "kept 1, dropped 3, failed 0"]
    assert dropped(command) == [("1", "x"), ("3", "x"), ("4", "2")]
    after = inspection.files(command.directory)
    del after["gone.csv"]
    assert after == before | {"clean.csv": f"id,text\n2,{CROW}\n".encode()}


def test_nothing_is_written_if_a_part_of_the_reference_cannot_be_read(command: Command) -> None:
    command.write("bad.jsonl", 'nonsense\n{"id": 1}\n' + json.dumps({"text": ANT}))
    data = command.path("train.parquet").read_bytes()
    command.write("broken.parquet", data[:-9] + b"123456789")
    command.path("empty").mkdir()
    before = inspection.files(command.directory)
    wanted = {
        "bad.jsonl": ["bad.jsonl:1: not JSON", "bad.jsonl:2: no field 'text'"],
        "named.csv": ["named.csv: no field 'text': name it with --against PATH:text=NAME"],
        "broken.parquet": ["broken.parquet: "],
        "empty": [],
    }
    for name, reasons in wanted.items():
        done = command("dedup", "test.csv", "-d", "own.db", "-o", "out.csv", "--against", name)
        assert (done.status, done.out) == (1, ""), name
        *failures, last = done.err.splitlines()[1:]
        for failure, reason in zip(failures, reasons, strict=True):
            assert failure.startswith(f"lshdb: {reason}")
        assert last.startswith(f"lshdb: {name}")
        assert ("nothing is written" in last) == bool(reasons)
        assert inspection.files(command.directory) == before


def test_a_reference_may_name_its_columns_otherwise(command: Command) -> None:
    asked = ["dedup", "test.csv", "-o", "clean.csv", "--against", "named.csv:text=body,key=uid"]
    done = command.done(*asked, "--dropped", "gone.csv")
    assert done.err.endswith("kept 2, dropped 2, failed 0\n")
    assert dropped(command) == [("1", "x"), ("4", "2")]
    # A name for both is also that of the reference.
    command.write("other.csv", f"id,body\n5,{FOX}\n6,{ANT}\n")
    done = command.done("dedup", "other.csv", "--against", "named.csv", "--text-field", "body")
    assert done.out == f"id,body\n6,{ANT}\n"
