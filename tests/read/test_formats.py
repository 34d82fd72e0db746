"""The same documents in every format and compression give the same database."""

from __future__ import annotations

import gzip
import io
import json
import random
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import islice, repeat
from pathlib import Path
from typing import Any

import inspection
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import Command, new_session
from hypothesis import example, given
from hypothesis import strategies as st
from rows import as_csv, as_file, as_zstd

import lshdb
from lshdb import Limits
from lshdb.model import Document, Failure
from lshdb.offers import is_there
from lshdb.read.metadata import to_json
from lshdb.read.paths import escaped

Row = dict[str, Any]

ROWS: list[Row] = [
    {"id": "a", "text": "the fox and the grapes", "lang": "en", "note": 'say "no", twice'},
    {"id": "b", "text": "the FOX, and\nthe grapes", "lang": "en", "note": ""},
    {"id": "c\u00e9", "text": "\u72d0\u72f8\u3068\u8461\u8404", "lang": "ja", "note": "\u00e9\t,"},
    {"id": "d", "text": "", "lang": "", "note": "empty"},
    *(
        {"id": f"n{i}", "text": f"number {i // 2} of\r\nothers, {i % 2}", "lang": "en", "note": "n"}
        for i in range(50)
    ),
]


FORMATS = (
    *("x.jsonl", "x.json", "x.JSON.gz", "x.jsonl.bz2", "x.jsonl.xz", "x.jsonl.zst", "x.csv"),
    *("x.csv.gz", "x.pq", "x.feather", "x.parquet", "x.arrow", "x.arrows"),
    *("x.tsv", "x.TAB") * is_there("tab_quotes"),
)


def test_every_format_gives_the_same_database(tmp_path: Path) -> None:
    found = {}
    failures: list[Failure] = []
    # Blocks end within records, characters and quotes.
    small = Limits(block_bytes=61)
    for name in FORMATS:
        (tmp_path / name).write_bytes(as_file(name, ROWS))
        path = tmp_path / f"{name}.db"
        # Worker processes read blocks of these again; others they would read in the same way.
        workers = None if name in ("x.jsonl", "x.csv") else 0
        with lshdb.open(path, threshold=0.5, limits=small) as db:
            report = db.add_files(
                [str(tmp_path / name)], on_failure=failures.append, workers=workers
            )
            assert (report.added, failures) == (len(ROWS), [])
        found[name] = inspection.contents(path)
        assert found[name] == found["x.jsonl"], name


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv", "x.parquet", "x.arrow", "x.arrows"])
def test_a_row_too_long_is_refused_by_its_number_and_the_others_are_read(
    path: Path, name: str
) -> None:
    is_line = name == "x.jsonl"
    limits = Limits(largest_document=3_000_000 if is_line else 12_000_000)
    rows = [{"id": str(i), "text": f"number {i}", "note": ""} for i in range(1, 5)]
    rows[2]["note"] = "\N{GRINNING FACE}" * 750_000
    source, failures = path.with_name(name), list[Failure]()
    source.write_bytes(as_file(name, rows))
    with lshdb.open(path, limits=limits) as db:
        assert db.add_files([str(source)], on_failure=failures.append).added == 3
        assert db.keys() == ["1", "2", "4"]
    line = 4 if name == "x.csv" else 3
    assert failures == [Failure(f"{source}:{line}", "longer than 3,000,000 bytes, the limit")]


def test_other_names_are_of_texts(tmp_path: Path) -> None:
    (tmp_path / "d.csv").mkdir()
    files: dict[str, Callable[[bytes], bytes]] = {
        "fox.txt.gz": gzip.compress,
        "fox.txt.zst": as_zstd,
    }
    files |= dict.fromkeys(("csv", ".csv", "d.csv/a"), lambda data: data)
    for name, pack in files.items():
        path = tmp_path / name
        path.write_bytes(pack(b"the fox"))
        assert [*new_session(False).read([str(path)])] == [Document(str(path), "the fox")]


@pytest.mark.filterwarnings("ignore::lshdb.ColumnWarning")
def test_what_parquet_has_and_json_has_not(tmp_path: Path) -> None:
    table = pa.table(
        {
            "id": pa.array(["a", None], pa.dictionary(pa.int8(), pa.string())),
            "text": pa.array([b"caf\xc3\xa9", b"caf\xe9"], pa.binary()),
            "when": pa.array([1_600_000_000_123_456_789, None], pa.timestamp("ns", "UTC")),
            "day": pa.array([18_000, 0], pa.date32()),
            "in": pa.array([{"at": 5, "x": [1.5, float("nan")]}, None]).cast(
                pa.struct([("at", pa.duration("ns")), ("x", pa.list_(pa.float64()))]), safe=False
            ),
            "raw": pa.array([b"\xff\x00", b""], pa.binary()),
            "price": pa.array(["12.50", "3.00"]).cast(pa.decimal128(9, 2)),
            "many": pa.array([2**63 - 1, None], pa.int64()),
            "far": pa.array([0, 1 << 60], pa.timestamp("us")),
            "view": pa.array([b"\xff", b""], pa.binary_view()),
            "hour": pa.array([3_600 * 10**9 + 1, None], pa.time64("ns")),
        }
    )
    pq.write_table(table, tmp_path / "x.parquet")
    reader = new_session(False, auto_key=True)
    name = str(tmp_path / "x.parquet")
    one, other = (item for item in reader.read([name]) if isinstance(item, Document))
    assert (one.key, one.content, other.key) == ("a", "caf\u00e9", f"{name}:2")
    assert (other.content, reader.counts.replaced) == ("caf\ufffd", 1)
    assert to_json(one.metadata) == (
        '{"when":"2020-09-13T12:26:40.123456789+00:00","day":"2019-04-14",'
        '"in":{"at":"0.000000005","x":[1.5,null]},"raw":"/wA=","price":"12.50",'
        '"many":9223372036854775807,"far":"1970-01-01T00:00:00",'
        '"view":"/w==","hour":"01:00:00.000000001"}'
    )
    assert to_json(other.metadata) == (
        '{"when":null,"day":"1970-01-01","in":null,"raw":"","price":"3.00","many":null,"far":"38504-08-17T21:30:06.846976",'
        '"view":"","hour":null}'
    )


# what is wrong


def failures_of(path: Path, data: bytes, **options: Any) -> list[str]:
    path.write_bytes(data)
    items = new_session(False, **options).read([str(path)])
    return [
        f"{item.where.removeprefix(str(path))}: {item.reason}"
        for item in items
        if isinstance(item, Failure)
    ]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", [": empty: the first line must name the columns"]),
        (b"\n\n", [": empty: the first line must name the columns"]),
        (
            b"key,text\n1,a\n",
            [
                ": no field 'id': name it with key_field=, or give auto_key=True "
                "(the columns are key, text)"
            ],
        ),
        (
            b"url;body\n1;a\n",
            [
                ": no field 'id': name it with key_field=, or give auto_key=True; "
                "no field 'text': name it with text_field= (the columns are url, body)"
            ],
        ),
        (b"id,text,id\n", [": two columns are named 'id'"]),
        (
            b"id,text\n1,a\n2\n3,c,d\n\n4,e\n",
            [
                ":3: 1 fields, and the heading names 2",
                ":4: 3 fields, and the heading names 2",
            ],
        ),
        (b'id,text\n"1\n2",a\n,b\n', [":4: field 'id' is empty"]),
        (b'id,text\n1,"a" b\n2,c\n', [":2: not CSV: ',' expected after '\"'"]),
        (
            b'id,text\n1,a\n2,"b\nc\n',
            [":3: not CSV: a quote that is not closed; 1 line after it was not read"],
        ),
        (b"id,text\r1,a\r2\r3,c", [":3: 1 fields, and the heading names 2"]),
        (
            b'id,text\r1,"a\n"\r2,b',
            [": line 1: not CSV: new-line character seen in unquoted field"],
        ),
    ],
)
def test_wrong_csv_costs_only_its_lines(tmp_path: Path, data: bytes, expected: list[str]) -> None:
    assert failures_of(tmp_path / "x.csv", data) == expected


def test_a_record_of_csv_may_be_long_but_not_endless(tmp_path: Path) -> None:
    small = Limits(block_bytes=100)
    text = "a\n" * 5_000
    path = tmp_path / "x.csv"
    path.write_bytes(as_csv([{"id": "1", "text": text}, {"id": "2", "text": "b"}]))
    found = [*new_session(False, limits=small).read([str(path)])]
    assert found == [Document("1", text), Document("2", "b")]
    limits = replace(small, largest_document=20_000)
    (failure,) = new_session(False, limits=limits).read([str(path)])
    assert isinstance(failure, Failure)
    why = "line 2: a record longer than 5,000 bytes, the limit; the lines after it were not read"
    assert failure.reason == why
    # A line of a byte too many, and a quote that never closes, cost their rows alone.
    for name, delimiter in [("y.csv", ",")] + [("y.tsv", "\t")] * is_there("tab_quotes"):
        (tmp_path / name).write_bytes(as_csv([ROWS[0]], delimiter) + b"b" * 5_000 + b"\n")
        document, failure = new_session(False, limits=limits).read([str(tmp_path / name)])
        assert isinstance(document, Document)
        assert isinstance(failure, Failure)
        assert failure.reason == "longer than 5,000 bytes, the limit"
    rows = [{"id": str(number), "text": "a" * 100} for number in range(300)]
    path.write_bytes(as_csv(rows).replace(b"0,", b'0,"', 1))
    failure, *others = new_session(False, limits=limits).read([str(path)])
    assert failure == Failure(f"{path}:2", "a record longer than 5,000 bytes, the limit")
    assert others == [Document(row["id"], row["text"]) for row in rows[1:]]


@pytest.mark.parametrize(
    "delimiter", [";", pytest.param("\t", marks=pytest.mark.app("tab_quotes"))]
)
def test_a_heading_without_a_comma_says_what_delimits_fields(
    tmp_path: Path, delimiter: str
) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"\n" + as_csv([{"id": "1", "text": f"a, b{delimiter} c"}], delimiter))
    assert [*new_session(False).read([str(path)])] == [Document("1", f"a, b{delimiter} c")]
    path.write_bytes(b'id,"a;b;c",text\n1,2,t\n')
    assert [*new_session(False).read([str(path)])] == [Document("1", "t", {"a;b;c": "2"})]


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "x.jsonl"])
def test_damaged_files_are_reported_and_the_rest_goes_on(tmp_path: Path, name: str) -> None:
    whole, cut, last = as_file(name, ROWS), tmp_path / f"cut.{name}", tmp_path / "last.jsonl"
    cut.write_bytes(whole[: len(whole) * 2 // 3])
    last.write_bytes(as_file(last.name, [{"id": "last", "text": "t"}]))
    *found, document = new_session(False).read([str(cut), str(last)])
    assert document == Document("last", "t")
    (failure,) = (item for item in found if isinstance(item, Failure))
    assert failure.where.startswith(str(cut))


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow", "x.arrows", "x.csv", "x.jsonl.zst"])
def test_wrong_bytes_give_failures_and_no_error(tmp_path: Path, name: str) -> None:
    """Arrow's readers follow offsets wherever they lead: unchecked, that ends the process."""
    whole, chance = as_file(name, ROWS), random.Random(name)
    path = tmp_path / name
    failures = 0
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 3)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data)
        for item in new_session(False).read([str(path)]):
            failures += isinstance(item, Failure)
            assert isinstance(item, Document | Failure)
            assert not isinstance(item, Failure) or item.reason == escaped(item.reason)
    assert failures


def test_pyarrow_and_zstd_are_asked_for_where_they_are_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("pyarrow", "compression.zstd", "backports.zstd"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "lshdb.read.arrow_rows", raising=False)
    assert failures_of(tmp_path / "x.parquet", b"PAR1") == [
        ": Parquet and Arrow take pyarrow: pip install '.[arrow]' in a clone of lshdb"
    ]
    (message,) = failures_of(tmp_path / "x.jsonl.zst", b"")
    assert message.endswith("pip install '.[zstd]' in a clone of lshdb")


# which files


def test_patterns_and_lists(command: Command) -> None:
    names = ["-", ".hidden.txt", "a1.txt", "b1.txt", "b[1].txt", "new\nline.txt", "sub/c1.txt"]
    for name in names:
        command.write(name, name)
    command.done("add", "-d", "globs.db", "*1.txt", "**/c?.txt", "b[1].txt")
    assert command.keys("globs.db") == ["a1.txt", "b1.txt", "b[1].txt", "sub/c1.txt"]
    nothing = command("add", "-d", "no.db", "*.nosuch")
    assert (nothing.status, nothing.err[:28]) == (1, "lshdb: *.nosuch: no such fil")
    command.done("add", "--files-from", "-", "-0", stdin="\0".join(names))
    assert len(command.keys()) == len(names)
    command.write("list", "b1.txt\n\nb[1].txt\n")
    command.done("add", "-d", "list.db", "a1.txt", "--files-from", "list")
    assert command.keys("list.db") == ["a1.txt", "b1.txt", "b[1].txt"]
    for wrong in ("--null a", "--files-from - -", "--no-metadata --metadata-fields a b"):
        assert command("add", *wrong.split()).status == 2


def test_tables_on_standard_input(command: Command) -> None:
    command.done("add", "--format", "csv", "-", stdin=as_csv(ROWS))
    command.done("add", "--format", "arrow", "-", stdin=as_file("x.arrows", ROWS))
    assert len(command.keys()) == len(ROWS)
    message = command("add", "--format", "parquet", "-", stdin=as_file("x.parquet", ROWS))
    assert "-: Parquet is read from its end" in message.err
    assert message.status == 1


# a JSON array: its elements are rows, read as a stream


def read_array(data: bytes, chunk: int = 1 << 20) -> list[Document | Failure]:
    class Pipe(io.BytesIO):
        def read1(self, _: int | None = -1) -> bytes:
            return super().read1(chunk)

    limits = Limits(largest_document=200_000)
    return list(new_session(False, format="json", stdin=Pipe(data), limits=limits).read(["-"]))


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@given(
    st.lists(VALUES, max_size=6),
    st.integers(1, 40),
    st.sampled_from([None, 2]),
    st.booleans(),
)
@example([12, 3.5, True, "\\"], 1, None, True)
def test_elements_are_the_same_however_the_array_comes(
    values: list[Any], chunk: int, indent: int | None, ascii: bool
) -> None:
    rows = [{"id": i, "text": "t", "x": value} for i, value in enumerate(values)]
    data = json.dumps(rows, indent=indent, ensure_ascii=ascii).encode()
    expected = [Document(str(i), "t", {"x": value}) for i, value in enumerate(values)]
    assert read_array(data, chunk) == expected


ELEMENT = '{"id": 1, "text": "t"}'
OTHER = "not an array of objects: format jsonl reads lines of JSON, format text all as one text"


@pytest.mark.parametrize("chunk", [1, 5, 1 << 20])
@pytest.mark.parametrize(
    ("text", "documents", "reason"),
    [
        ("[]", 0, None),
        (f"\ufeff [ {ELEMENT} ,\n{ELEMENT}\n]\n", 2, None),
        ("", 0, ": " + OTHER),
        (ELEMENT, 0, ": " + OTHER),
        (f"{ELEMENT}\n{ELEMENT}\n", 0, ": " + OTHER),
        ('"text"', 0, ": " + OTHER),
        (f"[{ELEMENT}, 12, {ELEMENT}]", 2, ":2: not a JSON object but a number"),
        (f"[{ELEMENT}", 1, ": cut off behind element 1"),
        (f"[{ELEMENT},", 1, ": cut off behind element 2"),
        (f'[{ELEMENT}, {{"id": "cut', 1, ":2: not JSON: "),
        (f'[{ELEMENT}, {{"id": "1\n", "text": ""}}, {ELEMENT}]', 2, ":2: not JSON: "),
        (f"[{ELEMENT},]", 1, ": element 2: not JSON: expecting value"),
        (f"[,{ELEMENT}]", 0, ": element 1: not JSON: expecting value"),
        (f"[{ELEMENT} {ELEMENT}, {ELEMENT}]", 1, ":1: not JSON: "),
        (f"[{ELEMENT}, {{1: 2}}, {ELEMENT}]", 2, ":2: not JSON: "),
        (f"[{ELEMENT}}}", 1, ": behind element 1: not JSON: expecting nothing more"),
        (f"[{ELEMENT}] x", 1, ": behind element 1: not JSON: expecting nothing more"),
        ("[" * 100_000, 0, ":1: not JSON: "),
        (
            f'[{ELEMENT}, {{"id": "{"x" * 260_000}"}}, {ELEMENT}]',
            2,
            ":2: longer than 200,000 bytes, the",
        ),
    ],
    ids=range(19),
)
def test_what_is_wrong_is_named_and_what_stands_before_it_read(
    text: str, documents: int, reason: str | None, chunk: int
) -> None:
    found = read_array(text.encode(), chunk if len(text) < 1_000 else 1 << 20)
    failures = [one for one in found if isinstance(one, Failure)]
    assert len(found) - len(failures) == documents
    assert [reason is None or reason in f"{one.where}: {one.reason}" for one in failures] == (
        [True] if reason else []
    )


def endless() -> Iterator[bytes]:
    """A hundred elements of 100 KB, then one without an end, which is refused, for ever."""
    yield b"["
    for i in range(100):
        yield b'{"id": %d, "text": "%s"},' % (i, b"word " * 20_000)
    yield b'{"id": 2, "text": "'
    yield from repeat(b" " * (1 << 20))


def test_an_array_without_end_is_read_piece_by_piece() -> None:
    class Pipe(io.BytesIO):
        pieces = endless()

        def read1(self, _: int | None = -1) -> bytes:
            return next(self.pieces)

    limits = Limits(largest_document=1_000_000)
    items = new_session(False, format="json", stdin=Pipe(), limits=limits).read(["-"])
    tracemalloc.start()
    try:
        kinds = [type(item) for item in islice(items, 101)]
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()
    assert kinds == [Document] * 100 + [Failure]


# Parquet: rows in blocks, whatever their lengths, and what is damaged


@cache
def long_texts(count: int, words: int = 150) -> list[str]:
    chance = random.Random(count)
    return [" ".join(f"word{chance.randrange(400)}" for _ in range(words)) for _ in range(count)]


def write_parquet(path: Path, contents: list[str], rows: int, **options: Any) -> Path:
    table = pa.table(
        {
            "id": [f"k{i}" for i in range(len(contents))],
            "other": [[i] for i in range(len(contents))],
            "text": contents,
        }
    )
    pq.write_table(table, path, row_group_size=rows, **options)
    return path


def added(path: Path, source: Path, workers: int) -> tuple[Any, list[Failure]]:
    failures: list[Failure] = []
    limits = lshdb.Limits(batch_bytes=16_000_000)  # so that few rows are several batches
    with lshdb.open(path, limits=limits) as db:
        db.add_files([str(source)], on_failure=failures.append, workers=workers)
    return inspection.contents(path), failures


def test_rows_are_the_same_wherever_they_are_signed(tmp_path: Path) -> None:
    found = []
    for rows, workers in ((280, 2), (4_000, 0), (4_000, 2)):
        source = write_parquet(tmp_path / "x.parquet", long_texts(2_400), rows)
        found.append(added(tmp_path / f"{rows} {workers}.db", source, workers))
    assert found[0] == found[1] == found[2]
    assert [row[1] for row in found[0][0]["documents"]] == [f"k{i}" for i in range(2_400)]
    assert not found[0][1]


def test_rows_behind_damage_are_left_out(tmp_path: Path) -> None:
    source = write_parquet(tmp_path / "x.parquet", long_texts(2_400), 400, use_dictionary=False)
    place = pq.ParquetFile(source).metadata.row_group(3).column(2).data_page_offset
    data = bytearray(source.read_bytes())
    data[place : place + 5_000] = b"\xff" * 5_000
    source.write_bytes(data)
    got, (failure,) = added(tmp_path / "x.db", source, 1)
    assert len(got["documents"]) == 1_200
    assert f"{failure.where} {failure.reason}".startswith(f"{source} not Parquet, or damaged: ")


def test_fewer_rows_than_a_file_says_are_a_failure_behind_them(tmp_path: Path) -> None:
    source = write_parquet(tmp_path / "x.parquet", long_texts(200), 200)
    data = bytearray(source.read_bytes())
    # The number of rows comes before those of columns: a field of Thrift, in zigzag.
    place = data.index(b"\x16\x90\x03", len(data) - 8 - int.from_bytes(data[-8:-4], "little"))
    data[place + 1] += 2
    source.write_bytes(data)
    source.with_suffix(".parquet.gz").write_bytes(gzip.compress(data))
    *rows, damaged, packed = new_session(False).read([str(source), f"{source}.gz"])
    assert len(rows) == 200
    assert (damaged, packed) == (
        Failure(str(source), "it has 200 rows, and says that it has 201"),
        Failure(f"{source}.gz", "a compressed parquet file: unpack it first"),
    )


def test_a_file_on_standard_input(tmp_path: Path) -> None:
    contents = long_texts(3_000)
    data = write_parquet(tmp_path / "x.parquet", contents, 1_200).read_bytes()
    with (tmp_path / "x.parquet").open("rb") as opened:
        for file in (opened, io.BytesIO(data)):
            found = new_session(False, format="parquet", stdin=file).read(["-"])
            assert [getattr(item, "content", None) for item in found] == contents
            assert not file.closed


FERRY = "the ferry to the islands runs every hour from the pier"
LINES = b"".join(b'{"id": %d, "text": "%d %s"}\n' % (i, i, FERRY.encode()) for i in range(3_000))


@pytest.mark.app("dedup")
def test_texts_that_are_named_are_texts(command: Command) -> None:
    for name in ("a", "b"):
        command.write(f"{name}.txt", FERRY)
    done = command.done("dedup", "a.txt", "b.txt")
    assert done.out == "1.000000\tidentical\tb.txt\ta.txt\n"

    said = command.fails("dedup", "a.txt", "b.txt", "-o", "out.jsonl")
    assert "a.txt: a text, and no rows of JSON: --format text compares texts" in said
    assert not command.path("out.jsonl").exists()
    with pytest.raises(lshdb.InputError, match="a text, and no rows of JSON"):
        lshdb.dedup(str(command.path("a.txt")))


@pytest.mark.app("dedup")
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_rows_that_are_named_as_texts_are_rows(command: Command, encoding: str) -> None:
    command.write("rows.txt", f"\n{LINES[:1000].decode().rpartition('{')[0]}".encode(encoding))
    done = command.done("dedup", "rows.txt")
    assert json.loads(done.lines[0]) == {"id": 0, "text": f"0 {FERRY}"}
