"""scale: adding a million short documents or more, with all of memory or 700 MB. Half an hour.

    scripts/bench scale --documents 10_000_000

Keys are in order or not; then come whole commands on the file. 30 million take two hours and 60 GB
of disk. Documents go in by what
`lshdb add` is made of, in one call, with the time of each transaction: so the rates of each tenth
of the run can be compared, and a hundred million documents projected. Band rows that are written at
the end count evenly for all tenths. 700 MB is the limit of a control group, page cache included,
which only root can make: elsewhere it is not measured.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from measure.bench.peers import ask
from measure.common.commands import lshdb, memory_group
from measure.harness import corpora
from measure.harness.corpora import Corpus
from measure.harness.figures import CPU, P50, P99, PEAK, RATE, SECONDS, Values
from measure.harness.lab import Job, Lab, Run, bytes_on_disk, taken, with_peak
from measure.harness.report import number

KEPT: Final = "last tenth / first tenth"
LATE: Final = "s, from the last transaction of documents until closed"
BYTES: Final = "disk bytes/document beyond its content"
PAIRS: Final = "all pairs, seconds"
HOURS: Final = "hours, at the last tenth's rate", "hours, slowing as it slowed"
DISK: Final = "disk GB"
_PROJECTED: Final = 100_000_000
_SIZE: Final = 310
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

Curve = list[tuple[int, float]]
"""Documents in the file, and the seconds until they were."""


def run(lab: Lab) -> None:
    """Keys in order and in random order, each with all of memory and in a control group."""
    corpus = lab.corpus(lab.count(1_000_000, quick=50_000), size=_SIZE)
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
            lab.aim(case, KEPT, 0.85)
    shuffled.path.unlink()


def _case(lab: Lab, case: str, corpus: Corpus, memory: int, *, whole: bool) -> None:
    """Add once, however often others are repeated: it takes long, and its rate is a mean."""
    database = lab.fresh(".db")
    with memory_group(memory) as group:
        added = lab.task(
            "add", database=database, path=corpus.path, shingle=lab.shingle, group=group
        )
        values = _values(corpus, database, added)
        if whole:
            asked = ask(lab, corpus, lab.queries(corpus), database, group=group)
            values |= {name: asked[name] for name in (P50, P99)}
            if not memory:  # of ten million documents they take more
                out = lab.fresh(".csv")
                values[PAIRS] = lshdb("pairs", "-d", database, "-o", out).seconds
                out.unlink()
    lab.keep(case, corpus.documents, [values])
    if whole and not memory:
        _commands(lab, case, corpus.documents, database)
    if whole:
        lab.keep(f"projection to {_PROJECTED:,}: {case}", _PROJECTED, [_projected(added, values)])
    database.unlink()


def _commands(lab: Lab, case: str, documents: int, database: Path) -> None:
    """Whole commands; the last ends with the file as it was."""

    def run(command: str) -> Values:
        copy = lab.fresh(".db")
        words = [str(copy) if word == "copy.db" else word for word in command.split()]
        done = lshdb(*words, "-d", database)
        copy.unlink(missing_ok=True)
        return taken(done)

    cases = {f"lshdb {command}, {case}": command for command in COMMANDS}
    lab.measure([Job(name, documents, partial(run, one)) for name, one in cases.items()])
    for name in cases:
        lab.aim(name, SECONDS, 120)
        lab.aim(name, PEAK, 1000)


def _values(corpus: Corpus, database: Path, added: Run) -> Values:
    curve = [(int(count), float(seconds)) for count, seconds in added.result["curve"]]
    values = {
        RATE: corpus.documents / added.measured.seconds,
        SECONDS: added.measured.seconds,
        CPU: added.measured.cpu,
        BYTES: (bytes_on_disk(database) - corpus.bytes) / corpus.documents,
        LATE: float(added.result["closed"]) - curve[-1][1],
    }
    if 10 * curve[0][0] <= corpus.documents:
        rates = tenths(curve, float(added.result["closed"]))
        values |= {f"{RATE}, tenth {number}": rate for number, rate in enumerate(rates, 1)}
        values[KEPT] = rates[-1] / rates[0]
    return with_peak(values, added.measured)


def tenths(curve: Curve, closed: float) -> list[float]:
    """Documents per second in each tenth; straight lines join transactions.

    What comes after the last transaction of documents, band rows and the rest of the log, counts
    evenly.
    """
    total, ended = curve[-1]
    times = [_time_at(curve, total * part / 10) for part in range(11)]
    after = (closed - ended) / 10
    return [total / 10 / (end - begun + after) for begun, end in pairwise(times)]


def _time_at(curve: Curve, documents: float) -> float:
    for (before, begun), (after, ended) in pairwise([(0, 0.0), *curve]):
        if documents <= after:
            return begun + (ended - begun) * (documents - before) / (after - before)
    return curve[-1][1]


def _projected(added: Run, values: Values) -> Values:
    """The hours for many more at the rate of the last tenth, and slowing down as it slowed."""
    curve = [(int(count), float(seconds)) for count, seconds in added.result["curve"]]
    done, closed = curve[-1][0], float(added.result["closed"])
    rates = tenths(curve, closed)
    steady = closed + (_PROJECTED - done) / rates[-1]
    # Seconds a document, from the first half of the run to the second, go on growing in a line.
    first, second = (sum(1 / rate for rate in part) / 5 for part in (rates[:5], rates[5:]))
    slope = max(0.0, (second - first) / (done / 2))
    middle = (_PROJECTED - done) / 2 + done / 4
    growing = closed + (_PROJECTED - done) * (second + slope * middle)
    return {
        HOURS[0]: steady / 3600,
        HOURS[1]: growing / 3600,
        DISK: (values[BYTES] + _SIZE) * _PROJECTED / 1e9,
    }


def markdown(*runs: dict[str, Any]) -> str:
    """The table of the documentation, and the projection from the largest run."""
    lines = [
        "| documents, keys, memory | documents/s | first tenth | last tenth | CPU s | peak MB | "
        "bytes a document | query, ms | 99th percentile | all pairs, s |",
        "|---|" + "---:|" * 9,
    ]
    measures = (RATE, f"{RATE}, tenth 1", f"{RATE}, tenth 10", CPU, PEAK, BYTES, P50, P99, PAIRS)
    projected = ""
    for run in sorted(runs, key=lambda run: int(run["options"]["documents"])):
        found = {(one["case"], one["measure"]): one["median"] for one in run["figures"]}
        for case in dict.fromkeys(case for case, _ in found):
            if case.startswith("lshdb "):
                continue
            if case.startswith("projection"):
                hours = [number(found[case, measure]) for measure in HOURS]
                projected = (
                    f"{_PROJECTED:,} such documents, projected from {case.partition(': ')[2]}: "
                    f"{hours[0]} hours at the rate of the last tenth, {hours[1]} slowing down as "
                    f"it slowed; {number(found[case, DISK])} GB."
                )
                continue
            cells = (found.get((case, measure)) for measure in measures)
            shown = ("" if cell is None else number(cell) for cell in cells)
            lines.append(f"| {case.partition(' B, ')[2]} | " + " | ".join(shown) + " |")
    return "\n".join([*lines, "", projected])
