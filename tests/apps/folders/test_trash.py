"""Dropped files that are moved aside, linked or put back: no text is lost, whatever happens."""

from __future__ import annotations

import errno
import os
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from helpers import Command, database_of, files_to_drop, left_files, unprivileged

import lshdb
from lshdb.apps.folders import trash
from lshdb.database import store_of
from lshdb.read.proof import LeftFile

TEXT = "the ferry leaves the island at noon and comes back at six in the evening every day"
BOTH = {"kept.txt": TEXT, "copy.txt": TEXT}
YES = ": --yes takes it all the same"
NO_COPY = f"no other file holds a kept copy of it{YES}"


def trashed(command: Command, *options: str) -> dict[str, str | None]:
    """The reason why each file is left; None for one that is moved."""
    done = command("trash", "--json", *options)
    return {**dict.fromkeys(row["key"] for row in done.records), **left_files(done)}


def test_a_link_on_the_way_is_followed_no_more_than_one_at_the_end(command: Command) -> None:
    command.write("d/sub/a.txt", TEXT)
    command.write("kept.txt", TEXT)
    command.path("last.txt").symlink_to("d/sub/a.txt")
    command.done("add", "kept.txt", "last.txt")
    command.done("add", "d/sub/a.txt")
    command.path("d").rename(command.path("moved"))
    command.path("d").symlink_to("moved")
    command.done("decide", "drop", "last.txt", "d/sub/a.txt")
    assert trashed(command, "--yes") == {
        "last.txt": "a symbolic link",
        "d/sub/a.txt": "a symbolic link is on the way to it",
    }


def test_a_file_without_a_copy_goes_only_with_yes(command: Command) -> None:
    names = ["alone.txt", "both/a.txt", "both/b.txt"]
    alone = "a text that nothing else is like, about bees and their hives"
    files_to_drop(command, {**dict.fromkeys(names, TEXT), "alone.txt": alone}, *names)
    assert trashed(command) == dict.fromkeys(names, NO_COPY)
    listed = command("decisions", "--drop", "--files")
    assert (listed.out, left_files(listed)) == ("", dict.fromkeys(names, NO_COPY))
    assert command.done("decisions", "--drop", "--files", "--yes").lines == names
    assert trashed(command, "--yes") == dict.fromkeys(names)
    assert not command.path("both/a.txt").exists()


def test_a_file_in_a_folder_that_may_not_be_searched_is_not_said_to_be_gone(
    command: Command,
) -> None:
    files_to_drop(command, {"kept.txt": TEXT, "closed/copy.txt": TEXT}, "closed/copy.txt")
    command.path("closed").chmod(0)
    try:
        with unprivileged():
            done = command("trash", "--json")
    finally:
        command.path("closed").chmod(0o700)
    assert (done.status, left_files(done)) == (1, {"closed/copy.txt": "permission denied"})


def test_a_kept_file_that_became_a_link_is_no_copy(command: Command) -> None:
    files_to_drop(command, BOTH, "copy.txt")
    command.path("kept.txt").unlink()
    command.path("kept.txt").symlink_to("copy.txt")
    assert trashed(command, "--yes") == {}
    assert command.path("copy.txt").read_text() == TEXT


def test_a_copy_may_be_similar_and_the_dropped_document_removed(command: Command) -> None:
    similar = TEXT.replace("day", "DAY!")
    files_to_drop(command, {**BOTH, "similar.txt": similar}, "copy.txt", "similar.txt")
    command.done("remove", "copy.txt")
    assert trashed(command) == {"copy.txt": None, "similar.txt": None}
    assert not command.path("copy.txt").exists()


def test_a_chain_ends_at_a_file_that_stays(command: Command) -> None:
    for name, start in {"a": 0, "b": 3, "c": 12}.items():
        command.write(f"{name}.txt", " ".join(f"word{number}" for number in range(start, 60)))
    command.done("init", "--threshold", "0.8")
    command.done("add", "a.txt", "b.txt", "c.txt")
    command.done("decide", "drop", "a.txt", "b.txt")
    assert trashed(command) == {"a.txt": NO_COPY, "b.txt": None}


def test_members_and_messages_are_copies_and_rows_are_none(command: Command) -> None:
    names = ("zip", "mail", "row")
    texts = {name: " ".join(f"{name}{number}" for number in range(30)) for name in names}
    with zipfile.ZipFile(command.path("in.zip"), "w") as archive:
        archive.writestr("member.txt", texts["zip"])
    command.write("in.mbox", f"From ann Thu Jan  1 00:00:00 2026\nSubject: x\n\n{texts['mail']}\n")
    command.write("rows.jsonl", [{"id": "r", "text": texts["row"]}])
    command.done("add", "--archives", "in.zip", "in.mbox", "rows.jsonl")
    files = {f"{name}.txt": text for name, text in texts.items()}
    files_to_drop(command, files, *files)
    done = command("trash", "-n", "--json")
    assert left_files(done) == {
        "row.txt": f"r does not stay for it: no file of it is there{YES}",
    }
    kept = {row["key"]: row["kept"] for row in done.records}
    assert kept["zip.txt"] == "in.zip/member.txt"
    assert kept["mail.txt"].startswith("in.mbox#")
    with open(command.path("in.mbox"), "a") as file:
        file.write("more of the message\n")
    with zipfile.ZipFile(command.path("in.zip"), "w") as archive:
        archive.writestr("member.txt", "another text")
    assert [*trashed(command).values()].count(None) == 0


def test_a_hard_link_is_one_file_and_what_is_in_the_trash_is_no_copy(command: Command) -> None:
    command.write("a.txt", TEXT)
    os.link(command.path("a.txt"), command.path("b.txt"))
    command.write("c.txt", TEXT)
    command.done("add", "a.txt", "b.txt", "c.txt")
    command.done("decide", "drop", "b.txt", "c.txt")
    assert trashed(command) == {"c.txt": None}
    command.done("add", "lsh.db-trash/1/c.txt")
    command.done("decide", "drop", "a.txt")
    why = "lsh.db-trash/1/c.txt does not stay for it: it is in a recycle bin"
    assert trashed(command) == dict.fromkeys(["a.txt", "b.txt"], why + YES)


def test_files_without_text_are_copies_only_of_their_bytes(command: Command) -> None:
    """Different PDFs of pictures have the same empty text, as these files have."""
    texts = {"kept.txt": "\n", "same.txt": "\n", "else.txt": "\ufeff\n"}
    files_to_drop(command, texts, "same.txt", "else.txt")
    assert command.rows("SELECT count(DISTINCT digest) FROM documents") == [(1,)]
    assert trashed(command) == {"same.txt": None, "else.txt": NO_COPY}


def test_a_run_killed_before_its_log_leaves_a_directory_that_is_used(command: Command) -> None:
    for name in ("lsh.db-trash/.lshdbignore", "mine/.lshdbignore", "mine/else"):
        command.write(name, "")
    files_to_drop(command, BOTH, "copy.txt")
    assert "mine has other files" in command.fails("trash", "--move-to", "mine", status=2)
    assert trashed(command) == {"copy.txt": None}
    assert command.path("lsh.db-trash/.lshdbignore").read_text().endswith("*\n")


# links in place of copies


def stored(directory: Path, **texts: str) -> None:
    """A database of kept.txt and copies of it, which are to be dropped."""
    for name, text in {"kept": TEXT, **texts}.items():
        (directory / f"{name}.txt").write_text(text)
    names = [f"{name}.txt" for name in texts]
    with lshdb.open("lsh.db") as db:
        db.add_files(["kept.txt", *names])
        db.decide("drop", names)


def test_a_link_takes_the_place_of_a_file_with_the_same_bytes(command: Command) -> None:
    """pauldreik/rdfind #109: files that are hard links already were linked again."""
    texts = {"kept.txt": TEXT, "copy.txt": TEXT, "blank.txt": f"{TEXT}\n"}
    files_to_drop(command, texts, "copy.txt", "blank.txt")
    planned = command("trash", "--link", "-n", "--json")
    assert not command.path("copy.txt").samefile(command.path("kept.txt"))
    done = command("trash", "--link", "--json")
    assert done.records == planned.records
    assert "linked 1 file, left 1\nfreed " in done.err
    assert [(row["action"], row["key"], row["kept"]) for row in done.records] == [
        ("linked", "copy.txt", "kept.txt")
    ]
    (why,) = left_files(done).values()
    assert why.startswith("no other file")
    assert command.path("copy.txt").samefile(command.path("kept.txt"))
    assert not command.path("lsh.db-trash").exists()
    assert "already one file: copy.txt" in command("trash", "--link").err


def test_other_permissions_are_not_lost(command: Command) -> None:
    """fdupes #47, fslint #98: after a link nobody else could read the file."""
    files_to_drop(command, {"kept.txt": TEXT, "copy.txt": TEXT}, "copy.txt")
    command.path("kept.txt").chmod(0o600)
    command.path("copy.txt").chmod(0o644)
    (why,) = left_files(command("trash", "--link")).values()
    assert why.startswith("other permissions or another owner than kept.txt")
    assert command.path("copy.txt").stat().st_mode & 0o777 == 0o644


def test_a_file_system_that_links_no_more_leaves_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stored(tmp_path, copy=TEXT)

    def fails(*_: object) -> None:
        raise OSError(errno.EMLINK, "too many links")

    monkeypatch.setattr("lshdb.apps.folders.trash.os.link", fails)
    with lshdb.open("lsh.db") as db:
        files = [*trash.move_aside(store_of(db), "aside", dry_run=False, link=True)]
    assert files == [LeftFile("copy.txt", "too many links")]
    assert (tmp_path / "copy.txt").read_text() == TEXT


def test_what_a_killed_run_left_beside_a_file_goes(command: Command) -> None:
    files_to_drop(command, {"kept.txt": TEXT, "copy.txt": TEXT}, "copy.txt")
    os.link(command.path("kept.txt"), command.path("copy.txt.lshdb-link"))
    command.done("trash", "--link")
    assert command.path("copy.txt").samefile(command.path("kept.txt"))
    assert not command.path("copy.txt.lshdb-link").exists()


class Killed(BaseException):
    """In place of a signal."""


@pytest.mark.parametrize("work", ["move", "link", "restore"])
def test_a_kill_at_each_step_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: str
) -> None:
    def run(step: str) -> None:
        with lshdb.open("lsh.db") as db:
            store = store_of(db)
            if step == "restore":
                files = [*trash.put_back(store, "aside", dry_run=False)]
            else:
                files = [
                    *trash.move_aside(store, "aside", dry_run=False, link=step == "link"),
                ]
            assert not any(isinstance(file, LeftFile) and file.has_failed for file in files)

    for last in range(100):
        directory = tmp_path / str(last)
        directory.mkdir()
        monkeypatch.chdir(directory)
        stored(directory, a=TEXT, b=TEXT)
        if work == "restore":
            run("move")
        with monkeypatch.context() as patched:
            kill_after(last, patched)
            try:
                run(work)
            except Killed:
                pass
            else:
                break
        assert (directory / "kept.txt").read_text() == TEXT
        texts = {path.name: path.read_text() for path in directory.rglob("*.txt")}
        assert texts == dict.fromkeys(["a.txt", "b.txt", "kept.txt"], TEXT)
        logged = "".join(log.read_text() for log in directory.glob("aside/*.jsonl"))
        moved = directory.glob("aside/[0-9]*/**/*.txt")
        assert all(f'"{path.name}"' in logged for path in moved)
        with suppress(lshdb.InputError):  # the log was not there yet, so no file has moved
            run("link" if work == "link" else "restore")
        for name in ("a.txt", "b.txt"):
            assert (directory / name).read_text() == TEXT
            assert (directory / name).stat().st_nlink == (3 if work == "link" else 1)
        assert not list(directory.glob("aside/[0-9]*/**/*.txt"))
    assert last >= 3


def kill_after(last: int, patched: pytest.MonkeyPatch) -> None:
    """Let all functions that change names work `last` times, and then end the process."""
    calls = 0

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            if calls == last:
                raise Killed
            calls += 1
            return function(*arguments, **options)

        return call

    for name in ("link", "unlink", "rename", "replace", "makedirs", "removedirs"):
        patched.setattr(f"lshdb.store.partial_files.os.{name}", counted(getattr(os, name)))


# files put back


def moved_file(command: Command) -> Path:
    """A file that was moved aside from notes/a.txt."""
    files_to_drop(command, {"notes/a.txt": TEXT, "kept.txt": TEXT}, "notes/a.txt")
    command.done("trash")
    return command.path("lsh.db-trash/1/notes/a.txt")


def reason_left(command: Command, *options: str) -> str:
    (why,) = left_files(command("trash", "--restore", *options)).values()
    return why


def test_a_link_at_the_old_place_stays(command: Command) -> None:
    aside, place = moved_file(command), command.path("notes/a.txt")
    for target in (aside, Path("none"), command.directory):
        place.symlink_to(target)
        assert reason_left(command) == "file exists"
        assert (place.is_symlink(), aside.read_text()) == (True, TEXT)
        place.unlink()
    assert command.done("trash", "--restore", "--json").record["action"] == "restored"
    assert place.read_text() == TEXT


def test_a_directory_of_a_stranger_leads_nowhere(
    command: Command, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """trash-cli pull request #392: restoring wrote to absolute paths and through links that the
    directory named.
    """
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.txt").write_text("secret")
    aside = moved_file(command)
    command.path("to").symlink_to(outside)
    for name in ("1/to/x.txt", "2/in/y.txt"):
        command.write(f"lsh.db-trash/{name}", "planted")
    command.path("lsh.db-trash/1/inner").symlink_to(outside)
    command.path("lsh.db-trash/1/link.txt").symlink_to(command.path("kept.txt"))
    command.path("lsh.db-trash/3").symlink_to(outside)
    os.mkfifo(command.path("lsh.db-trash/1/pipe"))
    done = command("trash", "--restore", "--json")
    assert left_files(done) == {
        "link.txt": "not a file that was moved there",
        "pipe": "not a file that was moved there",
        "secret.txt": "not a file that was moved there",
        "to/x.txt": "a symbolic link is on the way to its old place",
    }
    assert {row["key"] for row in done.records} == {"notes/a.txt", "in/y.txt"}
    assert [path.name for path in outside.iterdir()] == ["secret.txt"]
    assert (aside.exists(), command.path("kept.txt").read_text()) == (False, TEXT)


def test_nothing_moves_through_a_link_in_the_trash(command: Command) -> None:
    """lgse/strata #862: a link had replaced a directory."""
    moved_file(command)
    command.path("elsewhere").mkdir()
    (command.path("lsh.db-trash/2")).mkdir()
    command.path("lsh.db-trash/3").symlink_to(command.path("elsewhere"))
    files_to_drop(command, {"again.txt": TEXT}, "again.txt")
    command.done("trash")
    assert command.path("lsh.db-trash/4/again.txt").read_text() == TEXT
    assert not [*command.path("elsewhere").iterdir()]


def test_a_restored_file_is_to_be_dropped_until_that_is_undone_or_spent(command: Command) -> None:
    moved_file(command)
    assert "still to be dropped: 1 document" in command.done("trash", "--restore").err
    command.done("remove", "--decided")
    assert "skipped: 1 dropped" in command.done("sync", "notes").err
    command.done("trash")
    command.done("sync", "notes")
    assert command.done("trash", "--restore").err == "restored 1 file, left 0\n"
    assert command.done("sync", "notes").err.startswith("added 1, ")
    command.done("decide", "drop", "notes/a.txt")
    command.done("trash")
    said = command.done("trash", "--restore", "--undo").err
    assert said == "restored 1 file, left 0\nundone: 1 decision\n"


# a run


def files_below(directory: Path) -> dict[str, str]:
    """The texts of all files but logs, by their paths."""
    found = (path for path in directory.rglob("*.txt") if path.is_file())
    return {str(path.relative_to(directory)): path.read_text() for path in found}


def test_trash_moves_unchanged_files_aside_and_back(command: Command) -> None:
    database_of(command.path("lsh.db"), {"a": TEXT}).close()
    names = ["a.txt", "sub/b.txt", "c.txt", "same size.txt", "gone.txt", "link.txt", "linked.txt"]
    for name in names:
        command.write(f"notes/{name}", f"a text of its own: {name}")
    notes = command.path("notes")
    (notes / "link.txt").unlink()
    (notes / "link.txt").symlink_to("a.txt")
    outside = command.path("../outside.txt").resolve()
    outside.write_text("a text elsewhere")
    command.write("in.mbox", "From ann\nSubject: x\n\na message\n")
    command.done("add", "notes", outside, "in.mbox")
    command.done("add", "notes/link.txt")  # alone: it is a second name of a file
    stored = command.keys()
    keys = [key for key in stored if key.startswith(("notes", "/", "in.mbox"))]
    assert len(keys) == 9
    command.done("decide", "drop", "a", *keys)
    command.write("notes/c.txt", "a text that grew")
    command.write("notes/same size.txt", "A text of its own: same size.txt")
    (notes / "gone.txt").unlink()
    os.link(notes / "linked.txt", outside.with_name("hard link"))
    before = files_below(command.directory)
    planned = command("trash", "-n", "--yes", "--json").records
    assert files_below(command.directory) == before
    assert not command.path("lsh.db-trash").exists()
    done = command("trash", "--yes", "--json")
    assert done.records == planned
    size = sum(len(before[f"notes/{name}"]) for name in ("a.txt", "sub/b.txt"))
    assert f"moved 3 files, left 4\ndeleting lsh.db-trash/1 frees {size} bytes;" in done.err
    assert (
        "left 3 documents: no file of its own: gone, or a row or message in a file: a" in done.err
    )
    changed = "it has changed since it was read"
    assert left_files(done) == {
        **dict.fromkeys(("notes/c.txt", "notes/same size.txt"), changed),
        "notes/link.txt": "a symbolic link",
        str(outside): f"not below {command.directory.resolve()}, the database's root",
    }
    aside = command.path("lsh.db-trash/1")
    moved = ("notes/a.txt", "notes/sub/b.txt", "notes/linked.txt")
    assert files_below(aside) == {name: before[name] for name in moved}
    synced = command.done("sync", ".", "--remove-most").err
    assert synced.startswith("added 0, updated 2, moved 0, removed 5")
    # A second run names no file that is aside already.
    assert command("trash", "--yes", "--json").records == []
    reason = command.fails("trash", "--restore", "--move-to", "no")
    assert reason.startswith("no: no file was moved")
    assert "has other files" in command.fails("trash", "--move-to", "notes", status=2)
    # One comes back over no other file, and one whose move was interrupted has both names.
    command.write("notes/a.txt", "in its place")
    (notes / "sub").mkdir(exist_ok=True)
    os.link(aside / "notes/sub/b.txt", notes / "sub/b.txt")
    done = command("trash", "--restore", "--json")
    assert [row["key"] for row in done.records] == ["notes/linked.txt", "notes/sub/b.txt"]
    assert left_files(done) == {"notes/a.txt": "file exists"}
    (notes / "a.txt").unlink()
    assert command.done("trash", "--restore").err == "restored 1 file, left 0\n"
    assert files_below(command.directory) == before
    assert not aside.exists()


def test_one_name_by_two_paths_is_no_second_name(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "link").symlink_to("d")
    path, same = tmp_path / "d/a", tmp_path / "link/a"
    path.write_text(TEXT)
    os.link(path, tmp_path / "d/b")
    assert trash.is_second_name(str(path), str(tmp_path / "link/b"))
    assert not trash.is_second_name(str(path), str(same))
    with pytest.raises(FileExistsError):
        trash.rename(str(path), str(same))
    (tmp_path / "c").write_text(TEXT)
    assert not trash.is_second_name(str(path), str(tmp_path / "c"))
    assert not trash.is_second_name(str(path), str(tmp_path / "none"))
