"""Input and files that are broken, hostile or not what they seem: a clear line, nothing lost."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from helpers import Command, Result, database_of, in_any_version, unprivileged

import lshdb
from lshdb.offers import is_there

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
    lines = result.err.splitlines()
    *message, report = [line for line in lines if not line.startswith(("empty", "skipped"))]
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
        '{"id": 1e16, "text": "a"}': "field 'id' is 1e+16, a float that may be rounded: write it "
        "as an integer or a string",
        '{"id": "a\\u0000b", "text": "a"}': "field 'id' has a NUL character",
        '{"text": "a"}': "no field 'id': name it with --key-field, or give --auto-key",
        '{"id": 3}': "no field 'text': name it with --text-field",
        '{"id": 3, "text": null}': "field 'text' is null, not a string",
        '{"id": 3, "set": ["a"]}': "a set (field 'set'), and texts are compared: --shingle set "
        "compares sets",
        deep: "not JSON: ... at character 1026",
        f'{{"id": 3, "text": "a", "more": {deep[99_510:100_490]}}}': "not JSON: nested deeper than "
        "200 levels",
        f'{{"id": 5, "text": "deep", "more": {deep[99_801:100_199]}}}': None,
        f'{{"id": {1 << 64}, "text": "large"}}': None,
        '{"id": 4, "text": "last"}': None,
    }
    # A byte order mark at the start, CRLF at the ends, and no end of the last line.
    data = b"\xef\xbb\xbf" + "\r\n".join(lines).encode()
    expected = [f"-:{n}: {reason}" for n, reason in enumerate(lines.values(), 1) if reason]
    assert failures(command, "-", stdin=data) == expected
    texts = {"1": "first", "4": "last", "5": "deep", str(1 << 64): "large"}
    assert contents(command) == texts


def test_after_20_failures_the_rest_is_only_counted(command: Command) -> None:
    lines = "broken\n" * 25 + '{"id": 1, "text": "good"}\n' + "broken\n" * 5
    result = command("add", "-", "--format", "jsonl", "--json", stdin=lines)
    assert (result.status, result.record["failed"], result.record["added"]) == (1, 30, 1)
    message = result.err.splitlines()
    assert message[19].startswith("lshdb: -:20: not JSON")
    assert message[20:] == ["lshdb: further failures are counted, not printed"]


def test_bad_elements_and_texts_in_a_database_of_sets(command: Command) -> None:
    lshdb.open(command.path("lsh.db"), shingle="set").close()
    command.write("file.txt", "a text")
    lines = {
        '{"id": 1, "set": ["a", 1, "a"]}': None,
        '{"id": 2, "set": ["a", 1.5]}': "element 2 of field 'set' is a decimal number, not a "
        "string or integer",
        '{"id": 2, "text": "a"}': "a text (field 'text'), and this database holds sets (field "
        "'set')",
        '{"id": 2}': "no field 'set': name it with --set-field",
    }
    expected = [f"-:{n}: {reason}" for n, reason in enumerate(lines.values(), 1) if reason]
    wanted = "a set is a JSON array, or an object with the array as 'set'"
    expected.append(f"file.txt: not JSON (... at character 1): {wanted}")
    assert failures(command, "-", "file.txt", stdin="\n".join(lines).encode()) == expected
    assert contents(command) == {"1": '[1,"a"]'}
    for text, reason in (
        ('{"a": 1}', "an object"),
        ("a b", "not JSON (... at character 1)"),
        ("[" * 201 + "]" * 201, "not JSON (nested deeper than 200 levels)"),
    ):
        said = in_any_version(command.fails("query", "--text", text))
        assert said == f"--text: {reason}: {wanted}"


# bytes


@pytest.mark.app("dedup", "review")
def test_ids_that_give_no_key_are_dropped_and_never_decided(command: Command) -> None:
    row = b'{"id": "%s", "text": "one text of some words"}\n'
    command.write("in.jsonl", b"".join(row % key for key in (b"a\\ud800", b"a\xff", b"good")))
    command.done("add", "--key", "good", "-", stdin="one text of some words")
    result = command.done("dedup", "in.jsonl", "--dropped", "gone.jsonl")
    assert "2 ids give no key" in result.err
    assert command.path("gone.jsonl").read_text().count('"kept":"in.jsonl:1"') == 2
    assert result.out.count("\n") == 1
    command.write("own.jsonl", '{"verdict": "keep", "key": "a\\ud800"}')
    assert "a lone surrogate" in command.fails("decide", "--from", "own.jsonl")


@pytest.mark.app("documents")
def test_what_is_not_utf8_is_replaced_and_counted_or_refused(command: Command) -> None:
    command.write("latin.txt", b"\xef\xbb\xbftexte fran\xe7ais")
    command.write("cut.txt", "a text".encode("utf-16")[:-1])
    lines = (
        b'{"id": 1, "text": "\xff"}\n{"id": 2, "text": "\\ud800"}\n{"id": 3, "text": "good"}\n'
        b'{"id": 4, "text": "\\ud83d\\ude00\\\\ud800", "x": ["\\ude00\\ud83d"], "a\\ud83d\\n": 1}\n'
    )
    strict = failures(command, "--strict", "latin.txt", "cut.txt", "-", stdin=lines)
    assert strict == [
        "latin.txt: not UTF-8 at byte 14",
        "cut.txt: not UTF-16",
        "-:1: not UTF-8 at byte 20",
        "-:2: a lone surrogate, which is not Unicode text",
        "-:4: a lone surrogate, which is not Unicode text",
    ]
    assert contents(command) == {"3": "good"}
    result = command.done("add", "latin.txt", "cut.txt", "-", stdin=lines)
    assert result.err.splitlines() == [
        "added 5, updated 0, unchanged 1, failed 0",
        "not UTF-8: 5, bad bytes replaced (--strict refuses them)",
    ]
    replaced = {"latin.txt": "texte fran\ufffdais", "cut.txt": "a tex\ufffd", "3": "good"}
    assert contents(command) == {**replaced, "1": "\ufffd", "2": "\ufffd", "4": "😀\\ud800"}
    kept = command.done("show", "4", "--json").record["metadata"]
    assert kept == {"x": ["\ufffd\ufffd"], "a\ufffd\n": 1}
    command.path("latin.txt").rename(command.path("moved.txt"))
    queried = command.done("query", "moved.txt")
    assert queried.err == "moved.txt is not UTF-8; bad bytes are replaced\n"
    assert queried.out == "1.000000\tidentical\tlatin.txt\n"


@pytest.mark.app("documents")
@pytest.mark.parametrize("encoding", ["utf-16", "cp1252"])
def test_texts_and_rows_in_any_encoding(command: Command, encoding: str) -> None:
    text = "the caf\u00e9 on the corner"
    given = [] if encoding == "utf-16" else ["--encoding", encoding]  # which has a mark
    files = {"x.txt": text, "x.jsonl": f'{{"id": "l", "text": "{text}"}}\n'}
    for name, content in files.items():
        command.write(name, content.encode(encoding))
    stdin = files["x.jsonl"].replace('"l"', '"s"').encode(encoding)
    assert failures(command, *given, *files, "-", stdin=stdin) == []
    assert contents(command) == dict.fromkeys(("x.txt", "l", "s"), text)
    assert len(command.done("query", *given, "x.txt", says="").lines) == 2  # not itself
    lines = ["add", "query"]
    if is_there("compare"):
        compared = command.done("compare", *given, "--json", "./x.txt", "l")
        assert compared.record["similarity"] == 1
        lines.append("compare ./x.txt")
    if is_there("dedup"):
        command.done("dedup", *given, "x.jsonl", "-o", "kept.jsonl")
        assert json.loads(command.path("kept.jsonl").read_bytes())["text"] == text
        lines.append("dedup -o out")
    for line in lines:
        reason = command.fails(*line.split(), "--encoding", "base64", "./x.txt", status=2)
        assert "is not known to Python" in reason


def test_keys_and_names_may_be_anything(command: Command) -> None:
    keys = ["a\nb", "'; drop table documents; --", '"', "[red]x[/red]", "\x1b[31m", "-x", "я\x7f"]
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
    assert command.done("remove", "--", name, *keys).err == "removed 8\n"
    # Neither a text of the command line nor the name of a database need be UTF-8.
    assert command.done("query", "--text", b"one \xff").err.startswith("no document")
    command.done("init", "-d", b"\xff.db")
    reason = command.fails("info", "-d", b"no\xff.db")
    assert reason.startswith("no database at no\\udcff.db: there is no such file")


# files


def test_files_that_cannot_be_read_cost_only_themselves(command: Command) -> None:
    command.write("good.txt", TEXT)
    command.write("empty.jsonl", "")
    command.write("binary", b"\xff\xfea\0\0\0\0\0b\0")
    command.path("dangling").symlink_to("nowhere")
    reasons = {
        "nosuch": "no such file or directory",
        "dangling": "no such file or directory",
        "binary": "a binary file (it has NUL bytes)",
        "/dev/zero": "a device, not a file",
        "x" * 300: "file name too long",
    }
    message = failures(command, *reasons, "", "empty.jsonl", "good.txt")
    assert message == [
        *(f"{name}: {reason}" for name, reason in reasons.items()),
        "'': no such file or directory",
    ]
    assert command.keys() == ["good.txt"]
    for name in ("binary", "/dev/zero"):
        assert command.fails("query", name) == f"{name}: {reasons[name]}"


def test_standard_input_that_is_no_document(command: Command) -> None:
    assert failures(command, "-") == []
    needs_key = "-: not JSON lines, and a text needs a key: give --key KEY"
    assert failures(command, "-", stdin=b'\n[{"id": 1}]\n') == [needs_key]
    binary = "-: a binary file (it has NUL bytes)"
    assert failures(command, "--key", "k", "-", stdin=b"a\0") == [binary]
    with open("/dev/zero") as zero:
        assert failures(command, "-", stdin=zero.fileno()) == ["-: a device, not a file"]
    closed = command("add", "-", stdin=None)
    assert closed.err.startswith("lshdb: -: standard input is closed\n")
    assert closed.status == 1
    # Blank lines and an empty document are no failures.
    assert failures(command, "-", stdin=b'\n \t\n{"id": "e", "text": ""}\n\n') == []
    assert contents(command) == {"e": ""}


@pytest.mark.skipif(
    os.geteuid() == 0 and sys.platform != "linux", reason="root may read everything"
)
def test_what_may_not_be_read_or_written(command: Command, database: Path) -> None:
    command.path("directory").mkdir()
    command.path("sealed").mkdir()
    for name, mode in (("directory", 0), ("sealed", 0o500)):
        command.path(name).chmod(mode)
    try:

        def reason(*arguments: str) -> str:
            with unprivileged():
                return command.fails(*arguments)

        assert reason("query", "-d", "directory/x.db", "--text", "a").endswith("permission denied")
        missing = "there is no such file, and its directory may not be written"
        assert reason("init", "-d", "sealed/new.db") == f"sealed/new.db cannot be opened: {missing}"
        database.chmod(0)
        assert reason("info") == "lsh.db cannot be opened: permission denied"
        database.chmod(0o400)
        assert reason("remove", "good").startswith("lsh.db cannot be written: ")
        with unprivileged():
            command.done("info")
    finally:
        command.path("directory").chmod(0o700)
    assert command.keys() == ["good"]


# databases


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.usefixtures("database")
def test_a_full_disk_under_the_output_is_reported_and_under_the_messages_ignored(
    command: Command,
) -> None:
    line = 'broken\n{"id": "new", "text": "added all the same"}'
    with open("/dev/full", "wb", buffering=0) as full:
        for arguments in (["query", "--json", "--text", TEXT], ["--version"]):
            reason = command.fails(*arguments, streams={1: full.fileno()})
            assert reason == "standard output: no space left on device"
        asked = ("add", "--format", "jsonl", "-")
        assert command(*asked, stdin=line, streams={2: full.fileno()}).status == 1
    assert command.keys() == ["good", "new"]


@pytest.mark.usefixtures("database")
def test_closed_standard_streams_do_no_harm(command: Command) -> None:
    assert command("info", streams={1: None}) == Result("", "", 0)
    assert command("nosuch", streams={2: None}) == Result("", "", 2)
    line = '{"id": "new", "text": "added all the same"}'
    assert command("add", "-", stdin=line, streams={2: None}) == Result("", "", 0)
    assert command.keys() == ["good", "new"]
