"""Walks of folders: files that only links lead to, folders behind links, recycle bins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import Command

from lshdb import offers

TEXTS = [
    "the quick brown fox jumps over the lazy dog and runs home",
    "nobody has written these other words in any file before today",
    "a third text of a different kind about rain and wind in spring",
    "four ships sail slowly from the old harbour to an island at night",
]


def keys(command: Command, *arguments: str) -> list[str]:
    """The keys of the documents that `add` reads."""
    command.done("add", *arguments, "-d", "k.db")
    found = command.done("sql", "-d", "k.db", "SELECT key FROM documents ORDER BY doc_id", "--csv")
    command.path("k.db").unlink()
    return found.out.splitlines()[1:]


def link(command: Command, name: str, target: str) -> None:
    path = command.path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


@pytest.mark.app("folders")
def test_a_link_is_read_where_its_file_is_not(command: Command) -> None:
    command.write("d/z.txt", TEXTS[0])
    command.write("outside/b.txt", TEXTS[1])
    link(command, "d/a.txt", "z.txt")
    link(command, "d/b.txt", "../outside/b.txt")
    link(command, "d/c.txt", "b.txt")
    link(command, "d/gone.txt", "nowhere")
    link(command, "d/loop.txt", "loop.txt")
    assert keys(command, "d") == ["d/z.txt", "d/b.txt"]
    assert keys(command, "d", "outside") == ["d/z.txt", "outside/b.txt"]
    assert keys(command, "d/a.txt", "d") == ["d/a.txt", "d/b.txt"]
    done = command.done("sync", "d", "-d", "s.db")
    assert "2 links" in done.err
    assert "2 repeated" in done.err
    done = command.done("sync", "d", "-d", "s.db", "--json")
    assert json.loads(done.out)["unchanged"] == 2
    command.path("outside/b.txt").unlink()
    done = command.done("sync", "d", "-d", "s.db", "--json")
    assert json.loads(done.out)["removed"] == 1


@pytest.mark.app("ignoring")
def test_no_link_leads_to_what_was_left_out(command: Command) -> None:
    names = [".hidden/a.txt", "ignored/b.txt", "excluded/c.txt", "$RECYCLE.BIN/d.txt"]
    for name, text in zip(names, TEXTS, strict=True):
        command.write(f"d/{name}", text)
        link(command, f"d/links/{Path(name).name}", f"../{name}")
    command.write("d/.gitignore", "ignored/\n")
    link(command, "d/folder", ".hidden")
    command.write("d/e.txt", "a fifth text that nobody hides, ignores, excludes or deletes")
    for options in [(), ("--follow",)]:
        assert keys(command, "d", "--exclude", "excluded/", *options) == ["d/e.txt"]
    # A file that is left out elsewhere, but named itself, is read.
    assert keys(command, "d/links", "d/.hidden/a.txt") == [
        *("d/.hidden/a.txt", "d/links/b.txt", "d/links/c.txt", "d/links/d.txt")
    ]


@pytest.mark.parametrize("kind", ["tables", "texts"])
@pytest.mark.app("dedup")
def test_a_folder_of_links_alone_is_read(command: Command, kind: str) -> None:
    """As in the cache of a hub of models: contents are in `blobs`, names in `snapshots`."""
    rows = [{"text": text} for text in TEXTS]
    content, ending = (rows, "jsonl") if kind == "tables" else (TEXTS[0], "txt")
    for number in range(2):
        command.write(f"hub/blobs/{number}", content)
        link(command, f"hub/snapshots/v1/{number}.{ending}", f"../../blobs/{number}")
    if kind == "tables":
        for directory in ("hub", "hub/snapshots"):
            done = command.done("dedup", directory, "-o", "out.jsonl")
            assert "kept 4, dropped 4, failed 0" in done.err
    else:
        assert len(keys(command, "hub/snapshots/v1")) == 2
        done = command.done("dedup", "hub/snapshots/v1", "-0")
        assert done.out == "hub/snapshots/v1/1.txt\0"
    link(command, "links/data", "../hub/snapshots/v1")
    done = command("dedup", "links", "-o", "o.jsonl", "--format", "jsonl")
    assert (done.status, "--follow" in done.err) == (1, True), done.err
    assert "1 links" in command("add", "links").err
    if kind == "tables":
        done = command.done("dedup", "links", "--follow", "-o", "out.jsonl")
        assert "kept 4, dropped 4, failed 0" in done.err


@pytest.mark.app("folders", "ignoring")
def test_followed_links_end(command: Command) -> None:
    command.write("d/sub/a.txt", TEXTS[0])
    command.write("other/b/c.txt", TEXTS[1])
    link(command, "d/up", "..")
    link(command, "d/self", ".")
    link(command, "d/sub/round", "../../d/sub")
    link(command, "d/there", "../other")
    link(command, "d/there-too", "../other/b")
    link(command, "other/b/back", "../../d")
    assert keys(command, "d", "--follow") == ["d/sub/a.txt", "other/b/c.txt"]
    assert keys(command, "d", "--follow", "--exclude", "there/b") == ["d/sub/a.txt"]
    command.done("sync", "d", "--follow", "-d", "s.db")
    done = command.done("sync", "d", "--follow", "-d", "s.db", "--json")
    assert json.loads(done.out)["unchanged"] == 2


@pytest.mark.app("dedup")
def test_bins_and_locks_are_hidden_and_come_last(command: Command) -> None:
    bins = [
        *("$RECYCLE.BIN", "sub/#recycle", "@Recycle", "RECYCLER", ".Trash-1000", ".Trashes"),
        "System Volume Information",
    ]
    for name in bins:
        command.write(f"d/{name}/a.txt", TEXTS[0])
    for name in ("~$b.txt", ".~lock.b.txt#"):
        command.write(f"d/{name}", TEXTS[1])
    command.write("d/z.txt", TEXTS[0])
    assert keys(command, "d") == ["d/z.txt"]
    assert "9 hidden" in command.done("add", "d").err
    read = keys(command, "d", "--hidden")
    assert len(read) == 10
    assert sorted(read[:4]) == [
        *("d/.~lock.b.txt#", "d/System Volume Information/a.txt", "d/z.txt", "d/~$b.txt")
    ]
    # Whatever is kept, it is none of these.
    for keep in ("first", "last", "longest", "oldest", "shortest-path"):
        done = command.done("dedup", "d", "--hidden", "--keep", keep, "-0")
        kept = {"d/z.txt", "d/System Volume Information/a.txt"}.difference(done.out.split("\0"))
        assert len(kept) == 1, keep
    command.done("add", "d/$RECYCLE.BIN", "d/z.txt", "-d", "c.db")
    for keep in ("first", "last", "longest", "shortest-path"):
        done = command.done("clusters", "--keep", keep, "--drop-list", "-d", "c.db")
        assert done.out == "d/$RECYCLE.BIN/a.txt\n", keep


def test_without_the_app_rules_of_ignore_files_are_noted(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once in a job: they leave nothing out, and no option that needs the app is ignored."""
    is_there = offers.is_there
    monkeypatch.setattr(offers, "is_there", lambda app: app != "ignoring" and is_there(app))
    note = "lshdb: what git and ignore files leave out is read: the app 'ignoring', which is not"
    for name, text in zip(
        ("a/.gitignore", "a/b.txt", "c/.lshdbignore", "c/d.txt"), TEXTS, strict=True
    ):
        command.write(f"top/{name}", text)
    command.write("top/.git/HEAD", "")
    for names in (("top",), ("top/a",), ("top/c", "top/a")):
        assert command.done("add", *names).err.count(note) == 1, names
    assert command.keys() == ["top/a/b.txt", "top/c/d.txt"]
    assert "lshdb:" not in command.done("add", "top", "--no-ignore").err
    for option, value in (("exclude", "x"), ("include", "x"), ("tracked", None)):
        done = command("add", "top", f"--{option}", *filter(None, [value]))
        assert done.status == 2
        said = f"lshdb: {option!r} belongs to the app 'ignoring', which is not installed"
        assert done.err.splitlines()[-1] == said
