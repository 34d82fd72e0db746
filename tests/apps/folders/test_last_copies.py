"""Whatever happened to the files, acting on an answer never deletes the last copy of a text.

Programs of some steps change a tree of files, run commands, and delete what these name. The
expected results come from the tree alone.
"""

from __future__ import annotations

import os
import re
import tempfile
import zipfile
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from helpers import Command, Result
from hypothesis import example, given
from hypothesis import strategies as st
from oracles import jaccard

Step = tuple[Any, ...]

BINS = ("$RECYCLE.BIN", ".Trash-1000")
FOLDERS = st.sampled_from(["d/a", "d/b", "d/c"])
FILES = (
    *("d/a/1.txt", "d/a/2.txt", "d/b/1.txt", "d/b/3.txt"),
    *(f"d/{BINS[0]}/1.txt", f"d/a/{BINS[1]}/2.txt"),
)
NAMES = st.sampled_from(FILES)
MAILBOXES = st.sampled_from(["d/a/m.mbox", "d/b/n.mbox"])
ARCHIVES = st.sampled_from(["d/a/y.zip", "d/b/z.zip"])
PATHS = NAMES | MAILBOXES | ARCHIVES
P, NEAR, Q = (
    " ".join([*(f"{start}{number}" for number in range(9)), end])
    for start, end in (("p", "x9"), ("p", "y9"), ("q", "x9"))
)
"""All have one size; the first two have a similarity of 9/11."""
TEXTS = st.sampled_from([P, P, P, NEAR, Q])
TIME = 10**18
"""Nanoseconds: all files have this time, so size and time show no change."""

READING = st.lists(st.sampled_from(["--hidden", "--follow"]), unique=True, max_size=2)
INPUTS = st.sampled_from(
    [["d"], ["d/a", "d/b"], ["d/b", "d/a"], [f"d/{BINS[0]}", "d/a"], ["d/c", "d/a"]]
)
KEEPING = st.sampled_from(
    [
        [],
        ["--keep", "last"],
        ["--keep", "newest"],
        ["--keep", "shortest-path"],
        ["--keep-in", "d/b"],
    ]
)
THRESHOLDS = st.sampled_from(["1", "0.8"])


def step(name: str, *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Step]:
    return st.tuples(st.just(name), *arguments)


EDITS = (
    step("write", NAMES, TEXTS)
    | step("exchange", PATHS, PATHS)
    | step("rename", PATHS, PATHS)
    | step("remove", NAMES)
)
CHANGES = st.one_of(
    EDITS,
    EDITS,
    step("write_mailbox", MAILBOXES, st.lists(TEXTS, max_size=2)),
    step("write_archive", ARCHIVES, st.lists(TEXTS, max_size=2)),
    step("link", NAMES, NAMES),
    step("hard_link", NAMES, NAMES),
    step("rename_folder", FOLDERS, FOLDERS),
    step("link_folder", FOLDERS, FOLDERS),
)
NUMBERS = st.lists(st.integers(0, 9), min_size=1, max_size=2, unique=True)
COMMANDS = (
    step("add", st.sampled_from([".", "d"]), FOLDERS | NAMES | st.just("d"), READING)
    | step("sync", st.sampled_from([".", "d"]), FOLDERS | st.just("d"), READING)
    | step("decide", st.sampled_from(["drop", "keep", "different"]), NUMBERS)
    | step("decide", st.just("drop"), NUMBERS)
    | step("restore")
)
DOORS = (
    step(
        "dedup",
        INPUTS,
        st.sampled_from([[], ["--against", "lsh.db"], ["-d", "z.db"]]),
        THRESHOLDS,
        KEEPING | st.just(["--rule", "contained"]) | st.just(["--drop-all"]),
        READING,
    )
    | step("drop_list", st.sampled_from([".", "d"]), THRESHOLDS, KEEPING | st.just(["--star"]))
    | step("decisions", st.booleans())
    | step("trash", st.sampled_from([[], ["--yes"], ["--link"]]))
)
ROUNDS = st.tuples(
    st.lists(CHANGES, max_size=2),
    st.lists(COMMANDS, max_size=2),
    st.lists(CHANGES, max_size=2),
    st.tuples(DOORS),
).map(lambda steps: [*chain(*steps)])
PROGRAMS = st.builds(
    lambda texts, reading, decided, rounds: [
        *(("write", name, text) for name, text in texts.items() if text),
        ("add", ".", "d", reading),
        ("decide", "drop", decided),
        *chain(*rounds),
    ],
    st.fixed_dictionaries(dict.fromkeys(FILES, TEXTS | st.none())),
    READING,
    NUMBERS,
    st.lists(ROUNDS, min_size=1, max_size=4),
)


@given(threshold=THRESHOLDS, program=PROGRAMS)
@example(  # the contents of two files are exchanged after one is to be dropped
    threshold="0.8",
    program=[
        ("write", "d/a/1.txt", Q),
        ("write", "d/a/2.txt", P),
        ("write", "d/b/1.txt", P),
        ("add", ".", "d", []),
        ("decide", "drop", [1]),
        ("exchange", "d/a/1.txt", "d/a/2.txt"),
        ("trash", []),
        ("sync", ".", "d", []),
        ("trash", []),
    ],
)
@example(  # the first copy is in a bin
    threshold="1",
    program=[
        ("write", "d/$RECYCLE.BIN/1.txt", P),
        ("write", "d/a/1.txt", P),
        ("add", ".", "d", ["--hidden"]),
        ("drop_list", ".", "1", []),
        ("dedup", ["d"], [], "1", [], ["--hidden"]),
        ("write", "d/$RECYCLE.BIN/1.txt", P),
        ("add", ".", "d", ["--hidden"]),
        ("decide", "drop", [1]),
        ("decisions", False),
        ("trash", []),
    ],
)
def test_a_text_of_a_deleted_file_is_left_in_another(threshold: str, program: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        tree = Tree(Path(directory), threshold)
        for name, *arguments in program:
            getattr(tree, name)(*arguments)


class Tree:
    """A tree of files below `d`, and the commands that work on them."""

    def __init__(self, directory: Path, threshold: str) -> None:
        self.directory = directory
        self.threshold = threshold
        self.dropped = set[str]()
        self.path("d/a").mkdir(parents=True)
        self.path("d/b").mkdir()
        self.run(".", "init", "--shingle", "word:1", "--threshold", threshold)

    def path(self, name: str) -> Path:
        return self.directory / name

    def run(self, start: str, *arguments: str) -> Result:
        done = Command(self.path(start))(*arguments)
        assert done.status in (0, 1, 2), done.err
        return done

    # what people and programs do to files

    def write(self, name: str, text: str) -> None:
        self._fill(name, f"{text}\n".encode())

    def write_mailbox(self, name: str, texts: list[str]) -> None:
        start = "From ann Thu Jan  1 00:00:00 2026\nMessage-ID:"
        messages = [f"{start} <{n}@n>\n\n{text}\n\n" for n, text in enumerate(texts)]
        self._fill(name, "".join(messages).encode())

    def write_archive(self, name: str, texts: list[str]) -> None:
        made = self.path("made.zip")
        with zipfile.ZipFile(made, "w") as archive:
            for number, text in enumerate(texts):
                archive.writestr(zipfile.ZipInfo(f"{number}.txt"), f"{text}\n")
        self._fill(name, made.read_bytes())

    def _fill(self, name: str, data: bytes) -> None:
        path = self.path(name)
        with suppress(OSError):  # through a link to nothing, or to itself
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            os.utime(path, ns=(TIME, TIME))

    def rename(self, name: str, target: str) -> None:
        path, to = self.path(name), self.path(target)
        if os.path.lexists(path) and path.suffix == to.suffix:
            to.parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, to)

    def exchange(self, name: str, other: str) -> None:
        if self.path(name).is_file() and self.path(other).is_file():
            self.rename(name, f"d/swapped{self.path(other).suffix}")
            self.rename(other, name)
            self.rename(f"d/swapped{self.path(other).suffix}", other)

    def remove(self, name: str) -> None:
        if os.path.lexists(self.path(name)):
            self.path(name).unlink()

    def link(self, name: str, target: str) -> None:
        if name != target and self.path(name).parent.is_dir():
            self.remove(name)
            self.path(name).symlink_to(self.path(target))

    def hard_link(self, name: str, target: str) -> None:
        path, to = self.path(name), self.path(target)
        if to.is_file() and path.parent.is_dir() and not (path.exists() and path.samefile(to)):
            self.remove(name)
            os.link(os.path.realpath(to), path)

    def rename_folder(self, name: str, target: str) -> None:
        if os.path.lexists(self.path(name)) and not os.path.lexists(self.path(target)):
            self.path(name).rename(self.path(target))

    def link_folder(self, name: str, target: str) -> None:
        if not os.path.lexists(self.path(name)):
            self.path(name).symlink_to(self.path(target))

    # commands that delete nothing

    def add(self, start: str, name: str, options: list[str]) -> None:
        name = os.path.relpath(name, start)
        self.run(start, "add", "-d", str(self.path("lsh.db")), "--archives", name, *options)

    def sync(self, start: str, name: str, options: list[str]) -> None:
        name = os.path.relpath(name, start)
        self.run(start, "sync", "-d", str(self.path("lsh.db")), "--archives", name, *options)

    def decide(self, verdict: str, numbers: list[int]) -> None:
        command = Command(self.directory)
        texts: dict[str, str] = dict(
            command.rows("SELECT key, content FROM documents ORDER BY key")
        )
        if not texts:
            return
        keys = [*dict.fromkeys([*texts][number % len(texts)] for number in numbers)]
        if verdict == "drop":
            self.dropped.update(texts[key].strip() for key in keys)
        self.run(".", "decide", verdict, *keys)

    def restore(self) -> None:
        before = {path: path.read_bytes() for path in self.files()}
        self.run(".", "trash", "--restore")
        after = {path: path.read_bytes() for path in self.files()}
        assert before.items() <= after.items()

    # commands whose answers people act on

    def dedup(
        self,
        inputs: list[str],
        options: list[str],
        threshold: str,
        keeping: list[str],
        reading: list[str],
    ) -> None:
        done = self.run(
            ".", "dedup", *inputs, *options, *reading, "--threshold", threshold, *keeping,
            "--shingle", "word:1", "--json",
        )  # fmt: skip
        rows = {row["file"]: row for row in done.records}
        self.delete(
            {name: row["kept_file"] or row["kept"] for name, row in rows.items()},
            float(threshold),
            identical={name for name, row in rows.items() if row["identical"]},
            contains="contained" in keeping,
        )

    def drop_list(self, start: str, threshold: str, keeping: list[str]) -> None:
        options = ["-d", str(self.path("lsh.db")), "--threshold", threshold, *keeping]
        clusters = self.run(start, "clusters", *options, "--json").records
        rows = {row["key"]: row for row in clusters}
        done = self.run(start, "clusters", *options, "--drop-list", "--files", "-0")
        paths = [self.path(start) / name for name in done.out.split("\0")[:-1]]
        names = [os.path.relpath(path, self.directory) for path in paths]
        assert len(names) == len({*names})
        self.delete(
            {name: rows[name]["keep"] for name in names},
            float(threshold),
            identical={name for name in names if rows[name]["identical"]},
        )

    def decisions(self, yes: bool) -> None:
        done = self.run(".", "decisions", "--drop", "--files", "-0", *["--yes"] * yes)
        names = done.out.split("\0")[:-1]
        assert len(names) == len({*names})
        self.delete(dict.fromkeys(names), float(self.threshold), yes=yes)

    def trash(self, options: list[str]) -> None:
        before = {path: path.read_bytes() for path in self.files()}
        moved = self.run(".", "trash", "--json", *options).records
        names = {line["key"]: line["kept"] for line in moved}
        if options == ["--link"]:
            assert {path: path.read_bytes() for path in self.files()} == before
            return
        for path, data in before.items():
            if not path.exists():
                assert os.path.relpath(path, self.directory) in names
                path.write_bytes(data)
                os.utime(path, ns=(TIME, TIME))
        self.delete(names, float(self.threshold), yes=options == ["--yes"])

    # what must hold

    def delete(
        self,
        names: dict[str, str | None],
        threshold: float,
        *,
        identical: Collection[str] = (),
        contains: bool = False,
        yes: bool = False,
    ) -> None:
        """Delete files, and look for the texts that they had."""
        # Messages and members have no file of their own, which could be deleted.
        names = {name: kept for name, kept in names.items() if not re.search(r"#|\.zip/", name)}
        for name, kept in names.items():
            stays = self.path(re.split(r"#|(?<=\.zip)/", kept or "no file")[0])
            assert not stays.exists() or not stays.samefile(self.path(name)), "they are one file"
        texts = {name: self.path(name).read_text().strip() for name in names}
        for name in names:
            self.path(name).unlink()
        left = [*self.left()]
        for name, kept in names.items():
            text = texts[name]
            is_same = threshold == 1 or name in identical
            copies = [other for _, other in left if _similar(text, other, threshold, contains)]
            if is_same and not contains:
                copies = [other for other in copies if other == text]
            if yes and kept is None:
                assert copies or text in self.dropped, f"{name}: nobody dropped what it had"
                continue
            assert copies, f"{name}: no copy is left"
            if kept is not None:
                kept_texts = [other for key, other in left if key == kept]
                assert kept_texts, f"{name}: {kept} is gone, or in a bin"
                assert {*kept_texts} & {*copies}, f"{name}: {kept} has another text"

    def files(self) -> Iterator[Path]:
        for directory, _, names in os.walk(self.path("d")):
            yield from (path for name in names if (path := Path(directory, name)).is_file())

    def left(self) -> Iterator[tuple[str, str]]:
        """The keys and texts of what is in files, but not in bins; also by links."""
        for path in self.files_by_any_name():
            key = path.relative_to(self.directory).as_posix()
            if {*BINS} & {*path.resolve().parts}:
                continue
            if path.suffix == ".txt":
                yield key, path.read_text().strip()
            elif path.suffix == ".zip":
                with zipfile.ZipFile(path) as archive:
                    for member in archive.namelist():
                        yield f"{key}/{member}", archive.read(member).decode().strip()
            else:
                for number, message in enumerate(path.read_text().split("From ")[1:]):
                    yield f"{key}#<{number}@n>", message.partition("\n\n")[2].strip()

    def files_by_any_name(self) -> Iterator[Path]:
        yield from self.files()
        for folder in self.path("d").iterdir():
            if folder.is_symlink() and folder.is_dir():
                yield from (path for path in folder.rglob("*") if path.is_file())


def _similar(text: str, other: str, threshold: float, contains: bool) -> bool:
    words, others = {*text.split()}, {*other.split()}
    if text == other:
        return True
    if contains:
        return len(words & others) / (len(words) or 1) >= threshold
    return jaccard(words, others) >= threshold
