"""How well `--for scans` finds pages that were misread: made scans of texts, by their error rates.

    python scripts/measure experiments.scans TEXT... [--pages N] [--for PURPOSE]

A page has some 2,000 characters of the texts, in order, so that pages of one text are its hardest
strangers. Its scan has lines of 38 to 75 characters with words broken at their ends, loses some of
them, and has wrong, missing and additional characters: up to 5%, 15% and 30% of each page (seed 1).
Printed are the precision and the recall of `pairs`, by the setting alone, for each of these rates.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lshdb

_RATES = (0.05, 0.15, 0.3)
_PAGE = 2_000
_CONFUSED = dict(zip("eoclihnumtrsafb", "coecl1bnunntelh", strict=True))
_SIGNS = "abcdefghijklmnopqrstuvwxyz.,'-:;0158"


def scanned(page: str, rate: float, rng: random.Random) -> str:
    """A page as OCR of this rate of errors might read it."""
    width = rng.randint(38, 75)
    lines = [
        line if rng.random() < 0.5 else f"{line[:-3]}-\n{line[-3:]}"
        for line in textwrap.wrap(page, width)
        if rng.random() > rate / 7
    ]
    return "".join(_misread(sign, rate, rng) for sign in "\n".join(lines))


def _misread(sign: str, rate: float, rng: random.Random) -> str:
    if rng.random() >= rate:
        return sign
    other = _CONFUSED.get(sign, rng.choice(_SIGNS))
    return rng.choices([other, "", sign + rng.choice(_SIGNS), " "], [12, 3, 3, 2])[0]


def rates_of(pages: Sequence[str], rate: float, purpose: Any) -> tuple[float, float]:
    """Precision and recall of the pairs of pages and their scans."""
    rng = random.Random(1)
    documents = {str(number): page for number, page in enumerate(pages)}
    scans = {
        f"{key} scan": scanned(page, rng.uniform(0, rate), rng) for key, page in documents.items()
    }
    with (
        tempfile.TemporaryDirectory() as directory,
        lshdb.open(Path(directory) / "lsh.db", purpose=purpose) as db,
    ):
        db.add_many([*documents.items(), *scans.items()])
        found = [(pair.a, pair.b) for pair in db.pairs()]
    hits = sum(b == f"{a} scan" for a, b in found)
    return hits / max(len(found), 1), hits / len(pages)


def main() -> None:
    """Print a line for each rate of errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--for", dest="purpose", default="scans")
    arguments = parser.parse_args()
    text = " ".join(
        " ".join(path.read_text("utf-8", "replace").split()) for path in arguments.texts
    )
    pages = [text[first : first + _PAGE] for first in range(0, len(text) - _PAGE, _PAGE)]
    for rate in _RATES:
        precision, recall = rates_of(pages[: arguments.pages], rate, arguments.purpose)
        print(f"up to {rate:.0%} wrong: precision {precision:.3f}, recall {recall:.3f}")


if __name__ == "__main__":
    main()
