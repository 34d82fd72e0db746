"""inputs: `lshdb add` of one corpus as JSON lines, CSV, Parquet and gzip. Twenty minutes.

Documents have a second text beside their content, which becomes metadata.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from measure.harness.corpora import Corpus, flush
from measure.harness.figures import PEAK, RATE, Values
from measure.harness.lab import Job, Lab, with_peak

_TITLE: Final = 60
"""Characters of the second text."""
_AT_ONCE: Final = 10_000


def run(lab: Lab) -> None:
    """Parquet should be as fast as JSON lines, but for the noise of a run."""
    corpus = lab.corpus(lab.count(1_000_000, quick=20_000), size=1000)
    files = {
        "JSON lines": write_jsonl(lab.fresh(".jsonl"), corpus),
        "gzipped JSON lines": write_jsonl(lab.fresh(".jsonl.gz"), corpus),
        "CSV": write_csv(lab.fresh(".csv"), corpus),
        "Parquet": write_parquet(lab.fresh(".parquet"), corpus, _AT_ONCE),
        "Parquet, one row group": write_parquet(lab.fresh(".parquet"), corpus, corpus.documents),
    }
    described = f"{lab.shingle}, {corpus.what} and a title"
    jobs: list[Job] = []
    for format, path in files.items():
        flush(path)
        case = f"{described}, {format}"
        jobs.append(Job(case, corpus.documents, partial(_add, lab, replace(corpus, path=path))))
        lab.aim(case, PEAK, 500)
        if "Parquet" in format:
            lab.aim(case, RATE, 0.97, over_case=f"{described}, JSON lines")
    lab.measure(jobs)


def _add(lab: Lab, corpus: Corpus) -> Values:
    database = lab.init()
    done = lab.add(database, corpus)
    database.unlink()
    return with_peak({RATE: corpus.documents / done.seconds}, done)


def _rows(corpus: Corpus) -> Iterator[dict[str, Any]]:
    with corpus.path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield {"id": row["id"], "text": row["text"], "title": row["text"][:_TITLE]}


def write_jsonl(path: Path, corpus: Corpus) -> Path:
    """The documents as JSON lines, each with its second text."""
    zipped = path.suffix == ".gz"
    with gzip.open(path, "wt", 1, "utf-8") if zipped else path.open("w", encoding="utf-8") as file:
        for row in _rows(corpus):
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path


def write_csv(path: Path, corpus: Corpus) -> Path:
    """The documents as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ("id", "text", "title"))
        writer.writeheader()
        writer.writerows(_rows(corpus))
    return path


def write_parquet(path: Path, corpus: Corpus, group: int) -> Path:
    """The documents, `group` in a row group."""
    schema = pa.schema([(name, pa.string()) for name in ("id", "text", "title")])
    rows, tables = _rows(corpus), []
    while some := list(itertools.islice(rows, _AT_ONCE)):
        tables.append(pa.Table.from_pylist(some, schema))
    pq.write_table(pa.concat_tables(tables), path, row_group_size=group)
    return path
