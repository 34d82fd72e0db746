"""hot: copies of one document, and as many others with one header, which fill a bucket each."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Final

import corpora
from figures import OWN, PEAK, SECONDS, Aim, Figure, collect
from lab import Lab, Options, with_peak
from processes import Measured, lshdb_command, measure

NAME: Final = "hot"
_FULL: Final = 100_000
_QUICK: Final = 5_000
_WORDS: Final = 150
SHARES: Final = (0.5, 0.85)
"""Of the words of a document, how many are the header."""
COMMANDS: Final = ("add", "clusters", "clusters --star", "pairs, the first")


def run(lab: Lab) -> list[Figure]:
    """Of lshdb alone, and for half as many documents: time shall grow with their number."""
    options = lab.options
    if OWN not in options.engines:
        return []
    count = options.count(_FULL, _QUICK)
    shingle = options.shingle or "word:3"
    found: list[Figure] = []
    for share in SHARES:
        for some in (count // 2, count):
            lab.say(f"hot: {some:,} copies, {some:,} with a header of {share:.0%}")
            corpus = corpora.write_hot_halves(lab.fresh(".jsonl"), some, _WORDS, share)
            database = lab.init(shingle)
            added = [with_seconds(lab.add(database, corpus))]
            found += collect(NAME, _case("add", some, share), OWN, 2 * some, added)
            for command in COMMANDS[1:]:

                def measured(
                    _engine: str, command: str = command, database: Path = database
                ) -> dict[str, float]:
                    if command.startswith("pairs"):
                        return {SECONDS: _first_pair(database)}
                    own = [*lshdb_command(), *command.split(), "--json", "-d", database]
                    return with_seconds(measure(own))

                runs = lab.alternate([OWN], measured)[OWN]
                found += collect(NAME, _case(command, some, share), OWN, 2 * some, runs)
            corpus.path.unlink()
            database.unlink()
    return found


def with_seconds(measured: Measured) -> dict[str, float]:
    """How long a command took, and its peak of memory."""
    return with_peak({SECONDS: measured.seconds}, measured)


def _first_pair(database: Path) -> float:
    """Seconds until `lshdb pairs` prints something; then it is stopped."""
    begun = time.perf_counter()
    command = [*map(str, lshdb_command()), "pairs", "-d", str(database)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        return time.perf_counter() - begun


def _case(command: str, count: int, share: float) -> str:
    return f"lshdb {command}: {count:,} copies, {count:,} with a header of {share:.0%}"


def aims(options: Options) -> list[Aim]:
    """Twice as many documents take at most 2.5 times as long."""
    if OWN not in options.engines:
        return []
    count = options.count(_FULL, _QUICK)
    found: list[Aim] = []
    for share in SHARES:
        for command in COMMANDS:
            case, half = _case(command, count, share), _case(command, count // 2, share)
            found.append(Aim(NAME, case, SECONDS, 2.5, over_case=half))
            if not command.startswith("pairs"):
                found.append(Aim(NAME, case, PEAK, 1000))
    return found
