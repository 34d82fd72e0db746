"""What sync reads again, which files it knows by their bytes, and what happens to decisions."""

from __future__ import annotations

import os
import random
import shutil
import time
import zipfile
from pathlib import Path
from typing import Any

import inspection
import pytest

import lshdb
from lshdb.apps.folders.sync import SyncReport
from lshdb.errors import InputError

MESSAGE = """From ann@example.org Thu Jan  1 00:00:00 2026
Message-ID: <{name}@example.org>
From: ann@example.org
Subject: {name}

{text}

"""


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: str, text: str, age: int = 100) -> None:
    """Write a file that was changed some seconds ago."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)
    then = time.time() - age
    os.utime(path, (then, then))


def sync(*directories: str, **options: Any) -> SyncReport:
    with lshdb.open("lsh.db") as db:
        planned = db.sync(directories, dry_run=True, **options)
        done = db.sync(directories, **options)
        assert counts(planned) == counts(done)
        return done


def counts(report: SyncReport) -> tuple[int, ...]:
    """Added, updated, moved, removed, unchanged."""
    return (report.added, report.updated, report.moved, report.removed, report.unchanged)


def stored() -> dict[str, str]:
    return dict(inspection.rows(Path("lsh.db"), "SELECT key, content FROM documents"))


def ids() -> dict[str, int]:
    return dict(inspection.rows(Path("lsh.db"), "SELECT key, doc_id FROM documents"))


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
    sync("d")
    # Among these is a time in the future, and one beyond what 64 bits of nanoseconds hold.
    for seconds in (1, 2**33, 2**34, None):
        if seconds is None:
            os.replace(shutil.copy2("d/b.html", "copy"), "d/b.html")
        else:
            os.utime("d/b.html", (seconds, seconds))
        (before,) = inspection.rows(Path("lsh.db"), "SELECT max(inode || ctime_ns) FROM files")
        assert counts(sync("d")) == (0, 0, 0, 0, 2)
        assert [before] != inspection.rows(
            Path("lsh.db"), "SELECT max(inode || ctime_ns) FROM files"
        )
    assert stored()["d/b.html"].strip() == "another text"


def test_all_files_are_read_if_asked() -> None:
    write("d/a.txt", "one text")
    sync("d")
    execute("UPDATE documents SET digest = zeroblob(16)")
    execute("UPDATE files SET file_digest = zeroblob(16)")
    assert counts(sync("d")) == (0, 0, 0, 0, 1)
    assert counts(sync("d", read_all=True)) == (0, 1, 0, 0, 0)
    assert counts(sync("d", read_all=True)) == (0, 0, 0, 0, 1)


def test_swapped_and_rotated_names_are_renames() -> None:
    for number in range(4):
        write(f"d/log.{number}", f"the lines of day {number}", age=900 - number)
    write("d/a", "the text of a")
    write("d/b", "the text of b")
    sync("d")
    before = ids()
    decide("drop", "d/log.1", "d/a")
    decide("different", "d/log.1", "d/log.2", "d/a")
    for number in (3, 2, 1, 0):
        os.rename(f"d/log.{number}", f"d/log.{number + 1}")
    write("d/log.0", "the lines of day 4")
    os.rename("d/a", "d/c")
    os.rename("d/b", "d/a")
    os.rename("d/c", "d/b")
    assert counts(sync("d")) == (1, 0, 6, 0, 0)
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
    sync("d")
    decide("drop", "d/report.txt")
    os.rename("d/report.txt", "d/report-2023.txt")
    write("d/report.txt", "new")
    assert counts(sync("d")) == (1, 0, 1, 0, 1)
    assert decided() == [("drop", ("d/report-2023.txt",), "holds")]


@pytest.mark.parametrize("new", ["d/c", "d/b"])
def test_a_drop_is_spent_when_its_file_is_gone(new: str) -> None:
    """Also where the copy that was kept takes its name."""
    write("d/a", "a text", age=200)
    write("d/b", "a text")
    write("d/other", "another text")
    sync("d")
    decide("drop", "d/b")
    os.unlink("d/b")
    os.rename("d/a", new)
    sync("d")
    assert stored() == {new: "a text", "d/other": "another text"}
    assert decided() == [("drop", ("d/b",), "spent")]
    os.rename(new, "d/b")
    sync("d")
    write("d/c", "a text")
    sync("d")
    assert sorted(stored()) == ["d/b", "d/c", "d/other"]
    assert decided() == [("drop", ("d/b",), "spent")]


@pytest.mark.parametrize("is_removed", [False, True])
def test_a_dropped_file_that_is_gone_says_nothing_of_a_later_copy(is_removed: bool) -> None:
    write("d/a", "a text")
    write("d/b", "a text")
    sync("d")
    decide("drop", "d/b")
    if is_removed:
        with lshdb.open("lsh.db") as db:
            db.remove_decided()
        assert counts(sync("d")) == (0, 0, 0, 0, 1)
    os.unlink("d/b")
    sync("d")
    write("d/b", "a text")
    assert counts(sync("d")) == (1, 0, 0, 0, 1)
    assert decided() == [("drop", ("d/b",), "spent")]


def test_a_kept_copy_under_the_name_of_one_that_was_dropped_and_removed_is_not_dropped() -> None:
    write("d/a", "a text")
    write("d/b", "a text")
    sync("d")
    decide("drop", "d/b")
    with lshdb.open("lsh.db") as db:
        db.remove_decided()
    os.replace("d/a", "d/b")
    assert counts(sync("d")) == (0, 0, 1, 0, 0)
    assert decided() == [("drop", ("d/b",), "spent")]


def test_of_equal_texts_those_with_the_same_names_belong_together() -> None:
    for folder in ("x", "y"):
        write(f"d/{folder}/same.txt", "an equal text")
        write(f"d/{folder}/{folder}.txt", "another equal text")
    write("d/z/same.txt", "an equal text")
    sync("d")
    before = ids()
    decide("drop", "d/y/same.txt")
    os.rename("d/x", "d/x2")
    os.mkdir("d/y2")
    os.rename("d/y", "d/y2/y")
    assert counts(sync("d"))[2:] == (4, 0, 1)
    after = ids()
    assert after["d/y2/y/same.txt"] == before["d/y/same.txt"]
    assert decided() == [("drop", ("d/y2/y/same.txt",), "holds")]
    assert after["d/x2/x.txt"] == before["d/x/x.txt"]
    os.rename("d/y2/y/same.txt", "d/p.txt")
    os.unlink("d/x2/same.txt")
    assert counts(sync("d"))[:4] == (1, 0, 0, 2), "one of two, under another name, is none"
    assert decided() == [("drop", ("d/y2/y/same.txt",), "spent")]


def test_members_of_archives_and_messages_of_mailboxes_are_recognised() -> None:
    with zipfile.ZipFile(Path("d.zip"), "w") as archive:
        archive.writestr("in/a.txt", "a text in an archive")
        archive.writestr("in/b.txt", "another text in an archive")
    os.mkdir("d")
    shutil.move("d.zip", "d/d.zip")
    mailbox("d/inbox.mbox", "m1", "m2", "m3")
    mailbox("d/old.mbox", "m4")
    sync("d", archives=True)
    before = ids()
    assert len(before) == 6
    decide("keep", "d/d.zip/in/a.txt", "d/inbox.mbox#<m1@example.org>")
    os.rename("d/d.zip", "d/e.zip")
    os.rename("d/inbox.mbox", "d/in.mbox")
    assert counts(sync("d", archives=True)) == (0, 0, 5, 0, 1)
    after = ids()
    assert after["d/in.mbox#<m1@example.org>"] == before["d/inbox.mbox#<m1@example.org>"]
    assert decided() == [
        ("keep", ("d/e.zip/in/a.txt",), "holds"),
        ("keep", ("d/in.mbox#<m1@example.org>",), "holds"),
    ]
    mailbox("d/in.mbox", "m2", "m3", "m5")
    mailbox("d/old.mbox", "m4", "m1")
    assert counts(sync("d", archives=True)) == (2, 0, 0, 1, 5), "filed elsewhere, it is a new one"
    inspection.check(Path("lsh.db"))


def test_a_folder_that_was_moved_is_known_by_its_inodes_or_by_its_old_name() -> None:
    write("n/a.txt", "the text of a")
    write("n/sub/b.txt", "the text of b")
    sync("n")
    before = sorted(ids().values())
    decide("keep", "n/a.txt")
    os.rename("n", "n2")
    with pytest.raises(InputError, match="--moved-from n"):
        sync("n")
    assert counts(sync("n2")) == (0, 0, 2, 0, 0)
    assert sorted(ids().values()) == before
    shutil.copytree("n2", "n3")
    shutil.rmtree("n2")
    write("n3/sub/b.txt", "the text of b, changed")
    assert counts(sync("n3", moved_from=["n2"])) == (1, 0, 1, 1, 0)
    assert decided() == [("keep", ("n3/a.txt",), "holds")]
    shutil.copytree("n3", "n4")
    assert counts(sync("n4")) == (2, 0, 0, 0, 0), "copies are new documents"
    assert decided() == [("keep", ("n3/a.txt",), "holds")]


def test_documents_without_digests_of_files_get_them_when_all_are_read() -> None:
    """As in files that another program wrote."""
    write("d/a.txt", "the text of a")
    write("d/b.html", "<html><p>another text</p></html>")
    sync("d")
    before = ids()
    execute("UPDATE files SET ctime_ns = NULL, device = NULL, inode = NULL, file_digest = NULL")
    assert counts(sync("d")) == (0, 0, 0, 0, 2)
    assert counts(sync("d", read_all=True)) == (0, 0, 0, 0, 2)
    os.rename("d/b.html", "d/c.html")
    os.utime("d/a.txt", (1, 1))
    assert counts(sync("d")) == (0, 0, 1, 0, 1)
    assert ids()["d/c.html"] == before["d/b.html"]


@pytest.mark.parametrize("seed", range(3))
def test_a_drop_never_names_the_last_copy(seed: int) -> None:
    """Whatever is renamed, copied and removed, as long as one copy that was kept is there."""
    rng = random.Random(seed)
    for _ in range(12):
        shutil.rmtree("d", ignore_errors=True)
        Path("lsh.db").unlink(missing_ok=True)
        names = [f"d/{folder}/{name}" for folder in "xy" for name in "ab"]
        for name in names:
            write(name, f"text {rng.randint(0, 1)}", age=rng.choice([100, 200]))
        sync("d")
        texts = {name: Path(name).read_text() for name in names}
        dropped = {
            name
            for name in names
            if any(other < name and texts[other] == texts[name] for other in names)
        }
        if dropped:
            decide("drop", *dropped)
        kept_paths = {name: name for name in names if name not in dropped}
        for _ in range(rng.randint(1, 6)):
            files = sorted(str(path) for path in Path("d").rglob("*") if path.is_file())
            old, new = rng.choice(files), f"d/{rng.choice('xyz')}/{rng.choice('abc')}"
            is_kept = {path: name for name, path in kept_paths.items()}
            if rng.random() < 0.3 and old not in is_kept:
                os.unlink(old)
            elif new not in is_kept:
                Path(new).parent.mkdir(exist_ok=True)
                os.replace(old, new)
                if old in is_kept:
                    kept_paths[is_kept[old]] = new
            if rng.random() < 0.4:
                sync("d")
        sync("d")
        held = {keys[0] for _, keys, state in decided() if state == "holds"}
        assert held.isdisjoint(kept_paths.values())
    inspection.check(Path("lsh.db"))
