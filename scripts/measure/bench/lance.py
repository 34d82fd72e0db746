"""lance: lshdb beside the MinHash index of Lance, which is on disk as well. Ten minutes.

Both index the same texts by shingles of three words and answer the same queries, half of which are
near duplicates of a stored text. Lance has 128 hashes of 16 bits in 16 bands, and shows the rows of
the smallest estimated distance: those at a similarity of 0.8 or more are counted. What both show is
compared exactly. Lance is installed in a separate environment, as the peers of dedup-peers are.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any, Final

import lshdb
from measure.bench.dedup_peers import shingles_of
from measure.common.commands import measure
from measure.harness.corpora import Corpus, read_texts
from measure.harness.figures import CPU, CPU_MS, OWN, P50, P99, PEAK, Results, Values
from measure.harness.lab import SIZE, Lab, environment, peak
from measure.harness.report import medians, table

VERSION: Final = "pylance 14.0.2"
BYTES: Final = "bytes a document, with its content"
FOUND: Final = "found, % of near duplicates"
SHOWN: Final = "shown"
BELOW: Final = "of these below 0.8"
QUERY_PEAK: Final = "peak MB of queries"
_WRITE: Final = """
import json, sys
import lance, pyarrow as pa
corpus, path = sys.argv[1:]
with open(corpus, encoding="utf-8") as lines:
    rows = [json.loads(line) for line in lines]
data = lance.write_dataset(pa.Table.from_pylist(rows), path)
data.create_scalar_index("text", "MINHASHLSH", num_hashes=128, num_bands=16, shingle_size=3)
"""
_QUERY: Final = """
import json, sys, time
import lance
from lance.query import MinHashQuery
queries, path = sys.argv[1:]
with open(queries, encoding="utf-8") as lines:
    texts = [json.loads(line)["text"] for line in lines]
data = lance.dataset(path)
def ask(text):
    rows = data.to_table(columns=["id"], nearest=MinHashQuery(text, "text"), limit=10).to_pylist()
    return [int(row["id"]) for row in rows if row["_distance"] <= 0.2]
for text in texts[:20]:
    ask(text)
taken, answers, cpu = [], [], time.process_time()
for text in texts:
    begun = time.perf_counter()
    answers.append(ask(text))
    taken.append(1000 * (time.perf_counter() - begun))
cpu = 1000 * (time.process_time() - cpu) / len(taken)
taken.sort()
print(json.dumps([answers, cpu, taken[len(taken) // 2], taken[len(taken) * 99 // 100]]))
"""


def run(lab: Lab) -> None:
    """One case, two engines."""
    corpus = lab.corpus(lab.count(18_000, quick=2_000), SIZE)
    texts = read_texts(corpus.path)
    queries = lab.queries(corpus, 550)
    asked = [*map(json.loads, queries.read_text("utf-8").splitlines())]
    case = f"word:3, {corpus.what}, {corpus.documents:,} documents"
    engines = {OWN: partial(_own, lab, corpus, queries)}
    if not lab.options.quick:
        python = environment(lab, VERSION, (VERSION.replace(" ", "=="),))
        engines["Lance"] = partial(_lance, lab, corpus, queries, python)

    def values(engine: str) -> Values:
        answers, found = engines[engine]()
        near = [row["near"] for row in asked]
        hits = sum(n in answer for n, answer in zip(near, answers, strict=True) if n is not None)
        pairs = [
            (shingles_of(row["text"]), shingles_of(texts[number]))
            for row, answer in zip(asked, answers, strict=True)
            for number in answer
        ]
        below = sum(len(one & other) < 0.8 * len(one | other) for one, other in pairs)
        share = 100 * hits / sum(n is not None for n in near)
        return found | {FOUND: share, SHOWN: len(pairs), BELOW: below}

    lab.measure(corpus.documents, {(case, name): partial(values, name) for name in engines})


def _own(lab: Lab, corpus: Corpus, queries: Path) -> tuple[list[list[int]], Values]:
    database, added = lab.add(corpus, "word:3")
    given: dict[str, Any] = {"queries": queries, "database": database, "path": corpus.path}
    found, _ = lab.task("query", engine=OWN, shingle="word:3", **given)
    values = {CPU: added.cpu, **peak(added), **_size(database.parent, corpus)}
    texts = [json.loads(line)["text"] for line in queries.read_text("utf-8").splitlines()]
    with lshdb.open(database, mode="read") as db:
        answers = [[int(match.key) for match in db.query(text, top=10)] for text in texts]
    values |= {name: found[name] for name in (CPU_MS, P50, P99)}
    return answers, values | {QUERY_PEAK: found.get(PEAK, 0)}


def _lance(lab: Lab, corpus: Corpus, queries: Path, python: Path) -> tuple[list[list[int]], Values]:
    folder = lab.fresh(".lance")
    written = measure([python, "-c", _WRITE, corpus.path, folder])
    asked = measure([python, "-c", _QUERY, queries, folder])
    answers, cpu, median, late = json.loads(asked.out)
    values = {CPU: written.cpu, **peak(written), **_size(folder, corpus)}
    values |= {CPU_MS: cpu, P50: median, P99: late}
    return answers, values | {QUERY_PEAK: asked.peak / 1e6}


def _size(folder: Path, corpus: Corpus) -> Values:
    total = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {BYTES: total / corpus.documents}


def markdown(results: Results) -> str:
    """The table of the documentation."""
    labels = {
        "write and index: CPU s": CPU,
        "write and index: peak MB": PEAK,
        BYTES: BYTES,
        "query: CPU ms": CPU_MS,
        "query: median, ms": P50,
        "query: 99th percentile, ms": P99,
        "queries: peak MB": QUERY_PEAK,
        FOUND: FOUND,
        SHOWN: SHOWN,
        BELOW: BELOW,
    }
    found = medians(results.figures)
    rows = {
        label: [values.get(name) for values in found.values()] for label, name in labels.items()
    }
    head = f"`scripts/bench lance`, {results.figures[0].case}; {VERSION}."
    return "\n".join([head, "", *table("", [engine for _, engine in found], rows)])
