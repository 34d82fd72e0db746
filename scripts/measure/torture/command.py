"""Try to break lshdb, and print a table of what broke: scripts/torture, ten minutes.

Four parts share the time: processes killed at any statement (crashes), processes that write and
read at once (soak), hostile input (fuzz), damaged files (damage). In ten minutes on two cores each
part does at least what LEAST says; the table shows what it reached. The exit status is 1 if a
document was lost, an answer was wrong, or a traceback was seen.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
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


Part: TypeAlias = Callable[[float, Path], tuple[Tally, dict[str, float]]]
"""Does a part for some seconds, in a directory; what happened, and was reached of LEAST."""


def at_once(seconds: float, directory: Path) -> tuple[Tally, dict[str, float]]:
    """The soak; a damaged file and an error of a lock are as bad as a traceback."""
    found = soak.run(seconds, directory)
    bad = found["tracebacks"] + found["locked"] + found["damaged"]
    tally = Tally(found["operations"], 0, found["lost"], found["inconsistent"], bad)
    phases = (name for name in LEAST if name.startswith("seconds"))
    waited = {"longest wait of a writer, ms": found["longest"]}
    return tally, dict.fromkeys(phases, seconds / 2) | waited


def shared(work: Callable[[int, float, str], Tally], what: str, more: int = 0) -> Part:
    """A part whose work all processors share; `what` is injected."""

    def run(seconds: float, directory: Path) -> tuple[Tally, dict[str, float]]:
        tally = spread(work, seconds, directory, more)
        commands = {"starts of the command with them": tally.commands} if tally.commands else {}
        return tally, {what: tally.faults, **commands}

    return run


PARTS: Final[dict[str, Part]] = {
    "crashes": shared(crashes.work, "kill points"),
    "soak": at_once,
    # While one process waits for the disk another works. Each time the inputs are others.
    "fuzz": shared(partial(fuzz.share, random.getrandbits(32)), "hostile inputs", more=1),
    "damage": shared(damage.work, "damaged files"),
}


def line(name: str, tally: Tally, seconds: float) -> str:
    """A line of the table."""
    numbers = (tally.operations, tally.faults, tally.lost, tally.wrong, tally.tracebacks)
    return f"{name:8} {seconds:>8.0f} " + " ".join(f"{number:>15,}" for number in numbers)


def main() -> None:
    """Run the parts, and print what each did and found, and what was reached of LEAST."""
    parser = argparse.ArgumentParser(prog="scripts/torture", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="for all parts together")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this one")
    given = parser.parse_args()
    chosen = given.part or list(PARTS)
    share = given.minutes * 60 / sum(SHARES[name] for name in chosen)
    names = ("operations", "faults injected", "documents lost", "wrong answers", "tracebacks")
    lines = [f"{'':8} {'seconds':>8} " + " ".join(f"{name:>15}" for name in names)]
    total, all_reached, started = Tally(), dict[str, float](), time.monotonic()
    for name in chosen:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="lshdb-torture-") as directory:
            tally, reached = PARTS[name](share * SHARES[name], Path(directory))
        lines.append(line(name, tally, time.monotonic() - begun))
        for note in tally.notes[:_NOTES]:
            print(note, file=sys.stderr)
        total += tally
        all_reached |= reached
    lines += [line("all", total, time.monotonic() - started), ""]
    lines.append(f"{'':36}{'reached':>10}{'of':>10}")
    for name, number in all_reached.items():
        minimum = f"{LEAST[name]:>10,}" if name in LEAST else ""
        short = "   not reached" if number < LEAST.get(name, 0) else ""
        lines.append(f"{name:36}{number:>10,.10g}{minimum}{short}")
    print("\n".join(lines))
    sys.exit(not total.clean)
