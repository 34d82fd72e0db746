"""Compressed files that are cut, damaged, or not what their name says."""

from __future__ import annotations

import gzip

import pytest
from helpers import Command

TEXT = "the ferry to the islands runs every hour from the pier"
ROWS = b"".join(b'{"id": %d, "text": "%d %s"}\n' % (i, i, TEXT.encode()) for i in range(3_000))
GZIP = gzip.compress(ROWS)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (GZIP[:-9], "gzip that is cut off: the end of the file is missing"),
        (GZIP + b"garbage", "not gzip, damaged, or with something else behind it; gzip -dc"),
        (ROWS, "not gzip, damaged"),
    ],
)
def test_a_compressed_file_that_is_not_whole(command: Command, data: bytes, says: str) -> None:
    command.write("a.jsonl.gz", data)
    done = command("add", "a.jsonl.gz")
    assert done.status == 1
    assert f"a.jsonl.gz: {says}" in done.err


def test_a_window_that_is_too_large(command: Command) -> None:
    # A frame without a size, with a window of 2 GB.
    command.write("a.jsonl.zst", b"\x28\xb5\x2f\xfd\x00" + bytes([21 << 3]) + b"\x01\x00\x00")
    said = command("add", "a.jsonl.zst").err
    assert "zstd with a window that is larger" in said or "zstd needs Python" in said
    assert "zstd -d --long=31" in said or "zstd needs Python" in said


def test_members_and_padding_of_gzip(command: Command) -> None:
    command.write("a.jsonl.gz", GZIP + gzip.compress(b'{"id": "last", "text": "b"}\n') + bytes(99))
    assert "added 3,001" in command.done("add", "a.jsonl.gz").err
