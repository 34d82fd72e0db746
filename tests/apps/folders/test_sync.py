"""sync: after it the database is what a new one of the same directories would be.

What it reads again, which files it knows by their bytes, and what happens to decisions.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import documents
import inspection
import pytest
from helpers import Command, database_of, forked, new_session, status_of, unprivileged

import lshdb
from lshdb.apps.folders.sync import SyncReport
from lshdb.errors import InputError, UsageError
from lshdb.options import WalkingOptions


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: str, text: str | bytes, age: float = 100) -> None:
    """Write a file that was changed some seconds ago."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(text if isinstance(text, bytes) else text.encode())
    then = time.time_ns() - int(age * 1e9)
    os.utime(path, ns=(then, then))


def sync(*directories: str, **options: Any) -> SyncReport:
    with lshdb.open("lsh.db") as db:
        return db.sync(directories, **options)


def stored(name: str = "lsh.db") -> dict[str, str]:
    return dict(inspection.rows(Path(name), "SELECT key, content FROM documents"))


def ids() -> dict[str, int]:
    return dict(inspection.rows(Path("lsh.db"), "SELECT key, doc_id FROM documents"))


def counts(report: SyncReport) -> tuple[int, ...]:
    """Added, updated, moved, removed, unchanged."""
    return (report.added, report.updated, report.moved, report.removed, report.unchanged)


def change_at_random(rng: random.Random, number: int) -> None:
    files = sorted(str(path) for path in Path("d").rglob("*") if path.is_file())
    if not files or rng.random() < 0.3:
        name = "/".join(rng.choices("abc", k=rng.randint(1, 3)))
        if not any(Path(one).is_file() for one in (Path("d") / name).parents):
            write(f"d/{name}/{rng.randint(0, 9)}.txt", f"text {rng.randint(0, 20)} of some words")
        return
    one = rng.choice(files)
    kind = rng.choice(["change", "touch", "remove", "move", "over", "binary", "rename"])
    if kind == "change":
        write(one, f"changed {number} of some words", age=100 - number / 100)
    elif kind == "touch":
        os.utime(one, (number, number))
    elif kind == "remove":
        os.unlink(one)
    elif kind == "move":
        target = f"d/{rng.choice('abc')}{number}/moved.txt"
        Path(target).parent.mkdir(parents=True)
        os.rename(one, target)
    elif kind == "over":
        os.replace(one, rng.choice(files))
    elif kind == "binary":
        write(one, b"a\0b")
    else:
        top = one.split("/")[1]
        os.rename(f"d/{top}", f"d/r{number}{'.txt' if Path(f'd/{top}').is_file() else ''}")


@pytest.mark.parametrize("seed", range(3))
def test_random_changes_give_what_a_new_database_has(seed: int) -> None:
    rng = random.Random(seed)
    Path("d").mkdir()
    sync("d")
    for turn in range(7):
        for number in range(rng.randint(0, 8)):
            change_at_random(rng, turn * 10 + number)
        before, contents = ids(), stored()
        planned = sync("d", dry_run=True)
        assert stored() == contents, "a dry run changes nothing"
        done = sync("d", remove_most=bool(planned.refused))
        assert counts(planned) == counts(done)
        with lshdb.open("new.db") as new:
            new.sync(["d"])
        assert stored() == stored("new.db")
        Path("new.db").unlink()
        expected = dict(contents)
        for change in planned.changes:
            if change.action in ("remove", "move"):
                expected.pop(change.moved_from or change.key)
        for change in planned.changes:
            if change.moved_from is not None:
                assert ids()[change.key] == before[change.moved_from]
                expected[change.key] = contents[change.moved_from]
            elif change.action in ("add", "update"):
                assert (change.key in contents) == (change.action == "update")
                expected[change.key] = stored()[change.key]
        assert stored() == expected, "the dry run said it"
        assert counts(sync("d")) == (0, 0, 0, 0, len(expected))
    inspection.check(Path("lsh.db"))


def test_a_change_within_the_same_moment_is_seen() -> None:
    """Of the same size and time as before, by its change time; or as it was young when read."""
    write("d/a", "one", age=0)
    now = os.stat("d/a").st_mtime_ns
    sync("d")
    write("d/a", "two")
    os.utime("d/a", ns=(now, now))
    assert counts(sync("d")) == (0, 1, 0, 0, 0)
    write("d/old", "one")
    sync("d")
    then = os.stat("d/old").st_mtime_ns
    write("d/old", "two")
    os.utime("d/old", ns=(then, then))
    assert counts(sync("d")) == (0, 1, 0, 0, 1)
    assert stored()["d/old"] == "two"


def test_only_documents_of_files_below_are_touched() -> None:
    write("d/a", "text of a")
    write("e/b", "text of b")
    write("d/rows.jsonl", '{"id": "d/row", "text": "a row of a table"}\n{"text": "and another"}\n')
    with lshdb.open("lsh.db") as db:
        db.add_files(["d", "e"], reader=new_session(False, auto_key=True))
        db.add_many([("d/by hand", "a note"), ("dd/x", "more"), ("d", "the name itself")])
    others = {key: text for key, text in stored().items() if key not in ("d/a", "e/b")}
    os.unlink("d/a")
    os.unlink("e/b")
    report = sync("d", remove_most=True)
    assert (report.removed, report.left) == (1, 3)
    assert stored() == {**others, "e/b": "text of b"}
    assert counts(sync(".", remove_most=True)) == (0, 0, 0, 1, 0)
    assert stored() == others


def test_a_document_that_is_replaced_by_hand_is_no_file_any_more() -> None:
    write("d/a", "text of a")
    sync("d")
    database_of("lsh.db", {"d/a": "by hand"}).close()
    os.unlink("d/a")
    assert sync("d").left == 1
    assert stored() == {"d/a": "by hand"}
    write("d/a", "a file again")
    assert counts(sync("d")) == (0, 1, 0, 0, 0)


def test_what_is_excluded_is_removed_and_what_cannot_be_read_stays() -> None:
    for name in ("a.txt", "b.log", "sub/c.txt"):
        write(f"d/{name}", f"text of {name}")
    sync("d")
    write("d/.gitignore", "*.log\n")
    assert counts(sync("d")) == (0, 0, 0, 1, 2)
    os.mkdir("d/sub/.gitignore")  # makes the directory unreadable, for root too
    os.unlink("d/sub/c.txt")
    failures: list[object] = []
    write("d/torn.gz", b"\x1f\x8b no more")
    for options in ({"dry_run": True}, {}):
        report = sync("d", on_failure=failures.append, **options)
        assert (report.failed, len(failures), report.removed) == (2, 2, 0)
        assert set(stored()) == {"d/a.txt", "d/sub/c.txt"}
        failures.clear()
    os.unlink("d/torn.gz")
    report = sync("d", reader=new_session(False, rules=WalkingOptions(ignore=False)))
    assert counts(report) == (1, 0, 0, 1, 1)


def test_what_cannot_be_synced_changes_nothing() -> None:
    write("d/a", "text")
    sync("d")
    for directories, says in (
        (("d", "missing"), "missing: no such directory"),
        (("d/a",), "d/a is a file, not a directory"),
        ((), "name the folders"),
    ):
        with pytest.raises((InputError, UsageError), match=says):
            sync(*directories)
    with lshdb.open("sets.db", shingle="set") as db, pytest.raises(UsageError, match="holds sets"):
        db.sync(["d"])
    assert stored() == {"d/a": "text"}


def test_several_at_once_and_killed_ones_end_in_the_same_database() -> None:
    rng = random.Random(1)
    for number in range(200):
        write(f"d/{number % 20}/{number}.txt", " ".join(rng.choices("abcdefgh", k=30)))
    sync("d")
    for number in range(0, 200, 3):
        os.rename(f"d/{number % 20}/{number}.txt", f"d/moved{number}.txt")
    for number in range(1, 200, 3):
        write(f"d/{number % 20}/{number}.txt", f"new text {number}")
    shutil.rmtree("d/19")
    for sign in (signal.SIGKILL, signal.SIGINT, signal.SIGKILL):
        process = forked(sync, "d")
        time.sleep(rng.uniform(0, 0.1))
        assert process.pid is not None
        os.kill(process.pid, sign)
        status_of(process)
    assert [status_of(process) for process in [forked(sync, "d"), forked(sync, "d")]] == [0, 0]
    with lshdb.open("new.db") as new:
        new.sync(["d"])
    assert stored() == stored("new.db")
    assert counts(sync("d"))[:4] == (0, 0, 0, 0)
    inspection.check(Path("lsh.db"))


# what could not be read is not gone


TEXTS = documents.paragraphs(4)


def change(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    os.utime(path, (1_600_000_000, 1_600_000_000))


def pack(path: Path, names: dict[str, str]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in names.items():
            archive.writestr(name, text)


@pytest.fixture
def folder(command: Command) -> Path:
    """A folder of texts, documents and archives that was read once."""
    path = command.path("d")
    (path / "inner").mkdir(parents=True)
    documents.docx(path / "a.docx", TEXTS)
    documents.docx(path / "nameless", TEXTS[:2])
    documents.rtf(path / "b.rtf", TEXTS)
    (path / "inner/c.txt").write_text("Some text of a file in a folder.")
    documents.mbox(path / "inner/in.mbox", [documents.message("Ferry", "It leaves at noon.")])
    pack(path / "e.zip", {"one.txt": "The first text.", "two.txt": "The second text."})
    pack(path / "inner/f.zip", {"three.txt": "The third text."})
    command.done("sync", "d", "--archives")
    assert len(command.keys()) == 8
    return path


def with_inner_mode(mode: int) -> Callable[[Path], None]:
    return lambda path: (path / "inner").chmod(mode)


def damage_a_member(path: Path) -> None:
    change(path / "e.zip", (path / "e.zip").read_bytes().replace(b"first", b"worst"))


def close_inner_files(path: Path) -> None:
    """A text and a mailbox that changed, and that nobody may read."""
    for name in ("c.txt", "in.mbox"):
        (path / "inner" / name).chmod(0)
        os.utime(path / "inner" / name, (1_600_000_000, 1_600_000_000))


DAMAGE: dict[str, tuple[list[Callable[[Path], None]], set[str]]] = {
    # Nothing is said of the cut RTF: what is left of it can be read.
    "files, and a folder that cannot be listed": (
        [
            lambda path: change(path / "a.docx", b"PK\3\4 cut"),
            lambda path: change(path / "b.rtf", b"{\\rtf1 {"),
            lambda path: change(path / "e.zip", b"PK\3\4 cut"),
            with_inner_mode(0),
        ],
        {"a.docx", "e.zip", "inner"},
    ),
    "a member, and a folder whose files cannot be looked at": (
        [damage_a_member, with_inner_mode(0o444)],
        {"e.zip/one.txt", "inner/c.txt", "inner/in.mbox", "inner/f.zip"},
    ),
    "a text and a mailbox": ([close_inner_files], {"inner/c.txt", "inner/in.mbox"}),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_what_cannot_be_read_is_kept_and_named(command: Command, folder: Path, name: str) -> None:
    """syncthing/syncthing#4573, basicmachines-co/basic-memory#1028: it was taken for deleted."""
    damages, failing = DAMAGE[name]
    before = command.keys()
    for damage in damages:
        damage(folder)
    try:
        for more in (["--dry-run"], ["--max-filesize", "1M"]):
            with unprivileged():
                done = command("sync", "d", "--archives", *more)
            assert {line.split(": ")[1] for line in done.err.splitlines() if "lshdb: " in line} == {
                f"d/{one}" for one in failing
            }
            assert done.status == 1
            assert "removed 0" in done.err
    finally:
        (folder / "inner").chmod(0o755)
    assert command.keys() == before


def test_a_document_is_kept_where_its_reader_is_missing(command: Command, folder: Path) -> None:
    (folder / "inner/in.mbox").unlink()
    command.done("sync", "d", "--archives")
    before = command.keys()
    documents.docx(folder / "a.docx", TEXTS[:3])
    change(folder / "nameless", b"PK\3\4 cut")
    done = command("sync", "d", "--archives", "--no-documents")
    assert "removed 0" in done.err
    assert "1 documents" in done.err
    assert command.keys() == before
    # A text that is binary now has no text any more, and what is gone is gone.
    change(folder / "inner/c.txt", b"\0" * 9)
    (folder / "a.docx").unlink()
    assert "removed 2" in command("sync", "d", "--archives").err


# renames


MESSAGE = """From ann@example.org Thu Jan  1 00:00:00 2026
Message-ID: <{name}@example.org>
From: ann@example.org
Subject: {name}

{text}

"""


def as_planned(*directories: str, **options: Any) -> SyncReport:
    """Synchronise; a dry run counts the same."""
    planned, done = sync(*directories, dry_run=True, **options), sync(*directories, **options)
    assert counts(planned) == counts(done)
    return done


def decide(verdict: str, *keys: str) -> None:
    with lshdb.open("lsh.db") as db:
        db.decide(verdict, keys)  # type: ignore[arg-type]


def decided() -> list[tuple[str, tuple[str, ...], str]]:
    with lshdb.open("lsh.db", mode="read") as db:
        return [(one.verdict, one.keys, one.state) for one in db.decisions()]


def execute(sql: str) -> None:
    with inspection.sqlite(Path("lsh.db")) as connection:
        connection.execute(sql)


def mailbox(path: str, *names: str) -> None:
    texts = [MESSAGE.format(name=name, text=f"Dear all, {name} is here " * 9) for name in names]
    write(path, "".join(texts))


@pytest.mark.extra("documents")
def test_equal_bytes_are_unchanged_and_only_read() -> None:
    """The state is stored again, so that the next run does not read them."""
    write("d/a.txt", "one text")
    write("d/b.html", "<html><p>another text</p></html>")
    as_planned("d")
    # Among these is a time in the future, and one beyond what 64 bits of nanoseconds hold.
    for seconds in (1, 2**33, 2**34, None):
        if seconds is None:
            os.replace(shutil.copy2("d/b.html", "copy"), "d/b.html")
        else:
            os.utime("d/b.html", (seconds, seconds))
        (before,) = inspection.rows(Path("lsh.db"), "SELECT max(inode || ctime_ns) FROM files")
        assert counts(as_planned("d")) == (0, 0, 0, 0, 2)
        assert [before] != inspection.rows(
            Path("lsh.db"), "SELECT max(inode || ctime_ns) FROM files"
        )
    assert stored()["d/b.html"].strip() == "another text"


def test_all_files_are_read_if_asked() -> None:
    write("d/a.txt", "one text")
    as_planned("d")
    execute("UPDATE documents SET digest = zeroblob(16)")
    execute("UPDATE files SET file_digest = zeroblob(16)")
    assert counts(as_planned("d")) == (0, 0, 0, 0, 1)
    assert counts(as_planned("d", read_all=True)) == (0, 1, 0, 0, 0)
    assert counts(as_planned("d", read_all=True)) == (0, 0, 0, 0, 1)


def test_swapped_and_rotated_names_are_renames() -> None:
    for number in range(4):
        write(f"d/log.{number}", f"the lines of day {number}", age=900 - number)
    write("d/a", "the text of a")
    write("d/b", "the text of b")
    as_planned("d")
    before = ids()
    decide("drop", "d/log.1", "d/a")
    decide("different", "d/log.1", "d/log.2", "d/a")
    for number in (3, 2, 1, 0):
        os.rename(f"d/log.{number}", f"d/log.{number + 1}")
    write("d/log.0", "the lines of day 4")
    os.rename("d/a", "d/c")
    os.rename("d/b", "d/a")
    os.rename("d/c", "d/b")
    assert counts(as_planned("d")) == (1, 0, 6, 0, 0)
    assert {key: before[key] for key in before} == {
        **{f"d/log.{number}": ids()[f"d/log.{number + 1}"] for number in range(4)},
        "d/a": ids()["d/b"],
        "d/b": ids()["d/a"],
    }
    assert decided() == [
        ("drop", ("d/b",), "overruled"),
        ("drop", ("d/log.2",), "overruled"),
        ("different", ("d/b", "d/log.2", "d/log.3"), "holds"),
    ]
    inspection.check(Path("lsh.db"))


def test_a_name_that_another_text_gets_has_no_decision_left() -> None:
    write("d/report.txt", "the report of 2023")
    write("d/copy.txt", "the report of 2023")
    as_planned("d")
    decide("drop", "d/report.txt")
    os.rename("d/report.txt", "d/report-2023.txt")
    write("d/report.txt", "new")
    assert counts(as_planned("d")) == (1, 0, 1, 0, 1)
    assert decided() == [("drop", ("d/report-2023.txt",), "holds")]


@pytest.mark.parametrize("new", ["d/c", "d/b"])
def test_a_drop_is_spent_when_its_file_is_gone(new: str) -> None:
    """Also where the copy that was kept takes its name."""
    write("d/a", "a text", age=200)
    write("d/b", "a text")
    write("d/other", "another text")
    as_planned("d")
    decide("drop", "d/b")
    os.unlink("d/b")
    os.rename("d/a", new)
    as_planned("d")
    assert stored() == {new: "a text", "d/other": "another text"}
    assert decided() == [("drop", ("d/b",), "spent")]
    os.rename(new, "d/b")
    as_planned("d")
    write("d/c", "a text")
    as_planned("d")
    assert sorted(stored()) == ["d/b", "d/c", "d/other"]
    assert decided() == [("drop", ("d/b",), "spent")]


@pytest.mark.parametrize("is_removed", [False, True])
def test_a_dropped_file_that_is_gone_says_nothing_of_a_later_copy(is_removed: bool) -> None:
    write("d/a", "a text")
    write("d/b", "a text")
    as_planned("d")
    decide("drop", "d/b")
    if is_removed:
        with lshdb.open("lsh.db") as db:
            db.remove_decided()
        assert counts(as_planned("d")) == (0, 0, 0, 0, 1)
    os.unlink("d/b")
    as_planned("d")
    write("d/b", "a text")
    assert counts(as_planned("d")) == (1, 0, 0, 0, 1)
    assert decided() == [("drop", ("d/b",), "spent")]


def test_a_kept_copy_under_the_name_of_one_that_was_dropped_and_removed_is_not_dropped() -> None:
    write("d/a", "a text")
    write("d/b", "a text")
    as_planned("d")
    decide("drop", "d/b")
    with lshdb.open("lsh.db") as db:
        db.remove_decided()
    os.replace("d/a", "d/b")
    assert counts(as_planned("d")) == (0, 0, 1, 0, 0)
    assert decided() == [("drop", ("d/b",), "spent")]


def test_of_equal_texts_those_with_the_same_names_belong_together() -> None:
    for folder in ("x", "y"):
        write(f"d/{folder}/same.txt", "an equal text")
        write(f"d/{folder}/{folder}.txt", "another equal text")
    write("d/z/same.txt", "an equal text")
    as_planned("d")
    before = ids()
    decide("drop", "d/y/same.txt")
    os.rename("d/x", "d/x2")
    os.mkdir("d/y2")
    os.rename("d/y", "d/y2/y")
    assert counts(as_planned("d"))[2:] == (4, 0, 1)
    after = ids()
    assert after["d/y2/y/same.txt"] == before["d/y/same.txt"]
    assert decided() == [("drop", ("d/y2/y/same.txt",), "holds")]
    assert after["d/x2/x.txt"] == before["d/x/x.txt"]
    os.rename("d/y2/y/same.txt", "d/p.txt")
    os.unlink("d/x2/same.txt")
    assert counts(as_planned("d"))[:4] == (1, 0, 0, 2), "one of two, under another name, is none"
    assert decided() == [("drop", ("d/y2/y/same.txt",), "spent")]


def test_members_of_archives_and_messages_of_mailboxes_are_recognised() -> None:
    with zipfile.ZipFile(Path("d.zip"), "w") as archive:
        archive.writestr("in/a.txt", "a text in an archive")
        archive.writestr("in/b.txt", "another text in an archive")
    os.mkdir("d")
    shutil.move("d.zip", "d/d.zip")
    mailbox("d/inbox.mbox", "m1", "m2", "m3")
    mailbox("d/old.mbox", "m4")
    as_planned("d", archives=True)
    before = ids()
    assert len(before) == 6
    decide("keep", "d/d.zip/in/a.txt", "d/inbox.mbox#<m1@example.org>")
    os.rename("d/d.zip", "d/e.zip")
    os.rename("d/inbox.mbox", "d/in.mbox")
    assert counts(as_planned("d", archives=True)) == (0, 0, 5, 0, 1)
    after = ids()
    assert after["d/in.mbox#<m1@example.org>"] == before["d/inbox.mbox#<m1@example.org>"]
    assert decided() == [
        ("keep", ("d/e.zip/in/a.txt",), "holds"),
        ("keep", ("d/in.mbox#<m1@example.org>",), "holds"),
    ]
    mailbox("d/in.mbox", "m2", "m3", "m5")
    mailbox("d/old.mbox", "m4", "m1")
    assert counts(as_planned("d", archives=True)) == (2, 0, 0, 1, 5), (
        "filed elsewhere, it is a new one"
    )
    inspection.check(Path("lsh.db"))


def test_a_folder_that_was_moved_is_known_by_its_inodes_or_by_its_old_name() -> None:
    write("n/a.txt", "the text of a")
    write("n/sub/b.txt", "the text of b")
    as_planned("n")
    before = sorted(ids().values())
    decide("keep", "n/a.txt")
    os.rename("n", "n2")
    with pytest.raises(InputError, match="--moved-from n"):
        as_planned("n")
    assert counts(as_planned("n2")) == (0, 0, 2, 0, 0)
    assert sorted(ids().values()) == before
    shutil.copytree("n2", "n3")
    shutil.rmtree("n2")
    write("n3/sub/b.txt", "the text of b, changed")
    assert counts(as_planned("n3", moved_from=["n2"])) == (1, 0, 1, 1, 0)
    assert decided() == [("keep", ("n3/a.txt",), "holds")]
    shutil.copytree("n3", "n4")
    assert counts(as_planned("n4")) == (2, 0, 0, 0, 0), "copies are new documents"
    assert decided() == [("keep", ("n3/a.txt",), "holds")]


def test_documents_without_digests_of_files_get_them_when_all_are_read() -> None:
    """As in files that another program wrote."""
    write("d/a.txt", "the text of a")
    write("d/b.html", "<html><p>another text</p></html>")
    as_planned("d")
    before = ids()
    execute("UPDATE files SET ctime_ns = NULL, device = NULL, inode = NULL, file_digest = NULL")
    assert counts(as_planned("d")) == (0, 0, 0, 0, 2)
    assert counts(as_planned("d", read_all=True)) == (0, 0, 0, 0, 2)
    os.rename("d/b.html", "d/c.html")
    os.utime("d/a.txt", (1, 1))
    assert counts(as_planned("d")) == (0, 0, 1, 0, 1)
    assert ids()["d/c.html"] == before["d/b.html"]
