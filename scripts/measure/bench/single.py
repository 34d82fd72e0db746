"""single: `db.add` one by one, each on the disk when it returns, beside `db.add_many`. A minute."""

from __future__ import annotations

import time
from functools import partial

import lshdb
from measure.harness.corpora import read_texts
from measure.harness.figures import Values
from measure.harness.lab import Job, Lab

_MILLISECONDS = "ms a document"


def run(lab: Lab) -> None:
    """Documents of 1 KB, added to a file that is new."""
    corpus = lab.corpus(lab.count(500, quick=50), size=1000)
    texts = read_texts(corpus.path, corpus.documents)
    lab.measure(
        [
            Job("add, one by one", corpus.documents, partial(_add, lab, texts, one_by_one=True)),
            Job("add_many", corpus.documents, partial(_add, lab, texts, one_by_one=False)),
        ]
    )


def _add(lab: Lab, texts: list[str], *, one_by_one: bool) -> Values:
    database = lab.fresh(".db")
    with lshdb.open(database) as db:
        db.add("first", "the tables are made with it")
        begun = time.perf_counter()
        if one_by_one:
            for number, text in enumerate(texts):
                db.add(str(number), text)
        else:
            db.add_many((str(number), text) for number, text in enumerate(texts))
        seconds = time.perf_counter() - begun
    database.unlink()
    return {_MILLISECONDS: 1000 * seconds / len(texts)}
