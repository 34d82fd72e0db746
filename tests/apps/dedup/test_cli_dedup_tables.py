"""The command dedup on tables of every format, directories of them, and text files."""

from __future__ import annotations

import csv
import datetime
import gzip
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from helpers import Command, database_of, finish, text_families
from oracles import deduplicated, word_shingles

from lshdb.apps.dedup.output_directory import MANIFEST

Row = dict[str, Any]
SURE = ("--recall", "0.9999")
TEXTS = [*text_families(seed=8, families=12, copies=3, words=40, most_edits=7).values()]


N = len(TEXTS)
SETS = {number: {*word_shingles(text, 3)} for number, text in enumerate(TEXTS)}
GONE = {i: kept for i, kept in deduplicated(SETS, SETS, 0.8).items() if kept}
"""Texts that must go, by the oracle: for which other one, and how similar it is."""
KEPT = [i for i in SETS if i not in GONE]


def whole_table() -> pa.Table:
    """Columns of many types, with nulls."""
    day = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC)
    columns = {
        "cat": pa.array(["abc"[i % 3] if i % 5 else None for i in range(N)]).dictionary_encode(),
        "id": pa.array(range(N), pa.int32()),
        "text": pa.array(TEXTS, pa.large_string()),
        "tags": [["x", None, str(i)] if i % 4 else None for i in range(N)],
        "meta": [{"lang": "en", "score": i / 7} if i % 6 else None for i in range(N)],
        "when": pa.array([day] * N, pa.timestamp("us", "UTC")),
        "nanoseconds": pa.array(range(N), pa.timestamp("ns")),
        "blob": [b"\xff\0%d" % i for i in range(N)],
        "price": [Decimal("1.25") * i for i in range(N)],
        "nothing": pa.nulls(N),
    }
    table = pa.table(columns).replace_schema_metadata({"made by": "someone"})
    note = {b"note": b"of a field"}
    return table.cast(table.schema.set(1, table.schema.field("id").with_metadata(note)))


def write_stream(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=10)


WRITE: dict[str, Callable[[pa.Table, Path], object]] = {
    "parquet": lambda table, path: pq.write_table(
        table, path, compression="zstd", row_group_size=7
    ),
    "feather": lambda table, path: pyarrow.feather.write_feather(table, path),
    "arrows": write_stream,
    "csv": lambda table, path: pl.from_arrow(table).write_csv(path),  # type: ignore[union-attr]
    "tsv": lambda table, path: pl.from_arrow(table).write_csv(path, separator="\t"),  # type: ignore[union-attr]
    "json": lambda table, path: path.write_text(json.dumps(table.to_pylist(), indent=2)),
    "jsonl": lambda table, path: pl.from_arrow(table).write_ndjson(path),  # type: ignore[union-attr]
}
READ: dict[str, Callable[[Path], pa.Table]] = {
    "parquet": pq.read_table,
    "feather": lambda path: pa.ipc.open_file(path).read_all(),
    "arrow": lambda path: pa.ipc.open_file(path).read_all(),
    "arrows": lambda path: pa.ipc.open_stream(path).read_all(),
}


def rows_in(path: Path) -> list[Row]:
    """The rows of a file of any format, read by others."""
    kind = path.suffix[1:]
    if kind in READ:
        rows: list[Row] = READ[kind](path).to_pylist()
        return rows
    if kind in ("csv", "tsv"):
        with path.open(newline="") as file:
            return [*csv.DictReader(file, dialect="excel" if kind == "csv" else "excel-tab")]
    if kind == "json":
        return list(json.loads(path.read_bytes()))
    data = path.read_bytes()
    lines = (gzip.decompress(data) if kind == "gz" else data).splitlines()
    return [json.loads(line) for line in lines]


def decisions(rows: list[Row]) -> dict[int, tuple[int, float]]:
    """A list of dropped rows, as the oracle has it."""
    return {int(row["key"]): (int(row["kept"]), float(row["similarity"])) for row in rows}


def compressions(path: Path) -> list[str]:
    group = pq.ParquetFile(path).metadata.row_group(0)
    return [group.column(index).compression for index in range(group.num_columns)]


@pytest.mark.parametrize("kind", ["parquet", "feather", "arrows"])
def test_all_columns_come_through_with_types_order_nulls_and_metadata(
    tmp_path: Path, kind: str
) -> None:
    command = Command(tmp_path)
    table, name, out = whole_table(), f"in.{kind}", command.path(f"out.{kind}")
    WRITE[kind](table, command.path(name))
    words = ("dedup", name, "-o", out, *SURE, "--dropped", "gone.jsonl")
    if kind == "parquet":  # by the installed command: the process of the tests has pyarrow loaded
        assert finish(command.start(*words, stderr=-1))[0] == 0
    else:
        command.done(*words)
    found = READ[kind](out)
    assert found.schema.equals(READ[kind](command.path(name)).schema, check_metadata=True)
    assert found.equals(table.take(KEPT))
    assert found.schema.metadata == table.schema.metadata
    gone = rows_in(command.path("gone.jsonl"))
    assert decisions(gone) == GONE
    assert [row["line"] for row in gone] == [number + 1 for number in GONE]
    if kind == "parquet":
        assert compressions(out) == compressions(command.path(name))


def test_rows_of_csv_stay_byte_for_byte(command: Command) -> None:
    head = b'\xef\xbb\xbf"id",text,more\r\n'
    rows = [
        b'%d,"%s\n, ""quoted""",caf\xe9\r\n' % (i, text.encode()) for i, text in enumerate(TEXTS)
    ]
    command.write("in.csv", head + b"\r\n\r\n".join([b"".join(rows[:9]), b"".join(rows[9:])]))
    command.done("dedup", "in.csv", "-o", "out.csv", *SURE)
    assert command.path("out.csv").read_bytes() == head + b"".join(rows[i] for i in KEPT)
    # Two files, the first without a newline at its end; standard output has the input's format.
    command.write("a.tsv", b"id\ttext\r\n1\tone two three\r\n2\tfour five six")
    b_tsv = "id\ttext\n3\tONE two three\n4\tseven eight nine\n"
    done = command.done("dedup", "a.tsv", "-", "--format", "tsv", stdin=b_tsv)
    assert done.out == "id\ttext\r\n1\tone two three\r\n2\tfour five six\r\n4\tseven eight nine\n"
    # Semicolons stay in CSV; beside a file with commas the first one's delimiter is kept.
    command.write("s.csv", "id;text\n1;one, two\n2;one, two\n")
    command.write("c.csv", 'id,text\n3,"three; four"\n')
    command.done("dedup", "s.csv", "c.csv", "-o", "out.csv", *SURE)
    assert command.path("out.csv").read_text() == 'id;text\n1;one, two\n3;"three; four"\n'
    # A byte order mark belongs to its file, not to the first row.
    lines = [b'{"text": "one two three"}\n', b'{"text": "four five six"}\n']
    for name, line in zip(("a.jsonl", "b.jsonl"), lines, strict=True):
        command.write(name, b"\xef\xbb\xbf" + line)
    command.done("dedup", "a.jsonl", "b.jsonl", "-o", "out.jsonl", *SURE)
    assert command.path("out.jsonl").read_bytes() == b"".join(lines)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        *((source, "jsonl") for source in ("parquet", "arrows", "csv", "tsv", "json")),
        *(("json", target) for target in ("parquet", "arrow", "arrows", "csv", "tsv", "json")),
        *(("parquet", "csv"), ("csv", "parquet"), ("jsonl", "arrow")),
    ],
)
def test_any_format_goes_into_any_other(command: Command, source: str, target: str) -> None:
    """So does the list of dropped rows."""
    strings = [{"id": f"{i}", "text": text, "more": 'x"\u00e9,\n'} for i, text in enumerate(TEXTS)]
    path = command.path(f"in.{source}")
    WRITE[source](pa.Table.from_pylist(strings), path)
    dropped = ("--dropped", f"gone.{target}")
    command.done("dedup", path.name, "-o", f"out.{target}", *dropped, *SURE)
    assert rows_in(command.path(f"out.{target}")) == [strings[i] for i in KEPT]
    gone = rows_in(command.path(f"gone.{target}"))
    assert decisions(gone) == GONE
    # In CSV the heading has a line, and each row two.
    line_of = [2 * i + 2 if source in ("csv", "tsv") else i + 1 for i in range(N)]
    for row in gone:
        assert (row["file"], row["kept_file"]) == (path.name, path.name)
        assert str(row["exact"]).lower() == "true"
        assert line_of[int(row["key"])] == int(row["line"])
        assert line_of[int(row["kept"])] == int(row["kept_line"])


def test_lines_get_columns_that_hold_all_of_their_values(command: Command) -> None:
    """Also those that only the last line has, and those of several types as text."""
    rows: list[Row] = [
        {"text": "one two three", "n": 1, "mixed": 1, "deep": {"a": 1}, "big": 1},
        {"text": "four five six", "n": 2.5, "mixed": "x", "deep": {"b": ["y"]}, "big": 1 << 80},
        {"text": "seven eight \ud800nine", "mixed": [1], "late": True},
    ]
    command.write("in.jsonl", rows)
    command.done("dedup", "in.jsonl", "-o", "out.parquet")
    assert pq.read_table(command.path("out.parquet")).to_pydict() == {
        "text": ["one two three", "four five six", "seven eight \ufffdnine"],
        "n": [1.0, 2.5, None],
        "mixed": ["1", "x", "[1]"],
        "deep": [{"a": 1, "b": None}, {"a": None, "b": ["y"]}, None],
        "big": ["1", str(1 << 80), None],
        "late": [None, None, True],
    }


# fields


def test_fields_of_both_rows_are_in_the_list_of_dropped_rows(command: Command) -> None:
    rows = [
        {"id": "a", "text": "one and the same text", "lang": "en", "at": {"year": 2024}},
        {"id": "b", "text": "one and the same text", "lang": ["fr", None]},
        {"id": "c", "text": "words that are in the database", "lang": "nl"},
    ]
    command.write("in.jsonl", rows)
    stored = {"key": "s", "text": "words that are in the database", "lang": "de"}
    database_of(command.path("known.db"), [stored]).close()
    against = ("--against", "known.db", "--fields")
    asked = ("dedup", "in.jsonl", "-o", "out.jsonl", *against, "lang,at.year")
    names = ["lang", "at.year", "kept.lang", "kept.at.year"]
    for keep in ("first", "last"):
        command.done(*asked, "--dropped", "gone.jsonl", "--keep", keep)
        gone = rows_in(command.path("gone.jsonl"))
        of_a, of_b = ["en", 2024], [["fr", None], None]
        wanted = [*of_b, *of_a] if keep == "first" else [*of_a, *of_b]
        assert [*gone[0]][-4:] == names
        assert [[row[name] for name in names] for row in gone] == [wanted, ["nl", None, "de", None]]
    command.done(*asked, "--dropped", "gone.csv")
    row = rows_in(command.path("gone.csv"))[0]
    assert [row[name] for name in names] == ['["fr",null]', "", "en", "2024"]
    # A stored document that no file holds does not stay for a file.
    command.write("notes/a", stored["text"])
    result = command("dedup", "notes", *against, "lang")
    assert (result.status, result.out) == (1, "")
    assert "notes/a: left: s does not stay for it: no file of it is there\n" in result.err


# directories


def test_a_directory_becomes_one_with_files_of_the_same_names(command: Command) -> None:
    numbers = {
        "a.parquet": [*range(20)],
        "b.csv": [*range(20, 34)],
        "deep/c.jsonl": [*range(34, N)],
    }
    numbers["empty.parquet"] = []
    command.write("data/deep/README.md", "# Data")
    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    for name, own in numbers.items():
        table = pa.table({"id": own, "text": [TEXTS[i] for i in own]}, schema)
        WRITE[name.partition(".")[2]](table, command.path("data", name))
    command.done("dedup", "data", "-o", "out", *SURE)
    out = command.path("out")
    made = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert made == {*numbers, MANIFEST}
    rows = {name: [int(row["id"]) for row in rows_in(out / name)] for name in numbers}
    assert rows == {name: [i for i in own if i in KEPT] for name, own in numbers.items()}
    assert pq.read_table(out / "empty.parquet").schema == schema
    # All of it, of different kinds, as lines of JSON.
    command.done("dedup", "data", "-o", "all.jsonl", *SURE)
    assert [int(row["id"]) for row in rows_in(command.path("all.jsonl"))] == KEPT
    command.write("other/a.parquet", (out / "a.parquet").read_bytes())
    for arguments, reason in (
        (("data", "-o", "all.parquet"), "data/b.csv are of different kinds"),
        (("data/a.parquet", "other/a.parquet", "-o", "two/"), "would both go to two/a.parquet"),
        (("data", "-o", "data/"), "data/a.parquet is the same file as data/a.parquet"),
    ):
        assert reason in command.fails("dedup", *arguments, status=2)
    assert not command.path("two").exists()


def test_tables_with_other_columns_without_rows_and_without_texts(command: Command) -> None:
    columns = {"a": pa.array([1]), "b": pa.array(["x"]), "c": pa.nulls(1)}
    for name, column in columns.items():
        table = pa.table({"n": column, "id": [1], "text": [f"{name} text"]})
        pq.write_table(table, command.path(f"{name}.parquet"))
    # A column without values takes the type of the others; lines of JSON take all.
    command.done("dedup", "c.parquet", "a.parquet", "-o", "out.parquet")
    assert pq.read_table(command.path("out.parquet"))["n"].to_pylist() == [None, 1]
    command.done("dedup", "a.parquet", "b.parquet", "c.parquet", "-o", "out.jsonl")
    pq.write_table(table.slice(1), command.path("empty.parquet"))
    nothing = "kept 0, dropped 0, failed 0\nskipped: 1 empty\n"
    command.done("dedup", "empty.parquet", "-o", "out.parquet", says=nothing)
    assert pq.read_table(command.path("out.parquet")).equals(table.slice(1))
    assert command.done("dedup", "-", "--format", "csv", stdin="id,text\r\n").out == "id,text\r\n"
    pq.write_table(pa.table({"id": [1, 3], "text": ["a b c", None]}), command.path("in.parquet"))
    result = command("dedup", "in.parquet", "-o", "out.parquet")
    reason = "lshdb: in.parquet:2: field 'text' is null, not a string"
    assert (result.status, result.err.splitlines()[0]) == (1, reason)
    assert pq.read_table(command.path("out.parquet"))["id"].to_pylist() == [1]


# text files


def test_a_directory_of_texts_prints_the_duplicates_and_deletes_nothing(command: Command) -> None:
    names = [f"notes/{i:02} x.txt" if i % 2 else f"notes/{i:02}/x.txt" for i in range(N)]
    for name, text in zip(names, TEXTS, strict=True):
        command.write(name, text)
    command.write("notes/picture", b"\0")
    # A table is none of the texts.
    command.write("notes/table.jsonl", [{"id": name, "text": "one two"} for name in names[:2]])
    expected = {names[i]: names[other] for i, (other, _) in GONE.items()}
    shown = command.done("dedup", "notes", *SURE)
    assert [line.split("\t")[2:] for line in shown.lines] == [list(p) for p in expected.items()]
    assert shown.err == (
        f"kept {len(KEPT)}, dropped {len(GONE)}, failed 0\nskipped: 1 binary, 1 tables\n"
    )
    assert command.done("dedup", "-0", "notes", *SURE).out.split("\0") == [*expected, ""]
    assert len(list(command.path("notes").rglob("*.txt"))) == N
    command.write("a.md", TEXTS[0])
    as_texts = command.done("dedup", "--format", "text", "a.md", names[0])
    assert as_texts.lines == [f"1.000000\tidentical\t{names[0]}\ta.md"]
