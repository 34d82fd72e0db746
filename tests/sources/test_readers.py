"""Readers: what becomes a document, what a failure, what is passed over, and how it is counted."""

from __future__ import annotations

import io
import json
import os
import socket
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

import pytest
from helpers import in_any_version, new_session
from hypothesis import example, given
from hypothesis import strategies as st

import lshdb
from lshdb import Limits
from lshdb.errors import InputError
from lshdb.model import Document, Failure
from lshdb.options import Format
from lshdb.shingling.shingling import Content
from lshdb.sources.counts import SkippedFiles
from lshdb.sources.paths import escaped
from lshdb.sources.session import Session

BOM = b"\xef\xbb\xbf"
NOT_JSON = "not JSON: ... at character 1"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(*paths: str, reader: Session | None = None) -> list[Document | Failure]:
    found = list((reader or new_session(of_sets=False)).read(paths))
    return [
        replace(one, reason=in_any_version(one.reason)) if isinstance(one, Failure) else one
        for one in found
    ]


def from_stdin(data: bytes, reader: Session) -> list[Document | Failure]:
    return read("-", reader=reader.like(stdin=io.BytesIO(data)))


def texts(data: bytes) -> list[Document | Failure]:
    return from_stdin(data, new_session(of_sets=False))


# files and directories


def test_a_text_file_is_a_document_and_its_key_is_the_path_from_here(root: Path) -> None:
    (root / "a.txt").write_bytes(b"text\r\n")
    for path in ("a.txt", "./a.txt", str(root / "a.txt")):
        assert read(path) == [Document("a.txt", "text\r\n")]


def test_what_is_passed_over_in_directories_is_counted_and_read_when_named(root: Path) -> None:
    (root / "d" / ".git").mkdir(parents=True)
    (root / "d" / ".git" / "config").write_text("hidden")
    (root / "d" / ".hidden").write_text("hidden")
    (root / "d" / "binary").write_bytes(b"a" * 8191 + b"\0")
    (root / "d" / "late").write_bytes(b"a" * 8192 + b"\0")
    (root / "d" / "file").write_text("file")
    (root / "d" / "link").symlink_to("file")
    (root / "d" / "loop").symlink_to(".")
    os.mkfifo(root / "d" / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("d/socket")
        reader = new_session(of_sets=False)
        found = read("d", reader=reader)
        assert [type(item) for item in found] == [Document, Document]
        assert reader.counts.skipped == SkippedFiles(hidden=2, binary=1, links=2, special=2)
        named = read("d/.hidden", "d/link", "d/binary", "d/socket")
    assert named[:3] == [
        Document("d/.hidden", "hidden"),
        Document("d/link", "file"),
        Failure("d/binary", "a binary file (it has NUL bytes)"),
    ]
    assert isinstance(named[3], Failure)


def test_the_files_beside_an_open_database_are_passed_over(root: Path) -> None:
    with closing(sqlite3.connect("lsh.db")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (a)")
        assert (root / "lsh.db-wal").stat().st_size
        (root / "lsh.db-journal").touch()
        (root / "notes").write_text("no database")
        (root / "notes-journal").write_text("a text")
        (root / "lone-wal").write_text("a text")
        reader = new_session(of_sets=False)
        keys = [item.key for item in read(".", reader=reader) if isinstance(item, Document)]
    assert keys == ["lone-wal", "notes", "notes-journal"]
    assert reader.counts.skipped == SkippedFiles(binary=4)


def test_a_tree_deeper_than_the_stack_is_walked(root: Path) -> None:
    depth = 1_500
    try:
        for _ in range(depth):
            os.mkdir("d")
            os.chdir("d")
        Path("deep.txt").write_text("deep")
        os.chdir(root)
        (found,) = read("d")
        assert found == Document("d/" * depth + "deep.txt", "deep")
    finally:
        # Nor could pytest remove it: shutil.rmtree goes down by calling itself.
        os.chdir(root)
        subprocess.run(["rm", "-r", "d"], check=True)


def test_a_directory_that_goes_away_costs_only_itself(root: Path) -> None:
    for name in ("d/a/1", "d/b/1"):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text("text")
    stream = new_session(of_sets=False).read(["d"])
    assert next(stream) == Document("d/a/1", "text")
    (root / "d/b/1").unlink()
    (root / "d/b").rmdir()
    assert list(stream) == [Failure("d/b", "no such file or directory")]


def test_a_pipe_named_as_a_file_is_read(root: Path) -> None:
    """As `lshdb add <(program)` does it."""
    ours, theirs = os.pipe()
    os.write(theirs, b"from a pipe")
    os.close(theirs)
    path = f"/dev/fd/{ours}"
    assert read(path) == [Document(path, "from a pipe")]
    os.close(ours)
    assert not list(root.iterdir())


@pytest.mark.parametrize(
    ("name", "format", "of_lines"),
    [
        ("x.jsonl", "auto", True),
        ("x.NDJSON", "auto", True),
        ("x.json", "text", False),
        ("x.jsonl", "text", False),
        ("x.txt", "jsonl", True),
    ],
)
def test_format_goes_by_the_suffix_unless_it_is_given(
    root: Path, name: str, format: Format, of_lines: bool
) -> None:
    line = '{"id": "k", "text": "t"}'
    (root / name).write_text(line)
    expected = Document("k", "t") if of_lines else Document(name, line)
    assert read(name, reader=new_session(of_sets=False, format=format)) == [expected]


# standard input


@pytest.mark.parametrize("start", [b"", BOM, b"\n", b" \r\n\t\n", BOM + b"\n", BOM + b" "])
def test_standard_input_is_json_lines_if_its_first_character_says_so(start: bytes) -> None:
    blank = start.count(b"\n")
    assert texts(start + b'{"id": 1, "text": "t"}\nx') == [
        Document("1", "t"),
        Failure(f"-:{blank + 2}", NOT_JSON),
    ]
    assert texts(start) == []
    assert texts(start + b"a text") == [
        Failure("-", "not JSON lines, and a text needs a key: give stdin_key=")
    ]
    with_key = new_session(of_sets=False, stdin_key="k")
    text = (start.removeprefix(BOM) + b'{"id": 1}').decode()
    assert from_stdin(start + b'{"id": 1}', with_key) == [Document("k", text)]
    as_lines, as_text = (new_session(of_sets=False, format=name) for name in ("jsonl", "text"))
    assert from_stdin(b"text", as_lines) == [Failure("-:1", NOT_JSON)]
    reason = "a text on standard input needs a key: give stdin_key="
    assert from_stdin(start + b"{}", as_text) == [Failure("-", reason)]
    assert read("-") == [Failure("-", "standard input is closed")]


# JSON lines


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b'{"text": "a", "id": 12345678901234567890}\r', Document("12345678901234567890", "a")),
        (BOM + b'{"id": "\\u00e9\\ud83d\\ude00", "text": "\\u0000\\""} ', Document("é😀", '\0"')),
        (b'{"id": -0, "text": "first", "text": "last"}', Document("0", "last")),
        (
            b'{"id": 1, "text": "t", "x": [1e20, 18446744073709551616, {"y": -1%s}]}' % (b"0" * 20),
            Document("1", "t", {"x": [1e20, 1 << 64, {"y": -(10**20)}]}),
        ),
        (
            b'{"id": 1e20, "text": "t"}',
            "field 'id' is 1e+20, a float that may be rounded: write it as an integer or a string",
        ),
        (b'{"id": 1, "text": "a", "x": {"y": 1, "y": 2}}', Document("1", "a", {"x": {"y": 2}})),
        (b'{"id": 1, "text": "a", "x": NaN}', "not JSON: ... at character 29"),
        (b'{"id": 1, "text": "a", "x": [Infinity]}', "not JSON: ... at character 30"),
        (b'{"id": 1, "text": "a", "x": 1e400}', "not JSON: ... at character 29"),
        (b'{"id": -0, "text": "a"}{"id": 2}', "not JSON: ... at character 24"),
        (b'{"id": 1, "text": "cut', "not JSON: ... at character 23"),
        (b'{"id": 1, "text": "\\ud8", "x": "2"}', "not JSON: ... at character 20"),
        (b"[" * 201 + b"]" * 201, "not JSON: nested deeper than 200 levels"),
        (b"[1]", "not a JSON object but an array"),
    ],
    ids=range(14),
)
def test_lines_that_other_programs_write(line: bytes, found: Document | str) -> None:
    expected = Failure("-:1", found) if isinstance(found, str) else found
    (item,) = from_stdin(line, new_session(of_sets=False, format="jsonl"))
    assert repr(item) == repr(expected)


@pytest.mark.parametrize("block", [1, 7, 40, 41, 64, 1 << 20])
def test_a_line_too_long_costs_one_line(block: int) -> None:
    limits = Limits(largest_document=39, block_bytes=block)
    lines = [
        b'{"id": 1, "text": "just fits ........"}\n',
        b'{"id": 2, "text": "a character too long"}\n',
        b'{"id": 3, "text": "' + b"x" * 100 + b'"}\n',
        b'{"id": 4, "text": "good"}\n',
        b'{"id": 5, "text": "\\u00e9"}\n',
        b'{"id": 6, "text": "' + b"x" * 100,
    ]
    assert len(lines[0]) == 40
    reader = new_session(of_sets=False, limits=limits)
    reason = "longer than 39 bytes, the limit"
    assert from_stdin(b"".join(lines), reader) == [
        Document("1", "just fits ........"),
        Failure("-:2", reason),
        Failure("-:3", reason),
        Document("4", "good"),
        Failure("-:5", "longer than 15 bytes, the limit"),
        Failure("-:6", reason),
    ]
    assert reader.counts.bytes_read == len(b"".join(lines))


def test_a_text_too_large_is_refused(root: Path) -> None:
    limits = Limits(largest_document=10_000)
    (root / "fits").write_bytes(b"x" * 10_000)
    (root / "large").write_bytes(b"x" * 10_001)
    (root / "wide").write_bytes(b"x" * 3_999 + "é".encode())
    assert read("large", "wide", "fits", reader=new_session(False, limits=limits)) == [
        Failure("large", "larger than 10,000 bytes, the limit: split it"),
        Failure("wide", "larger than 4,000 bytes, the limit: split it"),
        Document("fits", "x" * 10_000),
    ]


# sets, and single documents


@pytest.mark.parametrize(
    ("of_sets", "text", "expected"),
    [
        (False, '["a"]', '["a"]'),
        (True, '["a", 1]', ["a", 1]),
        (True, ' {"set": [], "id": 5}\n', []),
        (True, '{"text": "a"}', InputError("an object: a set is a JSON array, or")),
        (True, '{"set": "a"}', InputError("field 'set' is a string that is not a JSON array")),
        (True, "[null]", InputError("element 1 of the set is null, not a string or integer")),
        (True, "", InputError("not JSON .* at character 1.: a set is")),
    ],
)
def test_the_one_document_of_a_query(
    of_sets: bool, text: str, expected: Content | InputError
) -> None:
    reader = new_session(of_sets, stdin=io.BytesIO(BOM + text.encode()))
    if isinstance(expected, InputError):
        with pytest.raises(InputError, match=f"^-: {expected}"):
            reader.read_one("-")
    else:
        assert reader.read_one("-") == expected


# whatever comes


@given(
    st.binary() | st.lists(st.sampled_from([*b'{}[]",:1etid\\\n\0', 0xFF])).map(bytes),
    st.booleans(),
    st.sampled_from(get_args(Format)),
    st.booleans(),
    st.sampled_from([None, "key"]),
)
@example(b"[" * 100_000, False, "jsonl", False, None)
@example(b"\xff\xfe{\x00", False, "auto", False, "key")
@example(b"\xff\xfe\x00", False, "json", True, None)
@example(b'"\x00\n"', False, "csv", False, None)
@example(b'""\x00', False, "tsv", False, None)
@example(b"id,\x1b[31m,text\n1,\x1b[0m", True, "csv", False, None)
def test_any_bytes_give_documents_and_failures_and_no_error(
    data: bytes,
    of_sets: bool,
    format: Literal["auto", "text", "jsonl"],
    strict: bool,
    key: str | None,
) -> None:
    reader = new_session(of_sets, format=format, strict=strict, stdin_key=key)
    for item in from_stdin(data, reader):
        if isinstance(item, Failure):
            assert item.where.startswith("-")
            assert item.reason == escaped(item.reason)
        else:
            item.key.encode()
            assert not isinstance(item.content, str) or item.content.encode() is not None
    assert reader.counts.bytes_read <= len(data)


@given(
    st.lists(st.text(st.characters(codec="utf-8"), max_size=6), max_size=6),
    st.sampled_from(["utf-16", "utf-32", "utf-16-be", "utf-7", "gb18030"]),
    st.integers(1, 9),
)
@example(["", "x"], "utf-32", 1)
def test_encodings_are_read_however_the_bytes_come(
    texts: list[str], encoding: str, chunk: int
) -> None:
    class Pipe(io.BytesIO):
        def read1(self, _: int | None = -1) -> bytes:
            return super().read(chunk)

    lines = [json.dumps({"id": f"k{i}", "text": text}) for i, text in enumerate(texts)]
    data = "\n".join(lines).encode(encoding)
    marked = encoding in ("utf-16", "utf-32")
    reader = new_session(False, stdin=Pipe(data), encoding=None if marked else encoding)
    assert read("-", reader=reader) == [Document(f"k{i}", text) for i, text in enumerate(texts)]
    assert (reader.counts.replaced, reader.counts.bytes_read) == (0, len(data))


# counting bytes, and names


def test_a_reader_used_again_counts_what_it_replaces_in_each_call(root: Path) -> None:
    reader = new_session(of_sets=False)
    with lshdb.open("lsh.db") as db:
        for number in range(2):
            (root / f"{number}.txt").write_bytes(b"na\xefve fox %d" % number)
            report = db.add_files([f"{number}.txt"], reader=reader)
            assert (report.added, report.replaced) == (1, 1)
