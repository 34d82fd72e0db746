"""Pipes, sockets and devices among files: read, skipped or refused, and no walk hangs."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from time import sleep

import pytest
from helpers import Command

TEXT = "the quick brown fox jumps over the lazy dog and runs home"


@pytest.fixture
def folder(command: Command) -> Iterator[Command]:
    """A folder with a pipe, a socket and a text."""
    command.write("d/a.txt", TEXT)
    os.mkfifo(command.path("d/pipe"))
    here = os.getcwd()
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(command.directory)  # the path of a socket is short
        server.bind("d/socket")
        os.chdir(here)
        yield command


def test_a_socket_and_a_device_fail(folder: Command) -> None:
    folder.write("list", "d/a.txt\0d/socket\0/dev/zero\0")
    done = folder("add", "--files-from", "list", "-0")
    assert done.err.splitlines() == [
        "lshdb: d/socket: a socket, not a file",
        "lshdb: /dev/zero: a device, not a file",
        "added 1, updated 0, unchanged 0, failed 2",
    ]


def test_a_pipe_in_a_folder_is_skipped(folder: Command) -> None:
    """mempalace #2221 (https://github.com/MemPalace/mempalace/issues/2221), ack #214
    (https://github.com/beyondgrep/ack2/issues/214): a walk hung on a pipe.
    """
    done = folder.done("add", "d", "d/*.txt")
    assert "skipped: 2 special, 1 repeated\n" in done.err


@pytest.mark.app("ignoring")
def test_a_pipe_is_no_ignore_file(folder: Command) -> None:
    """As in the same reports."""
    os.mkfifo(folder.path("d/.gitignore"))
    done = folder("add", "-d", "x.db", "d")
    assert "lshdb: d: its .gitignore is not a file\n" in done.err
    assert done.status == 1


def test_a_pipe_with_a_writer_is_read(folder: Command) -> None:
    pipe = folder.path("d/pipe")

    def write() -> None:
        with pipe.open("w") as file:
            sleep(0.2)  # open, and silent at first
            file.write(TEXT)
            file.flush()
            sleep(0.2)
            file.write(" again")

    writer = threading.Thread(target=write)  # either may open its end first
    writer.start()
    folder.done("add", "d/pipe", "--format", "text")
    writer.join()
    assert folder.rows("SELECT key, content FROM documents") == [("d/pipe", f"{TEXT} again")]
