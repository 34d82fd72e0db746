"""dedup against a reference: what is similar to one of its documents goes, and it is only read.

The oracle asks the reference for each document by itself, and then deduplicates what is left.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from helpers import database_of, text_families

import lshdb
from lshdb import DroppedRow, Limits

TEXTS = text_families(4, families=20, copies=4, words=30, most_edits=6)
SETTINGS: dict[str, Any] = {"shingle": "word:2", "threshold": 0.5}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Rows to be deduplicated, some of one key, and a reference as rows and as a database."""
    rng = random.Random(1)
    rows = [{"id": key, "text": text} for key, text in TEXTS.items()]
    rows += [{"id": "again", "text": text} for text in rng.sample([*TEXTS.values()], 10)]
    rows += [{"id": "empty", "text": ""}, {"id": "empty too", "text": ""}]
    rng.shuffle(rows)
    known = [*rng.sample(rows, 15), {"id": "none", "text": ""}]
    for name, some in (("rows", rows), ("known", known)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some))
    database_of(
        tmp_path / "known.db",
        [(f"{n} {row['id']}", row["text"]) for n, row in enumerate(known)],
        **SETTINGS,
    ).close()
    return tmp_path


def outcomes(files: Path, against: str, **options: Any) -> list[DroppedRow | None]:
    with lshdb.open(files / "own.db", **SETTINGS) as db:
        lines = db.dedup_files([str(files / "rows.jsonl")], against=files / against, **options)
        found = [line.dropped for line in lines]
        assert len(db) == found.count(None)
    (files / "own.db").unlink()
    return found


@pytest.mark.parametrize("options", [{}, {"threshold": 0.8}, {"estimate": True}])
def test_what_a_query_of_the_reference_finds_goes(files: Path, options: dict[str, Any]) -> None:
    """The best match is named; what is left is compared with what is kept before it."""
    rows = [json.loads(line) for line in (files / "rows.jsonl").read_text().splitlines()]
    before = (files / "known.db").read_bytes()
    found = outcomes(files, "known.db", **options)
    assert (files / "known.db").read_bytes() == before
    assert sorted(path.name for path in files.glob("known.db*")) == ["known.db"]
    named = 0
    with lshdb.open(files / "known.db", mode="read") as db:
        path = str(files / "rows.jsonl")
        for number, (row, one) in enumerate(zip(rows, found, strict=True), 1):
            (match, *_) = [*db.query(row["text"], **options), None]
            if match is None:
                assert one is None or one.kept not in db
            else:
                how = match.similarity, match.exact, match.identical
                assert one == DroppedRow(
                    row["id"], path, number, match.key, None, None, *how, str(files / "known.db")
                )
                named += 1
    assert named > 15
    assert found.count(None) > 10
    of_rows = outcomes(files, "known.jsonl", workers=1, **options)
    assert [row and row.similarity for row in of_rows] == [row and row.similarity for row in found]


def test_references_of_wide_and_of_narrow_lanes_find_the_same(files: Path) -> None:
    """Rows are signed with the bits that a reference has."""
    known = [json.loads(line) for line in (files / "known.jsonl").read_text().splitlines()]
    documents = [(f"{n} {row['id']}", row["text"]) for n, row in enumerate(known)]
    found = []
    for rows, bits in ((1, 32), (2, 16)):
        with database_of(files / "lanes.db", documents, **SETTINGS, bands=60, rows=rows) as db:
            assert db.settings.lane_bits == bits
        found.append(outcomes(files, "lanes.db"))
        (files / "lanes.db").unlink()
    assert found[0] == found[1]
    assert sum(row is not None and row.reference is not None for row in found[0]) >= 15


@pytest.mark.filterwarnings("ignore::lshdb.FailureWarning")
def test_what_is_stored_is_not_touched_by_a_row_that_the_reference_has(tmp_path: Path) -> None:
    text = "the fox and the grapes and the sun"
    database_of(tmp_path / "seen.db", {"a": text}).close()
    (tmp_path / "rows.jsonl").write_text(json.dumps({"id": "b", "text": text, "n": 2}))
    with database_of(tmp_path / "own.db", {"b": "the ant and the dove and the rain"}) as db:
        path = str(tmp_path / "rows.jsonl")
        (line,) = db.dedup_files([f"{path}.none", path], against=tmp_path / "seen.db")
        assert line.dropped == DroppedRow(
            "b", path, 1, "a", None, None, 1.0, True, True, str(tmp_path / "seen.db")
        )
        assert db.get("b").content == "the ant and the dove and the rain"


def test_what_cannot_be_a_reference_is_refused(files: Path) -> None:
    rows = [str(files / "rows.jsonl")]
    lshdb.open(files / "char.db", shingle="char:5").close()
    lshdb.open(files / "seed.db", **SETTINGS, seed=7).close()
    with lshdb.open(files / "own.db", **SETTINGS) as db:
        for against, message in [
            ("char.db", "char.db has shingle char:5, and the documents are compared by word:2"),
            ("seed.db", "has seed 7, and the documents are compared by 1"),
            ("missing.jsonl", "missing.jsonl: no such file"),
        ]:
            with pytest.raises(lshdb.LshdbError, match=message):
                [*db.dedup_files(rows, against=files / against)]
        with pytest.raises(lshdb.UsageError, match="against 5 is not the name of a file"):
            db.dedup_files(rows, against=5)
        assert len(db) == 0


def test_a_large_bucket_of_the_reference_is_said_to_be_cut(files: Path) -> None:
    """Of those that share a bucket only the first are compared; a copy is found all the same."""
    header = " ".join(f"h{i}" for i in range(30))
    texts = [f"{header} {i} of {i * i} {i**3}" for i in range(33)]
    database_of(
        files / "seen.db",
        ((f"seen {i}", text) for i, text in enumerate(texts[:30])),
        threshold=0.9,
        rows=2,
        bands=20,
    ).close()
    given = [{"id": i, "text": text} for i, text in enumerate([*texts[30:], *texts[:3]])]
    (files / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in given))
    few = Limits(dedup_listed=5, query_rows=500)
    with (
        lshdb.open(files / "own.db", threshold=0.9, limits=few) as db,
        pytest.warns(
            lshdb.LimitWarning, match="share a bucket with more than 5 of the reference: 3;"
        ),
    ):
        lines = [*db.dedup_files([str(files / "rows.jsonl")], against=files / "seen.db")]
    kept = [line.dropped and line.dropped.kept for line in lines]
    assert kept == [None, None, None, "seen 0", "seen 1", "seen 2"]
