"""Files that have no content: empty documents, pointers of Git LFS, paths that lead nowhere."""

import json

import pytest
from helpers import Command

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12345\n".format(
    "0a" * 32
)
TEXT = "the quick brown fox jumps over the lazy dog and runs home"


def test_an_empty_file_of_any_kind_is_an_empty_document(command: Command) -> None:
    for suffix in ("pdf", "docx", "xlsx", "epub", "html", "rtf", "eml", "odt", "pptx", "txt"):
        command.write(f"d/empty.{suffix}", "")
    command.write("d/empty.mbox", "")
    command.write("d/a.txt", TEXT)
    done = command.done("sync", "d", "--json")
    counts = json.loads(done.out)
    assert (counts["added"], counts["failed"], counts["empty"]) == (11, 0, 10)
    assert "empty: 10 without a shingle, similar to nothing\n" in done.err
    done = command.done("sync", "d", "--json")
    counts = json.loads(done.out)
    assert (counts["unchanged"], counts["failed"]) == (11, 0)


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.csv", "a.pdf"])
def test_a_pointer_replaces_no_text(command: Command, name: str) -> None:
    command.write(f"d/{name}", POINTER)
    command.write("d/b.txt", TEXT)
    done = command.done("add", "d", "--list-skipped")
    assert f"skipped d/{name}: a pointer of Git LFS, not its file: git lfs pull" in done.err
    assert command.keys() == ["d/b.txt"]
    named = command("add", f"d/{name}")
    assert (named.status, "a pointer of Git LFS" in named.err) == (1, True)
    assert command.keys() == ["d/b.txt"]
    assert "1 pointers" in done.err


def test_what_is_stored_stays_where_a_pointer_is_now(command: Command) -> None:
    command.write("d/a.txt", TEXT)
    command.done("sync", "d")
    command.write("d/a.txt", POINTER)
    for done in (command.done("sync", "d"), command.done("add", "d")):
        assert "1 pointers" in done.err
        assert "failed 0" in done.err
    assert command.rows("SELECT key, content FROM documents") == [("d/a.txt", TEXT)]


def test_what_does_not_exist_makes_no_database(command: Command) -> None:
    for paths in (["~/foo.txt"], ["~/foo.txt", "bar"], ["~/*.txt"]):
        said = command.fails("add", *paths)
        assert "no such file or directory" in said
        assert not command.path("lsh.db").exists()
    assert "no such file or directory" in command.fails("add", "bar")
    assert "no such directory" in command.fails("sync", "~/notes")
    assert "no such file or directory" in command.fails("dedup", "~/notes", "-o", "out.jsonl")
    assert not [*command.directory.iterdir()]
    command.write("a.txt", TEXT)
    assert "~/foo.txt: no such file or directory" in command("add", "~/foo.txt", "a.txt").err
    assert command.keys() == ["a.txt"]
