"""Try to break lshdb, and print a table of what broke: scripts/torture, ten minutes.

Four parts share the time: processes killed at any statement (crashes), processes that write and
read at once (soak), hostile input (fuzz), damaged files (damage). In ten minutes on two cores each
part does at least what LEAST says; the table shows what it reached. The exit status is 1 if a
document was lost, an answer was wrong, or a traceback was seen.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from measure.torture import crashes, damage, fuzz, soak
from measure.torture.trial import Tally, spread

_NOTES: Final = 20
SHARES: Final = {"crashes": 0.19, "soak": 0.22, "fuzz": 0.47, "damage": 0.12}
"""Of the time, for each part."""
LEAST: Final = {
    "kill points": 200,
    "seconds of 1 writer and 8 readers": 60,
    "seconds of 4 writers and 4 readers": 60,
    "hostile inputs": 100_000,
    "damaged files": 1_000,
}
"""What ten minutes are for."""


Runner: TypeAlias = "Callable[[float, Path], Part]"


@dataclass(slots=True)
class Part:
    """What a part did and found.

    Attributes:
        tally: the same things of all parts.
        reached: as LEAST, and more.
        seconds: that it took.
    """

    tally: Tally
    reached: dict[str, float]
    seconds: float = 0.0


def at_once(seconds: float, directory: Path) -> Part:
    """The soak; a damaged file and an error of a lock are as bad as a traceback."""
    found = soak.run(seconds, directory)
    bad = found["tracebacks"] + found["locked"] + found["damaged"]
    tally = Tally(found["operations"], 0, found["lost"], found["inconsistent"], bad)
    phases = (name for name in LEAST if name.startswith("seconds"))
    waited = {"longest wait of a writer, ms": found["longest"]}
    return Part(tally, dict.fromkeys(phases, seconds / 2) | waited)


def shared(work: Callable[[int, float, str], Tally], what: str, more: int = 0) -> Runner:
    """A part whose work all processors share; `what` is injected."""

    def run(seconds: float, directory: Path) -> Part:
        tally = spread(work, seconds, directory, more)
        commands = {"starts of the command with them": tally.commands} if tally.commands else {}
        return Part(tally, {what: tally.faults, **commands})

    return run


PARTS: Final[dict[str, Runner]] = {
    "crashes": shared(crashes.work, "kill points"),
    "soak": at_once,
    # While one process waits for the disk another works. Each time the inputs are others.
    "fuzz": shared(partial(fuzz.share, random.getrandbits(32)), "hostile inputs", more=1),
    "damage": shared(damage.work, "damaged files"),
}


def table(parts: dict[str, Part]) -> str:
    """What each part did and found, all of them together, and what was reached of LEAST."""
    names = ("operations", "faults injected", "documents lost", "wrong answers", "tracebacks")
    lines = [f"{'':8} {'seconds':>8} " + " ".join(f"{name:>15}" for name in names)]
    total, took = Tally(), 0.0
    for name, part in parts.items():
        total += part.tally
        took += part.seconds
        lines.append(_line(name, part.tally, part.seconds))
    lines += [_line("all", total, took), "", f"{'':36}{'reached':>10}{'of':>10}"]
    for part in parts.values():
        for name, number in part.reached.items():
            minimum = f"{LEAST[name]:>10,}" if name in LEAST else ""
            short = "   not reached" if number < LEAST.get(name, 0) else ""
            lines.append(f"{name:36}{number:>10,.10g}{minimum}{short}")
    return "\n".join(lines)


def _line(name: str, tally: Tally, seconds: float) -> str:
    numbers = (tally.operations, tally.faults, tally.lost, tally.wrong, tally.tracebacks)
    return f"{name:8} {seconds:>8.0f} " + " ".join(f"{number:>15,}" for number in numbers)


def main() -> None:
    """Run the parts and print the table."""
    parser = argparse.ArgumentParser(prog="scripts/torture", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="for all parts together")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this one")
    given = parser.parse_args()
    chosen = given.part or list(PARTS)
    parts = {}
    share = given.minutes * 60 / sum(SHARES[name] for name in chosen)
    for name in chosen:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="lshdb-torture-") as directory:
            part = PARTS[name](share * SHARES[name], Path(directory))
        part.seconds = time.monotonic() - begun
        parts[name] = part
        for note in part.tally.notes[:_NOTES]:
            print(note, file=sys.stderr)
    print(table(parts))
    sys.exit(not all(part.tally.clean for part in parts.values()))
