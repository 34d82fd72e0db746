"""Results go to another process as they are; what holds an open file says what to send instead.

`joblib` and multiprocessing pickle whatever a function returns: "cannot pickle '_thread.lock'
object" and "Can't pickle local object" do not say what to do.
"""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import lshdb

ROWS: list[dict[str, Any]] = [{"id": n, "text": "the fox and the grapes"} for n in range(2)]


def sent(value: Any) -> Any:
    """The value as another process gets it."""
    return pickle.loads(pickle.dumps(value))


def test_a_result_of_dedup_can_be_pickled(tmp_path: Path) -> None:
    for data in (ROWS, pd.DataFrame(ROWS)):
        result: Any = lshdb.dedup(data, against=None, on_failure=lambda _: None)
        for other in (sent(result), copy.deepcopy(result)):
            assert other.kept.__class__ is result.kept.__class__
            assert len(other.kept) == 1
            assert (other.mask.tolist(), other.dropped) == ([True, False], result.dropped)
            with pytest.raises(lshdb.UsageError, match=r"call lshdb\.dedup again"):
                other.rethreshold(0.9)
    duckdb = pytest.importorskip("duckdb")
    relation = lshdb.dedup(duckdb.from_arrow(pa.Table.from_pylist(ROWS)))
    assert sent(relation).kept.fetchall() == [(0, "the fox and the grapes")]
    (tmp_path / "in.jsonl").write_text('{"id": 1, "text": "a b c"}\n' * 2)
    other = sent(lshdb.dedup(str(tmp_path / "in.jsonl")))
    assert [*other.iter_kept()] == other.kept == [{"id": 1, "text": "a b c"}]
    assert other.rethreshold(0.9).dropped_count == 1


def test_what_a_database_returns_can_be_pickled(tmp_path: Path) -> None:
    with lshdb.open(tmp_path / "fables.db", passages=4) as db:
        values: list[Any] = [db.add_many([(row["id"], row["text"]) for row in ROWS])]
        values += [db.query(ROWS[0]["text"]), db.compare(0, 1), db.info(), db.decide("keep", [0])]
        values += [[*db.pairs()], [*db.clusters()], db.passages(ROWS[0]["text"]), db.get(0)]
        values += [[*db.sql("SELECT key, doc_id AS 'not a name' FROM documents")], db.settings]
        for value in values:
            assert sent(value) == value
        for results in (db.pairs(), db.sql("SELECT 1")):
            with pytest.raises(TypeError, match=r"pickle a list of them"):
                pickle.dumps(results)
        with pytest.raises(TypeError, match=r"pass its path, .*fables\.db', and call lshdb\.open"):
            pickle.dumps(db)
    with (
        lshdb.Service(tmp_path / "fables.db") as service,
        pytest.raises(TypeError, match=r"pass its path, .*fables\.db', and call lshdb\.Service"),
    ):
        pickle.dumps(service)
