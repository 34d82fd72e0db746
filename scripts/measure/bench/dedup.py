"""dedup: `lshdb dedup` of a million documents by format and rule. An hour.

Time should grow with the documents in large buckets, not with the square of their number.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.csv import write_csv

from measure.common.commands import lshdb
from measure.harness import corpora
from measure.harness.corpora import Corpus, flush
from measure.harness.figures import RATE, Values
from measure.harness.lab import Lab, taken

_GROUP: Final = 10_000
"""Documents in a row group of Parquet."""
_WORDS: Final = 150
_HEADER: Final = 0.85
"""The share of a document's words that is a header."""
_MORE: Final = (("--keep", "longest"), ("--rule", "contained"), ("--rule", "copied:13"))


def run(lab: Lab) -> None:
    """Formats and rules, then large buckets."""
    corpus = lab.corpus(lab.count(1_000_000, quick=20_000), size=1000)
    _formats(lab, corpus)
    maximum = lab.count(100_000, quick=5_000)
    for count in (maximum // 2, maximum):
        hot = corpora.write_alike(lab.fresh(".jsonl"), count, count, _WORDS, _HEADER)
        case = f"{count:,} copies, {count:,} with a header of {_HEADER:.0%}"
        lab.measure(hot.documents, {case: partial(_dedup, lab, hot.path)}, 1)
        hot.path.unlink()


def _dedup(lab: Lab, path: Path, more: tuple[str, ...] = ()) -> Values:
    output = lab.fresh(path.suffix)
    done = lshdb("dedup", "--json", path, "-o", output, "--shingle", lab.shingles[0], *more)
    output.unlink()
    report = json.loads(done.out.splitlines()[-1])
    rows = report["kept"] + report["dropped"]
    return {RATE: rows / done.seconds, **taken(done)}


def _formats(lab: Lab, corpus: Corpus) -> None:
    """Tables in and out, of the same format; each document has a second text."""
    case = lab.describe(corpus)
    runs = {case: partial(_dedup, lab, corpus.path)}
    table = _titled(corpus)
    for suffix, write in _WRITE.items():
        path = lab.fresh(suffix)
        write(table, path)
        flush(path)
        for more in ((), *_MORE) if suffix == ".parquet" else ((),):
            name = f"{case} and a title, {' '.join((suffix, *more))}"
            runs[name] = partial(_dedup, lab, path, more)
    lab.measure(corpus.documents, runs)


def _titled(corpus: Corpus) -> pa.Table:
    with corpus.path.open(encoding="utf-8") as lines:
        rows = [{**row, "title": row["text"][:60]} for row in map(json.loads, lines)]
    return pa.Table.from_pylist(rows)


def _jsonl(table: pa.Table, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in table.to_pylist():
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


_WRITE: Final[dict[str, Callable[[pa.Table, Path], object]]] = {
    ".jsonl": _jsonl,
    ".csv": write_csv,
    ".parquet": partial(pq.write_table, row_group_size=_GROUP),
}
