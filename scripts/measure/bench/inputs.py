"""inputs: `lshdb add` of the same documents as JSON lines, CSV, Parquet and compressed lines.

Documents have a second text beside their content, which is kept as metadata.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from corpora import Corpus
from figures import PEAK, RATE, Aim, Figure, collect
from lab import Lab, Options, flush, with_peak

NAME: Final = "inputs"
_FULL: Final = 1_000_000
_QUICK: Final = 20_000
_SIZE: Final = 1000
_TITLE: Final = 60
"""Characters of the second text."""
_AT_ONCE: Final = 10_000
FORMATS: Final = ("JSON lines", "gzipped JSON lines", "CSV", "Parquet", "Parquet, one row group")


def run(lab: Lab) -> list[Figure]:
    """Each format in turn, several times."""
    options = lab.options
    corpus = lab.corpus(options.count(_FULL, _QUICK), options.size or _SIZE)
    lab.say(f"inputs: {corpus.documents:,} documents, {corpus.bytes / 1e6:,.0f} MB")
    shingle = options.shingle or "word:3"
    files = {
        "JSON lines": _jsonl(lab.fresh(".jsonl"), corpus),
        "gzipped JSON lines": _jsonl(lab.fresh(".jsonl.gz"), corpus),
        "CSV": _csv(lab.fresh(".csv"), corpus),
        "Parquet": _parquet(lab.fresh(".parquet"), corpus, _AT_ONCE),
        "Parquet, one row group": _parquet(lab.fresh(".parquet"), corpus, corpus.documents),
    }
    for path in files.values():
        flush(path)

    def measured(format: str) -> dict[str, float]:
        database = lab.init(shingle)
        done = lab.add(database, Corpus(files[format], corpus.documents, corpus.bytes))
        for path in database.parent.glob("*"):
            path.unlink()
        return with_peak({RATE: corpus.documents / done.seconds}, done)

    found: list[Figure] = []
    for format, runs in lab.alternate(FORMATS, measured).items():
        found += collect(NAME, _case(options, format), "lshdb", corpus.documents, runs)
    return found


def _rows(corpus: Corpus) -> Iterator[dict[str, Any]]:
    with corpus.path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield {"id": row["id"], "text": row["text"], "title": row["text"][:_TITLE]}


def _jsonl(path: Path, corpus: Corpus) -> Path:
    zipped = path.suffix == ".gz"
    with gzip.open(path, "wt", 1, "utf-8") if zipped else path.open("w", encoding="utf-8") as file:
        for row in _rows(corpus):
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path


def _csv(path: Path, corpus: Corpus) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ("id", "text", "title"))
        writer.writeheader()
        writer.writerows(_rows(corpus))
    return path


def _parquet(path: Path, corpus: Corpus, group: int) -> Path:
    """The documents in row groups of so many."""
    schema = pa.schema([(name, pa.string()) for name in ("id", "text", "title")])
    rows, tables = _rows(corpus), []
    while some := list(itertools.islice(rows, _AT_ONCE)):
        tables.append(pa.Table.from_pylist(some, schema))
    pq.write_table(pa.concat_tables(tables), path, row_group_size=group)
    return path


def _case(options: Options, format: str) -> str:
    return f"{options.shingle or 'word:3'}, {options.what(_SIZE)} and a title, {format}"


def aims(options: Options) -> list[Aim]:
    """Parquet no slower than lines, but for the noise of a run; memory bounded."""
    if not options.as_asked(_SIZE):
        return []
    lines, *others = (_case(options, format) for format in FORMATS)
    return [
        *(Aim(NAME, case, RATE, 0.97, over_case=lines) for case in others if "Parquet" in case),
        *(Aim(NAME, _case(options, format), PEAK, 500) for format in FORMATS),
    ]
