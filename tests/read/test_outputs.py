"""Outputs that lead to an open file are added to it."""

from __future__ import annotations

import os

import pytest
from helpers import Command

TEXT = "the quick brown fox jumps over the lazy dog and runs home"
ROW = f'{{"text": "{TEXT}"}}\n'
LOGS = ["/dev/stdout", "/dev/stderr", "/dev/fd/2"]


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="Linux has these names")
class TestLogs:
    """What is written to an open file goes where that is.

    atropos #73 (https://github.com/jdidion/atropos/issues/73): a file that /dev/stderr leads to
    was overwritten.
    """

    @pytest.fixture
    def log(self, command: Command) -> Command:
        command.write("in.jsonl", ROW)
        command.write("more/b.jsonl", ROW)
        command.write("log", "before\n")
        return command

    def run(self, command: Command, *arguments: str) -> str:
        """What the log has after a quiet command that writes to it, opened for append."""
        before = os.stat(command.path("log")).st_ino
        with command.path("log").open("ab") as log:
            streams = dict.fromkeys((1, 2), log.fileno())
            assert command(*arguments, "--quiet", streams=streams).status == 0
        assert os.stat(command.path("log")).st_ino == before
        return command.path("log").read_text()

    @pytest.mark.parametrize("name", LOGS)
    @pytest.mark.app("dedup")
    def test_it_is_added_to_a_log(self, log: Command, name: str) -> None:
        assert self.run(log, "dedup", "in.jsonl", "-o", name) == f"before\n{ROW}"
        assert sorted(os.listdir(log.directory)) == ["in.jsonl", "log", "more"]

    def test_results_are_added_to_a_log(self, log: Command) -> None:
        log.done("init")
        assert self.run(log, "sql", "select 1 as n", "-o", "/dev/stdout") == 'before\n{"n":1}\n'
