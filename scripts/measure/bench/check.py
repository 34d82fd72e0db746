"""check: `lshdb check`, with and without --deep, and `lshdb backup`, of a million documents."""

from __future__ import annotations

from typing import Final

from figures import OWN, PEAK, SECONDS, Aim, Figure, collect
from lab import Lab, Options, with_peak
from processes import lshdb_command, measure

NAME: Final = "check"
_SIZE: Final = 1000
_FULL: Final = 1_000_000
_QUICK: Final = 10_000
COMMANDS: Final = ("check", "check --deep", "backup")


def run(lab: Lab) -> list[Figure]:
    """Of lshdb alone; the system has the file in its memory as far as it fits."""
    options = lab.options
    if OWN not in options.engines:
        return []
    count = options.count(_FULL, _QUICK)
    shingle = options.shingle or "word:3"
    lab.say(f"check: {shingle}, {count:,} documents")
    corpus = lab.corpus(count, options.size or _SIZE)
    database = lab.database(corpus, shingle)
    found: list[Figure] = []
    for command in COMMANDS:

        def measured(_engine: str, command: str = command) -> dict[str, float]:
            copy = lab.fresh(".copy")
            target = [copy] if command == "backup" else []
            done = measure([*lshdb_command(), *command.split(), "-d", database, *target])
            copy.unlink(missing_ok=True)
            return with_peak({SECONDS: done.seconds}, done)

        runs = lab.alternate([OWN], measured)[OWN]
        found += collect(NAME, _case(options, command), OWN, corpus.documents, runs)
    database.unlink()
    return found


def _case(options: Options, command: str) -> str:
    count = options.count(_FULL, _QUICK)
    shingle = options.shingle or "word:3"
    return f"lshdb {command}, {shingle}, {options.what(_SIZE)}, {count:,} documents"


def aims(options: Options) -> list[Aim]:
    """For documents of 1 KB."""
    if OWN not in options.engines or not options.as_asked(_SIZE):
        return []
    cases = [_case(options, command) for command in COMMANDS]
    return [Aim(NAME, case, SECONDS, 120) for case in cases] + [
        Aim(NAME, case, PEAK, 500) for case in cases
    ]
