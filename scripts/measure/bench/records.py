"""records: adding and asking records, as a multiple of the CPU time of short texts. Ten minutes.

Records are 60 characters of words that occur as often as in any text (Zipf's law), and a number.
Each is added by `lshdb add` to a file made for records and to one for short texts, in turn; then
changed records are asked in both.
"""

import itertools
import json
import random
import time
from pathlib import Path
from typing import Final

import lshdb as library
from measure.common.commands import lshdb
from measure.harness.figures import CPU, Values
from measure.harness.lab import Lab, taken

_WORDS: Final = 20_000
_LETTERS: Final = "eeeeeeetttttaaaaooooiiinnnssshhhrrrdddlluucmmwfgypbvk"
_LENGTH: Final = 60
_QUERIES: Final = 200
_CLOCK: Final = 1e-9
"""Seconds that stand for less than a clock tick."""
_PURPOSES: Final = "short-text", "records"


def _records(count: int) -> list[str]:
    rng = random.Random(1)
    words = ["".join(rng.choices(_LETTERS, k=rng.randint(2, 9))) for _ in range(_WORDS)]
    weights = [*itertools.accumulate(1 / (rank + 5) for rank in range(_WORDS))]
    texts = (" ".join(rng.choices(words, cum_weights=weights, k=12)) for _ in range(count))
    return [f"{text[: _LENGTH - 7]} {rng.randrange(10**6)}" for text in texts]


def run(lab: Lab) -> None:
    """Adding and asking."""
    count = lab.count(100_000, quick=2_000)
    texts, path = _records(count), lab.fresh(".jsonl")
    rows = ({"id": number, "text": text} for number, text in enumerate(texts))
    path.write_text("\n".join(map(json.dumps, rows)))
    databases = [path.with_suffix(f".{purpose}.db") for purpose in _PURPOSES]

    def added() -> Values:
        values = []
        for database, purpose in zip(databases, _PURPOSES, strict=True):
            database.unlink(missing_ok=True)
            lshdb("init", "-d", database, "--for", purpose)
            values.append(taken(lshdb("add", "-d", database, path)))
        return {**values[1], "times short texts": values[1][CPU] / max(values[0][CPU], _CLOCK)}

    def asked() -> Values:
        seconds = [_asked(database, texts) for database in databases]
        return {
            "ms per query": seconds[1] * 1e3,
            "times short texts": seconds[1] / max(seconds[0], _CLOCK),
        }

    lab.measure(count, {"add": added})
    lab.measure(count, {"query": asked})


def _asked(database: Path, texts: list[str]) -> float:
    """CPU seconds of a query."""
    with library.open(database, mode="read") as db:
        begin = time.process_time()
        for text in texts[:_QUERIES]:
            db.query(text[4:] + " new")
        return (time.process_time() - begin) / _QUERIES
