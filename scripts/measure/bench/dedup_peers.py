"""dedup --peers: `lshdb dedup` beside text-dedup and datatrove, and what each drops wrongly.

Documents are pieces of the Python sources of this machine, or your own (--input). All three have
shingles of three words and 16 bands of 6 rows. Every document that was dropped is compared with
all others, exactly: one that no other resembles was dropped wrongly. The peers are installed in
separate environments, which stay in --directory (or the user's cache). Half an hour.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from rich.table import Table

from measure.common.brute_force import nearest, shingle_set
from measure.common.commands import Measured, lshdb_command, measure
from measure.harness import corpora
from measure.harness.corpora import Corpus
from measure.harness.figures import OWN, PEAK, SECONDS, Values
from measure.harness.lab import Job, Lab, environment, taken
from measure.harness.report import number

PEERS: Final = {
    "text-dedup": ("text-dedup 0.4.0", ("text-dedup==0.4.0",)),
    # spacy makes words of texts
    "datatrove": ("datatrove 0.10.1", ("datatrove[io,processing]==0.10.1", "spacy>=3.8,<4")),
}
"""The version of each, and what is installed for it."""
DROPPED: Final = "dropped"
WRONGLY: Final = "dropped, and no other document at similarity 0.8"
UNLIKE: Final = "dropped, and no other document at similarity 0.5"
_SHINGLE: Final = "word:3"
_SIZE: Final = 3000
_RUNNER: Final = Path(__file__).with_name("dedup_runners.py")


def run(lab: Lab) -> None:
    """One case, three engines; each is given the same file."""
    count = lab.count(50_000, quick=2_000)
    if lab.options.input is None:
        lab.say(f"{lab.benchmark}: cutting {count:,} pieces from Python sources")
        corpus = corpora.write_pieces(lab.fresh(".jsonl"), count, _SIZE)
    else:
        corpus = corpora.write_copy(lab.fresh(".jsonl"), lab.options.input, count)
    lab.say(f"{lab.benchmark}: shingling {corpus.documents:,} documents for the truth")
    sets = [shingle_set(text, _SHINGLE) for text in corpora.read_texts(corpus.path)]
    case = f"{_SHINGLE}, {corpus.what}, {corpus.documents:,} documents"
    runs: dict[str, Callable[[Path], Measured]] = {OWN: partial(_lshdb, corpus)}
    for peer in PEERS:
        runs[peer] = partial(_peer, corpus, peer, environment(lab, *PEERS[peer]))
    lab.measure(
        [
            Job(case, corpus.documents, partial(_values, lab, corpus, sets, one), engine)
            for engine, one in runs.items()
        ]
    )


def _values(
    lab: Lab, corpus: Corpus, sets: list[set[object]], one: Callable[[Path], Measured]
) -> Values:
    kept = lab.fresh(".kept")
    measured = one(kept)
    names = set(kept.read_text("utf-8").split())
    dropped = [index for index in range(corpus.documents) if str(index) not in names]
    best = nearest(sets, dropped)
    return {
        **taken(measured),
        DROPPED: len(dropped),
        WRONGLY: sum(similarity < 0.8 for similarity in best),
        UNLIKE: sum(similarity < 0.5 for similarity in best),
    }


def _lshdb(corpus: Corpus, kept: Path) -> Measured:
    output = kept.with_suffix(".jsonl")
    measured = measure([*lshdb_command(), "dedup", corpus.path, "-o", output])
    with output.open(encoding="utf-8") as lines:
        kept.write_text("\n".join(json.loads(line)["id"] for line in lines), "utf-8")
    return measured


def _peer(corpus: Corpus, peer: str, python: Path, kept: Path) -> Measured:
    """Run a peer in its environment; how its users call it is in dedup_runners.py."""
    work = kept.parent / "work"
    work.mkdir()
    runner: list[str | Path] = [python, _RUNNER, peer]
    measured = measure([*runner, "run", corpus.path, work], directory=work)
    measure([*runner, "kept", work, kept], directory=work, sample=False)
    return measured


def rows(results: dict[str, Any]) -> list[list[str]]:
    """A row for each engine: name, seconds, memory, dropped, wrongly dropped; medians."""
    found = {(one["engine"], one["measure"]): one["median"] for one in results["figures"]}
    engines = dict.fromkeys(one["engine"] for one in results["figures"])
    measures = (SECONDS, PEAK, DROPPED, WRONGLY, UNLIKE)
    return [
        [
            engine,
            *(number(found[engine, name]) if (engine, name) in found else "" for name in measures),
        ]
        for engine in engines
    ]


HEADING: Final = (
    "",
    "seconds",
    "peak MB",
    "dropped",
    "of these nothing similar at 0.8",
    "nothing at 0.5",
)


def markdown(results: dict[str, Any]) -> str:
    """The table of the documentation."""
    figure = results["figures"][0]
    versions = ", ".join(version for version, _ in PEERS.values())
    lines = [
        f"`scripts/bench dedup --peers`, {figure['case']}; {versions}.",
        "",
        "| " + " | ".join(HEADING).strip() + " |",
        "|---|" + "---:|" * (len(HEADING) - 1),
    ]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows(results))])


def table(results: dict[str, Any]) -> Table:
    """The same for a terminal."""
    made = Table(title=results["figures"][0]["case"], title_justify="left")
    for index, name in enumerate(HEADING):
        made.add_column(name, justify="right" if index else "left")
    for row in rows(results):
        made.add_row(*row)
    return made
