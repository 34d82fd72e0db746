"""Which settings find a quotation in scanned texts, and how many other texts they show.

    python scripts/measure experiments.quotations DOCS.jsonl TRUTH.tsv

DOCS.jsonl has scans and their transcriptions, with `id` and `text`; TRUTH.tsv two ids a line
between tabs, the scan first. From the middle of each transcription a quotation of 25, 50 or 100
words is set in lines of 40 characters, with words broken at the ends of lines, and looked up
among all scans. Printed are the share of quotations of which the scan is found, and the mean number
of other scans that are shown, which may quote the same text.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import lshdb

_LINE = 40
_SETTINGS = (
    *(("word:3", run, False) for run in (8, 5, 4, 3)),
    *(("char:5", run, False) for run in (40, 30, 25, 20)),
    ("word:3", 0, True),
)
"""Shingles, the shortest run, and whether reworded copies are looked for instead."""


def quotation(text: str, count: int) -> str:
    """Words from the middle of a text, in lines whose ends break words."""
    words = text.split()
    first = max(0, (len(words) - count) // 2)
    quoted, column = "", 0
    for word in words[first : first + count]:
        half = len(word) // 2
        if column + len(word) > _LINE:
            quoted += f"{word[:half]}-\n{word[half:]} " if half > 1 else f"\n{word} "
            column = len(word) - half
        else:
            quoted += f"{word} "
            column += len(word) + 1
    return quoted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("docs", type=Path)
    parser.add_argument("truth", type=Path)
    arguments = parser.parse_args()
    documents = [json.loads(line) for line in arguments.docs.read_text("utf-8").splitlines()]
    texts = {document["id"]: document["text"] for document in documents}
    lines = arguments.truth.read_text("utf-8").splitlines()
    pairs = [line.split("\t")[:2] for line in lines if not line.startswith("#")]
    print(f"{len(pairs)} scans; found, and others shown, for quotations of 25, 50 and 100 words")
    for shingle, run, reworded in _SETTINGS:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "lsh.db"
            with lshdb.open(path, shingle=shingle, passages=run, reworded=reworded) as database:
                for scan, _ in pairs:
                    database.add(scan, texts[scan])
                columns = []
                for count in (25, 50, 100):
                    hits = others = 0
                    for scan, transcription in pairs:
                        quoted = quotation(texts[transcription], count)
                        found = database.passages(quoted, reworded=reworded)
                        keys = {source.key for source in found.sources}
                        hits += scan in keys
                        others += len(keys - {scan})
                    columns.append(f"{hits / len(pairs):.2f}\t{others / len(pairs):.1f}")
        name = "reworded" if reworded else f"{shingle} --passages {run}"
        print(name, *columns, sep="\t")


if __name__ == "__main__":
    main()
