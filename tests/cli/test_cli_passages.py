"""The command passages: what it prints, in every form, and its exit status."""

from __future__ import annotations

import json
import os

import pytest
from direct_command import command as command
from helpers import Command

SIEGE = "On the last of them the wells ran dry, and the garrison opened the gate at dawn."
HARBOUR = "The harbour was the gift of a queen who never saw it in her life."


@pytest.fixture
def filled(command: Command) -> Command:
    command.done("init", "--passages", "6")
    lines = [{"id": "siege", "text": SIEGE}, {"id": "harbour", "text": HARBOUR}]
    command.done("add", "-", stdin="".join(json.dumps(line) + "\n" for line in lines))
    command.write(
        "essay.txt",
        "Towns fall.\nTHE WELLS RAN DRY, and the garrison opened it.\n"
        "The harbour was the gift of a queen.\n",
    )
    return command


def test_a_line_is_a_passage(filled: Command) -> None:
    assert filled.done("passages", "essay.txt").lines == [
        "0.421053\tharbour\t8\t3\t1\tThe harbour was the gift of a queen",
        "0.421053\tsiege\t8\t2\t1\tTHE WELLS RAN DRY, and the garrison opened",
    ]
    assert len(filled.done("passages", "essay.txt", "--top", "1").lines) == 1
    assert (
        filled.done("passages", "-", stdin=SIEGE.upper()).lines[0].startswith("1.000000\tsiege\t17")
    )
    assert not filled.done("passages", "--key", "siege").lines


def test_rows_of_a_table_are_texts(filled: Command) -> None:
    lines = [
        {"id": 7, "text": "It was the gift of a queen who never saw it."},
        {"id": 8, "text": "No."},
    ]
    lines.append({"text": "On the last of them the wells"})
    filled.write("test.jsonl", lines)
    found = filled("passages", "test.jsonl")
    assert [line.split("\t")[::2][:2] for line in found.lines] == [
        ["7", "harbour"],
        ["test.jsonl:3", "siege"],
    ]
    assert found.err.startswith("8: shorter than 6 words")
    found = filled("passages", "test.jsonl", "--sort", "weighted", "--heading")
    assert found.lines[0].split("\t")[:4] == ["query", "weighted", "coverage", "key"]


def test_several_files_are_several_texts(filled: Command) -> None:
    filled.write("other.txt", f"He wrote: {HARBOUR}")
    filled.write("short.txt", "No.")
    filled.done("add", "essay.txt")
    filled.write("rows.jsonl", [{"id": "siege", "text": SIEGE}])
    filled.write("essays/deep/one.txt", SIEGE)
    found = filled("passages", "essay.txt", "other.txt", "short.txt", "rows.jsonl", "--top", "1")
    assert [line.split("\t")[:3:2] for line in found.lines] == [
        ["essay.txt", "harbour"],  # not essay.txt itself
        ["other.txt", "harbour"],
        ["siege", "siege"],  # a row of a table is no file
    ]
    assert found.err == "short.txt: shorter than 6 words: no passage can be found\n"
    walked = filled.done("passages", "essays", "--top", "1").lines
    assert [line.split("\t")[:3:2] for line in walked] == [["essays/deep/one.txt", "siege"]]
    assert filled.done("passages", "oth*.txt").lines[0].split("\t")[0] == "other.txt"
    failed = filled("passages", "other.txt", "gone.txt")
    assert (failed.status, {line.split("\t")[0] for line in failed.lines}) == (1, {"other.txt"})
    assert failed.err == "lshdb: gone.txt: no such file or directory\n"
    assert "no such file" in filled.fails("passages", "gone.jsonl")
    assert "read once" in filled.fails("passages", "-", "-", status=2)
    assert "same file" in filled.fails("passages", "rows.jsonl", "-o", "rows.jsonl", status=2)


def test_fail_if_found_sets_the_exit_status(filled: Command) -> None:
    assert filled("passages", "essay.txt", "--fail-if-found").status == 1
    assert (
        filled("passages", "-", "--fail-if-found", stdin="Something else altogether.").status == 0
    )
    assert filled("passages", "--all", "--fail-if-found").status == 0


def test_all_pairs_and_what_does_not_count(filled: Command) -> None:
    filled.done("add", "essay.txt")
    filled.done("add", "-", "--key", "half", stdin=" ".join(SIEGE.split()[:8]))
    lines = [line.split("\t") for line in filled.done("passages", "--all").lines]
    assert lines == [
        ["0.470588", "1.000000", "8", "siege", "half"],
        ["0.533333", "0.421053", "8", "harbour", "essay.txt"],
        ["0.470588", "0.421053", "8", "siege", "essay.txt"],
    ]
    assert filled.done("passages", "--all", "--top", "1").lines == ["\t".join(lines[0])]
    filled.done("remove", "half")
    pairs = filled.done("passages", "--all", "--passages").lines
    assert [line.split("\t")[:4] for line in pairs] == [
        ["8", "siege", "essay.txt", "8"],
        ["8", "harbour", "essay.txt", "8"],
    ]
    assert len(filled.done("passages", "--all", "--passages", "--top", "1").lines) == 1
    filled.write("task.txt", "Quote: " + HARBOUR)
    os.mkdir(filled.directory / "tasks")
    filled.write("tasks/task.txt", "Quote: " + HARBOUR)
    for base in ("task.txt", "tasks"):
        assert len(filled.done("passages", "--all", "--base", base).lines) == 1
    common = filled("passages", "--key", "siege", "--common", "1")
    assert not common.out
    note = "runs in more than 1 document do not count: "
    assert common.err.splitlines()[1:] == [f"{note}siege line 1 (8 words)"]
    common = filled("passages", "--all", "--common", "1")
    assert not common.out
    (line,) = [line for line in common.err.splitlines() if line.startswith(note)]
    assert line.count("line 1 (8 words)") == 2


def test_the_index_of_passages_is_made_and_removed(filled: Command) -> None:
    assert "is not an integer" in filled("reindex", "--passages", "some").err
    filled.done("reindex", "--passages", "off")
    refused = filled("passages", "essay.txt")
    assert (refused.status, "no index of passages" in refused.err) == (2, True)
    filled.done("reindex", "--passages", "8")
    assert len(filled.done("passages", "essay.txt").lines) == 2
