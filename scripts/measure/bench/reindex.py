"""reindex: `lshdb reindex` of a million documents, to another threshold and to a cascade."""

from __future__ import annotations

from typing import Final

from figures import OWN, PEAK, SECONDS, Aim, Figure, collect
from lab import Lab, Options, bytes_on_disk, with_peak
from processes import lshdb_command, measure

NAME: Final = "reindex"
_SIZE: Final = 1000
_FULL: Final = 1_000_000
_QUICK: Final = 20_000
CHANGES: Final = {
    "to threshold 0.7": ("--threshold", "0.7"),
    "to a cascade of 32 bands": ("--construction", "and 4, or 4, and 4, or 2"),
    "back to threshold 0.8": ("--threshold", "0.8", "--recall", "0.99"),
}
"""What is asked for in turn, of a file with 128 lanes that is made with the defaults."""


def run(lab: Lab) -> list[Figure]:
    """Of lshdb alone: the command from its start to its end."""
    options = lab.options
    if OWN not in options.engines:
        return []
    corpus = lab.corpus(options.count(_FULL, _QUICK), options.size or _SIZE)
    shingle = options.shingle or "word:3"
    lab.say(f"reindex: {shingle}, {corpus.documents:,} documents")
    database = lab.database(corpus, shingle)
    found: dict[str, list[dict[str, float]]] = {change: [] for change in CHANGES}

    def all_changes(_: str) -> dict[str, float]:
        for change, asked in CHANGES.items():
            before = bytes_on_disk(database)
            done = measure([*lshdb_command(), "reindex", "-d", database, *asked])
            values = {
                SECONDS: done.seconds,
                "disk bytes/document": bytes_on_disk(database) / corpus.documents,
                "disk bytes/document before": before / corpus.documents,
            }
            found[change].append(with_peak(values, done))
        return {}

    lab.alternate([OWN], all_changes)
    database.unlink()
    return [
        figure
        for change, runs in found.items()
        for figure in collect(NAME, _case(options, change), OWN, corpus.documents, runs)
    ]


def _case(options: Options, change: str) -> str:
    count = options.count(_FULL, _QUICK)
    return f"{options.shingle or 'word:3'}, {options.what(_SIZE)}, {count:,} documents, {change}"


def aims(options: Options) -> list[Aim]:
    """For a million documents, or however many they are."""
    if OWN not in options.engines or options.input is not None:
        return []
    cases = [_case(options, change) for change in CHANGES]
    return [Aim(NAME, case, SECONDS, 120) for case in cases] + [
        Aim(NAME, case, PEAK, 500) for case in cases
    ]
