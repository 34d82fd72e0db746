"""A toy app reads a file as it is at one moment, through the door for that."""

from pathlib import Path

import numpy as np

import lshdb
from lshdb.database import store_of
from lshdb.options import ConditionOptions
from lshdb.sketch.banding import bucket_codes, bucket_keys
from lshdb.store.snapshot import Snapshot


def longest(snapshot: Snapshot) -> tuple[str, int]:
    """The key of the longest text, and how many documents are in its buckets."""
    keys = dict[int, str]()
    for doc_ids, some in snapshot.all_keys():
        keys |= zip(doc_ids.tolist(), some, strict=True)
    doc_ids = np.array([*keys])
    lengths = [len(text) for text in snapshot.contents(doc_ids)]
    chosen = doc_ids[[int(np.argmax(lengths))]]
    settings = snapshot.settings
    buckets = bucket_keys(snapshot.signatures_of(chosen), settings.construction, settings.seed)
    codes = bucket_codes(buckets[0])
    _, members = snapshot.documents_of_buckets(codes)
    (key,) = snapshot.keys_of(chosen)
    return key, len({*members.tolist()})


def test_a_snapshot_is_of_one_moment(tmp_path: Path) -> None:
    with lshdb.open(tmp_path / "x.db") as db:
        text = "the fox and the grapes of the old garden"
        db.add_many([("a", text), ("b", text), ("c", "a short one")])
        store = store_of(db)
        with store.snapshot(ConditionOptions(where="key <> 'a'")) as (snapshot, keep):
            db.add("d", f"{text} again, and again")
            assert longest(snapshot) == ("a", 2)
            assert keep is not None
            ((doc_ids, keys),) = snapshot.all_keys()
            assert (keys, keep(doc_ids).tolist()) == (["a", "b", "c"], [False, True, True])
        with store.reading():
            assert longest(store)[0] == "d"
