"""All that is done to break lshdb, one after the other, and a table of what broke.

Four parts share the time: processes that are killed at any statement (crashes), processes that
write and read at once (soak), hostile input (fuzz), damaged files (damage). The exit status is 1
if a document was lost, an answer wrong, or a traceback seen.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import crashes
import damage
import fuzz
import soak
from trial import Tally

_KILL_POINTS: Final = 200
"""Of the crash sweep in ten minutes; in other times, in proportion."""
_NOTES: Final = 20


def killed(seconds: float, _directory: Path) -> Tally:
    """The crash sweep."""
    return Tally(**crashes.run(max(1, int(_KILL_POINTS * seconds / 150)), seconds))


def at_once(seconds: float, directory: Path) -> Tally:
    """The soak; a damaged file and an error of a lock are as bad as a traceback."""
    found = soak.run(seconds, directory)
    bad = found.tracebacks + found.locked + found.damaged
    return Tally(found.operations, 0, found.lost, found.inconsistent, bad)


PARTS: Final[dict[str, Callable[[float, Path], Tally]]] = {
    "crashes": killed,
    "soak": at_once,
    "fuzz": fuzz.run_for,
    "damage": damage.run_for,
}


def table(tallies: dict[str, tuple[Tally, float]]) -> str:
    """What each part did and found, and all of them together."""
    names = ("operations", "faults injected", "documents lost", "wrong answers", "tracebacks")
    lines = [f"{'':8} {'seconds':>8} " + " ".join(f"{name:>15}" for name in names)]
    total, took = Tally(), 0.0
    for name, (tally, seconds) in tallies.items():
        total += tally
        took += seconds
        lines.append(_line(name, tally, seconds))
    return "\n".join([*lines, _line("all", total, took)])


def _line(name: str, tally: Tally, seconds: float) -> str:
    numbers = (tally.operations, tally.faults, tally.lost, tally.wrong, tally.tracebacks)
    return f"{name:8} {seconds:>8.0f} " + " ".join(f"{number:>15,}" for number in numbers)


def main() -> None:
    """Run the parts and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="for all parts together")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this one")
    given = parser.parse_args()
    chosen = given.part or list(PARTS)
    tallies = {}
    for name in chosen:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="lshdb-torture-") as directory:
            tally = PARTS[name](given.minutes * 60 / len(chosen), Path(directory))
        tallies[name] = tally, time.monotonic() - begun
        for note in tally.notes[:_NOTES]:
            print(note, file=sys.stderr)
    print(table(tallies))
    sys.exit(not all(tally.clean for tally, _ in tallies.values()))


if __name__ == "__main__":
    main()
