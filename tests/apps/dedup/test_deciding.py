"""Keeping the first, last or longest of similar documents, beside a reference and in a database.

The oracle decides on the rows one by one, in the order that is asked for.
"""

from __future__ import annotations

import gc
import hashlib
import io
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path
from typing import Any, Literal

import oracles
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import database_of, new_session, text_families

import lshdb
from lshdb import DroppedRow, Limits
from lshdb.apps.dedup.deciding import DecidedBatch
from lshdb.apps.dedup.file_rows import decided_files
from lshdb.apps.dedup.options import DedupOptions
from lshdb.database import store_of
from lshdb.keys import distinct_key
from lshdb.model import Failure

THRESHOLD = 0.5
SETTINGS: dict[str, Any] = {"shingle": "word:2", "threshold": THRESHOLD, "bands": 64, "rows": 2}
FAMILIES = [*text_families(7, families=24, copies=5, words=30, most_edits=5).values()]
ROWS: list[dict[str, Any]] = [
    {"id": f"row {number}", "text": text}
    for number, text in enumerate(FAMILIES[:90] + FAMILIES[:5])
]
TEXTS = {row["id"]: row["text"] for row in ROWS}
KNOWN = {f"known {number}": text for number, text in enumerate(FAMILIES[88:108])}
STORED = {f"stored {number}": text for number, text in enumerate(FAMILIES[70:90:2])}
STORED |= {"row 10": f"{FAMILIES[10]} more", "row 11": ROWS[11]["text"]}
"""One to be replaced, and one that is there already."""


def shingles(texts: dict[str, str]) -> dict[str, set[tuple[str, ...]]]:
    return {key: set(oracles.word_shingles(text, 2)) for key, text in texts.items()}


def decided(
    order: str, known: dict[str, str], stored: dict[str, str]
) -> dict[str, tuple[str, float] | None]:
    """For each row what it is dropped for, and how similar that is; for itself if it is there."""
    keys = [*TEXTS]
    if order == "longest":
        keys.sort(key=lambda key: -len(TEXTS[key]))
    elif order == "last":
        keys.reverse()
    references = map(shingles, (known, stored))
    decisions = oracles.deduplicated(shingles(TEXTS), keys, THRESHOLD, *references)
    there = {key: (key, 1.0) for key in TEXTS if stored.get(key) == TEXTS[key]}
    return {key: there.get(key) or decisions[key] for key in TEXTS}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """The rows in a file."""
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def outcomes_of(db: lshdb.Database, paths: list[str], **options: Any) -> Iterator[DecidedBatch]:
    return decided_files(store_of(db), paths, DedupOptions(**options))


def keys_and_reasons(outcomes: Iterator[DecidedBatch]) -> dict[str, DroppedRow | None]:
    return {
        key: skipped
        for outcome in outcomes
        for key, skipped in zip(outcome.keys, outcome.dropped, strict=True)
    }


@pytest.mark.parametrize(
    ("order", "numbered", "against"),
    [
        ("first", True, "known.db"),
        ("longest", True, None),
        ("longest", False, "known.jsonl"),
        ("last", True, "known.db"),
        ("last", False, "known.jsonl"),
    ],
)
def test_what_is_known_and_stored_comes_first_then_what_is_asked_for(
    order: Literal["first", "longest", "last"], against: str | None, numbered: bool, rows: Path
) -> None:
    directory, small = rows.parent, Limits(batch_documents=20, batch_bytes=20_000)
    lines = [json.dumps({"id": key, "text": text}) for key, text in KNOWN.items()]
    (directory / "known.jsonl").write_text("\n".join(lines))
    database_of(directory / "known.db", KNOWN, **SETTINGS).close()
    reference = against and directory / against
    workers = 0 if order == "last" else 1
    stored = {} if numbered else STORED
    with database_of(directory / "own.db", stored, **SETTINGS, limits=small) as db:
        outcomes = outcomes_of(db, [str(rows)], keep=order, against=reference, workers=workers)
        found = keys_and_reasons(outcomes)
        wanted = decided(order, KNOWN if against else {}, stored)
        assert {key: why and (why.kept, why.similarity) for key, why in found.items()} == wanted
        assert all(why is None or why.exact for why in found.values())
        if not numbered:
            kept = {key: TEXTS[key] for key, reason in wanted.items() if reason is None}
            # Nothing that was stored is forgotten: of one key there are two documents now.
            if changed := kept.pop("row 10", None):
                content = hashlib.blake2b(changed.encode(), digest_size=16).digest()
                kept[distinct_key("row 10", content, {"row 10": b""}.get)] = changed
            assert {key: db.get(key).content for key in db} == STORED | kept
    left = {"rows.jsonl", "known.jsonl", "known.db", "own.db"}
    assert {path.name for path in directory.iterdir()} == left


@pytest.mark.parametrize("batch", [1, 100])
def test_the_place_of_a_kept_row_is_known_if_it_is_of_this_run(tmp_path: Path, batch: int) -> None:
    """Also of one that replaces a stored document, and of text files, whose key is their name."""
    a, b, c, d = (f"{name} some words that only this one has {name * 2}" for name in "abcd")
    n, o, rows = (str(tmp_path / name) for name in ("n.txt", "o.txt", "rows.jsonl"))
    given = [{"id": "a", "text": a}, {"id": "1", "text": a}, {"id": "2", "text": f"{b}!"}]
    lines = ["", *map(json.dumps, [*given, {"id": "3", "text": f"{c}?"}])]
    for path, text in ((n, c), (o, f"{c}!"), (rows, "\n".join(lines))):
        Path(path).write_text(text)
    limits = Limits(batch_documents=batch)
    with database_of(tmp_path / "own.db", {"a": d, "s": b}, threshold=0.6, limits=limits) as db:
        reader = new_session(of_sets=False, limits=limits)
        decided = keys_and_reasons(outcomes_of(db, [n, o, rows], reader=reader)).values()
    assert [astuple(row)[:6] for row in decided if row is not None] == [
        ("o.txt", "o.txt", None, "n.txt", "n.txt", None),
        ("1", rows, 3, "a", rows, 2),
        ("2", rows, 4, "s", None, None),
        ("3", rows, 5, "n.txt", "n.txt", None),
    ]


def test_what_was_marked_different_is_no_reason(tmp_path: Path) -> None:
    text, path = "the same words of both", tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"id": key, "text": text}) + "\n" for key in "ab"))
    with database_of(tmp_path / "own.db", {"a": text, "stored": text}, **SETTINGS) as db:
        db.decide("different", ["a", "stored"])
        db.remove("a")
        found = keys_and_reasons(outcomes_of(db, [str(path)], keep="last"))
        of_b = DroppedRow("b", str(path), 2, "stored", None, None, 1.0, True, True, True)
        assert found == {"a": None, "b": of_b}


@pytest.mark.parametrize("keep", ["first", "last"])
def test_what_fails_costs_only_itself_in_any_order(
    tmp_path: Path, keep: Literal["first", "last"]
) -> None:
    table = pa.table({"id": ["long", "a", "b"], "text": ["x" * 101, "the fox", "the sun"]})
    pq.write_table(table, tmp_path / "rows.parquet")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "note.txt").write_text("the fox")
    paths = [str(tmp_path / name) for name in ("rows.parquet", "none.jsonl", "notes")]
    failures, limits = list[Failure](), Limits(largest_document=400)
    with lshdb.open(tmp_path / "own.db", **SETTINGS, limits=limits) as db:
        reader = new_session(False, fallback="text", limits=limits)
        how: Any = {"keep": keep, "on_failure": failures.append, "workers": 0}
        found = keys_and_reasons(outcomes_of(db, paths, reader=reader, **how))
        with pytest.raises(lshdb.UsageError, match="can be read only once"):
            list(outcomes_of(db, ["-"], reader=new_session(False, stdin=io.BytesIO()), keep="last"))
    of_row: Any = ("a", paths[0], 2)
    of_note: Any = ("notes/note.txt", "notes/note.txt", None)
    first, last = (of_row, of_note) if keep == "first" else (of_note, of_row)
    dropped = DroppedRow(*[*last, *first, 1.0, True, True, True])
    assert found == {first[0]: None, last[0]: dropped, "b": None}
    assert [(failure.where, failure.reason[:21]) for failure in failures] == [
        (f"{paths[0]}:1", "longer than 100 bytes"),
        (paths[1], "no such file or direc"),
    ]


@pytest.mark.parametrize("change", ["written", "exchanged", "a new file"])
def test_rows_that_change_between_the_two_passes(rows: Path, change: str) -> None:
    """The keys stay as they are, so do the number of rows and the bytes, and the time of another
    file."""

    def changed(_done: int, _total: int | None, unit: str) -> None:
        if unit == "documents decided":
            status, lines = rows.stat(), rows.read_text().splitlines(keepends=True)
            other = rows if change == "written" else rows.with_name("z.jsonl")
            other.write_text("".join(reversed(lines)))
            if change == "exchanged":
                os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
                other.replace(rows)

    with lshdb.open(rows.parent / "own.db", **SETTINGS) as db:
        directory = str(rows.parent)
        how: Any = {"progress": changed, "include": ["*.jsonl"], "keep": "last"}
        with pytest.raises(lshdb.InputError, match="has changed"):
            list(outcomes_of(db, [directory], **how))
        assert len(db) == 0 or change == "a new file"


def test_an_interrupt_while_it_decides_leaves_nothing_but_the_database(
    rows: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also no complaint of a cursor that is still open when its file is closed."""
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: print(unraisable.exc_value))

    def interrupted(_done: int, _total: int | None, unit: str) -> None:
        if unit == "documents decided":
            raise KeyboardInterrupt

    small = Limits(batch_documents=20)
    with lshdb.open(rows.parent / "own.db", **SETTINGS, limits=small) as db:
        with pytest.raises(KeyboardInterrupt):
            list(outcomes_of(db, [str(rows)], keep="last", workers=0, progress=interrupted))
        assert len(db) == 0
    gc.collect()
    assert capfd.readouterr().out == ""
    assert {path.name for path in rows.parent.iterdir()} == {"rows.jsonl", "own.db"}
