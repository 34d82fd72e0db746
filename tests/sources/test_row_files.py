"""Lines that are read where they are parsed: the same as where they are sent."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import inspection
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lshdb
from lshdb.errors import InputError
from lshdb.sources import lines as line_files
from lshdb.sources import readers, records
from lshdb.sources.parsing import Rows
from lshdb.sources.readers import Item, Reader
from lshdb.sources.records import Failure, Lines
from lshdb.sources.row_files import RowFile


def parsed(items: Iterator[Item], reader: Reader) -> list[Any]:
    found: list[Any] = []
    with Rows() as rows:
        for item in items:
            if isinstance(item, Lines):
                found += [one for _, one in rows.numbered(item, reader.parser)]
            else:
                found.append(item)
    return found


@given(
    st.lists(st.binary(max_size=30) | st.sampled_from([b"", b'{"id":1,"text":"x"}']), max_size=12),
    st.sampled_from([b"\n", b"\r\n", b"\n\n"]),
    st.integers(1, 40),
    st.integers(1, 40),
    st.integers(10, 60),
)
def test_stretches_have_the_lines_that_blocks_have(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[bytes],
    newline: bytes,
    block: int,
    tail: int,
    largest: int,
) -> None:
    path = tmp_path_factory.getbasetemp() / "lines.jsonl"
    path.write_bytes(newline.join(lines))
    with pytest.MonkeyPatch.context() as patch:
        for module in (line_files, readers):
            patch.setattr(module, "_BLOCK", block)
        patch.setattr(line_files, "_TAIL", tail)
        for module in (line_files, readers, records):
            patch.setattr(module, "LARGEST", largest)
        one, other = Reader(False), Reader(False)
        items = list(one.items([str(path)], apart=True))
        assert all(isinstance(item, Failure) or item.stretch for item in items)  # type: ignore[union-attr]
        # Which documents there are; a line that is too long is reported by whoever sees it first.
        assert parsed(iter(items), one) == parsed(other.items([str(path)]), other)
        assert one.bytes_read == other.bytes_read == path.stat().st_size


def lines_of(count: int) -> bytes:
    good = b"".join(
        b'{"id": "k%d", "text": "the fox and %d grapes of %d"}\n' % (i, i // 2, i % 7)
        for i in range(count)
    )
    return good + b'not JSON\n\n{"text": "no key"}\n{"id": "z", "text": "\xff last"}'


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_lines_are_the_same_wherever_they_are_signed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setattr(line_files, "_BLOCK", 20_000)
    data, source = lines_of(9_000), tmp_path / "x.jsonl"
    source.write_bytes(data)
    found = []
    for name in ("stretches", "blocks"):
        failures: list[Failure] = []
        with lshdb.open(tmp_path / f"{name}.db") as db:
            if name == "blocks":
                monkeypatch.setattr(line_files, "can_be_cut", lambda _: False)
            report = db.add_files([str(source)], on_failure=failures.append, workers=workers)
        assert (report.added, report.failed, report.replaced) == (9_001, 2, 1)
        assert [failure.where for failure in failures] == [f"{source}:9001", f"{source}:9003"]
        found.append((failures, inspection.contents(tmp_path / f"{name}.db")))
    assert found[0] == found[1]


def cut_short(path: Path) -> None:
    os.truncate(path, 30_000)


def taken_by_another(path: Path) -> None:
    (path.parent / "y").write_bytes(lines_of(2_000))
    (path.parent / "y").replace(path)


def grown(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b'\n{"id": "later", "text": "the rest"}\n')


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (grown, None),
        (cut_short, "changed while it was being read"),
        (taken_by_another, "changed while it was being read"),
        (Path.unlink, "cannot be opened again to be read on: no such file or directory"),
    ],
)
def test_files_that_change_while_they_are_read(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    after_listing: Any,
    workers: int,
    change: Any,
    told: str | None,
) -> None:
    monkeypatch.setattr(line_files, "_BLOCK", 20_000)
    source = tmp_path / "x.jsonl"
    source.write_bytes(lines_of(2_000))
    after_listing(lambda: change(source))
    failures: list[Failure] = []
    with lshdb.open(tmp_path / "x.db") as db:
        report = db.add_files([str(source)], on_failure=failures.append, workers=workers)
        keys = db.keys()
    assert "later" not in keys
    if told is None:
        assert (report.added, report.failed) == (2_001, 2)
        return
    assert [(failure.where, failure.reason) for failure in failures] == [(str(source), told)]
    assert keys == [f"k{i}" for i in range(len(keys))], "what stands before it, in order"
    assert (len(keys) > 0) == (change is cut_short)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_disk_that_fails_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    source = tmp_path / "x.jsonl"
    source.write_bytes(lines_of(2_000))

    def fails(*_: object) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "pread", fails)
    failures: list[Failure] = []
    with lshdb.open(tmp_path / "x.db") as db:
        report = db.add_files([str(source)], on_failure=failures.append, workers=workers)
    assert (report.added, report.failed) == (0, 1)
    assert [(failure.where, failure.reason) for failure in failures] == [
        (str(source), "input/output error")
    ]


def test_what_can_be_read_only_once_is_sent(tmp_path: Path) -> None:
    pipe, data = tmp_path / "pipe.jsonl", lines_of(3_000)
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(data))
    writer.start()
    with lshdb.open(tmp_path / "x.db") as db:
        assert db.add_files([str(pipe)]).added == 3_001
    writer.join()


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="no /dev/fd")
def test_a_descriptor_by_its_path(tmp_path: Path) -> None:
    """In another process the same path is another file."""
    source = tmp_path / "x.jsonl"
    source.write_bytes(lines_of(3_000))
    with source.open("rb") as file, lshdb.open(tmp_path / "x.db") as db:
        reader = Reader(False, format="jsonl")
        lines, _ = reader.items([f"/dev/fd/{file.fileno()}"], apart=True)
        assert isinstance(lines, Lines)
        assert lines.stretch is not None
        assert lines.stretch.file.path == str(source)
        assert db.add_files([f"/dev/fd/{file.fileno()}"], reader=reader).added == 3_001


def test_files_are_told_apart(tmp_path: Path) -> None:
    assert RowFile("/a", (1, 2)) != RowFile("/a", (1, 3))
    assert RowFile("/a", (1, 2), broken=True) == RowFile("/a", (1, 2))
    path = tmp_path / "x"
    path.write_bytes(b"a")
    with path.open("rb") as file:
        fixed, growing = RowFile.of(file, str(path)), RowFile.of(file, str(path), may_grow=True)
    path.write_bytes(b"ab")
    growing.opened().close()
    with pytest.raises(InputError, match="changed while it was being read"):
        fixed.opened()
