"""How often unrelated texts share a run of words, in scripts with and without blanks.

    python scripts/measure experiments.scripts FILE...

Each file has texts of one script, as much as there is, in UTF-8. Lines that it repeats count once;
other scripts, digits and signs are left out. Up to 40 parts of 1,500 letters (`--letters`) from
places apart are compared, two at a time. A row says how many letters a word has, and which share of
the pairs has a common run of 8 and of 13, if every letter with its marks is a word, and as lshdb
cuts words.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from lshdb.shingling.folding import COMBINES, IDEOGRAPH, SYLLABIC, character_classes, fold
from lshdb.shingling.positions import cut

TEXTS = 40
RUNS = (8, 13)


def runs_of_letters(text: str) -> list[list[str]]:
    """The letters with their marks, of each run that nothing else interrupts."""
    runs: list[list[str]] = [[]]
    for character in fold(text):
        kind = int(character_classes()[ord(character)])
        if kind & (SYLLABIC | IDEOGRAPH):
            runs[-1].append(character)
        elif kind & COMBINES and runs[-1]:
            runs[-1][-1] += character
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def parts(runs: Sequence[list[str]], letters: int) -> list[list[list[str]]]:
    """Parts of as many letters, from places apart."""
    begins = np.cumsum([0, *map(len, runs)])
    count = min(TEXTS, int(begins[-1]) // letters)
    found = []
    for start in np.linspace(0, begins[-1] - letters, count):
        first, behind = np.searchsorted(begins, [start, start + letters])
        found.append(list(runs[int(first) : int(behind)]))
    return found


def share(texts: Sequence[Sequence[str]], size: int) -> float:
    """The share of the pairs of texts that have a run of `size` words in common."""
    sets = [{tuple(text[i : i + size]) for i in range(len(text) - size + 1)} for text in texts]
    return float(np.mean([not a.isdisjoint(b) for a, b in combinations(sets, 2)]))


def words(run: list[str]) -> list[str]:
    """The words of a run, in order."""
    units = cut(["".join(run)], "word")
    bounds = zip(units.begins.tolist(), units.ends.tolist(), strict=True)
    return [units.folded[begin:end].decode() for begin, end in bounds]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--letters", type=int, default=1500, help="of each part")
    arguments = parser.parse_args()
    columns = (f"{what}, {size}" for what in ("letters", "words") for size in RUNS)
    print("file", "pairs", "letters a word", *columns, sep="\t")
    for path in arguments.files:
        lines = dict.fromkeys(path.read_text("utf-8").splitlines())
        texts = parts(runs_of_letters("\n".join(lines)), arguments.letters)
        if len(texts) < 2:
            print(path.stem, "has too few letters for two parts", sep="\t")
            continue
        letters = [[letter for run in text for letter in run] for text in texts]
        shorter = [[word for run in text for word in words(run)] for text in texts]
        size = sum(map(len, letters)) / sum(map(len, shorter))
        shares = (f"{share(some, n):.2f}" for some in (letters, shorter) for n in RUNS)
        print(path.stem, len(texts) * (len(texts) - 1) // 2, f"{size:.1f}", *shares, sep="\t")


if __name__ == "__main__":
    main()
