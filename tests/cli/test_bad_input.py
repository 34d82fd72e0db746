"""Input and files that are broken, hostile or not what they seem: a clear line, nothing lost."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from direct_command import command as command
from helpers import Command, Result, database_of, in_any_version, unprivileged

import lshdb

TEXT = "one text of several words"


@pytest.fixture
def database(command: Command) -> Path:
    """A file beside the command, with one document."""
    file = command.path("lsh.db")
    database_of(file, {"good": TEXT}).close()
    return file


def contents(command: Command) -> dict[str, str]:
    return dict(command.rows("SELECT key, content FROM documents"))


def failures(command: Command, *arguments: str | bytes, stdin: bytes | int = b"") -> list[str]:
    """What an `add` says of what it could not read; its report must count just those."""
    result = command("add", *arguments, stdin=stdin)
    *message, report = [line for line in result.err.splitlines() if not line.startswith("empty")]
    assert report.endswith(f"failed {len(message)}")
    assert result.status == (1 if message else 0)
    assert result.out == ""
    assert all(line.startswith("lshdb: ") for line in message)
    return [in_any_version(line.removeprefix("lshdb: ")) for line in message]


# lines


def test_each_bad_line_is_reported_by_its_number_and_the_good_ones_go_in(command: Command) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    lines = {
        '{"id": 1, "text": "first"}': None,
        '{"id": 2, "text":': "not JSON: ... at character 19",
        "": None,
        "[1, 2]": "not a JSON object but an array",
        "NaN": "not JSON: ... at character 1",
        '{"id": 1.5, "text": "a"}': "field 'id' is 1.5, a float that is not whole",
        '{"id": "a\\u0000b", "text": "a"}': "field 'id' has a NUL character",
        '{"text": "a"}': "no field 'id': name it with --key-field, or give --auto-key",
        '{"id": 3}': "no field 'text': name it with --text-field",
        '{"id": 3, "text": null}': "field 'text' is null, not a string",
        '{"id": 3, "set": ["a"]}': "a set (field 'set'), and this database holds texts: make one "
        "for sets (shingle set)",
        deep: "not JSON: ... at character 1026",
        f'{{"id": 3, "text": "a", "more": {deep[99_510:100_490]}}}': "not JSON: nested deeper than "
        "200 levels",
        f'{{"id": 5, "text": "deep", "more": {deep[99_801:100_199]}}}': None,
        f'{{"id": {1 << 64}, "text": "large"}}': None,
        f'{{"id": {"9" * 10_000}, "text": "a"}}': "not JSON: ... at character 8",
        '{"id": 4, "text": "last"}': None,
    }
    # A byte order mark at the start, CRLF at the ends, and no end of the last line.
    data = b"\xef\xbb\xbf" + "\r\n".join(lines).encode()
    expected = [f"-:{n}: {reason}" for n, reason in enumerate(lines.values(), 1) if reason]
    message = failures(command, "-", stdin=data)
    assert message == expected
    assert contents(command) == {
        "1": "first",
        "4": "last",
        "5": "deep",
        str(1 << 64): "large",
    }


def test_after_20_failures_the_rest_is_only_counted(command: Command) -> None:
    lines = ["broken"] * 25 + ['{"id": 1, "text": "good"}'] + ["broken"] * 5
    command.write("lines.jsonl", "\n".join(lines))
    result = command("add", "lines.jsonl", "--json")
    assert (result.status, result.record["failed"], result.record["added"]) == (1, 30, 1)
    message = result.err.splitlines()
    assert len(message) == 21
    assert message[19].startswith("lshdb: lines.jsonl:20: not JSON")
    assert message[20] == "lshdb: further failures are counted, not printed"


def test_bad_elements_and_texts_in_a_database_of_sets(command: Command) -> None:
    with lshdb.open(command.path("lsh.db"), shingle="set"):
        pass
    command.write("file.txt", "a text")
    lines = {
        '{"id": 1, "set": ["a", 1, "a"]}': None,
        '{"id": 2, "set": ["a", 1.5]}': "element 2 of field 'set' is a decimal number, not a "
        "string or integer",
        '{"id": 2, "text": "a"}': "a text (field 'text'), and this database holds sets (field "
        "'set')",
        '{"id": 2}': "no field 'set': name it with --set-field",
        '{"id": 3, "set": []}': None,
    }
    expected = [f"-:{n}: {reason}" for n, reason in enumerate(lines.values(), 1) if reason]
    expected.append("file.txt: a text, and this database holds sets: give JSON lines")
    assert failures(command, "-", "file.txt", stdin="\n".join(lines).encode()) == expected
    assert contents(command) == {"1": '[1,"a"]', "3": "[]"}
    wanted = "a set is a JSON array, or an object with the array as 'set'"
    reason = in_any_version(command.fails("query", "--text", "a b"))
    assert reason == f"--text: not JSON (... at character 1): {wanted}"
    assert command.fails("query", "-", stdin='{"a": 1}') == f"-: an object: {wanted}"
    deep = "[" * 201 + "]" * 201
    reason = command.fails("query", "-", stdin=deep)
    assert reason == f"-: not JSON (nested deeper than 200 levels): {wanted}"
    reason = in_any_version(command.fails("query", "-", stdin="[" * 100_000))
    assert reason == f"-: not JSON (... at character 1026): {wanted}"


# bytes


def test_keys_that_would_become_one_are_failures_of_their_lines(command: Command) -> None:
    """Lone surrogates and bytes that are not UTF-8 could only be replaced by the same character."""
    lines = (
        b'{"id": "a\\ud800", "text": "one text of some words"}\n'
        b'{"id": "a\\udfff", "text": "and quite another one"}\n'
        b'{"id": "a\xff", "text": "a third that differs"}\n'
        b'{"id": "good", "text": "t"}\n'
    )
    command.write("in.jsonl", lines)
    reason = "field 'id' has a lone surrogate or bytes that are not UTF-8"
    expected = [f"in.jsonl:{line}: {reason}" for line in (1, 2, 3)]
    assert failures(command, "in.jsonl") == expected
    assert contents(command) == {"good": "t"}
    for arguments in (("query", "in.jsonl"), ("dedup", "in.jsonl", "-o", "out.jsonl")):
        result = command(*arguments)
        said = [line.removeprefix("lshdb: ") for line in result.err.splitlines()]
        assert (result.status, said[:3]) == (1, expected), arguments
    assert len(command.path("out.jsonl").read_bytes().splitlines()) == 1
    # A decision about such a key is none either.
    text = (
        '{"verdict": "keep", "keys": ["a\\ud800"], "digests": ["%s"], "who": "x", "decided": "%s"}'
    )
    command.write("own.jsonl", text % ("0" * 32, "2026-01-01T00:00:00Z"))
    assert "a lone surrogate" in command.fails("decide", "--from", "own.jsonl")


def test_what_is_not_utf8_is_replaced_and_counted_or_refused(command: Command) -> None:
    command.write("latin.txt", b"\xef\xbb\xbftexte fran\xe7ais")
    lines = (
        b'{"id": 1, "text": "\xff"}\n{"id": 2, "text": "\\ud800"}\n{"id": 3, "text": "good"}\n'
        b'{"id": 4, "text": "\\ud83d\\ude00\\\\ud800", "x": ["\\ude00\\ud83d"], "a\\ud83d\\n": 1}\n'
    )
    strict = failures(command, "--strict", "latin.txt", "-", stdin=lines)
    assert strict == [
        "latin.txt: not UTF-8 at byte 14",
        "-:1: not UTF-8 at byte 20",
        "-:2: a lone surrogate, which is not Unicode text",
        "-:4: a lone surrogate, which is not Unicode text",
    ]
    assert contents(command) == {"3": "good"}
    result = command.done("add", "latin.txt", "-", stdin=lines)
    assert result.err.splitlines() == [
        "added 4, updated 0, unchanged 1, failed 0",
        "not UTF-8: 4, bad bytes replaced (--strict refuses them)",
    ]
    replaced = {"latin.txt": "texte fran\ufffdais", "1": "\ufffd", "2": "\ufffd", "3": "good"}
    assert contents(command) == {**replaced, "4": "😀\\ud800"}
    kept = command.done("show", "4", "--json").record["metadata"]
    assert kept == {"x": ["\ufffd\ufffd"], "a\ufffd\n": 1}
    command.path("latin.txt").rename(command.path("moved.txt"))
    queried = command.done("query", "moved.txt")
    assert queried.err == "moved.txt is not UTF-8; bad bytes are replaced\n"
    assert queried.out == "1.000000\tidentical\tlatin.txt\n"


def test_keys_and_names_may_be_anything(command: Command) -> None:
    keys = [
        "a\nb",
        "'; drop table documents; --",
        '"',
        "[red]x[/red]",
        "\x1b[31m",
        "-x",
        "\x7f",
        "я\x7f",
    ]
    lines = "".join(json.dumps({"id": key, "text": TEXT}) + "\n" for key in keys)
    name = b"caf\xe9\n.txt"
    command.write(os.fsdecode(name), TEXT)
    assert failures(command, "-", name, stdin=lines.encode()) == []
    assert command.keys() == sorted([*keys, "caf\\xe9\n.txt"])
    # A document is found by the name that its file has, also where the key is another.
    found = command.done("query", "--json", "--key", name, says="")
    assert sorted(match["key"] for match in found.records) == sorted(keys)
    assert "\x7f" not in found.out
    assert command.done("show", "--json", name).record["key"] == "caf\\xe9\n.txt"
    assert command.fails("show", b"\xff") == "no document has the key '\\\\xff'"
    assert command.done("remove", "--", name, *keys).err == "removed 9\n"
    assert command.keys() == []


def test_a_text_from_the_command_line_need_not_be_utf8(command: Command, database: Path) -> None:
    assert command.done("query", "--text", b"one \xff").err.startswith("no document")
    command.write(os.fsdecode(b"\xff.db"), database.read_bytes())
    assert (
        command.done("query", "-d", b"\xff.db", "--text", TEXT).out == "1.000000\tidentical\tgood\n"
    )
    reason = command.fails("info", "-d", b"no\xff.db")
    assert reason.startswith("no database at no\\udcff.db: there is no such file")


ENCODED = ("utf-16", "utf-32-be", "cp1252", "iso2022_jp")


@pytest.mark.parametrize("encoding", ENCODED)
def test_texts_and_rows_in_any_encoding(command: Command, encoding: str) -> None:
    root = command.directory
    text = (
        "the caf\u00e9 on the corner"
        if encoding == "cp1252"
        else "\u72d0\u72f8\u3068\u8461\u8404 the fox"
    )
    given = [] if encoding == "utf-16" else ["--encoding", encoding]  # which has a mark
    files = {
        "x.txt": text,
        "x.jsonl": json.dumps({"id": "l", "text": text}, ensure_ascii=False) + "\n",
        "x.json": json.dumps([{"id": "j", "text": text}], ensure_ascii=False),
        "x.tsv": f"id\ttext\nt\t{text}\n",
    }
    for name, content in files.items():
        command.write(name, content.encode(encoding))
    assert failures(command, *given, *files) == []
    assert contents(command) == {"x.txt": text, "l": text, "j": text, "t": text}
    stdin = files["x.jsonl"].replace('"l"', '"s"').encode(encoding)
    assert failures(command, *given, "-", stdin=stdin) == []
    assert contents(command)["s"] == text
    found = command.done("query", *given, "--json", "x.txt", says="").records
    assert {match["key"] for match in found} == {"l", "j", "t", "s"}  # not itself
    compared = command.done("compare", *given, "--json", "./x.txt", "l").record
    assert compared["similarity"] == 1
    command.done("dedup", *given, "x.jsonl", "-o", "kept.jsonl")
    assert json.loads((root / "kept.jsonl").read_bytes())["text"] == text


def test_encodings_that_are_wrong_or_unknown(command: Command) -> None:
    command.write("cut.txt", "a text".encode("utf-16")[:-1])
    command.write("binary", b"\xff\xfea\0\0\0\0\0b\0")
    command.write("euro.txt", b"a \x81 text")
    assert failures(command, "--strict", "cut.txt", "binary") == [
        "cut.txt: not UTF-16",
        "binary: a binary file (it has NUL bytes)",
    ]
    message = command.done("add", "cut.txt").err.splitlines()
    assert message[-1] == "not UTF-8: 1, bad bytes replaced (--strict refuses them)"
    assert contents(command)["cut.txt"] == "a tex\ufffd"
    message = command.done("query", "--encoding", "cp1252", "euro.txt").err.splitlines()
    assert message[0] == "euro.txt is not cp1252; bad bytes are replaced"
    for name in ("nosuch", "base64", "\u00e9"):
        for arguments in (["add"], ["query"], ["compare", "euro.txt"], ["dedup", "-o", "out"]):
            reason = command.fails(*arguments, "--encoding", name, "euro.txt", status=2)
            assert "is not known to Python" in reason


def test_a_database_does_not_add_its_own_files(command: Command) -> None:
    """Nor does it count them; other databases are binary files."""
    command.write("a.txt", TEXT)
    with closing(sqlite3.connect(command.path("other.db"))) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("CREATE TABLE t (a)")
        result = command.done("add", ".", "--json")
    assert result.record["added"] == 1
    assert result.record["skipped_files"]["binary"] == 3
    command.write("b.txt", TEXT)
    for name in command.directory.glob("other.db*"):
        name.unlink()
    says = "added 1, updated 0, unchanged 1, failed 0\n"
    command.done("add", ".", says=says)


# files


def test_files_that_cannot_be_read_cost_only_themselves(command: Command) -> None:
    root = command.directory
    command.write("good.txt", TEXT)
    command.write("binary", b"a\0b")
    (root / "empty.jsonl").touch()
    (root / "dangling").symlink_to("nowhere")
    names = ["nosuch", "dangling", "", "binary", "/dev/zero", "empty.jsonl"]
    assert failures(command, *names, "x" * 300, "good.txt") == [
        "nosuch: no such file or directory",
        "dangling: no such file or directory",
        "'': no such file or directory",
        "binary: a binary file (it has NUL bytes)",
        "/dev/zero: a device, not a file",
        "x" * 300 + ": file name too long",
    ]
    assert command.keys() == ["good.txt"]
    reasons = {
        "nosuch": "nosuch: no such file; a text itself goes with --text, a key with --key",
        "binary": "binary: a binary file (it has NUL bytes)",
        "/dev/zero": "/dev/zero: a device, not a file",
    }
    for name, reason in reasons.items():
        assert command.fails("query", name) == reason


def test_standard_input_that_is_no_document(command: Command) -> None:
    assert failures(command, "-") == []
    needs_key = "-: not JSON lines, and a text needs a key: give --key KEY"
    assert failures(command, "-", stdin=b'\n[{"id": 1}]\n') == [needs_key]
    assert failures(command, "--key", "k", "-", stdin=b"a\0") == [
        "-: a binary file (it has NUL bytes)"
    ]
    with open("/dev/zero") as zero:
        assert failures(command, "-", stdin=zero.fileno()) == ["-: a device, not a file"]
        assert command.fails("query", "-", stdin=zero.fileno()) == "-: a device, not a file"
    closed = command("add", "-", before=lambda: os.close(0))
    assert closed.err.startswith("lshdb: -: standard input is closed\n")
    assert closed.status == 1
    # Blank lines and an empty document are no failures.
    assert failures(command, "-", stdin=b'\n \t\n{"id": "e", "text": ""}\n\n') == []
    assert contents(command) == {"e": ""}


@pytest.mark.skipif(
    os.geteuid() == 0 and sys.platform != "linux", reason="root may read everything"
)
def test_what_may_not_be_read_or_written(command: Command, database: Path) -> None:
    root = command.directory
    for name in ("directory", "sealed"):
        (root / name).mkdir()
    command.write("closed.txt", TEXT)
    (root / "closed.txt").chmod(0)
    command.write("directory/in.txt", TEXT)
    (root / "directory").chmod(0)
    (root / "sealed").chmod(0o500)
    try:
        result = command("add", "closed.txt", "directory", before=unprivileged)
        assert result.err.splitlines()[:2] == [
            "lshdb: closed.txt: permission denied",
            "lshdb: directory: permission denied",
        ]
        assert result.status == 1

        def reason(*arguments: str) -> str:
            return command.fails(*arguments, before=unprivileged)

        assert reason("query", "closed.txt") == "closed.txt: permission denied"
        assert reason("query", "-d", "directory/x.db", "--text", "a").endswith("permission denied")
        assert reason("init", "-d", "sealed/new.db").startswith("sealed/new.db cannot be opened: ")
        database.chmod(0)
        assert reason("info") == "lsh.db cannot be opened: permission denied"
        database.chmod(0o400)
        assert reason("remove", "good").startswith("lsh.db cannot be written: ")
        assert command("info", before=unprivileged).status == 0
    finally:
        (root / "directory").chmod(0o700)
    assert command.keys() == ["good"]


# databases


def test_database_paths_that_are_none(command: Command, database: Path) -> None:
    with closing(sqlite3.connect(database)) as newer:
        newer.execute("PRAGMA user_version = 99")
    before = database.read_bytes()
    reasons = {".": "directory", "lsh.db": "format 99", "x" * 300: "its name has 300 bytes"}
    for name, reason in reasons.items():
        for arguments in (["info"], ["add", "-"]):
            message = command.fails(*arguments, "-d", name, stdin='{"id": 1, "text": ""}')
            assert message.removeprefix("no database at ").startswith(name)
            assert reason in message
    assert database.read_bytes() == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.usefixtures("database")
def test_a_full_disk_under_the_output_is_reported_and_under_the_messages_ignored(
    command: Command,
) -> None:
    def full(stream: int) -> Callable[[], None]:
        def before() -> None:
            os.dup2(os.open("/dev/full", os.O_WRONLY), stream)

        return before

    pages: tuple[list[str], ...] = (["--version"], [], ["query", "--help"])
    for arguments in (["info"], ["query", "--json", "--text", TEXT], *pages):
        reason = command.fails(*arguments, before=full(1))
        assert reason == "standard output: no space left on device"
    line = 'broken\n{"id": "new", "text": "added all the same"}'
    assert command("add", "--format", "jsonl", "-", stdin=line, before=full(2)).status == 1
    assert command.keys() == ["good", "new"]


@pytest.mark.usefixtures("database")
def test_closed_standard_streams_do_no_harm(command: Command) -> None:
    assert command("info", before=lambda: os.close(1)) == Result("", "", 0)
    assert command("nosuch", before=lambda: os.close(2)) == Result("", "", 2)
    line = '{"id": "new", "text": "added all the same"}'
    assert command("add", "-", stdin=line, before=lambda: os.close(2)) == Result("", "", 0)
    assert command.keys() == ["good", "new"]
