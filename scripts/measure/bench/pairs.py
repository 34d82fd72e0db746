"""pairs: `lshdb pairs` and `lshdb clusters` among a million documents, from start to end."""

from __future__ import annotations

from typing import Final

import corpora
from figures import OWN, PEAK, SECONDS, Aim, Figure, collect
from lab import Lab, Options, with_peak
from processes import lshdb_command, measure

NAME: Final = "pairs"
_SIZE: Final = 1000
_FULL: Final = 1_000_000
_QUICK: Final = 50_000
_DUPLICATES: Final = 0.05
COMMANDS: Final = ("pairs", "clusters", "clusters --star")


def run(lab: Lab) -> list[Figure]:
    """Of lshdb alone: 5% of the documents are near duplicates of others."""
    options = lab.options
    if OWN not in options.engines:
        return []
    count = options.count(_FULL, _QUICK)
    shingle = options.shingle or "word:3"
    lab.say(f"pairs: {shingle}, {count:,} documents")
    if options.input is None:
        path = lab.fresh(".jsonl")
        size = options.size or _SIZE
        corpus = corpora.write_generated(path, count, size, duplicates=_DUPLICATES)
    else:
        corpus = lab.corpus(count, _SIZE)
    database = lab.database(corpus, shingle)
    found: list[Figure] = []
    for command in COMMANDS:

        def measured(_engine: str, command: str = command) -> dict[str, float]:
            done = measure([*lshdb_command(), *command.split(), "--json", "-d", database])
            lines = float(done.out.count("\n"))
            return with_peak({SECONDS: done.seconds, command.partition(" ")[0]: lines}, done)

        case = _case(options, command, count)
        runs = lab.alternate([OWN], measured)[OWN]
        found += collect(NAME, case, OWN, corpus.documents, runs)
    database.unlink()
    return found


def _case(options: Options, command: str, count: int) -> str:
    shingle = options.shingle or "word:3"
    return f"lshdb {command}, {shingle}, {options.what(_SIZE)}, {count:,} documents"


def aims(options: Options) -> list[Aim]:
    """For documents of 1 KB."""
    if OWN not in options.engines or not options.as_asked(_SIZE):
        return []
    cases = [_case(options, command, options.count(_FULL, _QUICK)) for command in COMMANDS]
    return [Aim(NAME, case, SECONDS, 60) for case in cases] + [
        Aim(NAME, case, PEAK, 1000) for case in cases
    ]
