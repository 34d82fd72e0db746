"""repetitive: rows that repeat a line, share one, or contain others. Ten minutes.

By the rules that compare contents, each kind of rows is measured beside prose of as many rows and
words: repeating a line must not cost the square of how often it is there.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from measure.common.commands import lshdb
from measure.harness.figures import CPU, PEAK, Values
from measure.harness.lab import Job, Lab, with_peak

_LINES: Final = 30
_WORDS: Final = 12
RULES: Final = {
    "--cut 8": ("--cut", "8"),
    "copied:8": ("--rule", "copied:8"),
    "contained": ("--rule", "contained"),
}


def _line(rng: random.Random) -> str:
    return " ".join(f"w{rng.randrange(5_000)}" for _ in range(_WORDS))


def _prose(rng: random.Random, _: str) -> str:
    return "\n".join(_line(rng) for _ in range(_LINES))


def _equal_lines(rng: random.Random, line: str) -> str:
    return "\n".join([_line(rng), *[line] * (_LINES - 1)])


def _lines_of_each(rng: random.Random, _: str) -> str:
    return "\n".join([_line(rng)] * _LINES)


def _shared_line(rng: random.Random, line: str) -> str:
    return "\n".join([line, *(_line(rng) for _ in range(_LINES - 1))])


def _periodic(rng: random.Random, _: str) -> str:
    return " ".join([*["a b"] * (_LINES * _WORDS // 2 - 1), _line(rng)])


KINDS: Final[dict[str, Callable[[random.Random, str], str]]] = {
    "prose": _prose,
    "one line in all rows, 29 times": _equal_lines,
    "a line of each row, 30 times": _lines_of_each,
    "one line in all rows, once": _shared_line,
    "two words in turn": _periodic,
}


def run(lab: Lab) -> None:
    """`lshdb dedup` of each kind of rows, by each rule."""
    count = lab.count(4_000, quick=400)
    for rule in RULES:
        for kind in KINDS:
            path = lab.fresh(".jsonl")
            rng = random.Random(1)
            with path.open("w") as file:
                file.writelines(_rows(count, kind, rng))
            case = _case(rule, count, kind)
            lab.measure([Job(case, count, partial(_dedup, lab, path, rule))])
            path.unlink()
            if kind != "prose":
                lab.aim(case, CPU, 3, over_case=_case(rule, count, "prose"))
                lab.aim(case, PEAK, 1000)


def _rows(count: int, kind: str, rng: random.Random) -> Iterator[str]:
    line = _line(rng)
    for number in range(count):
        yield json.dumps({"id": number, "text": KINDS[kind](rng, line)}) + "\n"


def _case(rule: str, count: int, kind: str) -> str:
    return f"lshdb dedup, {rule}: {count:,} rows, {kind}"


def _dedup(lab: Lab, path: Path, rule: str) -> Values:
    output = lab.fresh(".jsonl")
    measured = lshdb("dedup", path, *RULES[rule], "-o", output)
    output.unlink()
    return with_peak({CPU: measured.cpu}, measured)
