"""No list of files to delete, and no trash, names a file that is not what was compared.

Sizes and times do not say it: files are exchanged, renamed and edited between reading and deleting.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import documents
import pytest
from helpers import Command, files_to_drop, left_files

pytestmark = pytest.mark.app("dedup", "folders", "review")

A = "the ferry leaves the island at noon and comes back at six in the evening every day"
B = "nobody has written these other words in any file before the summer of that long year"
CHANGED = "it has changed since it was read"
YES = ": --yes takes it all the same"
LATIN = "la forêt est très éloignée et le café du village est fermé depuis l'été dernier"


def mail(path: Path, texts: list[str]) -> None:
    path.write_text(f"From: ann@b.c\nSubject: a\n\n{' '.join(texts)}\n")


def guessed(path: Path, texts: list[str]) -> None:
    path.write_bytes(f"{LATIN} {' '.join(texts)}".encode("cp1252"))


MAKERS: dict[str, Callable[[Path, list[str]], None]] = {
    "txt": documents.text,
    "html": documents.html,
    "pdf": documents.pdf,
    "docx": documents.docx,
    "eml": mail,
    "latin.txt": guessed,
}


def exchange(one: Path, other: Path) -> None:
    """Exchange the contents of two files, which have one size and time after it."""
    contents = one.read_bytes(), other.read_bytes()
    size = max(map(len, contents))
    for path, data in zip((other, one), contents, strict=True):
        path.write_bytes(data.ljust(size))
    for path in (one, other):
        os.utime(path, ns=(10**18, 10**18))


def make(command: Command, suffix: str) -> tuple[Path, Path, Path]:
    """A text that is there once, and one that is there twice, of one size and time."""
    names = [f"d/{name}.{suffix}" for name in ("only", "copy", "kept")]
    for name, text in zip(names, (A, B, B), strict=True):
        path = command.path(name)
        path.parent.mkdir(exist_ok=True)
        MAKERS[suffix](path, [text])
    shutil.copy(command.path(names[1]), command.path(names[2]))  # a PDF has the time in it
    paths = [command.path(name) for name in names]
    size = max(path.stat().st_size for path in paths)
    for path in paths:
        path.write_bytes(path.read_bytes().ljust(size))
        os.utime(path, ns=(10**18, 10**18))
    command.done("add", "d")
    only, copy, kept = paths
    return only, copy, kept


@pytest.mark.parametrize("suffix", MAKERS)
@pytest.mark.parametrize("goes", [True, False], ids=["what goes", "what stays"])
def test_files_that_were_exchanged_stay(command: Command, suffix: str, goes: bool) -> None:
    only, copy, kept = make(command, suffix)
    names = {path: str(path.relative_to(command.directory)) for path in (only, copy, kept)}
    command.done("decide", "drop", names[copy])
    for name in LISTS:
        assert command.done(*name, "--files").lines == [names[copy]]
    exchange(only, copy if goes else kept)
    left = {path.read_bytes() for path in (only, copy, kept)}
    why = CHANGED if goes else f"{names[kept]} does not stay for it: {CHANGED}"
    for arguments in (*((*name, "--files") for name in LISTS), ("trash",), ("trash", "--link")):
        done = command(*arguments)
        assert done.out == "", arguments
        (reason,) = left_files(done).values()
        assert reason.removesuffix(YES) == why
    assert {path.read_bytes() for path in (only, copy, kept)} == left


LISTS = (("clusters", "--drop-list"), ("decisions", "--drop"))


def test_a_file_that_was_renamed_is_no_copy_of_its_old_name(command: Command) -> None:
    command.write("n/a.txt", A)
    command.done("add", "-d", "y.db", "n")
    command.path("n/a.txt").rename(command.path("n/b.txt"))
    for options in (["-0"], [], ["--json"]):
        done = command("dedup", "n", "--against", "y.db", *options)
        assert done.out == ""
        assert left_files(done) == {
            "n/b.txt": "n/a.txt does not stay for it: no file of it is there"
        }
    command.done("dedup", "n", "-d", "z.db")
    command.path("n/b.txt").rename(command.path("n/c.txt"))
    assert [*left_files(command("dedup", "n", "-d", "z.db", "-0"))] == ["n/c.txt"]


@pytest.mark.parametrize("spoiled", ["y.db", "z.db"])
def test_a_document_of_an_earlier_run_stays_only_as_it_was(command: Command, spoiled: str) -> None:
    command.write("old/a.txt", A)
    command.write("new/b.txt", A)
    command.done("add", "-d", "y.db", "old")
    command.done("dedup", "old", "-d", "z.db")
    options = ["--against", "y.db"] if spoiled == "y.db" else ["-d", "z.db"]
    command.path("old/a.txt").write_text(A.swapcase())
    why = f"old/a.txt does not stay for it: {CHANGED}"
    # Also where the run reads the file itself, and stores what it has now.
    for inputs in (["new"], ["new", "old"]) if spoiled == "y.db" else (["new", "old"],):
        command.path("old/a.txt").write_text(f"{B} {inputs}")
        done = command("dedup", *inputs, *options, "-0")
        assert (done.out, left_files(done)) == ("", {"new/b.txt": why})


def test_a_copy_in_a_bin_is_never_what_stays(command: Command) -> None:
    command.write("d/$RECYCLE.BIN/a.txt", A)
    command.write("d/z.txt", A)
    why = "d/$RECYCLE.BIN/a.txt does not stay for it: it is in a recycle bin"
    done = command("dedup", "d/$RECYCLE.BIN", "d/z.txt", "--format", "text", "-0")
    assert (done.out, left_files(done)) == ("", {"d/z.txt": why})
    command.done("add", "d/$RECYCLE.BIN/a.txt", "d/z.txt")
    assert command.done("clusters", "--drop-list", "--files").lines == ["d/$RECYCLE.BIN/a.txt"]
    command.done("decide", "drop", "d/z.txt")
    assert left_files(command("trash")) == {"d/z.txt": why + YES}


def test_a_file_that_is_moved_comes_back_if_what_stays_has_changed(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    import lshdb
    from lshdb.apps.folders import trash
    from lshdb.database import store_of
    from lshdb.store import partial_files

    files_to_drop(command, {"kept.txt": A, "sub/copy.txt": A}, "sub/copy.txt")
    rename_new = partial_files.rename_new

    def rename(path: str, target: str) -> None:
        rename_new(path, target)
        command.path("kept.txt").write_text(A.swapcase())

    monkeypatch.chdir(command.directory)
    monkeypatch.setattr(partial_files, "rename_new", rename)
    with lshdb.open("lsh.db") as db:
        (left,) = trash.move_aside(store_of(db), "aside", dry_run=False)
    why = f"kept.txt does not stay for it: {CHANGED}"
    assert (left.key, getattr(left, "reason", "")) == ("sub/copy.txt", why)
    assert command.path("sub/copy.txt").read_text() == A
    assert not command.path("aside/1").exists()


def test_without_a_stored_digest_the_text_is_compared(command: Command) -> None:
    files_to_drop(
        command, {"kept.txt": A, "copy.txt": A, "a.eml": f"Subject: x\n\n{B}\n"}, "copy.txt"
    )
    import sqlite3

    with sqlite3.connect(command.path("lsh.db")) as connection:
        connection.execute("UPDATE files SET file_digest = NULL")
    for name in LISTS:
        assert command.done(*name, "--files").lines == ["copy.txt"]
    command.path("kept.txt").write_text(A.swapcase())
    why = f"kept.txt does not stay for it: {CHANGED}"
    assert left_files(command("clusters", "--drop-list", "--files")) == {"copy.txt": why}


def test_rows_messages_and_members_are_named_as_keys(command: Command) -> None:
    with zipfile.ZipFile(command.path("in.zip"), "w") as archive:
        archive.writestr("member.txt", A)
    command.write("rows.jsonl", [{"id": "r", "text": A}])
    command.write("in.mbox", f"From ann Thu Jan  1 00:00:00 2026\nMessage-ID: <m@n>\n\n{A}\n")
    command.write("a.txt", A)
    command.done("add", "a.txt")
    command.done("add", "--archives", "in.zip", "in.mbox", "rows.jsonl")
    keys = ["in.zip/member.txt", "in.mbox#<m@n>", "r"]
    assert {*command.done("clusters", "--drop-list").lines} == {*keys}
    done = command.done("clusters", "--drop-list", "--files")
    assert (done.out, "left 3 documents: no file of its own" in done.err) == ("", True)
    dropped = command.done("dedup", "a.txt", "in.mbox", "--format", "text", "-0")
    assert dropped.out == "in.mbox#<m@n>\0"


def test_lists_are_paths_from_here(command: Command) -> None:
    command.write("d/a.txt", A)
    command.write("d/b.txt", A)
    command.done("add", "d")
    command.path("else").mkdir()
    drop_list = ("clusters", "-d", "../lsh.db", "--drop-list", "--files")
    assert Command(command.path("d")).done(*drop_list).lines == ["b.txt"]
    elsewhere = Command(command.path("else")).done(*drop_list)
    assert elsewhere.lines == [str(command.path("d/b.txt").resolve())]
    assert command.done("clusters", "--drop-list", "--files").lines == ["d/b.txt"]
    wrong = command.fails("clusters", "--drop-list", "--files", "--json", status=2)
    assert wrong.startswith("--files goes with --drop-list")


def test_folders_count_files_only_as_they_were_compared(command: Command) -> None:
    for folder in ("one", "two"):
        for name, text in {"a": A, "b": B.ljust(len(A)), "c": A[::-1], "d": A.upper()}.items():
            command.write(f"{folder}/{name}.txt", text)
            os.utime(command.path(f"{folder}/{name}.txt"), ns=(10**18, 10**18))
    with zipfile.ZipFile(command.path("one/z.zip"), "w") as archive:
        archive.writestr("a.txt", "a text that is only in this one archive")
    command.done("add", "one", "two", "--archives")

    def unread() -> list[str]:
        row = command.done("folders", "--json").record
        return sorted(row["a_unread_files"] + row["b_unread_files"])

    assert unread() == []
    exchange(command.path("one/a.txt"), command.path("one/b.txt"))
    with zipfile.ZipFile(command.path("one/z.zip"), "w") as archive:
        archive.writestr("a.txt", "a text that is only in that one archive")
    assert unread() == ["one/a.txt", "one/b.txt", "one/z.zip"]


def test_what_stays_for_another_file_goes_in_a_later_run(command: Command) -> None:
    mail = f"From: a@b\nMessage-ID: <m@n>\n\n{A}\n"
    command.write("a.eml", mail)
    for name in ("in.mbox", "same.mbox"):
        command.write(name, f"From ann Thu Jan  1 00:00:00 2026\n{mail}")
    command.done("add", "a.eml", "in.mbox")
    command.done("add", "--no-documents", "in.mbox", "same.mbox")
    command.done("decide", "drop", "a.eml", "in.mbox")
    why = "another file goes because this one stays: do this again when that one is gone"
    assert left_files(command("trash")) == {"in.mbox": why}
    assert "moved\tin.mbox\t2/in.mbox\tsame.mbox" in command.done("trash").out
