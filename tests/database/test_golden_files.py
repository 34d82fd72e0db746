"""Files of each released format, made by the code of their time: the same answers ever after."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable
from pathlib import Path

import inspection
import make_golden
import numpy as np
import pytest
from make_golden import DIRECTORY, FILES, READ

import lshdb
from lshdb.database import store_of
from lshdb.errors import OtherFormat
from lshdb.sketch.banding import bucket_keys
from lshdb.sketch.constructions import Construction
from lshdb.store.index import codes_of_keys
from lshdb.store.schema import FORMAT

ALL = sorted(path.name.removesuffix(".db.xz") for path in DIRECTORY.glob("*.db.xz"))
GOLDEN = [name for name in ALL if not name.endswith(READ)]


@pytest.fixture
def unpacked(path: Path) -> Callable[[str], Path]:
    def unpack(name: str) -> Path:
        path.write_bytes(lzma.decompress((DIRECTORY / f"{name}.db.xz").read_bytes()))
        return path

    return unpack


def test_every_format_has_its_files() -> None:
    """From 7 on: older ones were not released."""
    formats = range(7, FORMAT + 1)
    assert set(ALL) == {f"format-{number}-{kind}" for number in formats for kind in (*FILES, READ)}
    schemas = sorted(path.name for path in DIRECTORY.glob("*.sql"))
    assert schemas == [f"format-{number}.sql" for number in formats]


@pytest.mark.app("passages", "review")
@pytest.mark.parametrize("name", GOLDEN)
def test_a_file_gives_the_answers_that_it_gave_when_it_was_made(
    unpacked: Callable[[str], Path], name: str
) -> None:
    """Opened for reading, it stays as it was."""
    format_of, _, kind = name.rpartition("-")
    answers = json.loads((DIRECTORY / f"{format_of}.json").read_text("utf-8"))[kind]
    documents = make_golden.documents_of(kind)
    path = unpacked(name)
    before = inspection.files(path.parent)
    with lshdb.open(path, mode="read") as db:
        assert make_golden.answers(db, kind) == answers
        assert lshdb.check(db.path, deep=True).problems == ()
    assert inspection.files(path.parent) == before
    with lshdb.open(path) as db:
        # Signed and digested again, the documents are what is stored.
        assert db.add_many(documents).unchanged == len(documents)
        assert make_golden.answers(db, kind) == answers
        assert lshdb.check(db.path, deep=True).problems == ()
        db.remove([document.key for document in documents])
        assert db.add_many(documents).added == len(documents)
        assert make_golden.answers(db, kind) == answers
    inspection.check(path)


@pytest.mark.app("passages", "review")
@pytest.mark.parametrize("name", [name for name in ALL if name not in GOLDEN])
def test_what_was_read_from_files_and_rows_stays(
    unpacked: Callable[[str], Path], name: str
) -> None:
    """The states of files, an encoding that was guessed, and a key that two rows had."""
    answers = json.loads((DIRECTORY / f"{name.rpartition('-')[0]}.json").read_text("utf-8"))
    with lshdb.open(unpacked(name), mode="read") as db:
        assert make_golden.read_answers(db) == answers[READ]
        assert lshdb.check(db.path, deep=True).problems == ()
    inspection.check(db.path)


@pytest.mark.parametrize(
    ("number", "advice"), [(FORMAT + 1, "upgrade lshdb"), (6, "add the files to a new one")]
)
def test_a_file_of_another_format_is_refused(
    unpacked: Callable[[str], Path], number: int, advice: str
) -> None:
    """The tables differ, too, but the format is what is said."""
    path = unpacked(GOLDEN[0])
    with inspection.sqlite(path) as connection:
        connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("ALTER TABLE settings DROP COLUMN lane_bits")
    with pytest.raises(OtherFormat, match=f"format {number}, .* {advice}"):
        lshdb.open(path)


def test_arrays_of_another_byte_order_make_the_same_file(tmp_path: Path) -> None:
    """What a machine of the other byte order would hand to the code that writes."""
    construction = Construction.parse("and 3, or 19")
    lanes = np.random.default_rng(5).integers(0, 1 << 16, (7, 128), dtype=np.uint16)
    keys = bucket_keys(lanes, construction, 1)
    doc_ids = np.arange(1, 8)
    stored = []
    for number, order in enumerate("<>"):
        file = tmp_path / f"{number}.db"
        swapped = lanes.astype(f"{order}u2")
        assert np.array_equal(bucket_keys(swapped, construction, 1), keys)
        with lshdb.open(file, threshold=0.6) as db:
            store = store_of(db)
            with store.writing():
                store.insert([(i, str(i), 1, bytes(16), None, "x") for i in range(1, 8)])
                store.index.insert_signatures(doc_ids.astype(f"{order}i8"), swapped)
                given = (one.astype(f"{order}i8") for one in (doc_ids, keys))
                store.index.insert_bands(*codes_of_keys(*given))
            assert store.signatures(doc_ids)[1].tolist() == lanes.tolist()
        stored.append(inspection.contents(file))
    assert stored[0] == stored[1]
    blobs = [row[1] for row in stored[0]["signatures"]]
    assert blobs == [b"".join(int(lane).to_bytes(2, "little") for lane in row) for row in lanes]
