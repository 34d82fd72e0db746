"""alike: rows that repeat lines or words: CPU time as a multiple of that of prose. Ten minutes.

`lshdb dedup` by each rule that compares contents, and all pairs that share passages. Rows that
repeat a line, two words in turn, or lines of a pool should take at most three times the CPU time of
prose, a tenth as many of two words at random no more than prose. Each kind is measured in turn with
prose.
"""

import json
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

from measure.common.commands import lshdb
from measure.harness.figures import CPU, Values
from measure.harness.lab import Lab, taken

_LINE: Final = 12
_LINES: Final = 30
_POOL: Final = 200
_RUN: Final = "13"
_TICK: Final = 0.01
"""Seconds: CPU time of less may be counted as none."""


def _line(rng: random.Random) -> str:
    return " ".join(f"w{rng.randrange(5_000)}" for _ in range(_LINE))


def _prose(rng: random.Random, _: list[str]) -> list[str]:
    return [_line(rng) for _ in range(_LINES)]


KINDS: Final[dict[str, Callable[[random.Random, list[str]], list[str]]]] = {
    "one line in all rows, 29 times": lambda rng, pool: [_line(rng), *pool[:1] * (_LINES - 1)],
    "a line of each row, 30 times": lambda rng, _: [_line(rng)] * _LINES,
    "one line in all rows, once": lambda rng, pool: [pool[0], *_prose(rng, pool)[1:]],
    "two words in turn": lambda rng, _: [*["a b"] * (_LINES * _LINE // 2 - 1), _line(rng)],
    f"lines of a pool of {_POOL}": lambda rng, pool: rng.choices(pool, k=_LINES),
    "two words at random, a tenth": lambda rng, _: rng.choices("ab", k=_LINES * _LINE),
}
_DEDUP: Final = (
    ("--rule", f"copied:{_RUN}"),
    ("--cut", _RUN),
    ("--rule", "contained"),
)


def run(lab: Lab) -> None:
    """Each kind of rows, by each command, beside prose."""
    count = lab.count(4_000, quick=400)
    prose = _write(lab, count, _prose)
    for kind, lines in KINDS.items():
        rows = count // 10 if kind.endswith("a tenth") else count
        path = _write(lab, rows, lines)
        for more in _DEDUP:
            _beside(
                lab,
                f"dedup {' '.join(more)}: {kind}",
                rows,
                partial(_dedup, lab, more),
                path,
                prose,
            )
        _beside(lab, f"passages --all: {kind}", rows, partial(_all_pairs, lab), path, prose)
        path.unlink()


def _write(lab: Lab, count: int, lines: Callable[[random.Random, list[str]], list[str]]) -> Path:
    path, rng = lab.fresh(".jsonl"), random.Random(1)
    pool = [_line(rng) for _ in range(_POOL)]
    with path.open("w") as file:
        for number in range(count):
            row = {"id": number, "text": "\n".join(lines(rng, pool))}
            file.write(json.dumps(row) + "\n")
    return path


def _beside(
    lab: Lab, case: str, rows: int, command: Callable[[Path], Values], path: Path, prose: Path
) -> None:
    """Measure a command on rows, in turn with prose."""
    ratios: list[float] = []

    def measured() -> Values:
        of_prose, of_rows = command(prose), command(path)
        ratios.append(of_rows[CPU] / max(of_prose[CPU], _TICK))
        return {**of_rows, "times prose": median(ratios)}

    lab.measure(rows, {case: measured})


def _dedup(lab: Lab, more: tuple[str, ...], path: Path) -> Values:
    output = lab.fresh(".jsonl")
    done = lshdb("dedup", path, "-o", output, *more)
    output.unlink()
    return taken(done)


def _all_pairs(lab: Lab, path: Path) -> Values:
    """All pairs of a database of the rows, which is made once."""
    database, output = path.with_suffix(".db"), lab.fresh(".jsonl")
    if not database.exists():
        lshdb("init", "-d", database, "--passages", _RUN)
        lshdb("add", "-d", database, path)
    done = lshdb("passages", "--all", "-d", database, "-o", output)
    output.unlink()
    return taken(done)
