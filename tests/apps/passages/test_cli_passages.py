"""The command passages: what it prints, in every form, and its exit status."""

from __future__ import annotations

import pytest
from helpers import Command, database_of

SIEGE = "On the last of them the wells ran dry, and the garrison opened the gate at dawn."
HARBOUR = "The harbour was the gift of a queen who never saw it in her life."


@pytest.fixture
def filled(command: Command) -> Command:
    texts = {"siege": SIEGE, "harbour": HARBOUR}
    database_of(command.path("lsh.db"), texts, passages=6).close()
    command.write(
        "essay.txt",
        "Towns fall.\nTHE WELLS RAN DRY, and the garrison opened it.\n"
        "The harbour was the gift of a queen.\n",
    )
    return command


def test_a_line_is_a_passage(filled: Command) -> None:
    lines = [
        "0.421053\tharbour\t8\t3\t1\tThe harbour was the gift of a queen",
        "0.421053\tsiege\t8\t2\t1\tTHE WELLS RAN DRY, and the garrison opened",
    ]
    assert filled.done("passages", "essay.txt").lines == lines
    assert filled.done("passages", "essay.txt", "--top", "1").lines == lines[:1]
    whole = filled.done("passages", "-", stdin=SIEGE.upper()).lines
    assert whole[0].startswith("1.000000\tsiege\t17")
    assert not filled.done("passages", "--key", "siege").lines
    found = "--fail-if-found"
    assert filled("passages", "essay.txt", found).status == 1
    filled.done("passages", "-", found, stdin="Something else altogether.")
    filled.done("passages", "--all", found)
    filled.write("lines.txt", "The wells ran dry,\n  and the garrison\nopened it.")
    drawn, _ = filled.on_terminal("passages", "lines.txt", columns=160)
    assert "The wells ran dry, and the garrison opened" in drawn


def test_several_files_are_several_texts(filled: Command) -> None:
    filled.write("other.txt", f"He wrote: {HARBOUR}")
    filled.write("short.txt", "No.")
    filled.done("add", "essay.txt")
    filled.write("rows.jsonl", [{"id": "siege", "text": SIEGE}, {"text": f"That {SIEGE}"}])
    filled.write("essays/deep/one.txt", SIEGE)

    def sources(*files: str) -> list[list[str]]:
        done = filled.done("passages", *files, "--top", "1", "--sort", "weighted")
        return [line.split("\t")[:4:3] for line in done.lines]

    files = ("essay.txt", "other.txt", "short.txt", "rows.jsonl")
    assert sources(*files) == [
        ["essay.txt", "harbour"],  # not essay.txt itself
        ["other.txt", "harbour"],
        ["siege", "siege"],  # a row of a table is no file
        ["rows.jsonl:2", "siege"],
    ]
    short = filled.done("passages", *files).err
    assert short == "short.txt: shorter than 6 words: no passage can be found\n"
    assert sources("essays") == [["essays/deep/one.txt", "siege"]]
    assert sources("oth*.txt", "essay.txt")[0] == ["other.txt", "harbour"]
    failed = filled("passages", "other.txt", "gone.txt")
    assert (failed.status, {line.split("\t")[0] for line in failed.lines}) == (1, {"other.txt"})
    assert failed.err == "lshdb: gone.txt: no such file or directory\n"
    for wrong, reason in (("- -", "read once"), ("rows.jsonl -o rows.jsonl", "same file")):
        assert reason in filled.fails("passages", *wrong.split(), status=2)


def test_all_pairs_and_what_does_not_count(filled: Command) -> None:
    filled.done("add", "essay.txt")
    every = ("passages", "--all")
    lines = [
        "0.533333\t0.421053\t8\tharbour\tessay.txt",
        "0.470588\t0.421053\t8\tsiege\tessay.txt",
    ]
    assert filled.done(*every).lines == lines
    assert filled.done(*every, "--top", "1").lines == lines[:1]
    pairs = filled.done(*every, "--passages").lines
    assert [line.split("\t")[:4] for line in pairs] == [
        ["8", "siege", "essay.txt", "8"],
        ["8", "harbour", "essay.txt", "8"],
    ]
    assert filled.done(*every, "--passages", "--top", "1").lines == pairs[1:]
    filled.write("tasks/task.txt", "Quote: " + HARBOUR)
    for base in ("tasks/task.txt", "tasks"):
        (line,) = filled.done(*every, "--base", base).lines
        assert line.endswith("\tsiege\tessay.txt")
    note = "runs in more than 1 document do not count: "
    for asked, count in ((("--key", "siege"), 1), (("--all",), 2)):
        common = filled.done("passages", *asked, "--common", "1")
        (line,) = [line for line in common.err.splitlines() if line.startswith(note)]
        assert (common.out, line.count("line 1 (8 words)")) == ("", count)


def test_runs_that_do_not_count_are_counted(command: Command) -> None:
    runs = [" ".join(f"run{run}x{word}" for word in range(8 + run)) for run in range(7)]
    texts = {f"{run}{side}": f"own{side} {text}" for run, text in enumerate(runs) for side in "ab"}
    database_of(command.path("lsh.db"), texts, passages=6).close()
    (line,) = command.done("passages", "--all", "--common", "1").err.splitlines()[-1:]
    longest = ", ".join(f"{run}a line 1 ({8 + run} words)" for run in (6, 5, 4, 3, 2))
    assert line == f"runs in more than 1 document do not count: {longest} and 2 more"


def test_the_index_of_passages_is_made_and_removed(filled: Command) -> None:
    assert "is not an integer" in filled("reindex", "--passages", "some").err
    filled.done("reindex", "--passages", "off")
    assert "no index of passages" in filled.fails("passages", "essay.txt", status=2)
    filled.done("reindex", "--passages", "8")
    assert len(filled.done("passages", "essay.txt").lines) == 2
