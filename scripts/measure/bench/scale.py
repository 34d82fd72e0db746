"""scale: adding a million short documents or more, with all of memory or 700 MB. Half an hour.

    scripts/bench scale --documents 10_000_000

Keys are in order or not; then come whole commands on the file. 30 million take two hours and 60 GB
of disk. Documents go in by what `lshdb add` is made of, in one call, with the time of each
transaction: so the rates of each tenth of the run can be compared. Band rows that are written at
the end count evenly for all tenths. 700 MB is the limit of a control group, page cache included,
which only root can make: elsewhere it is not measured.
"""

from functools import partial
from typing import Any, Final

import numpy as np

from measure.bench.peers import asked
from measure.common.commands import lshdb, memory_group
from measure.harness import corpora
from measure.harness.corpora import Corpus
from measure.harness.figures import CPU, P50, P99, PEAK, RATE, Results, Values
from measure.harness.lab import Lab, bytes_on_disk, taken
from measure.harness.report import medians, table

BYTES: Final = "disk bytes/document beyond its content"
PAIRS: Final = "all pairs, seconds"
_GROUP: Final = 700_000_000

COMMANDS: Final = (
    "pairs --json",
    "clusters --json",
    "clusters --star --json",
    "check",
    "check --deep",
    "backup copy.db",
    "reindex --threshold 0.7",
    "reindex --threshold 0.8 --recall 0.99",
)


def run(lab: Lab) -> None:
    """Keys in order and in random order, each with all of memory and in a control group."""
    corpus = lab.corpus(lab.count(1_000_000, quick=50_000), size=310)
    shuffled = corpora.with_random_keys(lab.fresh(".jsonl"), corpus)
    with memory_group(_GROUP) as group:
        if group is None:
            lab.say("scale: no control group can be made here: 700 MB is not measured")
    for memory in (0, _GROUP) if group is not None else (0,):
        for keys, some in (("in order", corpus), ("random", shuffled)):
            limit = f", {memory // 10**6} MB" if memory else ""
            case = f"{lab.describe(corpus)}, keys {keys}{limit}"
            lab.say(f"scale: {case}")
            _case(lab, case, some, memory, whole=some is corpus)
    shuffled.path.unlink()


def _case(lab: Lab, case: str, corpus: Corpus, memory: int, *, whole: bool) -> None:
    """Add once, however often others are repeated: it takes long, and its rate is a mean."""
    database = lab.fresh(".db")
    with memory_group(memory) as group:
        result, done = lab.task(
            "add", database=database, path=corpus.path, shingle=lab.shingles[0], group=group
        )
        rate = corpus.documents / done.seconds
        beyond = (bytes_on_disk(database) - corpus.bytes) / corpus.documents
        values = {RATE: rate, **taken(done), BYTES: beyond, **_tenths(result)}
        if whole:
            found = asked(lab, "query", corpus, database, queries=lab.queries(corpus), group=group)
            values |= {name: found[name] for name in (P50, P99)}
            if not memory:  # of ten million documents they take more
                out = lab.fresh(".csv")
                values[PAIRS] = lshdb("pairs", "-d", database, "-o", out).seconds
                out.unlink()
    lab.keep(case, corpus.documents, [values])
    hours, gigabytes = 1e8 / values[f"{RATE}, tenth 10"] / 3600, (beyond + 310) / 10
    lab.say(f"100 million at the rate of the last tenth: {hours:.2f} hours, {gigabytes:.0f} GB")

    def run(command: str) -> Values:
        copy = lab.fresh(".db")
        words = [str(copy) if word == "copy.db" else word for word in command.split()]
        done = lshdb(*words, "-d", database)
        copy.unlink(missing_ok=True)
        return taken(done)

    if whole and not memory:  # the last command ends with the file as it was
        cases = {f"lshdb {command}, {case}": partial(run, command) for command in COMMANDS}
        lab.measure(corpus.documents, cases)
    database.unlink()


def _tenths(added: dict[str, Any]) -> Values:
    """Documents per second in each tenth; straight lines join transactions.

    What comes after the last transaction of documents, band rows and the rest of the log, counts
    evenly.
    """
    counts, seconds = np.array(added["curve"]).T
    times = np.interp(np.linspace(0, counts[-1], 11), counts, seconds)
    after = (added["closed"] - seconds[-1]) / 10
    rates = (counts[-1] / 10 / (np.diff(times) + after)).tolist()
    return {f"{RATE}, tenth {number}": rate for number, rate in enumerate(rates, 1)}


def markdown(*runs: Results) -> str:
    """The table of the documentation."""
    measures = {
        "documents/s": RATE,
        "first tenth": f"{RATE}, tenth 1",
        "last tenth": f"{RATE}, tenth 10",
        "CPU s": CPU,
        "peak MB": PEAK,
        "bytes a document": BYTES,
        "query, ms": P50,
        "99th percentile": P99,
        "all pairs, s": PAIRS,
    }
    figures = [
        figure
        for run in sorted(runs, key=lambda run: int(run.options["documents"]))
        for figure in run.figures
        if not figure.case.startswith("lshdb ")
    ]
    rows = {
        case.partition(" B, ")[2]: [*map(values.get, measures.values())]
        for (case, _), values in medians(figures).items()
    }
    return "\n".join(table("documents, keys, memory", measures, rows))
