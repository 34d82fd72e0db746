"""Files of every format that was, made by the code of their time: the same answers ever after."""

from __future__ import annotations

import json
import lzma
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import inspection
import make_golden
import numpy as np
import pytest
from make_golden import FORMAT_VERSION

import lshdb
from lshdb.errors import NewerFormat
from lshdb.model import Construction
from lshdb.sketching.banding import bucket_keys
from lshdb.store.migrations import newest_format

GOLDEN = sorted(path.name.removesuffix(".db.xz") for path in make_golden.DIRECTORY.glob("*.db.xz"))


@pytest.fixture
def unpacked(path: Path) -> Callable[[str], Path]:
    def unpack(name: str) -> Path:
        path.write_bytes(lzma.decompress((make_golden.DIRECTORY / f"{name}.db.xz").read_bytes()))
        return path

    return unpack


def version(path: Path) -> object:
    return inspection.rows(path, "PRAGMA user_version")[0][0]


def test_every_format_has_its_files() -> None:
    kinds = make_golden.FILES
    formats = range(1, FORMAT_VERSION + 1)
    assert set(GOLDEN) == {f"format-{number}-{kind}" for number in formats for kind in kinds}


@pytest.mark.parametrize("name", GOLDEN)
def test_a_file_gives_the_answers_that_it_gave_when_it_was_made(
    unpacked: Callable[[str], Path], name: str
) -> None:
    """Opened for reading, it stays as it was; opened for writing, it has the newest format."""
    format_of, _, kind = name.rpartition("-")
    answers = json.loads((make_golden.DIRECTORY / f"{format_of}.json").read_text("utf-8"))[kind]
    number = int(format_of.removeprefix("format-"))
    documents = make_golden.documents_of(kind, number)
    path = unpacked(name)
    before = inspection.files(path.parent)
    with lshdb.open(path, mode="read") as db:
        assert make_golden.answers(db, kind, number) == answers
        assert db.check(deep=True).problems == ()
    assert inspection.files(path.parent) == before
    with lshdb.open(path) as db:
        # Signed and digested again, the documents are what is stored.
        assert db.add_many(documents).unchanged == len(documents)
        assert make_golden.answers(db, kind, number) == answers
        assert db.check(deep=True).problems == ()
        db.remove_many([document.key for document in documents])
        assert db.add_many(documents).added == len(documents)
        assert make_golden.answers(db, kind, number) == answers
    assert version(path) == FORMAT_VERSION
    inspection.check(path)
    unpacked(name)
    assert lshdb.check(path, repair=True).ok
    assert version(path) == FORMAT_VERSION


@pytest.mark.parametrize("mode", ["create", "write", "read"])
def test_a_file_of_a_newer_format_is_refused(unpacked: Callable[[str], Path], mode: str) -> None:
    path = unpacked(GOLDEN[0])
    with inspection.sqlite(path) as connection:
        connection.execute(f"PRAGMA user_version = {newest_format() + 1}")
    before = inspection.files(path.parent)
    with pytest.raises(NewerFormat, match=f"format {newest_format() + 1}, .* upgrade lshdb"):
        lshdb.open(path, mode=mode)  # type: ignore[arg-type]
    assert inspection.files(path.parent) == before


def test_a_process_killed_within_a_step_leaves_the_old_format(
    unpacked: Callable[[str], Path], tmp_path: Path
) -> None:
    path = unpacked(f"format-{FORMAT_VERSION}-words")
    before = inspection.contents(path)
    # Of a format that a later version will have.
    code = (
        "import os, signal, sys, lshdb\n"
        "from lshdb.store import migrations\n"
        "def statements():\n"
        "    yield 'ALTER TABLE documents ADD COLUMN note TEXT'\n"
        "    yield 'UPDATE documents SET note = key'\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "migrations.STEPS = (*migrations.STEPS, migrations.Step(statements(), (), ()))\n"
        "lshdb.open(sys.argv[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", code, path], cwd=tmp_path, check=False)
    assert done.returncode == -signal.SIGKILL
    with lshdb.open(path) as db:
        assert db.check(deep=True).problems == ()
    assert version(path) == FORMAT_VERSION
    assert inspection.contents(path) == before


# another byte order


def test_arrays_of_another_byte_order_make_the_same_file(tmp_path: Path) -> None:
    """What a machine of the other byte order would hand to the code that writes."""
    construction = Construction.parse("and 3, or 19")
    lanes = np.random.default_rng(5).integers(0, 1 << 32, (7, 128), dtype=np.uint32)
    keys = bucket_keys(lanes, construction, 1)
    doc_ids = np.arange(1, 8)
    stored = []
    for number, order in enumerate("<>"):
        file = tmp_path / f"{number}.db"
        swapped = lanes.astype(f"{order}u4")
        assert np.array_equal(bucket_keys(swapped, construction, 1), keys)
        with lshdb.open(file, threshold=0.6) as db:
            store = db._store
            with store.writing():
                store.insert([(i, str(i), 1, bytes(16), None, "x") for i in range(1, 8)])
                store.insert_signatures(doc_ids.astype(f"{order}i8"), swapped)
                store.insert_bands(doc_ids.astype(f"{order}i8"), [keys.astype(f"{order}i8")])
            read, again = store.signatures(doc_ids)
            assert (read.tolist(), again.tolist()) == (doc_ids.tolist(), lanes.tolist())
            assert db.check().problems == ()
        stored.append(inspection.contents(file))
    assert stored[0] == stored[1]
    blobs = [row[1] for row in stored[0]["signatures"]]
    assert blobs == [b"".join(int(lane).to_bytes(4, "little") for lane in row) for row in lanes]
