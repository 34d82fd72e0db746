"""peers: lshdb beside four libraries that keep their index in memory. Half an hour.

Signatures alone on one core, then adding, one query and all pairs, and how long a command takes to
start. The time of `lshdb add` is that of the whole command, the time of a peer that of indexing
documents which are in memory already. Half of the queries are near duplicates of a stored document.
Matches and pairs of lshdb are verified; those of peers are all documents that share a bucket.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from measure.common.commands import lshdb
from measure.harness import corpora
from measure.harness.corpora import Corpus
from measure.harness.engines import NAMES, enough
from measure.harness.figures import OWN, P50, P99, PEAK, RATE, SECONDS, SPEED, Results, Values
from measure.harness.lab import SIZE, Lab, bytes_on_disk, peak
from measure.harness.report import distinct, medians, table

_ONE_CORE: Final = dict.fromkeys(
    ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"
)
_WORDS: Final = 500
"""Of a document of 3 KB."""
_HOT: Final = {"copies of one document": (1, 0), "documents with one header": (0, 1)}
"""Collections of which some buckets hold all: the share of copies, and of those with a header."""
_ROWS: Final = (
    ("kernels", SPEED, "shingles and signatures alone, one core, MB/s: {}"),
    ("ingest", RATE, "add (lshdb: `lshdb add`; peers: in memory), documents/s: {}"),
    ("ingest", PEAK, "peak memory of that, MB: {}"),
    ("query", P50, "query, median, ms: {}"),
    ("query", P99, "query, 99th percentile, ms: {}"),
    ("join", SECONDS, "all pairs, s: {}"),
    ("startup", SECONDS, "`{}`, s"),
)
"""The rows of the table: benchmark, measure, what it is called."""


def run(lab: Lab) -> None:
    """Each part names its figures."""
    for name, part in PARTS.items():
        lab.benchmark = name
        part(lab)


def _kernels(lab: Lab) -> None:
    """Speed is in bytes of UTF-8."""
    corpus = lab.corpus(lab.count(1_333, quick=333))

    def sketch(shingle: str, engine: str, limit: int) -> Values:
        given = _given(corpus, shingle, engine) | {"limit": limit}
        seconds = 0.05 if lab.options.quick else 0.5
        return lab.task("kernels", variables=_ONE_CORE, seconds=seconds, **given)[0]

    _rates(lab, corpus, sketch)


def _ingest(lab: Lab) -> None:
    """By words and by characters, which take longer."""
    corpus = lab.corpus(lab.count(100_000, quick=20_000))

    def add(shingle: str, engine: str, limit: int) -> Values:
        if engine != OWN:
            given = _given(corpus, shingle, engine) | {"limit": limit}
            result, done = lab.task("index", **given)
            return {RATE: limit / result[SECONDS], **peak(done)}
        database, done = lab.add(corpus, shingle)
        size = bytes_on_disk(database) / limit
        database.unlink()
        return {RATE: limit / done.seconds, "disk bytes/document": size, **peak(done)}

    _rates(lab, corpus, add)


def _rates(lab: Lab, corpus: Corpus, measure: Callable[[str, str, int], Values]) -> None:
    """Measure each engine with each shingling, with as many documents as are enough for it."""
    for shingle in lab.shingles:
        case = f"{shingle}, {corpus.what}"
        limits = {engine: enough(engine, corpus.documents) for engine in lab.options.engines}
        runs = {
            (case, engine): partial(measure, shingle, engine, limit)
            for engine, limit in limits.items()
        }
        lab.measure(corpus.documents, runs)


def _query(lab: Lab) -> None:
    """Among few and among many documents; peers among few, for they take long to index many."""
    few, many = lab.count(10_000, quick=5_000), lab.count(100_000, quick=20_000)
    for count in dict.fromkeys((few, many)):
        corpus = lab.corpus(count)
        ask = partial(asked, lab, "query", corpus, lab.add(corpus)[0], queries=lab.queries(corpus))
        case = f"{lab.shingles[0]}, {corpus.what}, among {count:,}"
        engines = lab.options.engines if count == few else [OWN]
        lab.measure(count, {(case, engine): partial(ask, engine) for engine in engines})
    for kind, shares in _HOT.items():
        copies, headed = (share * many for share in shares)
        corpus = corpora.write_alike(lab.fresh(".jsonl"), copies, headed, _WORDS, 0.9)
        given = {"database": lab.add(corpus)[0], "path": corpus.path}
        case = f"{lab.shingles[0]}, {corpora.size_name(SIZE)}, top 10, among {many:,} {kind}"
        lab.measure(many, {case: partial(_best, lab, given)})
        corpus.path.unlink()


def _best(lab: Lab, given: dict[str, Any]) -> Values:
    return lab.task("hot", repeat=lab.scaled(50, quick=10), **given)[0]


def asked(
    lab: Lab, task: str, corpus: Corpus, database: Path, engine: str = OWN, **more: Any
) -> Values:
    """What an engine took for a task; lshdb's file has the documents, peers index them first."""
    given = _given(corpus, lab.shingles[0], engine)
    return lab.task(task, database=database, **given, **more)[0]


def _given(corpus: Corpus, shingle: str, engine: str) -> dict[str, Any]:
    return {"engine": engine, "shingle": shingle, "path": corpus.path}


def _join(lab: Lab) -> None:
    """All pairs of near duplicates, once the documents are indexed."""
    corpus = lab.corpus(lab.count(10_000, quick=2_000))
    join = partial(asked, lab, "join", corpus, lab.add(corpus)[0])
    case = lab.describe(corpus)
    runs = {(case, engine): partial(join, engine) for engine in lab.options.engines}
    lab.measure(corpus.documents, runs)


def _startup(lab: Lab) -> None:
    """Commands on a small file, warm: once unmeasured, then 15 times (quick: twice)."""
    corpus = lab.corpus(1000)
    (database, _), document = lab.add(corpus), lab.fresh(".txt")
    document.write_text(corpora.read_texts(corpus.path, 1)[0], "utf-8")

    def start(*words: str | Path) -> Values:
        return {SECONDS: lshdb(*words).seconds}

    runs = {
        "lshdb query FILE": partial(start, "query", "-d", database, document),
        "lshdb --help": partial(start, "--help"),
    }
    for run in runs.values():
        run()
    lab.measure(corpus.documents, runs, lab.scaled(15, quick=2))


PARTS: Final = {
    "kernels": _kernels,
    "ingest": _ingest,
    "query": _query,
    "join": _join,
    "startup": _startup,
}
"""The parts, by the names of their figures."""


def markdown(*runs: Results) -> str:
    """The first table of docs/figures.md, of runs on one machine."""
    machine = runs[0].machine
    figures = [figure for run in runs for figure in run.figures]
    engines = [name for name in NAMES if name in {figure.engine for figure in figures}]
    rows = {}
    for benchmark, measure, label in _ROWS:
        shown = [one for one in figures if (one.benchmark, one.measure) == (benchmark, measure)]
        values = medians(shown)
        for case in distinct(figure.case for figure in shown):
            cells = (values.get((case, engine), {}).get(measure) for engine in engines)
            rows[label.format(case)] = [*cells]
    versions = (f"{name} {machine['engines'][name]}" for name in engines)
    return "\n".join(
        [
            f"Measured {machine['date'][:10]} on {machine['cores']} cores of {machine['cpu']}, "
            f"Python {machine['python']}, SQLite {machine['sqlite']}; {', '.join(versions)}.",
            "",
            *table("", engines, rows),
        ]
    )
