"""dedup: `lshdb dedup` of a million documents by format and rule, and of rows alike. An hour.

Time should grow with the documents in large buckets, not with the square of their number, and rows
that repeat a line, share one, or contain others should take little more CPU time than prose.
"""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from measure.common.commands import lshdb
from measure.harness import corpora
from measure.harness.corpora import Corpus, flush
from measure.harness.figures import CPU, PEAK, RATE, SECONDS, Values
from measure.harness.lab import Job, Lab, taken

_GROUP: Final = 10_000
"""Documents in a row group of Parquet."""
_TITLE: Final = 60
"""Characters of a second text."""
_WORDS: Final = 150
_HEADER: Final = 0.85
"""The share of a document's words that is a header."""
_LINE: Final = 12
_LINES: Final = 30


def run(lab: Lab) -> None:
    """Formats and rules, then large buckets, then rows alike."""
    corpus = lab.corpus(lab.count(1_000_000, quick=20_000), size=1000)
    case = lab.describe(corpus)
    lab.measure([Job(case, corpus.documents, partial(_dedup, lab, corpus.path))])
    lab.aim(case, RATE, 12_000)
    lab.aim(case, PEAK, 1000)
    _formats(lab, case, corpus)
    maximum = lab.count(100_000, quick=5_000)
    for count in (maximum // 2, maximum):
        hot = corpora.write_hot_halves(lab.fresh(".jsonl"), count, _WORDS, _HEADER)
        lab.measure([Job(_hot_case(count), hot.documents, partial(_dedup, lab, hot.path))], 1)
        hot.path.unlink()
    lab.aim(_hot_case(maximum), SECONDS, 2.5, over_case=_hot_case(maximum // 2))
    lab.aim(_hot_case(maximum), PEAK, 1000)
    _alike(lab, lab.count(4_000, quick=400))


def _hot_case(count: int) -> str:
    return f"{count:,} copies, {count:,} with a header of {_HEADER:.0%}"


def _dedup(lab: Lab, path: Path, more: tuple[str, ...] = ()) -> Values:
    output = lab.fresh(path.suffix)
    done = lshdb("dedup", "--json", path, "-o", output, "--shingle", lab.shingle, *more)
    output.unlink()
    report = json.loads(done.out.splitlines()[-1])
    rows = report["kept"] + report["dropped"]
    return {RATE: rows / done.seconds, CPU: done.cpu, **taken(done)}


def _formats(lab: Lab, case: str, corpus: Corpus) -> None:
    """Tables in and out, of the same format; each document has a second text."""
    jobs = []
    for format, write in {"JSON lines": _jsonl, "CSV": _csv, "Parquet": _parquet}.items():
        path = lab.fresh("." + format.lower().replace("json lines", "jsonl"))
        write(path, corpus)
        flush(path)
        name = f"{case} and a title, {format}"
        jobs.append(Job(name, corpus.documents, partial(_dedup, lab, path)))
        if format != "JSON lines":
            lab.aim(name, RATE, 0.7, over_case=f"{case} and a title, JSON lines")
        lab.aim(name, PEAK, 500)
    for more in (("--keep", "longest"), ("--rule", "contained"), ("--rule", "copied:13")):
        name = f"{case} and a title, Parquet, {' '.join(more)}"
        jobs.append(Job(name, corpus.documents, partial(_dedup, lab, path, more)))
        lab.aim(name, PEAK, 500)
    lab.measure(jobs)


def _rows(corpus: Corpus) -> Iterator[dict[str, Any]]:
    with corpus.path.open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            yield {**row, "title": row["text"][:_TITLE]}


def _jsonl(path: Path, corpus: Corpus) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in _rows(corpus))


def _csv(path: Path, corpus: Corpus) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ("id", "text", "title"))
        writer.writeheader()
        writer.writerows(_rows(corpus))


def _parquet(path: Path, corpus: Corpus) -> None:
    pq.write_table(pa.Table.from_pylist([*_rows(corpus)]), path, row_group_size=_GROUP)


# rows alike


def _line(rng: random.Random) -> str:
    return " ".join(f"w{rng.randrange(5_000)}" for _ in range(_LINE))


def _prose(rng: random.Random, _: str) -> list[str]:
    return [_line(rng) for _ in range(_LINES)]


KINDS: Final[dict[str, Callable[[random.Random, str], list[str]]]] = {
    "prose": _prose,
    "one line in all rows, 29 times": lambda rng, line: [_line(rng), *[line] * (_LINES - 1)],
    "a line of each row, 30 times": lambda rng, _: [_line(rng)] * _LINES,
    "one line in all rows, once": lambda rng, line: [line, *_prose(rng, line)[1:]],
    "two words in turn": lambda rng, _: [*["a b"] * (_LINES * _LINE // 2 - 1), _line(rng)],
}
RULES: Final = (("--cut", "8"), ("--rule", "copied:8"), ("--rule", "contained"))


def _alike(lab: Lab, count: int) -> None:
    """`lshdb dedup` of each kind of rows, by each rule that compares contents."""
    for rule in RULES:
        cases = {kind: f"{' '.join(rule)}: {count:,} rows, {kind}" for kind in KINDS}
        for kind, case in cases.items():
            path, rng = lab.fresh(".jsonl"), random.Random(1)
            line = _line(rng)
            with path.open("w") as file:
                for number in range(count):
                    row = {"id": number, "text": "\n".join(KINDS[kind](rng, line))}
                    file.write(json.dumps(row) + "\n")
            lab.measure([Job(case, count, partial(_dedup, lab, path, rule))])
            path.unlink()
            if kind != "prose":
                lab.aim(case, CPU, 3, over_case=cases["prose"])
                lab.aim(case, PEAK, 1000)
