"""How a stream is cut into batches, and how much of it is in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import lshdb
from lshdb.ingest import batches
from lshdb.ingest.batches import Stream
from lshdb.ingest.parts import Signing
from lshdb.sources.readers import Reader
from lshdb.workers import Workers


@pytest.mark.parametrize("prompt", [False, True])
def test_files_are_read_while_a_batch_is_written_and_streams_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prompt: bool
) -> None:
    """Neither has more documents in memory than there is room for."""
    monkeypatch.setattr(batches, "_AHEAD", 20_000)
    monkeypatch.setattr(batches, "_AHEAD_OF_FILES", 20_000)
    monkeypatch.setattr(batches, "_PART_BYTES", 500)
    monkeypatch.setattr(batches, "_BATCH_DOCUMENTS", 200)
    read = 0

    def documents() -> Iterator[tuple[str, str]]:
        nonlocal read
        for read in range(1, 501):
            yield f"k{read}", "the fox " * 10

    sizes, keys, ahead, read_within = list[int](), list[str](), 0, 0
    with lshdb.open(tmp_path / "x.db") as db, Workers(Signing(db.settings, None), 0) as pool:
        stream = Stream(db._store, documents(), pool, prompt=prompt, keep_blocks=False)
        while stream.read_ahead():
            before, written = read, len(keys)
            for _, part in stream.batch():
                ahead = max(ahead, read - len(keys))
                keys += part.keys
            read_within += read - before
            sizes.append(len(keys) - written)
    assert keys == [f"k{i}" for i in range(1, 501)]
    assert ahead <= 20_000 // 300
    assert (read_within > 0) == prompt
    # Of a stream as many as there is room for, of files as many as a batch has.
    assert sizes[0] >= 200 if prompt else max(sizes) <= 20_000 // 300


def test_a_reader_used_again_counts_what_it_replaces_in_each_call(tmp_path: Path) -> None:
    reader = Reader(of_sets=False)
    with lshdb.open(tmp_path / "lsh.db") as db:
        for number in range(3):
            path = tmp_path / f"{number}.txt"
            path.write_bytes(b"na\xefve fox %d" % number)
            report = db.add_files([str(path)], reader)
            assert (report.added, report.replaced) == (1, 1)
