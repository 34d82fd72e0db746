"""startup: whole commands on a small file, from the shell's point of view, warm."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from corpora import read_texts
from figures import OWN, SECONDS, Aim, Figure
from lab import SIZE, Lab, Options
from processes import lshdb_command, measure

NAME: Final = "startup"
_DOCUMENTS: Final = 1000
_QUERY: Final = "lshdb query FILE"
_HELP: Final = "lshdb --help"


def run(lab: Lab) -> list[Figure]:
    """Each command is run once unmeasured, then 15 times (quick: 5)."""
    options = lab.options
    if OWN not in options.engines:
        return []
    corpus = lab.corpus(options.count(_DOCUMENTS, _DOCUMENTS), options.size or SIZE)
    database = lab.database(corpus, options.shingle or "word:3")
    document = lab.fresh(".txt")
    document.write_text(read_texts(corpus.path, 1)[0], "utf-8")
    commands: dict[str, list[str | Path]] = {
        _QUERY: [*lshdb_command(), "query", "-d", database, document],
        _HELP: [*lshdb_command(), "--help"],
    }
    lab.say("startup: lshdb query, lshdb --help")
    times: dict[str, list[float]] = {case: [] for case in commands}
    for number in range(6 if options.quick else 16):
        for case, command in commands.items():
            seconds = measure(command, sample=False).seconds
            if number:
                times[case].append(seconds)
    return [
        Figure(NAME, case, OWN, SECONDS, corpus.documents, tuple(values))
        for case, values in times.items()
    ]


def aims(options: Options) -> list[Aim]:
    """Of lshdb alone: its peers have no command."""
    if OWN not in options.engines:
        return []
    return [Aim(NAME, _QUERY, SECONDS, 0.2), Aim(NAME, _HELP, SECONDS, 0.15)]
