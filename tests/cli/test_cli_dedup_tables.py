"""The command dedup on tables of every format, directories of them, and text files."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
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
from direct_command import DirectCommand
from direct_command import command as command
from helpers import Command, database_of, text_families
from oracles import deduplicated, in_order, word_shingles

Row = dict[str, Any]
SURE = ("--recall", "0.9999")
TEXTS = [*text_families(seed=8, families=12, copies=3, words=40, most_edits=7).values()]


def decided(
    texts: list[str], keep: str = "first"
) -> tuple[list[int], dict[int, tuple[int, float]]]:
    """The oracle: the numbers of the kept texts; of each other, the kept one and the similarity."""
    sets = {number: {*word_shingles(text, 3)} for number, text in enumerate(texts)}
    found = deduplicated(sets, in_order(texts, keep), 0.8)
    return [i for i in sets if not found[i]], {i: one for i in sets if (one := found[i])}


KEPT, GONE = decided(TEXTS)
N = len(TEXTS)


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


WRITE: dict[str, Callable[[pa.Table, Path], None]] = {
    "parquet": lambda table, path: pq.write_table(
        table, path, compression={"text": "gzip", "id": "none"}, row_group_size=7
    ),
    "feather": lambda table, path: pyarrow.feather.write_feather(table, path),
    "arrows": write_stream,
}
DIALECTS = {"csv": "excel", "tsv": "excel-tab"}
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
    elif kind in ("csv", "tsv"):
        text = path.read_bytes().decode("utf-8-sig")
        rows = [*csv.DictReader(io.StringIO(text, newline=""), dialect=DIALECTS[kind])]
    elif kind == "json":
        rows = json.loads(path.read_bytes())
    else:
        data = path.read_bytes()
        data = gzip.decompress(data) if kind == "gz" else data
        rows = [json.loads(line) for line in data.splitlines()]
    return rows


@pytest.mark.parametrize("kind", WRITE)
def test_all_columns_come_through_with_types_order_nulls_and_metadata(
    tmp_path: Path, kind: str
) -> None:
    # One is started as the installed command is: this process has pyarrow loaded.
    command = DirectCommand(tmp_path, {"PYTHONHASHSEED": "1"} if kind == "parquet" else None)
    table, name = whole_table(), f"in.{kind}"
    WRITE[kind](table, command.path(name))
    out = command.path(f"out.{kind}")
    command.done("dedup", name, "-o", out, *SURE, "--dropped", "gone.jsonl")
    found = READ[kind](out)
    assert found.schema.equals(READ[kind](command.path(name)).schema, check_metadata=True)
    assert found.equals(table.take(KEPT))
    assert found.schema.metadata == table.schema.metadata
    gone = rows_in(command.path("gone.jsonl"))
    assert decisions(gone) == GONE
    assert [one["line"] for one in gone] == [number + 1 for number in GONE]
    assert 10 < len(GONE) < N - 10


def compressions(path: Path) -> list[str]:
    group = pq.ParquetFile(path).metadata.row_group(0)
    return [group.column(place).compression for place in range(group.num_columns)]


def test_parquet_keeps_its_compression(command: Command) -> None:
    path, out = command.path("in.parquet"), command.path("out.parquet")
    for compression in ("none", "zstd"):
        pq.write_table(whole_table(), path, compression=compression)
        command.done("dedup", path, "-o", out)
        assert compressions(out) == compressions(path)


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
    command.write("b.tsv", b"id\ttext\n3\tONE two three\n4\tseven eight nine\n")
    out = command.done("dedup", "a.tsv", "b.tsv").out
    assert (
        out.encode() == b"id\ttext\r\n1\tone two three\r\n2\tfour five six\r\n4\tseven eight nine\n"
    )
    from_stdin = command.done(
        "dedup", "-", "--format", "tsv", stdin="id\ttext\n1\ta b c\n2\ta b c\n"
    )
    assert from_stdin.out == "id\ttext\n1\ta b c\n"
    # Semicolons stay in CSV; beside a file with commas the first one's delimiter is kept.
    command.write("s.csv", "id;text\n1;one, two\n2;one, two\n")
    command.write("c.csv", 'id,text\n3,"three; four"\n')
    command.done("dedup", "s.csv", "c.csv", "-o", "out.csv", *SURE)
    assert command.path("out.csv").read_text() == 'id;text\n1;one, two\n3;"three; four"\n'
    command.done("dedup", "s.csv", "-o", "out.tsv", *SURE)
    assert command.path("out.tsv").read_text() == "id\ttext\n1\tone, two\n"


@pytest.mark.parametrize(
    ("source", "target"),
    [
        *((source, "jsonl") for source in ("parquet", "arrows", "csv", "tsv", "jsonl", "json")),
        *(("json", target) for target in ("parquet", "arrow", "arrows", "csv", "tsv", "json")),
        *(("parquet", "csv"), ("csv", "parquet"), ("jsonl", "arrow")),
    ],
)
def test_any_format_goes_into_any_other(command: Command, source: str, target: str) -> None:
    """So does the list of dropped rows."""
    strings = [{"id": f"{i}", "text": text, "more": 'x"\u00e9,\n'} for i, text in enumerate(TEXTS)]
    path = command.path(f"in.{source}")
    if source in WRITE:
        WRITE[source](pa.Table.from_pylist(strings), path)
    elif source in ("csv", "tsv"):
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, [*strings[0]], dialect=DIALECTS[source])
            writer.writeheader()
            writer.writerows(strings)
    elif source == "json":
        path.write_text(json.dumps(strings, indent=2))
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in strings))
    dropped = ("--dropped", f"gone.{target}")
    command.done("dedup", path.name, "-o", f"out.{target}", *dropped, *SURE)
    assert rows_in(command.path(f"out.{target}")) == [strings[i] for i in KEPT]
    found = rows_in(command.path(f"gone.{target}"))
    assert decisions(found) == GONE
    assert {(one["file"], str(one["exact"]).lower()) for one in found} == {(path.name, "true")}
    assert {one["kept_file"] for one in found} == {path.name}
    # In CSV the heading has a line, and each row two.
    line_of = {i: 2 * i + 2 if source in ("csv", "tsv") else i + 1 for i in range(N)}
    for one in found:
        assert line_of[int(one["key"])] == int(one["line"])
        assert line_of[int(one["kept"])] == int(one["kept_line"])


def decisions(found: list[Row]) -> dict[int, tuple[int, float]]:
    """A list of dropped rows, as the oracle has it."""
    return {int(one["key"]): (int(one["kept"]), float(one["similarity"])) for one in found}


def test_values_that_a_format_has_not_are_as_in_metadata(command: Command) -> None:
    pq.write_table(whole_table(), command.path("in.parquet"))
    for name in ("out.jsonl", "out.csv"):
        command.done("dedup", "in.parquet", "-o", name, *SURE)
    row, cells = next(
        both
        for both in zip(*map(rows_in, command.directory.glob("out.*")), strict=True)
        if both[0]["meta"] and both[0]["tags"]
    )
    if isinstance(row["id"], str):
        row, cells = cells, row
    number = row["id"]
    assert (row["tags"], row["nothing"]) == (["x", None, str(number)], None)
    assert row["meta"] == {"lang": "en", "score": number / 7}
    assert row["when"] == cells["when"] == "2024-02-29T12:00:00+00:00"
    assert [json.loads(cells[name]) for name in ("tags", "meta")] == [row["tags"], row["meta"]]
    assert (cells["nothing"], cells["blob"]) == ("", row["blob"])


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
    command.done("dedup", "in.jsonl", "-o", "out.csv")
    assert [one["late"] for one in rows_in(command.path("out.csv"))] == ["", "", "true"]


@pytest.mark.parametrize(("keep", "kind"), [("longest", "jsonl"), ("last", "parquet")])
def test_the_longest_or_the_last_of_similar_rows_is_kept(
    command: Command, keep: str, kind: str
) -> None:
    """As if the rows came in that order; they go out in their own."""
    name = f"in.{kind}"
    if kind == "parquet":
        pq.write_table(whole_table(), command.path(name), row_group_size=11)
    else:
        lines = [json.dumps({"id": i, "text": text}) for i, text in enumerate(TEXTS)]
        command.write(name, "\n\n".join(["{", *lines]))
    more = ("--dropped", "gone.csv", "--keep", keep, *SURE)
    result = command("dedup", name, "-o", f"out.{kind}", *more)
    kept, gone = decided(TEXTS, keep)
    assert (result.status, kept != KEPT) == (int(kind == "jsonl"), True)
    assert [row["id"] for row in rows_in(command.path(f"out.{kind}"))] == kept
    found = rows_in(command.path("gone.csv"))
    assert decisions(found) == gone
    places = [2 * i + 3 if kind == "jsonl" else i + 1 for i in gone]
    assert [int(one["line"]) for one in found] == places
    assert len([*command.directory.iterdir()]) == 3


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
    asked = ("in.jsonl", "-o", "out.jsonl", "--against", "known.db", "--fields", "lang,at.year")
    names = ["lang", "at.year", "kept.lang", "kept.at.year"]
    for keep in ("first", "last"):
        command.done("dedup", *asked, "--dropped", "gone.jsonl", "--keep", keep)
        gone = rows_in(command.path("gone.jsonl"))
        assert [*gone[0]][-4:] == names
        of_a, of_b = ["en", 2024], [["fr", None], None]
        wanted = [*of_b, *of_a] if keep == "first" else [*of_a, *of_b]
        assert [[row[name] for name in names] for row in gone] == [wanted, ["nl", None, "de", None]]
    command.done("dedup", *asked, "--dropped", "gone.csv")
    row = rows_in(command.path("gone.csv"))[0]
    assert [row[name] for name in names] == ['["fr",null]', "", "en", "2024"]


def test_fields_of_stored_documents_are_printed_beside_files(command: Command) -> None:
    database_of(
        command.path("known.db"),
        [{"key": "s", "text": "words that are in the database", "lang": "de"}],
    ).close()
    command.write("notes/a", "words that are in the database")
    asked = ("dedup", "notes", "--against", "known.db", "--fields", "lang")
    assert command.done(*asked).lines == ["1.000000\tidentical\tnotes/a\ts\t\tde"]
    (row,) = command.done(*asked, "--json").records
    assert (row["key"], row["lang"], row["kept.lang"]) == ("notes/a", None, "de")


# directories


def shards(directory: Path) -> dict[str, list[int]]:
    """Tables of several formats, with the numbers of the texts in each."""
    names = {
        "a.parquet": range(20),
        "b.csv": range(20, 34),
        "deep/c.jsonl.gz": range(34, N),
        "empty.parquet": range(0),
    }
    data = directory / "data"
    (data / "deep").mkdir(parents=True)
    for name, numbers in names.items():
        frame = pl.DataFrame(
            {"id": [*numbers], "text": [TEXTS[i] for i in numbers]},
            {"id": pl.Int64, "text": pl.String},
        )
        if name.endswith(".parquet"):
            frame.write_parquet(data / name)
        elif name.endswith(".csv"):
            frame.write_csv(data / name)
        else:
            (data / name).write_bytes(gzip.compress(frame.write_ndjson().encode()))
    (data / "README.md").write_text("# Data")
    return {name: [*numbers] for name, numbers in names.items()}


def test_a_directory_becomes_one_with_files_of_the_same_names(command: Command) -> None:
    numbers = shards(command.directory)
    command.done("dedup", "data", "-o", "out", *SURE)
    out = command.path("out")
    assert {
        str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()
    } == numbers.keys()
    found = {name: [int(row["id"]) for row in rows_in(out / name)] for name in numbers}
    in_order = [i for name in sorted(numbers) for i in numbers[name]]
    kept, _ = decided([TEXTS[i] for i in in_order])
    all_kept = {in_order[i] for i in kept}
    assert found == {name: [i for i in own if i in all_kept] for name, own in numbers.items()}
    assert pl.read_parquet(out / "empty.parquet").schema == {"id": pl.Int64, "text": pl.String}
    # All of it, of different kinds, as lines of JSON.
    command.done("dedup", "data", "-o", "all.jsonl", *SURE)
    rows = rows_in(command.path("all.jsonl"))
    assert [int(row["id"]) for row in rows] == [in_order[i] for i in kept]
    reason = command.fails("dedup", "data", "-o", "all.parquet", status=2)
    assert "data/b.csv are of different kinds" in reason
    command.write("other/a.parquet", (out / "a.parquet").read_bytes())
    reason = command.fails("dedup", "data/a.parquet", "other/a.parquet", "-o", "two/", status=2)
    assert reason == "data/a.parquet and other/a.parquet would both go to two/a.parquet"
    assert "data/a.parquet is the same file as data/a.parquet" in command.fails(
        "dedup", "data", "-o", "data/", status=2
    )
    assert not command.path("two").exists()


def test_tables_with_other_columns_or_types(command: Command) -> None:
    columns: dict[str, Row] = {"a": {"n": [1]}, "b": {"n": ["x"]}, "c": {"m": [1]}}
    for name, column in columns.items():
        table = pa.table({"id": [1], "text": ["a b c"], **column})
        pq.write_table(table, command.path(f"{name}.parquet"))
    # A column without values takes the type of the others.
    pq.write_table(
        pa.table({"n": pa.nulls(1), "id": [2], "text": ["d e f"]}), command.path("d.parquet")
    )
    command.done("dedup", "d.parquet", "a.parquet", "-o", "out.parquet")
    assert pq.read_table(command.path("out.parquet")).to_pydict() == {
        "n": [None, 1],
        "id": [2, 1],
        "text": ["d e f", "a b c"],
    }
    command.done("dedup", "a.parquet", "b.parquet", "c.parquet", "-o", "out.jsonl")


def test_empty_tables_and_rows_without_a_key_or_a_text(command: Command) -> None:
    schema = pa.schema([("id", pa.int64()), ("text", pa.string()), ("n", pa.float32())])
    pq.write_table(schema.empty_table(), command.path("empty.parquet"))
    command.write("empty.csv", "id,text\r\n")
    command.write("empty.jsonl", "")
    for kind in ("parquet", "csv", "jsonl"):
        command.done(
            "dedup", f"empty.{kind}", "-o", f"out.{kind}", says="kept 0, dropped 0, failed 0\n"
        )
    assert pq.read_table(command.path("out.parquet")).schema == schema
    assert command.path("out.csv").read_bytes() == b"id,text\r\n"
    rows = {"id": [1, None, 3], "text": ["a b c", "d e f", None]}
    pq.write_table(pa.table(rows), command.path("in.parquet"))
    result = command("dedup", "in.parquet", "-o", "out.parquet")
    assert (result.status, result.err.splitlines()) == (
        1,
        ["lshdb: in.parquet:3: field 'text' is null, not a string", "kept 2, dropped 0, failed 1"],
    )
    assert pq.read_table(command.path("out.parquet"))["id"].to_pylist() == [1, None]


def test_a_failed_run_with_a_database_leaves_nothing_of_it(command: Command) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    pq.write_table(whole_table(), command.path("in.parquet"))
    result = command(
        "dedup", "in.parquet", "-d", "seen.db", "-o", "out.parquet", "--dropped", "/dev/full"
    )
    assert result.status == 1
    assert "no space left" in result.err
    assert {path.name for path in command.directory.iterdir()} == {"in.parquet"}
    command.done("dedup", "in.parquet", "-d", "seen.db", "-o", "out.parquet")
    ids = pq.read_table(command.path("out.parquet"))["id"].to_pylist()
    assert sorted(map(str, ids)) == command.keys("seen.db")


# text files


def test_a_directory_of_texts_prints_the_duplicates_and_deletes_nothing(command: Command) -> None:
    notes = command.path("notes")
    (notes / "deep").mkdir(parents=True)
    names = [f"notes/{'deep/' if i % 2 else ''}{i:02d} x.txt" for i in range(N)]
    for name, text in zip(names, TEXTS, strict=True):
        command.write(name, text)
    (notes / "picture").write_bytes(b"\0")
    # A table is none of the texts.
    rows = [{"id": name, "text": "one two three four"} for name in names[:2]]
    lines = [json.dumps(row) for row in rows]
    (notes / "deep" / "table.jsonl").write_text("\n".join(lines))
    order = sorted(range(N), key=lambda i: names[i])
    kept, gone = decided([TEXTS[i] for i in order])
    expected = {names[order[i]]: names[order[other]] for i, (other, _) in gone.items()}
    shown = command.done("dedup", "notes", *SURE)
    assert [line.split("\t")[2:] for line in shown.lines] == [
        list(pair) for pair in expected.items()
    ]
    assert (
        shown.err
        == f"kept {len(kept)}, dropped {len(gone)}, failed 0\nskipped: 1 binary, 1 tables\n"
    )
    listed = command.done("dedup", "-0", "notes", *SURE).out
    assert listed.split("\0") == [*expected, ""]
    assert len(list(notes.rglob("*.txt"))) == N
    command.write("a.md", TEXTS[0])
    one_by_one = command.done("dedup", "--format", "text", "a.md", names[0])
    assert one_by_one.lines == [f"1.000000\tidentical\t{names[0]}\ta.md"]
