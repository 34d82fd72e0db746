"""Readers: what becomes a document, what a failure, what is passed over, and how it is counted."""

from __future__ import annotations

import gzip
import io
import json
import os
import socket
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from helpers import in_any_version, new_session
from hypothesis import example, given
from hypothesis import strategies as st

import lshdb
from lshdb import Limits, offers
from lshdb.errors import InputError, UsageError
from lshdb.model import Document, Failure
from lshdb.options import DocumentOptions, Format, WalkingOptions
from lshdb.read import kinds
from lshdb.read.batch import Batch
from lshdb.read.counts import SkippedFiles
from lshdb.read.inputs import Input
from lshdb.read.paths import escaped, key_of
from lshdb.read.session import Session, SessionOptions

pytestmark = pytest.mark.usefixtures("root")
BOM = b"\xef\xbb\xbf"
NOT_JSON = "not JSON: ... at character 1"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: str, content: str | bytes = "text") -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(content.encode() if isinstance(content, str) else content)


def read(*paths: str, reader: Session | None = None, **options: Any) -> list[Document | Failure]:
    reader = reader or new_session(False, **options)
    return [
        replace(item, reason=in_any_version(item.reason)) if isinstance(item, Failure) else item
        for item in reader.read(paths)
    ]


def from_stdin(data: bytes, **options: Any) -> list[Document | Failure]:
    return read("-", stdin=io.BytesIO(data), **options)


# files and directories


def test_what_is_passed_over_in_directories_is_counted_and_read_when_named() -> None:
    for name in ("d/.git/config", "d/.hidden", "d/file"):
        write(name)
    write("d/binary", b"a" * 8191 + b"\0")
    write("d/late", b"a" * 8192 + b"\0")
    os.symlink("file", "d/link")
    os.symlink(".", "d/loop")
    os.mkfifo("d/pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("d/socket")
        reader = new_session(of_sets=False, rules=WalkingOptions(ignore=False))
        found = read("d", reader=reader)
        assert [type(item) for item in found] == [Document, Document]
        assert reader.counts.skipped == SkippedFiles(
            hidden=2, binary=1, links=1, special=2, repeated=1
        )
        *named, of_socket = read("d/.hidden", "d/link", "d/binary", "d/socket")
    assert named == [
        Document("d/.hidden", "text"),
        Document("d/link", "text"),
        Failure("d/binary", "a binary file (it has NUL bytes)"),
    ]
    assert isinstance(of_socket, Failure)


def test_the_files_beside_an_open_database_are_passed_over() -> None:
    with closing(sqlite3.connect("lsh.db")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (a)")
        assert os.path.getsize("lsh.db-wal")
        write("lsh.db-journal", "")
        for name in ("notes", "notes-journal", "lone-wal"):
            write(name)
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
        write("deep.txt")
        os.chdir(root)
        assert read("d") == [Document("d/" * depth + "deep.txt", "text")]
    finally:
        # Nor could pytest remove it: shutil.rmtree goes down by calling itself.
        os.chdir(root)
        subprocess.run(["rm", "-r", "d"], check=True)


def test_a_directory_that_fails_costs_only_itself() -> None:
    """It goes away meanwhile."""
    for name in ("d/a/1", "d/b/1", "d/c/1"):
        write(name)
    stream = new_session(of_sets=False).read(["d"])
    assert next(stream) == Document("d/a/1", "text")
    os.remove("d/b/1")
    os.rmdir("d/b")
    assert list(stream) == [Failure("d/b", "no such file or directory"), Document("d/c/1", "text")]


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
        ("x.NDJSON", "auto", True),
        ("x.json", "text", False),
        ("x.jsonl", "text", False),
        ("x.txt", "jsonl", True),
    ],
)
def test_format_goes_by_the_suffix_unless_it_is_given(
    name: str, format: Format, of_lines: bool
) -> None:
    line = '{"id": "k", "text": "t\\r\\n"}'
    write(name, line)
    expected = Document("k", "t\r\n") if of_lines else Document(name, line)
    assert read(name, format=format) == [expected]


class CountedEntry:
    """An entry of a directory that notes when it is asked for the status of its file."""

    def __init__(self, entry: os.DirEntry[str], asked: list[str]) -> None:
        self._entry, self._asked = entry, asked

    def __getattr__(self, name: str) -> Any:
        return getattr(self._entry, name)

    def stat(self) -> os.stat_result:
        self._asked.append(self._entry.path)
        return self._entry.stat()


@pytest.mark.parametrize("by_name", [False, True])
def test_the_status_of_a_file_is_asked_for_once(
    by_name: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["d/a.txt", "d/b.jsonl", "d/c.md", "d/inner/d.py", "d/e.html"]
    for name in names:
        write(name, '{"id": 1, "text": "a"}')
    asked: list[str] = []
    scandir, stat, lstat = os.scandir, os.stat, os.lstat

    @contextmanager
    def counted(path: str) -> Iterator[list[CountedEntry]]:
        with scandir(path) as entries:
            yield [CountedEntry(entry, asked) for entry in entries]

    def noted(ask: Any) -> Any:
        def status(path: Any, **others: Any) -> os.stat_result:
            asked.append(path)
            result: os.stat_result = ask(path, **others)
            return result

        return status

    monkeypatch.setattr(os, "scandir", counted)
    monkeypatch.setattr(os, "stat", noted(stat))
    monkeypatch.setattr(os, "lstat", noted(lstat))
    read_documents = keys(*(names if by_name else ["d"]), ignore=False)
    monkeypatch.undo()
    assert len(read_documents) == len(names)
    real = [os.path.realpath(path) for path in asked if isinstance(path, str)]
    assert {name: real.count(os.path.realpath(name)) for name in names} == dict.fromkeys(names, 1)


# walking: keys are one for a file


def keys(*paths: str, root: str = ".", **rules: Any) -> list[str]:
    real_root = os.path.realpath(root)
    found = read(*paths, format="text", rules=WalkingOptions(**rules), root=real_root)
    assert all(isinstance(item, Document) for item in found), found
    return [item.key for item in found if isinstance(item, Document)]


def test_keys_of_files_are_paths_from_the_root_or_absolute(root: Path) -> None:
    write("here/src/a")
    write("other/b")
    os.symlink("here", "link")
    os.chdir("here")
    for top in ("src", "./src/", "src/.", "../here/src", f"{root}/here/src", f"{root}/link/src"):
        assert keys(top) == [key_of(f"{top}//./a", os.getcwd())] == ["src/a"], top
    assert keys(".") == keys(str(root / "here")) == keys(f"{root}/link") == ["src/a"]
    assert keys("../other") == keys("../other/b") == [f"{root}/other/b"]
    assert keys("src", "../other", root="..") == ["here/src/a", "other/b"]
    assert keys("src", root=f"{root}/other") == [f"{root}/here/src/a"]
    # A folder around the root has files of both kinds.
    assert keys("..") == ["src/a", f"{root}/other/b"]
    os.symlink("src/a", "alias")
    assert key_of("alias", os.getcwd()) == "alias"
    assert key_of(os.fsdecode(b"caf\xe9"), os.getcwd()) == "caf\\xe9"
    # Where a link leads to is where a file is.
    os.symlink("../../other", "src/away")
    assert keys("src/away") == keys("src/away/b") == [f"{root}/other/b"]


# standard input


@pytest.mark.parametrize("start", [b"", BOM, b" \r\n\t\n", BOM + b"\n", BOM + b" "])
def test_standard_input_is_json_lines_if_its_first_character_says_so(start: bytes) -> None:
    blank = start.count(b"\n")
    assert from_stdin(start + b'{"id": 1, "text": "t"}\nx') == [
        Document("1", "t"),
        Failure(f"-:{blank + 2}", NOT_JSON),
    ]
    assert from_stdin(start) == []
    reason = "a text needs a key: give stdin_key="
    assert from_stdin(start + b"a text") == [Failure("-", f"not JSON lines, and {reason}")]
    text = (start.removeprefix(BOM) + b'{"id": 1}').decode()
    assert from_stdin(start + b'{"id": 1}', stdin_key="k") == [Document("k", text)]
    assert from_stdin(b"text", format="jsonl") == [Failure("-:1", NOT_JSON)]
    reason = "a text on standard input needs a key: give stdin_key="
    assert from_stdin(start + b"{}", format="text") == [Failure("-", reason)]
    assert read("-") == [Failure("-", "standard input is closed")]


# JSON lines


@pytest.mark.filterwarnings("ignore::lshdb.ColumnWarning")
@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b'{"text": "a", "id": 12345678901234567890}\r', Document("12345678901234567890", "a")),
        (BOM + b'{"id": "\\u00e9\\ud83d\\ude00", "text": "\\u0000\\""} ', Document("é😀", '\0"')),
        (b'{"id": -0, "text": "first", "text": "last"}', Document("0", "last")),
        (
            b'{"id": 1, "text": "t", "x": [1e20, 18446744073709551616, {"y": -1%s}]}' % (b"0" * 20),
            Document("1", "t", {"x": [1e20, str(1 << 64), {"y": str(-(10**20))}]}),
        ),
        (
            b'{"id": 1e20, "text": "t"}',
            "field 'id' is 1e+20, a float that may be rounded: write it as an integer or a string",
        ),
        (b'{"id": 1, "text": "a", "x": {"y": 1, "y": 2}}', Document("1", "a", {"x": {"y": 2}})),
        (b'{"id": 1, "text": "a", "x": NaN}', "not JSON: ... at character 29"),
        (b'{"id": 1, "text": "a", "x": 1e400}', "not JSON: ... at character 29"),
        (b'{"id": -0, "text": "a"}{"id": 2}', "not JSON: ... at character 24"),
        (b'{"id": 1, "text": "\\ud8", "x": "2"}', "not JSON: ... at character 20"),
        (b"[" * 201 + b"]" * 201, "not JSON: nested deeper than 200 levels"),
        (b"[1]", "not a JSON object but an array"),
    ],
    ids=range(12),
)
def test_lines_that_other_programs_write(line: bytes, found: Document | str) -> None:
    expected = Failure("-:1", found) if isinstance(found, str) else found
    (item,) = from_stdin(line, format="jsonl")
    assert repr(item) == repr(expected)


@pytest.mark.parametrize("block", [1, 7, 40, 41, 1 << 20])
def test_a_line_too_long_costs_one_line(block: int) -> None:
    lines = [
        b'{"id": 1, "text": "just fits ........"}\n',
        b'{"id": 2, "text": "a character too long"}\n',
        b'{"id": 3, "text": "%s"}\n' % (b"x" * 100),
        b'{"id": 4, "text": "good"}\n',
        b'{"id": 5, "text": "\\u00e9"}\n',
        b'{"id": 6, "text": "' + b"x" * 100,
    ]
    assert len(lines[0]) == 40
    data, limits = b"".join(lines), Limits(largest_document=39, block_bytes=block)
    reader = new_session(False, limits=limits, stdin=io.BytesIO(data))
    reason = "longer than 39 bytes, the limit"
    assert read("-", reader=reader) == [
        Document("1", "just fits ........"),
        Failure("-:2", reason),
        Failure("-:3", reason),
        Document("4", "good"),
        Failure("-:5", "longer than 15 bytes, the limit"),
        Failure("-:6", reason),
    ]
    assert reader.counts.bytes_read == len(data)


def test_a_text_too_large_is_refused() -> None:
    write("fits", "x" * 10_000)
    write("large", "x" * 10_001)
    write("wide", "x" * 3_999 + "é")
    assert read("large", "wide", "fits", limits=Limits(largest_document=10_000)) == [
        Failure("large", "larger than 10,000 bytes, the limit: split it"),
        Failure("wide", "larger than 4,000 bytes, the limit: split it"),
        Document("fits", "x" * 10_000),
    ]


def test_of_a_text_without_end_no_more_than_the_limit_is_read() -> None:
    pieces = iter([b"x" * 600] * 9)

    class Pipe(io.BytesIO):
        def read1(self, _: int | None = -1) -> bytes:
            return next(pieces, b"")

    found = read("-", stdin=Pipe(), stdin_key="k", limits=Limits(largest_document=1_000))
    assert found == [Failure("-", "larger than 1,000 bytes, the limit: split it")]
    assert len([*pieces]) == 7


@pytest.mark.parametrize(
    ("of_sets", "text", "expected"),
    [
        (False, '["a"]', '["a"]'),
        (True, '["a", 1]', (1, "a")),
        (True, ' {"set": [], "id": 5}\n', ()),
        (True, '{"text": "a"}', InputError("an object: a set is a JSON array, or")),
        (True, '{"set": "a"}', InputError("field 'set' is a string that is not a JSON array")),
        (True, "[null]", InputError("element 1 of the set is null, not a string or integer")),
        (True, "", InputError("not JSON .* at character 1.: a set is")),
    ],
)
def test_the_one_document_of_a_query(of_sets: bool, text: str, expected: Any) -> None:
    reader = new_session(of_sets, stdin=io.BytesIO(BOM + text.encode()))
    if isinstance(expected, InputError):
        with pytest.raises(InputError, match=f"^-: {expected}"):
            reader.read_one("-")
    else:
        assert reader.read_one("-").contents == [expected]


def test_a_file_is_one_set_if_all_of_it_is_read() -> None:
    write("one.json", '["b", "a", "a", 1]')
    assert read("one.json", reader=new_session(True, format="text")) == [
        Document("one.json", (1, "a", "b"))
    ]


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
    data: bytes, of_sets: bool, format: Format, strict: bool, key: str | None
) -> None:
    stdin = io.BytesIO(data)
    reader = new_session(of_sets, format=format, strict=strict, stdin_key=key, stdin=stdin)
    for item in read("-", reader=reader):
        if isinstance(item, Failure):
            assert item.where.startswith("-")
            assert item.reason == escaped(item.reason)
        else:
            item.key.encode()
            assert not isinstance(item.content, str) or item.content.encode() is not None
    assert reader.counts.bytes_read <= len(data)


@pytest.mark.app("documents")
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


def test_a_reader_used_again_counts_what_it_replaces_in_each_call() -> None:
    reader = new_session(of_sets=False)
    with lshdb.open("lsh.db") as db:
        for name in ("a.txt", "b.txt"):
            write(name, f"{name} na".encode() + b"\xefve fox")
            report = db.add_files([name], reader=reader)
            assert (report.added, report.replaced) == (1, 1)


# the door for apps that read files


class Shouting:
    """A reader of files .loud, whose documents are their lines in small letters."""

    def __init__(self, options: SessionOptions) -> None:
        self.options = options

    def batches(self, source: Input, format: str, start: bytes) -> Iterator[Batch] | None:
        is_loud = source.file.path.endswith(".loud") and start
        return self.read(source) if is_loud and format == "text" else None

    def in_utf8(self, _source: Input, chunks: Iterator[bytes]) -> Iterator[bytes]:
        return chunks

    def read(self, source: Input) -> Iterator[Batch]:
        text, _ = source.whole_text()
        for number, line in enumerate(text.splitlines()):
            if line.isupper():
                yield Batch([f"{source.file.key}#<{number}>"], [line.lower()])
            else:
                yield Batch(failures=[(0, Failure(f"{source.name}:{number}", "not loud"))])


def test_a_reader_of_an_app_gives_documents_and_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(offers.READERS, "documents", f"{__name__}:Shouting")
    write("d/a.loud", "THE FOX\nthe grapes\nTHE CROW\n")
    write("d/b.txt", "THE FOX")
    assert read("d") == [
        Document("d/a.loud#<0>", "the fox"),
        Failure("d/a.loud:1", "not loud"),
        Document("d/a.loud#<2>", "the crow"),
        Document("d/b.txt", "THE FOX"),
    ]


@pytest.mark.app("documents")
def test_an_archive_that_is_named_says_how_its_files_are_read() -> None:
    write("a.zip", b"PK\3\4")
    assert read("a.zip") == [Failure("a.zip", "archive: archives=True reads its files")]


def test_the_formats_of_rows_are_those_that_an_option_names() -> None:
    assert {*kinds.ROWS.values()} - {"arrows"} | {"auto", "text", "xlsx"} == {*get_args(Format)}


@pytest.mark.parametrize("archives", [False, True])
def test_files_of_an_app_that_is_missing_are_named(
    archives: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a directory they are skipped; what is a text is read as the text that it is."""
    is_there = offers.is_there
    monkeypatch.setattr(offers, "is_there", lambda app: app != "documents" and is_there(app))
    why = "belongs to the app 'documents', which is not installed"
    names = {
        "a.pdf": "PDF",
        "b.DOCX": "Word",
        "c.xlsx": "sheets",
        "d.zip": "archive",
        "e.tar.gz": "archive",
    }
    for name in names:
        content = b"PK\3\4\0"
        write(f"d/{name}", gzip.compress(content) if name.endswith(".gz") else content)
    write("d/page.html", "<p>the fox")
    write("d/none", b"%PDF-1.7")
    reader = new_session(False, archives=archives)
    skipped: dict[str, str] = {}
    reader.counts.skipped.on_skip = skipped.__setitem__
    assert read("d", reader=reader) == [Document("d/page.html", "<p>the fox")]
    said = {f"d/{name}": f"{kind}: {why}" for name, kind in names.items()}
    assert skipped == said | {"d/none": "a binary file (PDF)"}
    assert reader.counts.skipped == {"documents": 3, "archives": 2, "binary": 1}
    for path, reason in said.items():
        assert read(path) == [Failure(path, reason)]
    assert read("d/c.xlsx#a") == [Failure("d/c.xlsx#a", f"sheets: {why}")]
    with pytest.raises(UsageError, match=f"'convert' {why}"):
        read("d", taken=DocumentOptions(convert=["pdf=cat {}"]))
