"""scale: adding, asking and all pairs of a million short documents, in 700 MB. An hour.

    scripts/bench scale --documents 10_000_000

Every tenth thousand of the documents has one header, half of each: its buckets fill up as a file
grows. 10 million take some hours on a busy machine, and 20 GB of disk. 700 MB is the limit of a
control group, page cache included, which only root can make: elsewhere memory is not limited, and
the case says so. CPU time stands beside each time: it says more where others use the machine.
"""

from pathlib import Path
from typing import Any, Final

from measure.common import commands
from measure.common.commands import lshdb_command, memory_group
from measure.harness import corpora
from measure.harness.corpora import Corpus
from measure.harness.figures import CPU, CPU_MS, P50, P99, PEAK, RATE, SECONDS, Results, Values
from measure.harness.lab import Lab, bytes_on_disk, taken
from measure.harness.report import medians, table

BYTES: Final = "bytes/document beyond its content"
ASKED: Final = ("query", "query under the header", "query and add")
PAIRS: Final = "all pairs"
FOUND: Final = "pairs"
RESULTS: Final = Path(__file__).resolve().with_name("results") / "scale"
"""The files of the runs that the documentation shows."""
_GROUP: Final = 700_000_000
_SIZE: Final = 310
_BLOCK: Final = 1_000
"""Documents in a row with the header, of ten times as many."""


def run(lab: Lab) -> None:
    """One file: each part once, as all take long."""
    corpus = corpora.write_headed(
        lab.fresh(".jsonl"), lab.count(1_000_000, quick=50_000), _SIZE, _BLOCK
    )
    with memory_group(_GROUP) as group:
        memory = "700 MB" if group is not None else "memory without a limit"
        case = f"{lab.describe(corpus)}, a tenth under one header, {memory}"
        lab.say(f"scale: {case}")
        lab.keep(case, corpus.documents, [_measured(lab, corpus, group)])


def _measured(lab: Lab, corpus: Corpus, group: Path | None) -> Values:
    database = lab.fresh(".db")
    command = [*lshdb_command(), "add", "-d", database, corpus.path]
    done = commands.measure(command, group=group)
    values = {RATE: corpus.documents / done.seconds, **taken(done)}
    values[BYTES] = (bytes_on_disk(database) - corpus.bytes) / corpus.documents
    lab.say(f"scale: added: {values}")
    queries = {
        ASKED[0]: ("query", lab.queries(corpus)),
        ASKED[1]: ("query", lab.queries(corpus, block=_BLOCK)),
        ASKED[2]: ("admit", lab.queries(corpus)),
    }
    for name, (task, path) in queries.items():
        given: dict[str, Any] = {"queries": path, "database": database}
        if task == "query":
            given |= {"engine": "lshdb", "shingle": lab.shingles[0], "path": corpus.path}
        found, _ = lab.task(task, group=group, **given)
        values |= {f"{name}, {part}": found[part] for part in (P50, P99, CPU_MS)}
    lab.say(f"scale: asked: {values}")
    try:
        values |= _all_pairs(lab, database, group)
    except commands.CommandFailed as error:  # as where they take more memory than the group has
        lab.say(f"scale: all pairs are left out: {error}")
    database.unlink()
    return values


def _all_pairs(lab: Lab, database: Path, group: Path | None) -> Values:
    out = lab.fresh(".csv")
    done = commands.measure([*lshdb_command(), "pairs", "-d", database, "-o", out], group=group)
    values = {f"{PAIRS}, {name}": value for name, value in taken(done).items()}
    with out.open("rb") as lines:
        values[FOUND] = sum(1 for _ in lines) - 1
    return values


def markdown(*runs: Results) -> str:
    """The table of the documentation: a column for each file."""
    shown = {
        "add: documents/s": RATE,
        "add: CPU s": CPU,
        "add: peak MB": PEAK,
        "bytes a document beside its content": BYTES,
        **{
            f"{name}: {label}": f"{name}, {part}"
            for name in ASKED
            for label, part in (("median, ms", P50), ("CPU ms", CPU_MS))
        },
        "all pairs: s": f"{PAIRS}, {SECONDS}",
        "all pairs: CPU s": f"{PAIRS}, {CPU}",
        "all pairs: peak MB": f"{PAIRS}, {PEAK}",
        "all pairs: pairs found": FOUND,
    }
    figures = [figure for run in by_size(runs) for figure in run.figures]
    values = [*medians(figures).values()]
    columns = [f"{run.figures[0].documents:,}" for run in by_size(runs)]
    rows = {label: [each.get(measure) for each in values] for label, measure in shown.items()}
    return "\n".join(table("documents", columns, rows))


def by_size(runs: tuple[Results, ...]) -> list[Results]:
    """The runs in the order of their documents."""
    return sorted(runs, key=lambda run: run.figures[0].documents)
